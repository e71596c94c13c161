//! Reading TOML so that every complaint names file, line and key.

use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use rrul_model::units::parse_duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Error;

/// A file being read.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// The whole document.
    pub(crate) fn parse(self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            self.error(&span, "", error.message().lines().next().unwrap_or("not TOML"))
        })
    }

    /// The outermost section.
    pub(crate) fn root(self, document: &'a Spanned<DeTable<'a>>, known: &[&str]) -> Result<Section<'a>, Error> {
        Section::new(self, String::new(), document.get_ref(), document.span(), known)
    }

    pub(crate) fn error(self, span: &Range<usize>, key: &str, problem: impl Into<String>) -> Error {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        Error::LinkFile {
            file: self.file.to_owned(),
            line: 1 + before.matches('\n').count(),
            key: if key.is_empty() { String::new() } else { format!("{key}: ") },
            problem: problem.into(),
        }
    }
}

/// A table in which only known keys stand.
pub(crate) struct Section<'a> {
    source: Source<'a>,
    path: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
}

impl<'a> Section<'a> {
    fn new(
        source: Source<'a>,
        path: String,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        known: &[&str],
    ) -> Result<Self, Error> {
        let section = Self { source, path, table, span };
        for key in table.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                let problem = format!("unknown key; known here: {}", known.join(", "));
                return Err(source.error(&key.span(), &section.full(key.get_ref()), problem));
            }
        }
        Ok(section)
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of `key`, if any.
    pub(crate) fn get(&self, key: &str) -> Option<Entry<'a>> {
        let value = self.table.get(key)?;
        Some(Entry { source: self.source, key: self.full(key), value })
    }

    /// The value of `key`, which must exist; `example` shows how to write it.
    pub(crate) fn require(&self, key: &str, example: &str) -> Result<Entry<'a>, Error> {
        self.get(key)
            .ok_or_else(|| self.source.error(&self.span, &self.full(key), format!("missing; write {key} = {example}")))
    }

    /// A complaint about the section as a whole.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        self.source.error(&self.span, &self.path, problem)
    }
}

/// A value with its key.
pub(crate) struct Entry<'a> {
    source: Source<'a>,
    key: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Entry<'a> {
    /// A complaint about this value.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        self.source.error(&self.value.span(), &self.key, problem)
    }

    fn wrong(&self, wanted: &str) -> Error {
        self.fail(format!("{} found; write {wanted}", self.value.get_ref().type_str()))
    }

    pub(crate) fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    pub(crate) fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// A quantity in quotes.
    pub(crate) fn parse<T: FromStr>(&self, example: &str) -> Result<T, Error>
    where
        T::Err: std::fmt::Display,
    {
        let text = self.as_text().ok_or_else(|| self.wrong(example))?;
        text.parse().map_err(|error: T::Err| self.fail(error.to_string()))
    }

    pub(crate) fn duration(&self) -> Result<Duration, Error> {
        let text = self.as_text().ok_or_else(|| self.wrong("\"20ms\""))?;
        parse_duration(text).map_err(|error| self.fail(error.to_string()))
    }

    /// `"1%"`, as 0 to 1.
    pub(crate) fn probability(&self) -> Result<f64, Error> {
        let number = self.as_text().and_then(|text| text.strip_suffix('%')?.trim().parse::<f64>().ok());
        let share = number.filter(|percent| (0.0..=100.0).contains(percent)).map(|percent| percent / 100.0);
        share.ok_or_else(|| self.fail("not a probability; write a share from \"0%\" to \"100%\""))
    }

    pub(crate) fn integer(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, Error> {
        let number = self.value.get_ref().as_integer().and_then(|integer| integer.as_str().parse::<u64>().ok());
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.fail(format!("not a whole number from {} to {}", range.start(), range.end())))
    }

    pub(crate) fn flag(&self) -> Result<bool, Error> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub(crate) fn list(&self) -> Result<Vec<Entry<'a>>, Error> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.wrong("a list, [...]"))?;
        let entry = |value| Entry { source: self.source, key: self.key.clone(), value };
        Ok(array.iter().map(entry).collect())
    }

    fn table(&self, wanted: &str) -> Result<&'a DeTable<'a>, Error> {
        self.value.get_ref().as_table().ok_or_else(|| self.wrong(wanted))
    }

    /// A table in which only these keys may stand; `wanted` says how to write it.
    pub(crate) fn section(&self, wanted: &str, known: &[&str]) -> Result<Section<'a>, Error> {
        Section::new(self.source, self.key.clone(), self.table(wanted)?, self.value.span(), known)
    }

    /// The value of `key` of a table with any keys; `wanted` says how to write the table.
    pub(crate) fn member(&self, key: &str, wanted: &str) -> Result<Entry<'a>, Error> {
        let value = self.table(wanted)?.get(key);
        let value = value.ok_or_else(|| self.fail(format!("missing {key}; write {wanted}")))?;
        Ok(Entry { source: self.source, key: format!("{}.{key}", self.key), value })
    }

    /// A table with free keys.
    pub(crate) fn pairs(&self, wanted: &str) -> Result<Vec<(&'a str, Entry<'a>)>, Error> {
        let pair = |(key, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let name: &'a str = key.get_ref();
            (name, Entry { source: self.source, key: format!("{}.{name}", self.key), value })
        };
        Ok(self.table(wanted)?.iter().map(pair).collect())
    }
}
