//! The font of all charts: Inter (SIL Open Font License), embedded, in two weights.
//!
//! A router or server has no fonts of its own, and a chart whose labels were measured with one font and drawn with
//! another has labels that overlap. So the chart library measures with the font that the picture is drawn with.

use std::sync::{Arc, LazyLock};

use resvg::usvg::fontdb;
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// What SVG text asks for: Inter where it is installed or embedded, else what is nearest.
pub(crate) const FAMILY: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";

/// How heavy a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Weight 400: nearly everything.
    Regular,
    /// Weight 600: titles and the one number of a panel.
    SemiBold,
}

impl Weight {
    /// The weight as CSS writes it, 100 to 900.
    pub(crate) fn css(self) -> u16 {
        match self {
            Self::Regular => 400,
            Self::SemiBold => 600,
        }
    }

    /// The weight that draws a CSS font shorthand, `"600 12px Inter"` or `"bold 12px Inter"`.
    fn of_css(font: &str) -> Self {
        let heavy = font.split(' ').any(|word| matches!(word, "500" | "600" | "700" | "800" | "900" | "bold"));
        if heavy { Self::SemiBold } else { Self::Regular }
    }

    fn file(self) -> &'static [u8] {
        static REGULAR: LazyLock<Vec<u8>> =
            LazyLock::new(|| unpack(include_bytes!(concat!(env!("OUT_DIR"), "/regular.ttf.zst"))));
        static SEMIBOLD: LazyLock<Vec<u8>> =
            LazyLock::new(|| unpack(include_bytes!(concat!(env!("OUT_DIR"), "/semibold.ttf.zst"))));
        match self {
            Self::Regular => &REGULAR,
            Self::SemiBold => &SEMIBOLD,
        }
    }
}

/// Unpacks what `build.rs` packed.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    zstd::decode_all(packed).expect("the build script packed these very bytes")
}

/// Size assumed where a font shorthand names none, pixels: the canvas default.
const DEFAULT_SIZE: f32 = 12.0;

/// Width of `text` in pixels when set in a CSS font shorthand such as `"600 12px Inter"`, without kerning.
pub(crate) fn width_css(text: &str, font: &str) -> f32 {
    let size = font.split(' ').find_map(|word| word.strip_suffix("px")?.parse().ok()).unwrap_or(DEFAULT_SIZE);
    width(text, size, Weight::of_css(font))
}

/// Width of `text` in pixels at `size` pixels, without kerning.
///
/// A character that the font lacks counts as one em, the width of the widest usual stand-in.
pub(crate) fn width(text: &str, size: f32, weight: Weight) -> f32 {
    let font = FontRef::new(weight.file()).expect("the embedded file is a font: a test opens it");
    let glyphs = font.charmap();
    let metrics = font.glyph_metrics(Size::new(size), LocationRef::default());
    text.chars().map(|c| glyphs.map(c).and_then(|glyph| metrics.advance_width(glyph)).unwrap_or(size)).sum()
}

/// The embedded fonts for the PNG renderer, and no others: the picture is the same on every host.
pub(crate) fn database() -> Arc<fontdb::Database> {
    let mut fonts = fontdb::Database::new();
    for weight in [Weight::Regular, Weight::SemiBold] {
        fonts.load_font_data(weight.file().to_vec());
    }
    for set in [fontdb::Database::set_sans_serif_family, fontdb::Database::set_serif_family] {
        set(&mut fonts, "Inter");
    }
    Arc::new(fonts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_wider_when_larger_heavier_or_more() {
        // Inter Regular: a lower-case "m" is wider than an "i", and digits are over half an em.
        let one = width("0", 12.0, Weight::Regular);
        assert!((6.0..9.0).contains(&one), "a digit at 12 px is {one} px wide");
        assert!((width("00", 12.0, Weight::Regular) - 2.0 * one).abs() < 1e-3);
        assert!((width("0", 24.0, Weight::Regular) - 2.0 * one).abs() < 1e-3);
        assert!(width("m", 12.0, Weight::SemiBold) > width("m", 12.0, Weight::Regular));
        assert!(width("m", 12.0, Weight::Regular) > 2.0 * width("i", 12.0, Weight::Regular));
    }

    #[test]
    fn a_font_shorthand_names_size_and_weight() {
        let close = |a: f32, b: f32| assert!((a - b).abs() < 1e-3, "{a} is not {b}");
        close(width_css("load", "600 20px Inter"), width("load", 20.0, Weight::SemiBold));
        close(width_css("load", "bold 20px Inter"), width("load", 20.0, Weight::SemiBold));
        close(width_css("load", "normal 11.5px Inter"), width("load", 11.5, Weight::Regular));
        close(width_css("load", ""), width("load", DEFAULT_SIZE, Weight::Regular));
    }

    #[test]
    fn a_character_that_the_font_lacks_has_a_width() {
        assert!((width("\u{10FFFF}", 12.0, Weight::Regular) - 12.0).abs() < 1e-3);
    }

    #[test]
    fn the_picture_finds_both_weights() {
        let fonts = database();
        let weights: Vec<u16> = fonts.faces().map(|face| face.weight.0).collect();
        assert_eq!(weights, [400, 600]);
        assert!(fonts.faces().all(|face| face.families[0].0.starts_with("Inter")));
    }
}
