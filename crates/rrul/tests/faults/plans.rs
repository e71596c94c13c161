//! Mistakes in plans and settings, as a user of the program meets them. What the reader of plans says of each mistake is
//! tested where the reader is.

use crate::program::{Folder, SHORT, end_of, rrul};

/// Runs this plan, with these arguments, against a server that need not be there; says what the program says.
fn complains(plan: &str, text: &str, more: &[&str], words: &[&str]) {
    let folder = Folder::new();
    folder.write("mine.toml", text);
    let mut command = rrul(&folder, &["run", "127.0.0.1:1", "--plan", plan]);
    command.args(more);
    end_of(command).complains(words);
    assert_eq!(folder.recordings(), [""; 0], "nothing is recorded");
}

#[test]
fn a_mistyped_key_is_named_with_file_line_and_the_known_ones() {
    let text = SHORT.replace("class = \"EF\"", "clas = \"EF\"");
    complains("mine.toml", &text, &[], &["mine.toml:13: flow.probe.clas", "unknown key", "known: ", "class"]);
}

#[test]
fn an_unknown_class_is_named_with_the_known_ones() {
    let text = SHORT.replace("\"EF\"", "\"EE\"");
    complains("mine.toml", &text, &[], &["mine.toml:13: flow.probe.class", "unknown class \"EE\"", "BE, "]);
}

#[test]
fn text_that_is_no_toml_is_named_with_file_and_line() {
    complains("mine.toml", "title = \"t\"\nphases = {\n", &[], &["mine.toml:"]);
    complains("mine.toml", "\u{0}\u{1}", &[], &["mine.toml:1"]);
}

#[test]
fn an_unknown_plan_is_answered_with_the_known_ones() {
    complains("rruul", "", &[], &["no plan named \"rruul\"", "rrul2013", ".toml"]);
    complains("gone.toml", "", &[], &["gone.toml: ", "check the path"]);
}

#[test]
fn a_wrong_setting_is_named_with_what_would_be_right() {
    complains("mine.toml", SHORT, &["--set", "laod=3s"], &["--set laod=3s: ", "unknown setting", "load"]);
    complains("mine.toml", SHORT, &["--set", "load=3"], &["--set load=3: ", "with its unit"]);
    complains("mine.toml", SHORT, &["--set", "load"], &["--set load: ", "KEY=VALUE"]);
}
