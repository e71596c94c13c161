//! `rrul key`: keys by which servers are recognized, and keys, tokens and tickets that open their sessions.

#[cfg(feature = "tickets")]
use std::time::SystemTime;

use rrul_engine::control_link::ServerKey;
use rrul_engine::server::new_secret;
#[cfg(feature = "tickets")]
use rrul_engine::server::{QuotaClass, Ticket, TicketTerms};

use crate::arguments::KeyAction;
#[cfg(feature = "tickets")]
use crate::arguments::TicketArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::secret_files;

pub(crate) fn execute(action: KeyAction) -> Result<Outcome, Failure> {
    let named = |name: Option<String>| name.map(|name| format!(" name={name}")).unwrap_or_default();
    match action {
        KeyAction::New { file } => {
            let text = ServerKey::generate().map_err(|error| Failure::content(&file, error))?;
            secret_files::create(&file, &text).map_err(Failure::file(&file))?;
            println!("{}", secret_files::server_key(&file)?.fingerprint());
        }
        KeyAction::Show { file } => println!("{}", secret_files::server_key(&file)?.fingerprint()),
        #[cfg(feature = "tickets")]
        KeyAction::Public { file, name, issuer } => {
            let key = secret_files::client_key(&file)?.public();
            let key = if issuer { format!("issuer:{}", key.to_base64()) } else { key.to_string() };
            println!("{key}{}", named(name));
        }
        KeyAction::Token { name } => {
            let secret = new_secret().map_err(Failure::system("cannot make a token"))?;
            println!("{secret}{}", named(name));
        }
        #[cfg(feature = "tickets")]
        KeyAction::Ticket(arguments) => println!("{}", ticket(arguments, SystemTime::now())?),
    }
    Ok(Outcome::Good)
}

/// Why a ticket cannot end then.
#[cfg(feature = "tickets")]
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExpiryError {
    #[error(transparent)]
    Day(#[from] secret_files::DayError),
    #[error("this is past; no server would accept the ticket")]
    Past,
}

#[cfg(feature = "tickets")]
fn ticket(arguments: TicketArguments, now: SystemTime) -> Result<Ticket, Failure> {
    let TicketArguments { issuer, holder, expires: when, name, tests_per_hour, data_per_day } = arguments;
    let key = secret_files::client_key(&issuer)?;
    let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let expires = secret_files::instant(&when).map_err(ExpiryError::Day);
    let expires = expires.and_then(|expires| if expires > now { Ok(expires) } else { Err(ExpiryError::Past) });
    let expires = expires.map_err(|problem| Failure::Expiry { when, problem })?;
    let quota = QuotaClass { tests_per_hour, octets_per_day: data_per_day.map(|size| size.0) };
    Ok(Ticket::issue(&key, TicketTerms { holder, name: name.unwrap_or_default(), expires, quota })?)
}
