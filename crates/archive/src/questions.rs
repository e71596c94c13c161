//! Questions to an archive that come with rrul, in SQL that DuckDB, ClickHouse and DataFusion are meant to read alike.
//!
//! No half is rounded with ROUND: ClickHouse rounds 6.25 to 6.2, the others to 6.3.
//! No name that a question gives to a column is the name of a column of a table: ClickHouse would take the one for the other.

/// Views over the tables that questions use.
pub const VIEWS: &str = include_str!("../questions/views.sql");

/// One question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Its name, that of the file with `.sql`.
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! question {
    ($name:literal) => {
        Question { name: $name, sql: include_str!(concat!("../questions/", $name, ".sql")) }
    };
}

pub const QUESTIONS: [Question; 6] = [
    question!("loaded_p95_by_isp_and_hour"),
    question!("cake_against_none"),
    question!("bleached_ef"),
    question!("a_plus_by_country"),
    question!("before_and_after_firmware"),
    question!("ipv4_against_ipv6"),
];

impl Question {
    /// The question of this name, with or without `.sql`.
    pub fn named(name: &str) -> Option<Self> {
        QUESTIONS.into_iter().find(|question| question.name == name.strip_suffix(".sql").unwrap_or(name))
    }

    /// What it asks, and in the lines after that what the answer is: the comment at its beginning.
    pub fn about(&self) -> impl Iterator<Item = &'static str> {
        about(self.sql)
    }
}

/// The comment at the beginning of a question; what it says of a chart is for programs.
pub fn about(sql: &str) -> impl Iterator<Item = &str> {
    sql.lines().map_while(|line| line.strip_prefix("-- ")).filter(|line| !line.starts_with("chart:"))
}

/// The statements of a text, separated by semicolons at the end of a line; comments belong to none.
pub fn statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split(";\n").map(|part| part.trim().trim_end_matches(';').to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TABLES;

    #[test]
    fn questions_say_what_they_ask() {
        for question in QUESTIONS {
            assert!(question.about().next().unwrap().ends_with('?'), "{}", question.name);
            assert!(question.about().all(|line| line.len() <= 98), "{}: no more than 98 columns", question.name);
            assert_eq!(Question::named(&format!("{}.sql", question.name)), Some(question));
        }
        assert_eq!(Question::named("x"), None);
    }

    #[test]
    fn no_name_of_a_result_is_that_of_a_column() {
        let names: Vec<&str> = TABLES.iter().flat_map(|table| table.columns).map(|column| column.name).collect();
        for question in QUESTIONS {
            let words: Vec<&str> = question.sql.split_whitespace().collect();
            for pair in words.windows(2).filter(|pair| pair[0] == "AS") {
                let alias = pair[1].trim_end_matches([',', ')']);
                assert!(!names.contains(&alias) && !["date", "site"].contains(&alias), "{}: {alias}", question.name);
            }
        }
    }

    #[test]
    fn statements_are_separated() {
        let found = statements(VIEWS);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|one| one.starts_with("CREATE VIEW ") && !one.contains(';')), "{found:?}");
    }
}
