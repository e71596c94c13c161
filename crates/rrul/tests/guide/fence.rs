//! The fenced blocks of a page, and the commands in them.

/// What is done with a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Executed; the output must be the same.
    Exact,
    /// Executed over a virtual link; the output must have the same shape.
    Measured,
    /// Executed by a program with feature `archive`, as [`Kind::Exact`]; passed over by others.
    Archive,
    /// Not executed.
    NotExecuted,
}

/// A fenced block with commands.
pub(crate) struct Fence {
    pub(crate) kind: Kind,
    /// The number of its first line.
    pub(crate) line: usize,
    /// Spaces before each line, which belong to a list.
    pub(crate) indent: usize,
    text: Vec<String>,
}

/// A command and the output that the page shows.
pub(crate) struct Step {
    /// The number of the command's line.
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) output: Vec<String>,
    /// The number of the line at which the output begins.
    pub(crate) output_line: usize,
}

/// Languages of fences without commands.
const OTHERS: [&str; 4] = ["text", "toml", "rust", "json"];

/// The fences of a page that have commands. Panics at a fence whose language is unknown, so that none is left out silently.
pub(crate) fn fences(page: &str, text: &str) -> Vec<Fence> {
    let mut found = Vec::new();
    let mut lines = (1..).zip(text.lines());
    let mut before = "";
    while let Some((line, opening)) = lines.next() {
        let indent = opening.len() - opening.trim_start().len();
        if let Some(language) = opening.trim_start().strip_prefix("```") {
            let body = lines.by_ref().map(|(_, text)| text).take_while(|text| text.trim() != "```");
            let text = body.map(|text| text.get(indent..).unwrap_or_default().to_owned()).collect();
            let kind = match language {
                "console" => Kind::Exact,
                "console,archive" => Kind::Archive,
                "console,measured" => Kind::Measured,
                "console,ignore" => {
                    let reason = before.strip_prefix("<!-- not executed: ").and_then(|rest| rest.strip_suffix(" -->"));
                    assert!(
                        reason.is_some_and(|reason| !reason.is_empty()),
                        "{page}:{line}: no reason in the line before"
                    );
                    Kind::NotExecuted
                }
                "sh" => Kind::NotExecuted,
                _ => {
                    assert!(OTHERS.contains(&language), "{page}:{line}: unknown language of a fence: {language:?}");
                    continue;
                }
            };
            found.push(Fence { kind, line, indent, text });
        } else if !opening.trim().is_empty() {
            before = opening.trim();
        }
    }
    found
}

/// The inline code of a page's running text that begins with these words, with the numbers of its lines.
pub(crate) fn inline_code<'a>(text: &'a str, beginning: &str) -> Vec<(usize, &'a str)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        fenced ^= text.trim_start().starts_with("```");
        if !fenced {
            let code = text.split('`').skip(1).step_by(2).filter(|code| code.starts_with(beginning));
            found.extend(code.map(|code| (line, code)));
        }
    }
    found
}

impl Fence {
    /// Its lines with their numbers.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (self.line + 1..).zip(self.text.iter().map(String::as_str))
    }

    /// Its commands.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (line, text) in self.lines() {
            match (text.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    steps.push(Step { line, command: command.to_owned(), output: Vec::new(), output_line: line + 1 });
                }
                (None, Some(step)) if step.output.is_empty() && step.command.ends_with('\\') => {
                    step.command.push('\n');
                    step.command.push_str(text);
                    step.output_line = line + 1;
                }
                (None, Some(step)) => step.output.push(text.to_owned()),
                (None, None) => panic!("line {line}: output before the first command"),
            }
        }
        assert!(!steps.is_empty(), "line {}: a fence without a command", self.line);
        steps
    }
}
