//! The report of one run, from the verdict to its environment.

use super::data_table::DataTable;
use super::drawings::PageDrawing;
use super::markup::Markup;
use super::numbers::Numbers;
use super::panels::Group;
use super::plot_part::{heading, toolbar, write_group};
use super::reported_run::ReportedRun;
use super::{drawings, environment, verdict_part};
use crate::text::full_summary::text_summary;
use crate::text::sections::sections;
use crate::text::style::Style;

/// What is written of one run.
pub(super) struct RunPart<'a> {
    pub(super) run: ReportedRun<'a>,
    pub(super) name: String,
    pub(super) groups: Vec<Group>,
    pub(super) drawings: Vec<PageDrawing>,
}

/// Writes it under headings of this level.
pub(super) fn write(page: &mut Markup, part: &RunPart<'_>, level: usize, numbers: &mut Numbers) {
    let run = part.run.analysis;
    verdict_part::write(page, run, &part.run.recording.header, level);
    // The charts of a tuning session are its result; what follows is how it came about.
    let tuned = run.tuning().is_some();
    if tuned {
        drawings::write(page, &part.drawings, (drawings::HEAD, level), &part.name, numbers);
    }
    page.within("section", &[("class", "over-time")], |page| {
        page.element(heading(level), &[], "Over time");
        toolbar(page);
        for group in &part.groups {
            write_group(page, group, level + 1, &part.name, numbers);
        }
    });
    if !tuned {
        drawings::write(page, &part.drawings, (drawings::HEAD, level), &part.name, numbers);
    }
    page.within("section", &[("class", "all-figures")], |page| {
        page.element(heading(level), &[], "All figures");
        for section in sections(run) {
            page.within("section", &[("class", "table")], |page| {
                page.element(heading(level + 1), &[], &section.heading);
                let table = DataTable::of(&section.heading, &section.told);
                if !table.rows.is_empty() {
                    table.write(page);
                }
                for line in &section.told.below {
                    page.element("p", &[("class", "note")], line.trim());
                }
            });
        }
        page.within("details", &[("class", "text")], |page| {
            page.element("summary", &[], "The same as rrul show prints it");
            page.element("pre", &[("tabindex", "0")], &text_summary(run, Style::Plain));
        });
    });
    page.within("details", &[("class", "environment"), ("data-print", "open")], |page| {
        page.within("summary", &[], |page| page.element(heading(level), &[], "Environment"));
        for table in environment::tables(part.run.recording) {
            page.element(heading(level + 1), &[], &table.caption);
            table.write(page);
        }
    });
}
