//! `rrul archive query DIR QUESTION`.

use std::borrow::Cow;
use std::fs;
use std::io::Write;
use std::path::Path;

#[cfg(feature = "cluster")]
use rrul_archive::query::cluster::Scheduler;
use rrul_archive::query::period::Period;
use rrul_archive::query::place::Place;
use rrul_archive::query::session::Session;
use rrul_archive::questions::{QUESTIONS, Question};

#[cfg(feature = "charts")]
use super::answer_picture::AnswerPicture;
use crate::arguments::{AnswerFormat, QueryArguments};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::{print_json, say};

pub(crate) fn query(arguments: &QueryArguments) -> Result<Outcome, Failure> {
    let archive = Place::new(&arguments.archive)?;
    let Some(question) = &arguments.question else {
        list();
        return Ok(Outcome::Good);
    };
    let sql = sql(question)?;
    // Mistakes in what is to be drawn show before an answer is waited for.
    #[cfg(feature = "charts")]
    let picture = arguments.chart.as_deref().map(|path| AnswerPicture::new(path, &sql, arguments.force)).transpose()?;
    let answer = session(&archive, arguments)?.ask(&sql)?;
    match arguments.format {
        AnswerFormat::Text => answer.text().lines().for_each(say),
        AnswerFormat::Csv => {
            // A reader that has gone is no reason to stop.
            let _ = std::io::stdout().write_all(answer.csv().as_bytes());
        }
        AnswerFormat::Json => print_json(&answer.json())?,
    }
    #[cfg(feature = "charts")]
    if let Some(picture) = &picture {
        picture.write(answer)?;
        // Other formats are for programs, which read nothing else.
        if arguments.format == AnswerFormat::Text {
            say(format_args!("chart: {}", picture.path.display()));
        }
    }
    Ok(Outcome::Good)
}

fn list() {
    for question in QUESTIONS {
        say(question.name);
        question.about().for_each(|line| say(format_args!("  {line}")));
    }
}

/// The text of a question. SQL has blanks, and names have none.
fn sql(question: &str) -> Result<Cow<'static, str>, Failure> {
    let file = Path::new(question);
    if question.contains(char::is_whitespace) && !file.is_file() {
        return Ok(Cow::Owned(question.to_owned()));
    }
    if file.extension().is_some_and(|ending| ending == "sql") && file.is_file() {
        return Ok(Cow::Owned(fs::read_to_string(file).map_err(Failure::file(file))?));
    }
    let known = || QUESTIONS.map(|question| question.name).join(", ");
    Question::named(question).map(|shipped| Cow::Borrowed(shipped.sql)).ok_or_else(|| Failure::NotFound {
        what: "question or file of SQL",
        name: question.to_owned(),
        known: known(),
    })
}

fn session(archive: &Place, arguments: &QueryArguments) -> Result<Session, Failure> {
    let period = Period { from: arguments.from.clone(), to: arguments.to.clone() };
    let memory = arguments.memory.0;
    match arguments.engine.as_str() {
        "embedded" => Ok(Session::embedded(archive, &period, memory)?),
        #[cfg(feature = "cluster")]
        address => {
            let scheduler: Scheduler = address.parse().map_err(|_| {
                Failure::QueryEngine(address.to_owned(), "use embedded, or df://HOST:PORT of a scheduler")
            })?;
            Ok(Session::with_cluster(archive, &period, memory, &scheduler)?)
        }
        #[cfg(not(feature = "cluster"))]
        other => Err(Failure::QueryEngine(
            other.to_owned(),
            "this build has embedded alone; one with feature cluster also has df://HOST:PORT",
        )),
    }
}
