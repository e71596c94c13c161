use rrul_archive::document::archive_document;

#[test]
fn the_document_of_the_archive_is_made_from_the_tables() {
    let made = archive_document();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/archive.md");
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(path, &made).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    assert!(
        found == made,
        "docs/archive.md differs; write it again: RRUL_GOLDEN=write cargo test -p rrul-archive document"
    );
    for line in made.lines().filter(|line| line.starts_with('|')) {
        assert!([3, 4].contains(&line.matches('|').count()), "a bar within a cell: {line}");
    }
}
