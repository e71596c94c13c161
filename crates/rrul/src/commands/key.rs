//! `rrul key`: keys by which servers are recognized, and tokens that open their sessions.

use rrul_engine::control_link::ServerKey;
use rrul_engine::server::new_secret;

use crate::arguments::KeyAction;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::secret_files;

pub(crate) fn execute(action: KeyAction) -> Result<Outcome, Failure> {
    match action {
        KeyAction::New { file } => {
            let text = ServerKey::generate().map_err(|error| Failure::content(&file, error))?;
            secret_files::create(&file, &text).map_err(Failure::file(&file))?;
            println!("{}", secret_files::server_key(&file)?.fingerprint());
        }
        KeyAction::Show { file } => println!("{}", secret_files::server_key(&file)?.fingerprint()),
        KeyAction::Token { name } => {
            let secret = new_secret().map_err(Failure::system("cannot make a token"))?;
            let name = name.map(|name| format!(" name={name}")).unwrap_or_default();
            println!("{secret}{name}");
        }
    }
    Ok(Outcome::Good)
}
