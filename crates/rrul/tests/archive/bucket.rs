//! An archive in a bucket of S3, which moto serves on this host.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rrul_archive::questions::QUESTIONS;

#[cfg(feature = "cluster")]
use crate::cluster::Cluster;
use crate::engines::assert_same;
use crate::folder::{Folder, skipped};

/// A server of buckets, which ends with its input, that is with the value.
struct Buckets(Child);

impl Drop for Buckets {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Puts the archive `runs` into the bucket `lines`, folder `all/runs`, and lets the folder's commands find it. `None` where moto is not
/// installed.
fn in_a_bucket(folder: &mut Folder) -> Option<Buckets> {
    let python = std::env::var("RRUL_ENGINES_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archive/bucket.py");
    let mut child = Command::new(python)
        .arg(script)
        .args(["runs", "lines", "all/runs"])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    if address.is_empty() {
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(3), "the server of buckets has ended");
        return None;
    }
    folder.1 = vec![
        ("AWS_ENDPOINT", address.trim().to_owned()),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
    ];
    Some(Buckets(child))
}

#[test]
fn an_archive_in_a_bucket_gives_the_same_rows() {
    let mut folder = Folder::with_runs("bucket", 7, 100);
    let Some(_buckets) = in_a_bucket(&mut folder) else {
        skipped(
            "an_archive_in_a_bucket_gives_the_same_rows",
            "moto is not installed for Python; make archive-test installs it",
        );
        return;
    };
    let bucket = "s3://lines/all/runs";
    let ask = |question: &str, options: &[&str]| {
        let asked = [&["archive", "query", bucket, question, "--format", "json"], options].concat();
        serde_json::from_str::<serde_json::Value>(&folder.ends(0, &asked).0).unwrap()
    };
    for question in QUESTIONS {
        let ours = folder.answer(question.name, &[]);
        assert!(!ours["rows"].as_array().unwrap().is_empty(), "{}", question.name);
        assert_same(question.name, bucket, &ours, &ask(question.name, &[]));
    }
    #[cfg(feature = "cluster")]
    {
        let cluster = Cluster::start(&folder);
        for question in QUESTIONS {
            let ours = folder.answer(question.name, &[]);
            assert_same(question.name, &cluster.address, &ours, &ask(question.name, &["--engine", &cluster.address]));
        }
    }
    let (_, errors) = folder.ends(2, &["archive", "query", "s3://lines/none", "bleached_ef"]);
    assert!(errors.contains("s3://lines/none/: no archive") && errors.lines().count() == 1, "{errors}");
    let (_, errors) = folder.ends(2, &["archive", "query", "s3://others/all", "bleached_ef"]);
    assert!(errors.contains("others") && errors.lines().count() == 1, "{errors}");
}
