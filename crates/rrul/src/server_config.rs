//! Options of a server from a file: each key is an option's name, and takes what the option takes.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use toml::Value;

use crate::arguments::{Arguments, ServerArguments};
use crate::failure::{ContentError, Failure};

/// Options that a file does not take.
const GIVEN_ALONE: [&str; 2] = ["config", "check"];

/// Longest file that is read, bytes.
const LONGEST: usize = 1 << 20;

/// The arguments with those of their file, where they name one.
pub(crate) fn completed(arguments: ServerArguments) -> Result<ServerArguments, Failure> {
    let Some(path) = &arguments.config else { return Ok(arguments) };
    let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
    with_file(path, &text, std::env::args_os().skip(2).collect())
}

/// The arguments as given, and those of a file that were not given.
fn with_file(path: &Path, text: &str, given: Vec<OsString>) -> Result<ServerArguments, Failure> {
    let wrong = |problem: String| Failure::content(path, ContentError::Configuration(problem));
    if text.len() > LONGEST {
        return Err(wrong("longer than any list of options".to_owned()));
    }
    let table: toml::Table = text.parse().map_err(|error| wrong(in_one_line(&error, text)))?;
    let parser = server_parser();
    let matches = matches(&parser, given.clone()).map_err(|error| wrong(first_line(&error)))?;
    let mut all = given;
    for (key, value) in table {
        let id = key.replace('-', "_");
        let is_known = |name: &&str| !GIVEN_ALONE.contains(name);
        let known = parser.get_arguments().find(|argument| argument.get_long().filter(is_known) == Some(&key));
        let Some(argument) = known else {
            let known: Vec<&str> = parser.get_arguments().filter_map(clap::Arg::get_long).filter(is_known).collect();
            return Err(wrong(format!("unknown key \"{key}\"; known: {}", known.join(", "))));
        };
        if matches.value_source(&id) == Some(ValueSource::CommandLine) {
            continue;
        }
        let takes_value = argument.get_action().takes_values();
        let values = match value {
            Value::Boolean(set) if !takes_value => {
                all.extend(set.then(|| format!("--{key}").into()));
                continue;
            }
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            let text = match value {
                Value::String(text) => text,
                Value::Integer(number) => number.to_string(),
                _ => return Err(wrong(format!("{key}: write a text or a number, as for --{key}"))),
            };
            all.push(format!("--{key}={text}").into());
        }
    }
    let matches = self::matches(&parser, all).map_err(|error| wrong(first_line(&error)))?;
    ServerArguments::from_arg_matches(&matches).map_err(|error| wrong(first_line(&error)))
}

/// The parser of the options of `rrul server`.
fn server_parser() -> Command {
    let mut parser = Arguments::command();
    parser.build();
    parser.find_subcommand("server").cloned().unwrap_or(parser)
}

fn matches(parser: &Command, arguments: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    let program = std::iter::once(OsString::from("rrul server"));
    parser.clone().try_get_matches_from(program.chain(arguments))
}

/// Returns the first line of a message of the parser, without its `error: `.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn in_one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    format!("line {line}: {}", error.message().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, given: &[&str]) -> Result<ServerArguments, Failure> {
        let given = given.iter().map(OsString::from).collect();
        with_file(Path::new("server.toml"), text, given)
    }

    #[test]
    fn a_file_sets_what_a_flag_sets_and_the_flag_goes_first() {
        let text = "port = 7000\nlisten = [\"192.0.2.1\", \"2001:db8::1\"]\nprivate = true\nmax-length = \"30s\"\nallow-flood = \"5Mbit/s\"\n";
        let arguments = read(text, &["--port", "8000"]).unwrap();
        assert_eq!(arguments.port, 8000);
        assert_eq!(arguments.listen.len(), 2);
        assert!(arguments.private);
        assert_eq!(arguments.max_length.as_secs(), 30);
        assert_eq!(arguments.allow_flood.0, 5_000_000);
        assert!(!read("private = false\n", &[]).unwrap().private);
    }

    #[test]
    fn every_option_can_be_in_the_file() {
        for argument in server_parser().get_arguments().filter(|argument| argument.get_long() != Some("help")) {
            let Some(name) = argument.get_long().filter(|name| !GIVEN_ALONE.contains(name)) else { continue };
            let unknown = read(&format!("{name} = [[]]"), &[]).unwrap_err().to_string();
            assert!(!unknown.contains("unknown key"), "{name}: {unknown}");
        }
    }

    #[test]
    fn every_line_of_the_file_that_is_shipped_can_be_put_in_force() {
        let text = include_str!("../../../packaging/server.toml");
        let options: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        let options: Vec<&str> = options.into_iter().filter(|line| line.contains(" = ")).collect();
        assert!(options.len() > 5, "{options:?}");
        read(&options.join("\n"), &[]).unwrap();
        read(text, &[]).unwrap();
    }

    #[test]
    fn a_mistake_is_one_line_that_names_the_file() {
        for (text, words) in [
            ("prt = 1", "unknown key \"prt\"; known: listen, port"),
            ("port = \"x\"", "'--port <PORT>'"),
            ("port = [", "line 1: "),
            ("\nport = 70000", "'--port <PORT>'"),
            ("max-length = 1.5", "max-length: write a text or a number"),
            ("config = \"other.toml\"", "unknown key \"config\""),
            ("check = true", "unknown key \"check\""),
        ] {
            let error = read(text, &[]).unwrap_err().to_string();
            assert!(error.starts_with("server.toml: ") && error.contains(words) && !error.contains('\n'), "{error}");
        }
    }
}
