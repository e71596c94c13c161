//! `rrul man FOLDER` and `rrul completions SHELL`: manual pages and shell completions, generated from the arguments.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Writes `rrul.1` and a page of each command, such as `rrul-run.1`.
pub(crate) fn write_pages(folder: &Path) -> Result<Outcome, Failure> {
    let failed = Failure::output(folder);
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(failed)?;
    println!("manual pages: {}", folder.display());
    Ok(Outcome::Good)
}

/// Prints the completion script of a shell to stdout.
pub(crate) fn print_completions(shell: Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "rrul", &mut script);
    std::io::stdout().write_all(&script).map_err(Failure::system("standard output"))?;
    Ok(Outcome::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_and_is_completed() {
        let folder = std::env::temp_dir().join(format!("rrul-manual-{}", std::process::id()));
        write_pages(&folder).unwrap();
        let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(page("rrul.1").contains("rrul\\-run(1)"), "{}", page("rrul.1"));
        let run = page("rrul-run.1");
        assert!(run.contains(".TH rrul-run 1") && run.contains("\\-\\-link\\-layer"), "{run}");
        std::fs::remove_dir_all(folder).unwrap();
        let mut script = Vec::new();
        clap_complete::generate(Shell::Bash, &mut Arguments::command(), "rrul", &mut script);
        assert!(String::from_utf8(script).unwrap().contains("--link-layer"));
    }
}
