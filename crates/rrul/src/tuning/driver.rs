//! Opens the shaper that an address names.

use std::path::PathBuf;

use super::changeable::Changeable;
use super::drivers::command::CommandShaper;
use super::drivers::lab::LabShaper;
use super::drivers::openwrt::OpenwrtShaper;
use super::drivers::tc::TcShaper;
use super::dry_run::DryRun;
use super::guarded::Guarded;
use super::host::Host;
use super::journal::{self, Journal};
use super::shaper::{Shaper, ShaperError};
use super::shaper_address::ShaperAddress;
use crate::live_screen::terminal;

/// What `--shaper` is, for its help.
pub(crate) const SHAPER_HELP: &str = "\
The shaper to set, live and without touching its configuration:
openwrt:root@192.168.1.1[,iface=wan]: SQM of OpenWrt, by ssh with a key;
tc:down=ifb4eth0,up=eth0[,host=root@router]: cake, htb or tbf at the root of interfaces, here or by ssh;
lab:NAME: the shapers of a lab that is up;
command:'./set.sh {down} {up}': any command, with the rates in bit/s; a direction without a limit gets 10000000000";

/// What `--restore-command` is, for its help.
pub(crate) const RESTORE_COMMAND_HELP: &str = "\
For --shaper command:..., the command that sets what was set before. It runs at the end, also when this program is killed, and \
once before the first change to see that it works";

/// How shapers are opened.
#[derive(Debug, Clone)]
pub(crate) struct DriverOptions {
    /// Restores what the script of `command` has changed.
    pub(crate) restore_command: Option<String>,
    /// Whether what the script of `command` sets is on this host.
    pub(crate) on_this_host: bool,
    /// Where journals are.
    pub(crate) journal_folder: PathBuf,
    /// Sets nothing, and prints what would be set.
    pub(crate) dry_run: bool,
    /// The ssh program.
    pub(crate) ssh: String,
}

impl Default for DriverOptions {
    fn default() -> Self {
        Self {
            restore_command: None,
            on_this_host: false,
            journal_folder: journal::default_folder(),
            dry_run: false,
            ssh: "ssh".to_owned(),
        }
    }
}

/// Opens a shaper and reads it. What an earlier session has left changed is restored first.
pub(crate) fn open(address: &ShaperAddress, options: &DriverOptions) -> Result<Box<dyn Shaper>, ShaperError> {
    if options.dry_run {
        return Ok(Box::new(DryRun(find(address, options)?)));
    }
    let journal = Journal::lock(&options.journal_folder, &key(address))?;
    if let Some(left) = journal.stale()? {
        terminal::say(&format!("restoring {}, which an earlier session left changed", left.title));
        left.run(&options.ssh).map_err(|error| ShaperError::Refused {
            place: left.title.clone(),
            reason: format!(
                "an earlier session left it changed, and restoring it fails: {error}; restore it by hand and remove {}",
                journal.path().display()
            ),
        })?;
        journal.clear()?;
    }
    Ok(Box::new(Guarded::new(find(address, options)?, journal, &options.ssh)))
}

/// Restores every shaper that sessions have left changed; returns their titles.
pub(crate) fn restore_all(options: &DriverOptions) -> Result<Vec<String>, ShaperError> {
    journal::restore_all(&options.journal_folder, &options.ssh)
}

/// One session at a time may have what has this key: a host, or a lab.
fn key(address: &ShaperAddress) -> String {
    match address {
        ShaperAddress::Tc { host: None, .. } => "this host".to_owned(),
        ShaperAddress::Tc { host: Some(host), .. } | ShaperAddress::Openwrt { host, .. } => host.to_string(),
        // The same words are another script in another folder.
        ShaperAddress::Command { script } => {
            format!("command {script} in {}", std::env::current_dir().unwrap_or_default().display())
        }
        ShaperAddress::Lab { name } => format!("lab {name}"),
    }
}

fn find(address: &ShaperAddress, options: &DriverOptions) -> Result<Box<dyn Changeable>, ShaperError> {
    Ok(match address {
        ShaperAddress::Tc { host, down, up } => {
            let host = host.as_ref().map_or_else(|| Ok(Host::here()), |host| Host::connect(host, &options.ssh))?;
            Box::new(TcShaper::find(host, down.as_deref(), up.as_deref())?)
        }
        ShaperAddress::Openwrt { host, interface } => {
            Box::new(OpenwrtShaper::find(Host::connect(host, &options.ssh)?, interface.as_deref())?)
        }
        ShaperAddress::Command { script } => {
            Box::new(CommandShaper::new(script, options.restore_command.as_deref(), !options.on_this_host)?)
        }
        ShaperAddress::Lab { name } => Box::new(LabShaper::find(name)?),
    })
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
