//! How a terminal is set while the screen stands, and what it is sent at the beginning and at the end.

use std::os::fd::AsFd;

use rustix::io;
use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// The alternate screen of xterm, and no cursor.
pub(super) const ENTER: &str = "\x1b[?1049h\x1b[?25l";
/// Back to the screen that was there before, with its cursor.
pub(super) const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// A special character that is switched off (POSIX: `_POSIX_VDISABLE`; 0 on Linux).
const DISABLED: u8 = 0;

/// These settings with what the screen changes: keys come at once and are not shown, and neither Ctrl-Z nor Ctrl-S can
/// stop a measurement. Ctrl-C and Ctrl-\ send their signals as before.
pub(super) fn quiet(before: &Termios) -> Termios {
    let mut settings = before.clone();
    settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    settings.input_modes.remove(InputModes::IXON);
    settings.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    settings
}

/// Sets a terminal back to what it was, unless somebody else has set it since: that is then not ours to undo.
///
/// # Errors
/// When the terminal is gone.
pub(super) fn set_back(terminal: impl AsFd, before: &Termios) -> io::Result<()> {
    if same(&tcgetattr(&terminal)?, &quiet(before)) {
        tcsetattr(&terminal, OptionalActions::Now, before)?;
    }
    Ok(())
}

/// Whether two settings are alike in all that programs change.
pub(super) fn same(a: &Termios, b: &Termios) -> bool {
    let codes = [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME, SpecialCodeIndex::VSUSP, SpecialCodeIndex::VINTR];
    a.local_modes == b.local_modes
        && a.input_modes == b.input_modes
        && a.output_modes == b.output_modes
        && codes.into_iter().all(|code| a.special_codes[code] == b.special_codes[code])
}
