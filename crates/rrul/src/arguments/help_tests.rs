//! The help of every command: one line for each option, with units and defaults.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Arguments;

/// Columns of `-h` as printed to a wide terminal; `max_term_width` of [`Arguments`].
const WIDTH: usize = 100;

/// Every command that the help lists, with the commands below it: `rrul lab up` as well.
fn commands() -> Vec<Command> {
    let mut root = Arguments::command().term_width(WIDTH);
    root.build();
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let below: Vec<Command> =
            found[next].get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
        found.extend(below);
        next += 1;
    }
    found
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| !argument.is_hide_set())
}

#[test]
fn short_help_has_one_line_of_at_most_100_columns_for_each_option_and_command() {
    for mut command in commands() {
        let help = command.render_help().to_string();
        let name = command.get_bin_name().unwrap_or("rrul").to_owned();
        for line in help.lines() {
            assert!(line.chars().count() <= WIDTH, "{name} -h: {line}");
            // clap indents the second line of a text as far as the text itself, and an option by at most six.
            assert!(!line.starts_with("        "), "{name} -h: continued in a second line: {line}");
        }
    }
}

#[test]
fn help_of_each_option_is_one_plain_line_that_starts_with_a_capital() {
    for command in commands() {
        for argument in shown(&command) {
            let id = format!("{} {}", command.get_name(), argument.get_id());
            let help = argument.get_help().unwrap_or_else(|| panic!("{id} has no help")).to_string();
            assert!(help.starts_with(char::is_uppercase), "{id}: {help}");
            assert!(!help.ends_with('.'), "{id}: the first line is no sentence with a full stop: {help}");
        }
    }
}

#[test]
fn every_option_with_a_value_names_the_value_and_shows_its_default() {
    for mut command in commands() {
        let long = command.clone().render_long_help().to_string();
        let short = command.render_help().to_string();
        for argument in shown(&command) {
            let id = format!("{} {}", command.get_name(), argument.get_id());
            if argument.is_positional() || !argument.get_action().takes_values() {
                continue;
            }
            // One that must be given has no default.
            let required = argument.is_required_set();
            let names = argument.get_value_names().unwrap_or_else(|| panic!("{id}: no value name"));
            assert!(
                names.iter().all(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '=')),
                "{id}: {names:?}"
            );
            let option = format!("--{} ", argument.get_long().unwrap());
            let line = short.lines().find(|line| line.contains(&option)).unwrap_or_else(|| panic!("{id}: not in -h"));
            let repeatable = matches!(argument.get_action(), ArgAction::Append) && line.contains("(repeatable)");
            let block = long.split_once(&option).unwrap().1.split("\n      --").next().unwrap();
            assert!(
                required || line.contains("[default: ") || repeatable || block.contains("Default: "),
                "{id}: no default: {line}"
            );
        }
    }
}

#[test]
fn a_rate_and_a_time_have_a_default_with_its_unit() {
    for command in commands() {
        for argument in shown(&command) {
            let unit: &[&str] = match argument.get_value_names().and_then(<[_]>::first).map(clap::builder::Str::as_str)
            {
                Some("RATE") => &["bit/s"],
                Some("TIME") => &["s", "min", "h"],
                _ => continue,
            };
            let default =
                argument.get_default_values().first().expect("a rate or a time has a default").to_string_lossy();
            assert!(unit.iter().any(|unit| default.ends_with(unit)), "{}: {default}", argument.get_id());
        }
    }
}
