//! The options of `rrul key`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct KeyArguments {
    #[command(subcommand)]
    pub(crate) action: KeyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyAction {
    #[cfg_attr(feature = "tickets", doc = " Make a key of a server, client or issuer, and print its fingerprint")]
    #[cfg_attr(feature = "tickets", doc = "")]
    #[cfg_attr(
        feature = "tickets",
        doc = " For rrul server --key, rrul run --token-file and rrul key ticket --issuer."
    )]
    #[cfg_attr(not(feature = "tickets"), doc = " Make a key for rrul server --key, and print its fingerprint")]
    New {
        /// File to write
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the fingerprint of a key
    Show {
        /// File of the key
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    #[cfg(feature = "tickets")]
    /// Print the public key of a client, as a line for rrul server --tokens
    ///
    /// The client gives this line to the operator of the server, and keeps the file for rrul run --token-file.
    Public {
        /// File of the key
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Whose it is, for the log of the server
        #[arg(value_name = "NAME", value_parser = token_name)]
        name: Option<String>,
        /// Print the line of an issuer, whose tickets the server is to accept
        #[arg(long)]
        issuer: bool,
    },
    /// Print a new token, as a line for rrul server --tokens
    ///
    /// The client keeps the same line in the file of rrul run --token-file.
    Token {
        /// Whose it is, for the log of the server
        #[arg(value_name = "NAME", value_parser = token_name)]
        name: Option<String>,
    },
    #[cfg(feature = "tickets")]
    /// Print a ticket: access for the holder of a key, until a day
    ///
    /// Servers accept it that have the line of rrul key public --issuer. The client keeps the ticket in the file of its key.
    Ticket(TicketArguments),
}

#[cfg(feature = "tickets")]
#[derive(Debug, Args)]
pub(crate) struct TicketArguments {
    /// File of the issuer's key
    #[arg(long, value_name = "FILE")]
    pub(crate) issuer: PathBuf,
    /// Public key of the client, as rrul key public prints it
    #[arg(long, value_name = "KEY")]
    pub(crate) holder: rrul_engine::server::PublicKey,
    /// Last day of the ticket (UTC), such as 2026-12-31
    ///
    /// Or a time, such as 2026-12-31T18:00:00Z.
    #[arg(long, value_name = "DAY")]
    pub(crate) expires: String,
    /// Whose it is, for the log of the server [default: none]
    #[arg(long, value_name = "NAME", value_parser = token_name)]
    pub(crate) name: Option<String>,
    /// Tests an hour of the client; 0 is no limit [default: the server's]
    ///
    /// The issuer's line of the server's list may grant less.
    #[arg(long, value_name = "N")]
    pub(crate) tests_per_hour: Option<u32>,
    /// Data a day of the client; 0B is no limit [default: the server's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) data_per_day: Option<rrul_model::units::ByteCount>,
}

fn token_name(text: &str) -> Result<String, TokenNameError> {
    let is_word = !text.is_empty() && text.len() <= 32 && text.chars().all(|c| c.is_ascii_graphic());
    is_word.then(|| text.to_owned()).ok_or(TokenNameError)
}

#[derive(Debug, thiserror::Error)]
#[error("a name is one word of at most 32 ASCII characters")]
struct TokenNameError;
