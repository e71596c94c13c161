//! A parameter of a flow type as a plan writes it, checked against its kind.

use std::net::IpAddr;

use crate::flow::{Parameter, ParameterKind};
use crate::units::{BitRate, ByteCount, parse_duration};

use super::PlanError;
use super::document::{Node, Value};

const MOST_COUNTED: i64 = 10_000;
const MOST_OCTETS_OF_URL: usize = 1500;

/// The value that `node` has for the parameter `key`.
pub(super) fn parameter(node: &Node, key: &str, kind: ParameterKind) -> Result<Parameter, PlanError> {
    match kind {
        ParameterKind::Duration => quantity(node, key, "20ms", parse_duration),
        ParameterKind::Size => quantity(node, key, "200B", str::parse::<ByteCount>),
        ParameterKind::Rate => quantity(node, key, "20Mbit/s", str::parse::<BitRate>),
        ParameterKind::Name => match text_of(node, key)? {
            "" => Err(node.error(key, "must not be empty")),
            text => Ok(Parameter::Text(text.to_owned())),
        },
        ParameterKind::Url => match text_of(node, key)? {
            text if is_url(text) => Ok(Parameter::Text(text.to_owned())),
            text => {
                let message = format_args!("\"{text}\" is not a URL; write it like https://example.com/");
                Err(node.error(key, message))
            }
        },
        ParameterKind::Choice(known) => choice(node, key, known, "", |_| false),
        ParameterKind::ChoiceOrAddress(known) => {
            choice(node, key, known, ", or an IP address", |text| text.parse::<IpAddr>().is_ok())
        }
        ParameterKind::Count => match node.value {
            Value::Integer(count @ 0..=MOST_COUNTED) => Ok(Parameter::Integer(count)),
            _ => Err(node.error(key, format_args!("write a number from 0 to {MOST_COUNTED}"))),
        },
    }
}

/// Whether this has the form of an address of the web; who takes part in a test reads the rest.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let is_clean = !text.chars().any(|character| character.is_control() || character.is_whitespace());
    text.len() <= MOST_OCTETS_OF_URL && is_clean && host.is_some_and(|host| !host.is_empty())
}

/// One of these names, or other text that will do.
fn choice(
    node: &Node,
    key: &str,
    known: &[&str],
    or: &str,
    will_do: impl Fn(&str) -> bool,
) -> Result<Parameter, PlanError> {
    match text_of(node, key)? {
        text if known.contains(&text) || will_do(text) => Ok(Parameter::Text(text.to_owned())),
        text => Err(node.error(key, format_args!("unknown \"{text}\"; known: {}{or}", known.join(", ")))),
    }
}

/// A quantity with its unit, kept as it was written.
fn quantity<T, E: std::fmt::Display>(
    node: &Node,
    key: &str,
    example: &str,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Parameter, PlanError> {
    let text = quantity_of(node, key, example)?;
    read(text).map(|_| Parameter::Text(text.to_owned())).map_err(|error| node.error(key, error))
}

pub(super) fn text_of<'a>(node: &'a Node, key: &str) -> Result<&'a str, PlanError> {
    match &node.value {
        Value::Text(text) => Ok(text),
        _ => Err(node.error(key, "write text in quotes")),
    }
}

/// The text of a quantity; a bare number lacks its unit.
pub(super) fn quantity_of<'a>(node: &'a Node, key: &str, example: &str) -> Result<&'a str, PlanError> {
    text_of(node, key)
        .map_err(|_| node.error(key, format_args!("write a value with its unit, in quotes: \"{example}\"")))
}
