//! `rrul archive query` with the embedded engine.

use rrul_archive::questions::QUESTIONS;

use crate::folder::Folder;

#[test]
fn questions_are_listed_and_an_unknown_one_names_them() {
    let folder = Folder::with_runs("list", 1, 3);
    let (printed, _) = folder.ends(0, &["archive", "query", "runs"]);
    let (_, errors) = folder.ends(2, &["archive", "query", "runs", "loaded_p96.sql"]);
    assert!(errors.starts_with("rrul: no question or file of SQL named \"loaded_p96.sql\"; known: "), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    for question in QUESTIONS {
        let lines: Vec<_> = question.about().map(|line| format!("  {line}")).collect();
        assert!(printed.contains(&format!("{}\n{}\n", question.name, lines.join("\n"))), "{printed}");
        assert!(errors.contains(question.name), "{errors}");
    }
}

#[test]
fn an_answer_is_text_csv_or_json() {
    let folder = Folder::with_runs("formats", 1, 50);
    let sql = "SELECT 'a,b' AS word, 1.5 AS number, NULL AS nothing, COUNT(*) AS amount FROM runs";
    let asked = |format| folder.ends(0, &["archive", "query", "runs", sql, "--format", format]).0;
    assert_eq!(asked("text"), "word  number  nothing  amount\na,b      1.5  -            50\n");
    assert_eq!(asked("csv"), "word,number,nothing,amount\r\n\"a,b\",1.5,,50\r\n");
    let json: serde_json::Value = serde_json::from_str(&asked("json")).unwrap();
    let expected = serde_json::json!({
        "columns": ["word", "number", "nothing", "amount"],
        "rows": [{ "word": "a,b", "number": 1.5, "nothing": null, "amount": 50 }],
    });
    assert_eq!(json, expected);
}

#[test]
fn a_question_may_be_a_file() {
    let folder = Folder::with_runs("file", 1, 5);
    std::fs::write(folder.0.join("mine.sql"), "-- How many?\nSELECT COUNT(*) AS amount\nFROM runs;\n").unwrap();
    // A changed copy of a shipped question is preferred to it.
    std::fs::write(folder.0.join("bleached_ef.sql"), "SELECT 7 AS amount").unwrap();
    assert_eq!(folder.number("mine.sql", &[]), 5);
    assert_eq!(folder.number("bleached_ef.sql", &[]), 7);
    assert!(folder.answer("bleached_ef", &[])["columns"].as_array().unwrap().len() > 1);
}

#[test]
fn a_percentile_is_that_of_all_packets_of_the_runs() {
    // The truth from the rows of the runs, without an engine.
    let (seed, runs) = (3, 40);
    let folder = Folder::with_runs("truth", seed, runs);
    let mut bins = std::collections::BTreeMap::<i64, i64>::new();
    for run in (0..runs).map(|index| rrul_archive::synthetic::run(seed, index)) {
        if run.run.validity.as_deref() == Some("invalid") {
            continue;
        }
        for row in &run.delays {
            if row.phase.as_deref() == Some("load") && row.direction.as_deref() == Some("both") {
                *bins.entry(row.bin.unwrap()).or_default() += row.n.unwrap();
            }
        }
    }
    let total: i64 = bins.values().sum();
    let mut reached = 0;
    let p95 = bins.iter().find(|(_, n)| {
        reached += **n;
        reached * 100 >= total * 95
    });
    let sql = "WITH b AS (SELECT bin AS place, SUM(n) AS amount FROM delays d JOIN valid_v1 r ON d.run_key = r.run_key \
        WHERE d.phase = 'load' AND d.direction = 'both' AND d.headline = 1 GROUP BY bin), \
        s AS (SELECT place, SUM(amount) OVER (ORDER BY place) AS reached, SUM(amount) OVER () AS total FROM b) \
        SELECT MIN(place) AS p95 FROM s WHERE reached * 100 >= total * 95";
    assert_eq!(folder.number(sql, &[]), *p95.unwrap().0);
    let shipped = folder.answer("loaded_p95_by_isp_and_hour", &[]);
    let packets: i64 = shipped["rows"].as_array().unwrap().iter().map(|row| row["probes"].as_i64().unwrap()).sum();
    assert_eq!(packets, total);
}

#[test]
fn mistakes_in_sql_are_one_line_that_names_the_place() {
    let folder = Folder::with_runs("sql", 1, 3);
    for (sql, words) in [
        ("SELECT FROM WHERE x", "SQL, line 1, column "),
        ("SELECT run_id,\n  ips FROM runs", "SQL, line 2, column 3: "),
        ("SELECT * FROM nothing", "nothing"),
        ("SELECT NOFUNCTION(1) FROM runs", "nofunction"),
        ("DROP TABLE runs", "not supported"),
        ("COPY runs TO 'out.csv'", "not supported"),
        ("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '/etc'", "not supported"),
        ("SET datafusion.execution.batch_size = 1", "not supported"),
        ("SELECT 1 AS a; SELECT 2 AS b", "SQL"),
    ] {
        let (printed, errors) = folder.ends(2, &["archive", "query", "runs", sql]);
        assert!(printed.is_empty() && errors.lines().count() == 1, "{sql}: {printed}{errors}");
        assert!(errors.to_lowercase().contains(&words.to_lowercase()), "{sql}: {errors}");
    }
    assert!(!folder.0.join("out.csv").exists());
}

#[test]
fn every_shipped_question_draws_its_answer() {
    let folder = Folder::with_runs("drawn", 7, 400);
    for question in QUESTIONS {
        let name = format!("{}.svg", question.name);
        folder.ends(0, &["archive", "query", "runs", question.name, "--chart", &name]);
        let svg = std::fs::read_to_string(folder.0.join(&name)).unwrap();
        let asked = question.about().next().unwrap();
        assert!(svg.contains(asked) && !svg.contains("Nothing to draw"), "{name}");
    }
}

#[test]
fn a_chart_that_cannot_be_drawn_is_one_line_and_no_file() {
    let folder = Folder::with_runs("undrawn", 1, 3);
    let sql = "SELECT isp, COUNT(*) AS runs_of_it FROM runs GROUP BY isp\n-- chart: bars x=isp y=n";
    for (question, file, words) in [
        ("SELECT 1 AS one", "x.svg", "the question says no chart"),
        (sql, "x.svg", "no column \"n\" in the answer; it has isp, runs_of_it"),
        (sql, "x.gif", "x.gif: the name must end in .svg, .png or .pdf"),
    ] {
        let (_, errors) = folder.ends(2, &["archive", "query", "runs", question, "--chart", file]);
        assert!(errors.contains(words) && errors.lines().count() == 1, "{errors}");
        assert!(!folder.0.join(file).exists());
    }
    std::fs::write(folder.0.join("mine.svg"), "mine").unwrap();
    folder.ends(2, &["archive", "query", "runs", "bleached_ef", "--chart", "mine.svg"]);
    assert_eq!(std::fs::read_to_string(folder.0.join("mine.svg")).unwrap(), "mine");
    folder.ends(0, &["archive", "query", "runs", "bleached_ef", "--chart", "mine.svg", "--force"]);
}

#[test]
fn a_question_that_needs_more_memory_than_it_may_have_is_an_error() {
    let folder = Folder::with_runs("memory", 1, 200);
    let sql = "SELECT ARRAY_AGG(a.kind) AS x FROM delays a JOIN delays b ON a.run_key = b.run_key";
    let (_, errors) = folder.ends(2, &["archive", "query", "runs", sql, "--memory", "4MB"]);
    assert!(errors.contains("needs more than 4 MB of memory") && errors.lines().count() == 1, "{errors}");
}

#[test]
fn wrong_options_are_one_line() {
    let folder = Folder::with_runs("options", 1, 3);
    for (options, words) in [
        (&["--engine", "spark://x"][..], "--engine \"spark://x\": "),
        (&["--from", "2026-02-30"], "write a day as 2026-01-31"),
        (&["--memory", "much"], "is not a valid size"),
    ] {
        let (_, errors) = folder.ends(2, &[&["archive", "query", "runs", "bleached_ef"], options].concat());
        assert!(errors.contains(words), "{errors}");
    }
    let (_, errors) = folder.ends(2, &["archive", "query", "none", "bleached_ef"]);
    assert!(errors.contains("none: no archive"), "{errors}");
}
