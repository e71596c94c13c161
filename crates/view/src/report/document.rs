//! The page around its content: head, style, script and data.

use super::markup::{Markup, json_in_html};
use super::palette::Palette;
use crate::error::ViewError;

/// Style and script of the page, and the hash of the script, as the build embeds them.
const STYLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/report.css.zst"));
const SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/report.js.zst"));
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/report.js.sha256"));

/// Nothing may be fetched from anywhere, and of scripts only this one may run. Styles of single elements, as charts have, may.
const POLICY: &str = include_str!("../../../../web/src/report/policy.txt");

/// The notices of everything that the program contains, and what begins those for the chart library.
const NOTICES: &str = include_str!("../../../../THIRD-PARTY.md");
const LIBRARY: &str = "## Apache ECharts\n";

/// The notices that have to go with the chart library, up to the next section.
fn notices() -> &'static str {
    let section = NOTICES.split_once(LIBRARY).map_or("", |(_, after)| after);
    section.split_once("\n## ").map_or(section, |(section, _)| section).trim()
}

pub(crate) fn written(
    title: &str,
    palette: &Palette,
    links: &[(String, &str)],
    body: &str,
    data: &str,
) -> Result<String, ViewError> {
    let (style, script) = (unpacked(STYLE)?, unpacked(SCRIPT)?);
    let policy = POLICY.trim().replace("{script}", SCRIPT_HASH);
    let mut page = Markup::default();
    page.raw("<!doctype html>\n<html lang=\"en\">\n");
    page.within("head", &[], |page| {
        page.empty("meta", &[("charset", "utf-8")]);
        page.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
        page.empty("meta", &[("name", "viewport"), ("content", "width=device-width,initial-scale=1")]);
        page.empty("meta", &[("name", "color-scheme"), ("content", "light dark")]);
        page.empty("meta", &[("name", "referrer"), ("content", "no-referrer")]);
        page.empty("meta", &[("name", "generator"), ("content", concat!("rrul ", env!("CARGO_PKG_VERSION")))]);
        page.element("title", &[], &format!("{title} · rrul"));
        page.within("style", &[], |page| {
            let (light, dark) = (palette.variables(false), palette.variables(true));
            page.raw(&format!(
                ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
                 @media screen{{:root[data-theme=dark]{{{dark}}}}}\n{style}"
            ));
        });
    });
    page.raw("<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n");
    page.within("header", &[("class", "top")], |page| {
        page.element("p", &[("class", "brand")], "rrul · Realtime Response Under Load");
        if !links.is_empty() {
            page.within("nav", &[("aria-label", "Runs")], |page| {
                for (id, name) in links {
                    page.element("a", &[("href", &format!("#{id}"))], name);
                }
            });
        }
        page.element("button", &[("type", "button"), ("id", "theme"), ("class", "scripted")], "Theme");
    });
    page.within("main", &[("id", "content")], |page| page.raw(body));
    page.within("footer", &[], |page| {
        page.element(
            "p",
            &[],
            concat!(
                "Written by rrul ",
                env!("CARGO_PKG_VERSION"),
                ". This page is complete and loads no external resources."
            ),
        );
        page.within("details", &[("class", "notices")], |page| {
            page.element("summary", &[], "Charts are drawn by Apache ECharts, which is in this page: its notices");
            page.element("pre", &[("tabindex", "0")], notices());
        });
    });
    page.raw("<script type=\"application/json\" id=\"data\">");
    page.raw(&json_in_html(data));
    page.raw("</script>\n<script>");
    page.raw(&script);
    page.raw("</script>\n</body>\n</html>\n");
    Ok(page.finish())
}

fn unpacked(packed: &[u8]) -> Result<String, ViewError> {
    let octets = zstd::decode_all(packed).map_err(|error| ViewError::Library(error.to_string()))?;
    String::from_utf8(octets).map_err(|error| ViewError::Library(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notices_of_the_chart_library_are_whole() {
        for holder in ["The Apache Software Foundation", "Baidu Inc.", "Mike Bostock"] {
            assert!(notices().contains(holder), "{holder}");
        }
        assert!(!notices().contains("Inter Project"));
    }

    #[test]
    fn the_script_cannot_end_early() {
        let script = unpacked(SCRIPT).unwrap();
        assert!(!script.contains("</script") && !script.contains("<!--"));
        assert!(!unpacked(STYLE).unwrap().contains("</style"));
    }
}
