//! A panel as HTML: what it shows in words, where its picture goes, and the names of its lines as buttons.

use super::markup::Markup;
use super::numbers::Numbers;
use super::panels::{Group, Panel};

/// Tags of headings by level.
const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];

/// Room around a plot, pixels: margins, and the line of phase names above it.
const ROOM: u32 = 40;
const PHASE_NAMES: u32 = 14;

/// The tag of a heading of this level, 1 to 6.
pub(crate) fn heading(level: usize) -> &'static str {
    HEADINGS[level.clamp(1, HEADINGS.len()) - 1]
}

/// The buttons that zoom every panel over time at once.
pub(crate) fn toolbar(page: &mut Markup) {
    page.within(
        "div",
        &[("class", "zoom scripted"), ("role", "toolbar"), ("aria-label", "Zoom of all charts over time")],
        |page| {
            for (action, sign, words) in [
                ("in", "+", "Zoom in"),
                ("out", "−", "Zoom out"),
                ("earlier", "←", "Earlier"),
                ("later", "→", "Later"),
                ("reset", "All", "Show the whole time"),
            ] {
                let attributes = [("type", "button"), ("data-zoom", action), ("title", words), ("aria-label", words)];
                page.element("button", &attributes, sign);
            }
            page.element("output", &[("class", "range"), ("aria-live", "polite")], "");
        },
    );
    page.element(
        "p",
        &[("class", "note scripted")],
        "Drag across a chart to zoom, double-click for the whole time. With a chart in focus: arrow keys read, + and − zoom, 0 shows all.",
    );
}

/// A group of panels under a heading of this level; nothing without a panel or a word of what is missing.
pub(crate) fn write_group(page: &mut Markup, group: &Group, level: usize, scope: &str, numbers: &mut Numbers) {
    if group.panels.is_empty() && group.missing.is_empty() {
        return;
    }
    let write = |page: &mut Markup, numbers: &mut Numbers| {
        for panel in &group.panels {
            write_panel(page, panel, level + 1, scope, numbers);
        }
        for text in &group.missing {
            page.element("p", &[("class", "lacking")], text);
        }
        for text in group.notes() {
            page.element("p", &[("class", "note")], &text);
        }
    };
    // What is folded and empty would be a riddle: it says what is missing at once.
    if group.folded && !group.panels.is_empty() {
        page.within("details", &[("class", "group")], |page| {
            page.within("summary", &[], |page| page.element(heading(level), &[], group.title));
            write(page, numbers);
        });
    } else {
        page.within("section", &[("class", "group")], |page| {
            page.element(heading(level), &[], group.title);
            write(page, numbers);
        });
    }
}

fn write_panel(page: &mut Markup, panel: &Panel, level: usize, scope: &str, numbers: &mut Numbers) {
    let number = numbers.plot().to_string();
    let plot = &panel.plot;
    page.within("figure", &[("class", "panel"), ("data-plot", &number), ("data-scope", scope)], |page| {
        page.within("figcaption", &[], |page| {
            page.element(heading(level), &[], &plot.title);
            if !panel.how.is_empty() {
                page.element("p", &[("class", "how")], &panel.how);
            }
            if let Some(beyond) = &panel.beyond {
                page.element("p", &[("class", "alarm")], &format!("Beyond the axis: {beyond}"));
            }
        });
        let words = in_words(panel);
        let height = plot.height + ROOM + if plot.phases.is_empty() { 0 } else { PHASE_NAMES };
        let attributes = [
            ("class", "plot"),
            ("tabindex", "0"),
            ("role", "group"),
            ("aria-roledescription", "chart"),
            ("aria-label", words.as_str()),
            ("style", &format!("height:{height}px")),
        ];
        page.within("div", &attributes, |page| {
            page.element("p", &[("class", "unscripted")], "The picture needs script; its figures are beside it.");
        });
        page.within("div", &[("class", "beside")], |page| {
            if let Some((what, figure)) = &panel.headline {
                page.within("p", &[("class", "headline")], |page| {
                    page.element("span", &[], what);
                    page.element("strong", &[], figure);
                });
            }
            legend(page, panel);
            if !panel.facts.is_empty() {
                page.within("ul", &[("class", "facts")], |page| {
                    for fact in &panel.facts {
                        page.element("li", &[], fact);
                    }
                });
            }
            if plot.rows.is_empty() {
                page.within("details", &[("class", "values scripted")], |page| {
                    page.element("summary", &[], "Values over time as a table");
                });
            }
        });
    });
}

/// The lines with their figures, each with a button that hides it; or the rows with theirs.
fn legend(page: &mut Markup, panel: &Panel) {
    let plot = &panel.plot;
    let named: Vec<(usize, &str)> = plot
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.n.is_empty())
        .map(|(index, line)| (index, line.n.as_str()))
        .collect();
    if named.is_empty() && panel.rows.is_empty() {
        return;
    }
    page.within("table", &[("class", "legend")], |page| {
        page.element("caption", &[("class", "unseen")], &format!("{}: lines and their figures", plot.title));
        page.within("thead", &[], |page| {
            page.within("tr", &[], |page| {
                page.element("td", &[], "");
                for head in &panel.heads {
                    page.element("th", &[("scope", "col")], head);
                }
                if panel.rows.is_empty() {
                    page.element("th", &[("scope", "col"), ("class", "now")], "");
                }
            });
        });
        page.within("tbody", &[], |page| {
            for (index, name) in named {
                page.within("tr", &[("data-line", &index.to_string())], |page| {
                    page.within("th", &[("scope", "row")], |page| {
                        page.within(
                            "button",
                            &[("type", "button"), ("aria-pressed", "true"), ("class", "line")],
                            |page| {
                                swatch(page, panel, index);
                                page.element("span", &[], name);
                            },
                        );
                    });
                    let figures = panel.figures.get(index).map_or(&[][..], Vec::as_slice);
                    for place in 0..panel.heads.len() {
                        page.element("td", &[], figures.get(place).map_or("", String::as_str));
                    }
                    page.element("td", &[("class", "now")], "");
                });
            }
            for (name, figure) in &panel.rows {
                page.within("tr", &[], |page| {
                    page.element("th", &[("scope", "row")], name);
                    page.element("td", &[], figure);
                });
            }
        });
    });
}

/// A piece of the line.
fn swatch(page: &mut Markup, panel: &Panel, index: usize) {
    let line = &panel.plot.lines[index];
    let width = if line.w.0 < 1.8 { "" } else { " thick" };
    let (class, colour) = (format!("d{}{width}", line.d), format!("border-color:var(--c{})", line.c));
    page.within("i", &[("class", &class), ("style", &colour)], |_| {});
}

/// The panel for who cannot see it.
fn in_words(panel: &Panel) -> String {
    let how = if panel.how.is_empty() { String::new() } else { format!(", {}", panel.how) };
    let mut said = vec![format!("{} over time{how}", panel.plot.title)];
    said.extend(panel.headline.iter().map(|(what, figure)| format!("{what}: {figure}")));
    for (line, figures) in panel.plot.lines.iter().zip(&panel.figures).filter(|(line, _)| !line.n.is_empty()) {
        let told: Vec<String> =
            panel.heads.iter().zip(figures).map(|(head, figure)| format!("{head} {figure}")).collect();
        if !told.is_empty() {
            said.push(format!("{}: {}", line.n, told.join(", ")));
        }
    }
    let rows = panel.rows.iter().filter(|(_, figure)| !figure.is_empty());
    said.extend(rows.map(|(name, figure)| format!("{name}: {figure}")));
    said.extend(panel.facts.iter().cloned());
    said.extend(panel.beyond.iter().map(|beyond| format!("Beyond the axis: {beyond}")));
    said.join(". ") + "."
}
