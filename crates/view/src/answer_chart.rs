//! A chart of the answer to a question about many runs: lines over a number, or bars by name.
//!
//! Which of the two suits, and which columns it shows, says a line of comment in the text of the question:
//!
//! ```text
//! -- chart: lines x=at_hour y=p95_ms each=provider
//! -- chart: bars x=provider y=cake_p95_ms,none_p95_ms
//! ```

use std::str::FromStr;

use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, figures};
use crate::drawing::figure::{Dash, Line, Scale, Segment, Side, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{BESIDE_LEFT, Column, PITCH, PLANE_WIDTH, Page, PlanePlan, Rows, fitted};
use crate::drawing::run_colours::run_colours;
use crate::text::words;
use crate::theme::Theme;

/// What a line of comment with a chart begins with.
const COMMENT: &str = "-- chart:";
/// Most lines, and most bars.
const LINES: usize = 12;
const BARS: usize = 60;
/// From this ratio of values on, an axis of equal ratios shows lines better.
const FAR_APART: f64 = 30.0;
/// Pixels.
const HEIGHT: f64 = 360.0;
const BAR_PITCH: f64 = 20.0;
const BAR: f64 = 13.0;
const BARS_LEFT: f64 = 330.0;
const BARS_WIDTH: f64 = 640.0;
const FIGURES: f64 = 150.0;
/// Ends of names of columns that are units, and how they are written.
const UNITS: [(&str, &str); 5] = [("_ms", "ms"), ("_ns", "ns"), ("_s", "s"), ("_bps", "bit/s"), ("_percent", "%")];

/// How an answer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A line for each name, over a number.
    Lines,
    /// A bar for each row and value.
    Bars,
}

/// Which columns of an answer a chart shows, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerForm {
    shape: Shape,
    /// The number that lines are drawn over, or the names of bars.
    x: Vec<String>,
    /// The values.
    y: Vec<String>,
    /// The columns whose words name a line.
    each: Vec<String>,
}

/// Why an answer cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFormError {
    #[error("the question says no chart; add a line such as \"-- chart: bars x=isp y=p95_ms\"")]
    Missing,
    #[error("chart: {0:?}: write lines or bars, then x=COLUMN, y=COLUMN, and for lines each=COLUMN")]
    Word(String),
    #[error("chart: no column {name:?} in the answer; it has {known}")]
    Column { name: String, known: String },
}

/// One value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Number(f64),
    Text(String),
}

/// An answer to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerTable {
    /// The question in words.
    pub question: String,
    /// What the values are.
    pub about: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl AnswerForm {
    /// What the text of a question says.
    ///
    /// # Errors
    /// When it says nothing of a chart, or what is no chart.
    pub fn in_question(sql: &str) -> Result<Self, AnswerFormError> {
        let line = sql.lines().find_map(|line| line.trim().strip_prefix(COMMENT));
        line.ok_or(AnswerFormError::Missing)?.parse()
    }
}

impl FromStr for AnswerForm {
    type Err = AnswerFormError;

    fn from_str(text: &str) -> Result<Self, AnswerFormError> {
        let mut words = text.split_whitespace();
        let shape = match words.next() {
            Some("lines") => Shape::Lines,
            Some("bars") => Shape::Bars,
            other => return Err(AnswerFormError::Word(other.unwrap_or_default().to_owned())),
        };
        let mut form = Self { shape, x: Vec::new(), y: Vec::new(), each: Vec::new() };
        for word in words {
            let wrong = || AnswerFormError::Word(word.to_owned());
            let (key, columns) = word.split_once('=').ok_or_else(wrong)?;
            let place = match key {
                "x" => &mut form.x,
                "y" => &mut form.y,
                "each" if shape == Shape::Lines => &mut form.each,
                _ => return Err(wrong()),
            };
            *place = columns.split(',').map(str::to_owned).collect();
        }
        let lacks = form.x.is_empty() || form.y.is_empty() || (shape == Shape::Lines && form.x.len() > 1);
        if lacks { Err(AnswerFormError::Word(text.trim().to_owned())) } else { Ok(form) }
    }
}

/// The chart of an answer.
///
/// # Errors
/// When the answer has not the columns that the form names.
pub fn draw_answer(form: &AnswerForm, answer: &AnswerTable, theme: &Theme) -> Result<Drawing, AnswerFormError> {
    let mut page = Page::timeless(theme, answer.question.clone());
    let chosen = Chosen::of(form, answer)?;
    let shown = match form.shape {
        Shape::Lines => chosen.lines(&mut page),
        Shape::Bars => chosen.bars(&mut page),
    };
    if shown {
        page.footnote(&answer.about);
    } else {
        page.message("Nothing to draw. The answer has no row with a value.");
    }
    Ok(page.finish())
}

/// A column of values.
struct Values {
    place: usize,
    /// Its name without the unit.
    name: String,
    unit: &'static str,
}

impl Values {
    fn new(place: usize, column: &str) -> Self {
        let (name, unit) = match UNITS.into_iter().find(|(end, _)| column.ends_with(end)) {
            Some((end, unit)) => (&column[..column.len() - end.len()], unit),
            None => (column, ""),
        };
        let words = name.split('_').map(|word| if is_percentile(word) { word.to_uppercase() } else { word.to_owned() });
        Self { place, name: words.collect::<Vec<_>>().join(" "), unit }
    }

    fn of(&self, row: &[Cell]) -> Option<f64> {
        number(&row[self.place])
    }

    /// Its name with its unit.
    fn words(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{}, {}", self.name, self.unit) }
    }
}

/// `p95`.
fn is_percentile(word: &str) -> bool {
    word.strip_prefix('p').is_some_and(|rank| !rank.is_empty() && rank.bytes().all(|digit| digit.is_ascii_digit()))
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(value) if value.is_finite() => Some(*value),
        _ => None,
    }
}

/// The columns of the answer that are drawn.
struct Chosen<'a> {
    answer: &'a AnswerTable,
    x: Vec<usize>,
    y: Vec<Values>,
    each: Vec<usize>,
}

impl<'a> Chosen<'a> {
    fn of(form: &AnswerForm, answer: &'a AnswerTable) -> Result<Self, AnswerFormError> {
        let place = |name: &String| {
            answer
                .columns
                .iter()
                .position(|column| column == name)
                .ok_or_else(|| AnswerFormError::Column { name: name.clone(), known: answer.columns.join(", ") })
        };
        let places = |names: &[String]| names.iter().map(place).collect::<Result<Vec<_>, _>>();
        let y = form.y.iter().map(|name| Ok(Values::new(place(name)?, name))).collect::<Result<_, _>>()?;
        Ok(Self { answer, x: places(&form.x)?, y, each: places(&form.each)? })
    }

    /// The words of some columns of a row.
    fn name(row: &[Cell], places: &[usize]) -> String {
        let word = |place: &usize| match &row[*place] {
            Cell::Null => "-".to_owned(),
            Cell::Number(value) => value.to_string(),
            Cell::Text(text) => text.clone(),
        };
        places.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// A title for the values, and their unit if it is one.
    fn measure(&self) -> (String, &'static str) {
        let unit = self.y.first().map_or("", |first| first.unit);
        let unit = if self.y.iter().all(|values| values.unit == unit) { unit } else { "" };
        (self.y.iter().map(|values| values.name.as_str()).collect::<Vec<_>>().join(", "), unit)
    }

    /// Whether anything was drawn.
    fn lines(&self, page: &mut Page<'_>) -> bool {
        let mut lines = self.series();
        if lines.is_empty() {
            return false;
        }
        let all = lines.len();
        if all > LINES {
            let most = |line: &(String, Vec<(f64, f64)>)| line.1.iter().map(|(_, y)| *y).fold(f64::MIN, f64::max);
            let mut highest: Vec<f64> = lines.iter().map(most).collect();
            highest.sort_by(|one, other| other.total_cmp(one));
            lines.retain(|line| most(line) >= highest[LINES - 1]);
            lines.truncate(LINES);
            page.subtitle(&format!("{LINES} of {all} are drawn, those with the highest values."));
        }
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let values = || lines.iter().flat_map(|(_, points)| points).map(of);
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
        };
        let (left, right) = ends(|point| point.0);
        let (low, high) = ends(|point| point.1);
        let y = if low > 0.0 && high > low * FAR_APART {
            Side::new(Axis::logarithmic(low, high), Scale::Logarithmic)
        } else if low >= 0.0 {
            Side::new(Axis::from_zero(high, 5), Scale::Linear)
        } else {
            Side::new(Axis::covering(low, high, 5), Scale::Linear)
        };
        let (title, unit) = self.measure();
        let plan = PlanePlan {
            title: &title,
            unit: unit.to_owned(),
            note: None,
            x: Side::new(Axis::covering(left, right, 8), Scale::Linear),
            x_words: Values::new(self.x[0], &self.answer.columns[self.x[0]]).words(),
            y,
            width: PLANE_WIDTH,
            height: HEIGHT,
            side_height: PITCH * lines.len() as f64,
        };
        let (panel, frame) = page.plane(&plan);
        let colours = run_colours(page.theme, lines.len());
        for ((name, points), colour) in lines.iter().zip(&colours) {
            let through = points.iter().map(|(x, y)| (*x, Some(*y))).collect();
            page.figure.line(panel, &Line { name, points: through, colour, width: 1.8, dash: Dash::Solid, height: 4 });
            page.figure.dots(panel, name, points, Stroke { colour, width: 5.0, opacity: 1.0, height: 5 });
        }
        let names: Vec<String> = lines.into_iter().map(|(name, _)| name).collect();
        page.figure.legend(BESIDE_LEFT, frame.top, PITCH, 12.0, &names);
        true
    }

    /// The points of each line, from left to right; several columns of values are several lines.
    fn series(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for row in &self.answer.rows {
            let Some(x) = number(&row[self.x[0]]) else { continue };
            let name = Self::name(row, &self.each);
            for values in &self.y {
                let Some(y) = values.of(row) else { continue };
                let name = match (self.y.len(), name.is_empty()) {
                    (1, false) => name.clone(),
                    (_, true) => values.name.clone(),
                    _ => format!("{name}, {}", values.name),
                };
                match lines.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, points)) => points.push((x, y)),
                    None => lines.push((name, vec![(x, y)])),
                }
            }
        }
        for (_, points) in &mut lines {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        lines
    }

    /// Whether anything was drawn.
    fn bars(&self, page: &mut Page<'_>) -> bool {
        let rows: Vec<&Vec<Cell>> =
            self.answer.rows.iter().filter(|row| self.y.iter().any(|values| values.of(row).is_some())).collect();
        if rows.is_empty() {
            return false;
        }
        let shown = (BARS / self.y.len()).max(1).min(rows.len());
        if shown < rows.len() {
            page.subtitle(&format!("The first {} of {} are drawn.", shown, words::counted(rows.len(), "row")));
        }
        let rows = &rows[..shown];
        let colours = run_colours(page.theme, self.y.len());
        if self.y.len() > 1 {
            page.key(&self.y.iter().map(|values| values.name.clone()).collect::<Vec<_>>());
        }
        // An empty row keeps bars of several values apart from the next ones.
        let pitch = if self.y.len() > 1 { self.y.len() + 1 } else { 1 };
        let mut names = vec![String::new(); rows.len() * pitch];
        for (row, cells) in rows.iter().enumerate() {
            names[row * pitch] = Self::name(cells, &self.x);
        }
        let all = || rows.iter().flat_map(|row| self.y.iter().filter_map(|values| values.of(row)));
        let (low, high) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
        let (title, unit) = self.measure();
        let column = Column {
            title: title.clone(),
            unit: unit.to_owned(),
            note: None,
            x: Side::new(Axis::covering(low, high, 5), Scale::Linear),
            x_words: if unit.is_empty() { title } else { format!("{title}, {unit}") },
            left: BARS_LEFT,
            width: BARS_WIDTH,
        };
        let lines = Rows { names: &names, pitch: BAR_PITCH };
        let placed = page.rows(&lines, std::slice::from_ref(&column));
        let style = TextStyle::left(12.0, Weight::Regular, page.theme.ink);
        for (panel, frame) in placed {
            for (number, (values, colour)) in self.y.iter().zip(&colours).enumerate() {
                let place = |row: usize| row * pitch + number;
                let bars: Vec<Segment> = rows
                    .iter()
                    .enumerate()
                    .filter_map(|(row, cells)| {
                        let at = lines.at(place(row));
                        Some([(0.0, at), (values.of(cells)?, at)])
                    })
                    .collect();
                let stroke = Stroke { colour, width: BAR, opacity: 0.8, height: 3 };
                page.figure.segments(panel, &values.name, &bars, stroke);
                for (row, cells) in rows.iter().enumerate() {
                    let text = values.of(cells).map_or_else(|| "none".to_owned(), figures);
                    let at = lines.text_top(frame, place(row), 12.0);
                    page.figure.text(frame.left + frame.width + 10.0, at, &fitted(&text, style, FIGURES), style);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(columns: &[&str], rows: Vec<Vec<Cell>>) -> AnswerTable {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        AnswerTable { question: "Which line is slow?".to_owned(), about: "P95 of all.".to_owned(), columns, rows }
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    fn form(text: &str) -> AnswerForm {
        AnswerForm::in_question(&format!("-- A question?\n-- chart: {text}\nSELECT 1")).unwrap()
    }

    #[test]
    fn a_question_says_how_its_answer_is_drawn() {
        let lines = form("lines x=at_hour y=p95_ms each=provider");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let expected = AnswerForm {
            shape: Shape::Lines,
            x: names(&["at_hour"]),
            y: names(&["p95_ms"]),
            each: names(&["provider"]),
        };
        assert_eq!(lines, expected);
        assert_eq!(form("bars x=a,b y=c,d").x, names(&["a", "b"]));
        assert_eq!(AnswerForm::in_question("SELECT 1"), Err(AnswerFormError::Missing));
        for wrong in ["", "pie x=a y=b", "bars x=a", "bars y=b", "bars x=a y=b each=c", "lines x=a,b y=c", "bars x"] {
            assert!(matches!(wrong.parse::<AnswerForm>(), Err(AnswerFormError::Word(_))), "{wrong}");
        }
    }

    #[test]
    fn a_column_that_the_answer_has_not_is_named() {
        let table = answer(&["isp", "p95_ms"], Vec::new());
        let error = draw_answer(&form("bars x=isp y=p99_ms"), &table, &Theme::LIGHT).unwrap_err();
        assert_eq!(error.to_string(), "chart: no column \"p99_ms\" in the answer; it has isp, p95_ms");
    }

    #[test]
    fn a_name_of_a_column_is_words_and_a_unit() {
        for (column, words) in [
            ("cake_p95_ms", "cake P95, ms"),
            ("a_plus_percent", "a plus, %"),
            ("up_bps", "up, bit/s"),
            ("runs", "runs"),
            ("p_x", "p x"),
        ] {
            assert_eq!(Values::new(0, column).words(), words);
        }
    }

    #[test]
    fn lines_have_a_name_each_and_their_points_from_left_to_right() {
        let row = |isp: &str, hour: f64, value| vec![text(isp), Cell::Number(hour), value];
        let rows = vec![
            row("A", 20.0, Cell::Number(40.0)),
            row("A", 3.0, Cell::Number(10.0)),
            row("B", 3.0, Cell::Null),
            row("B", 4.0, Cell::Number(7.0)),
        ];
        let table = answer(&["isp", "hour", "p95_ms"], rows);
        let form = form("lines x=hour y=p95_ms each=isp");
        let lines = Chosen::of(&form, &table).unwrap().series();
        let expected = [("A".to_owned(), vec![(3.0, 10.0), (20.0, 40.0)]), ("B".to_owned(), vec![(4.0, 7.0)])];
        assert_eq!(lines, expected);
        assert!(draw_answer(&form, &table, &Theme::LIGHT).unwrap().nothing.is_none());
    }

    #[test]
    fn of_many_lines_and_bars_some_are_drawn_and_the_chart_says_so() {
        let rows: Vec<Vec<Cell>> =
            (0..90).map(|number| vec![text(&format!("isp {number}")), Cell::Number(f64::from(number))]).collect();
        let table = answer(&["isp", "p95_ms"], rows);
        let option = |form| draw_answer(&form, &table, &Theme::LIGHT).unwrap().option.to_string();
        assert!(option(form("bars x=isp y=p95_ms")).contains("The first 60 of 90 rows are drawn."));
        assert!(option(form("lines x=p95_ms y=p95_ms each=isp")).contains("12 of 90 are drawn"));
    }

    #[test]
    fn an_answer_without_values_says_that_nothing_is_drawn() {
        let table = answer(&["isp", "p95_ms"], vec![vec![text("A"), Cell::Null]]);
        for form in [form("bars x=isp y=p95_ms"), form("lines x=p95_ms y=p95_ms each=isp")] {
            assert!(draw_answer(&form, &table, &Theme::LIGHT).unwrap().nothing.is_some());
        }
    }
}
