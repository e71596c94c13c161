//! `rrul key`: secrets that open a server's sessions.

use rrul_engine::server::new_secret;

use crate::arguments::KeyAction;
use crate::failure::Failure;
use crate::outcome::Outcome;

pub(crate) fn execute(action: KeyAction) -> Result<Outcome, Failure> {
    match action {
        KeyAction::Token { name } => {
            let secret = new_secret().map_err(Failure::system("cannot make a token"))?;
            let name = name.map(|name| format!(" name={name}")).unwrap_or_default();
            println!("{secret}{name}");
        }
    }
    Ok(Outcome::Good)
}
