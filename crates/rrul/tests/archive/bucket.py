"""Serves an archive in a bucket like those of S3, by moto, until its input ends.

    bucket.py ARCHIVE BUCKET FOLDER

Prints the address when all files are there. Exits 3 where moto is not installed.
"""

import logging
import sys
from pathlib import Path

try:
    import boto3
    from moto.server import ThreadedMotoServer
except ModuleNotFoundError:
    sys.exit(3)

archive, bucket, folder = sys.argv[1:]
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
address = "http://%s:%d" % server.get_host_and_port()
access = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
client = boto3.client("s3", endpoint_url=address, **access)
client.create_bucket(Bucket=bucket)
for path in Path(archive).rglob("*.parquet"):
    client.upload_file(str(path), bucket, f"{folder}/{path.relative_to(archive)}")
print(address, flush=True)
sys.stdin.read()
