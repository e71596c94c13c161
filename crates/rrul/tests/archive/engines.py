"""Answers a question to an archive by another engine, as JSON with the members of `rrul archive query --format json`.

    engines.py duckdb|chdb ARCHIVE VIEWS.sql QUESTION.sql

The text of the views and of the question is given to the engine as it is. Exits 3 where the engine is not installed.
"""

import json
import sys

TABLES = ["runs", "flows", "delays"]


def statements(path):
    """The statements of a file, which end with a semicolon at the end of a line."""
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().split("\n") if not line.lstrip().startswith("--")]
    return [part.strip() for part in ("\n".join(lines) + "\n").split(";\n") if part.strip()]


def duckdb(archive, views, question):
    import duckdb

    connection = duckdb.connect()
    for table in TABLES:
        files = f"{archive}/{table}/v=1/*/*/*.parquet"
        connection.execute(
            f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}', hive_partitioning = true, union_by_name = true)"
        )
    for view in views:
        connection.execute(view)
    result = connection.execute(question)
    columns = [column[0] for column in result.description]
    plain = lambda value: value if value is None or isinstance(value, (str, int)) else float(value)
    return columns, [dict(zip(columns, map(plain, row))) for row in result.fetchall()]


def chdb(archive, views, question):
    from chdb import session

    with session.Session() as clickhouse:
        # Without these a missing row of a join is 0 and not null, and integers are texts.
        for setting in ["join_use_nulls = 1", "output_format_json_quote_64bit_integers = 0", "use_hive_partitioning = 1"]:
            clickhouse.query(f"SET {setting}")
        clickhouse.query("CREATE DATABASE archive ENGINE = Atomic")
        clickhouse.query("USE archive")
        for table in TABLES:
            files = f"{archive}/{table}/v=1/*/*/*.parquet"
            clickhouse.query(f"CREATE VIEW {table} AS SELECT * FROM file('{files}', Parquet)")
        for view in views:
            clickhouse.query(view)
        answer = json.loads(str(clickhouse.query(question, "JSON")))
    return [column["name"] for column in answer["meta"]], answer["data"]


def main():
    engine, archive, views, question = sys.argv[1:]
    try:
        answered = {"duckdb": duckdb, "chdb": chdb}[engine]
        (text,) = statements(question)
        columns, rows = answered(archive, statements(views), text)
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    print(json.dumps({"columns": columns, "rows": rows}))


main()
