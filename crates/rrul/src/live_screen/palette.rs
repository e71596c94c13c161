//! Colors of the screen: those of the charts as far as the terminal has them, or none.

use ratatui::style::{Color, Modifier, Style};
use rrul_model::marking::ServiceClass;
use rrul_view::Theme;

/// How many colors a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colours {
    /// None are wanted: `NO_COLOR`.
    None,
    /// The sixteen of ECMA-48 and aixterm.
    Sixteen,
    /// xterm's 256.
    Indexed,
    /// 24 bits.
    True,
}

impl Colours {
    /// From the environment variables `NO_COLOR`, `COLORTERM` and `TERM`.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| variable(name).unwrap_or_default();
        if !text("NO_COLOR").is_empty() {
            return Self::None;
        }
        match text("COLORTERM").as_str() {
            "truecolor" | "24bit" => Self::True,
            _ if text("TERM").contains("256") => Self::Indexed,
            _ => Self::Sixteen,
        }
    }
}

/// What is drawn in which style. No meaning hangs on color alone: lines are named at their end, and losses are crosses.
#[derive(Debug, Clone)]
pub(super) struct Palette {
    colours: Colours,
    theme: Theme,
}

impl Palette {
    /// For a terminal; `COLORFGBG` identifies some with a light background.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let light = variable("COLORFGBG").is_some_and(|value| value.ends_with(";15") || value.ends_with(";7"));
        Self { colours: Colours::of(variable), theme: if light { Theme::LIGHT } else { Theme::DARK } }
    }

    /// Titles and figures that matter.
    pub(super) fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn muted() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The color of a class, the same as in charts.
    pub(super) fn class(&self, class: ServiceClass) -> Color {
        let sixteen = match class.dscp().value() {
            0 => Color::Blue,
            1 | 8 => Color::Green,
            40 => Color::Yellow,
            44..=46 => Color::Magenta,
            _ => Color::Cyan,
        };
        self.colour(self.theme.class(class), sixteen)
    }

    pub(super) fn alarm(&self) -> Color {
        self.colour(self.theme.alarm, Color::Red)
    }

    /// Lines of a chart that are not data.
    pub(super) fn axis(&self) -> Color {
        self.colour(self.theme.axis, Color::DarkGray)
    }

    /// How much is left of what the idle line had, 0 to 1: as `rrul show --equalizer` colors it.
    pub(super) fn kept(&self, kept: f64) -> Color {
        match kept {
            _ if self.colours == Colours::None => Color::Reset,
            kept if kept >= 0.75 => Color::Green,
            kept if kept >= 0.4 => Color::Yellow,
            _ => Color::Red,
        }
    }

    fn colour(&self, hex: &str, sixteen: Color) -> Color {
        let part = |at: usize| hex.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()).unwrap_or(0);
        let [red, green, blue] = [1, 3, 5].map(part);
        match self.colours {
            Colours::None => Color::Reset,
            Colours::Sixteen => sixteen,
            Colours::Indexed => Color::Indexed(nearest(red, green, blue)),
            Colours::True => Color::Rgb(red, green, blue),
        }
    }
}

/// The nearest of the 6 x 6 x 6 colors of xterm, whose steps are 0, 95, 135, 175, 215 and 255.
fn nearest(red: u8, green: u8, blue: u8) -> u8 {
    let step = |value: u8| match value {
        0..48 => 0,
        48..115 => 1,
        _ => (value - 35) / 40,
    };
    16 + 36 * step(red) + 6 * step(green) + step(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours(set: &[(&str, &str)]) -> Colours {
        Colours::of(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn colors_are_as_many_as_the_terminal_has_and_none_when_declined() {
        assert_eq!(colours(&[("TERM", "xterm-256color")]), Colours::Indexed);
        assert_eq!(colours(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Colours::True);
        assert_eq!(colours(&[("TERM", "vt220")]), Colours::Sixteen);
        assert_eq!(colours(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]), Colours::None);
        assert_eq!(colours(&[("COLORTERM", "truecolor"), ("NO_COLOR", "")]), Colours::True, "empty declines nothing");
    }

    #[test]
    fn the_nearest_of_the_256_is_that_of_the_cube() {
        assert_eq!((nearest(0, 0, 0), nearest(255, 255, 255), nearest(0x5f, 0x87, 0xaf)), (16, 231, 67));
    }
}
