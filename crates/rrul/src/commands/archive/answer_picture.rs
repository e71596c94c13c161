//! `rrul archive query --chart FILE`: the answer drawn.

use std::path::Path;

use rrul_archive::query::answer::Answer;
use rrul_archive::questions::about;
use rrul_archive::table::Value;
use rrul_view::Theme;
use rrul_view::answer_chart::{AnswerForm, AnswerTable, Cell, draw_answer};
use rrul_view::drawing::svg::with_renderer;

use crate::commands::plot::{Look, format_of, write_picture};
use crate::failure::{ContentError, Failure};

/// Pixels of PNG for each of the chart's units.
const SCALE: f32 = 2.0;

/// What is to be drawn of an answer, and where.
pub(super) struct AnswerPicture<'a> {
    pub(super) path: &'a Path,
    sql: &'a str,
    form: AnswerForm,
    overwrite: bool,
}

impl<'a> AnswerPicture<'a> {
    pub(super) fn new(path: &'a Path, sql: &'a str, overwrite: bool) -> Result<Self, Failure> {
        format_of(path)?;
        if !overwrite && path.exists() {
            return Err(Failure::content(path, ContentError::Exists));
        }
        Ok(Self { path, sql, form: AnswerForm::in_question(sql)?, overwrite })
    }

    pub(super) fn write(&self, answer: Answer) -> Result<(), Failure> {
        let cell = |value| match value {
            Value::Null => Cell::Null,
            Value::Count(count) => Cell::Number(count as f64),
            Value::Number(number) => Cell::Number(number),
            Value::Text(text) => Cell::Text(text),
        };
        let mut about = about(self.sql);
        let table = AnswerTable {
            question: about.next().unwrap_or("Answer").to_owned(),
            about: about.collect::<Vec<_>>().join(" "),
            columns: answer.columns,
            rows: answer.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
        };
        let drawing = draw_answer(&self.form, &table, &Theme::LIGHT)?;
        let svg = with_renderer(|renderer| renderer.svg(&drawing))?;
        let look = Look { theme: &Theme::LIGHT, scale: SCALE, overwrite: self.overwrite };
        write_picture(svg, look, self.path)
    }
}
