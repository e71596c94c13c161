//! The colors of a page in both themes, by number.

use crate::drawing::run_colours::run_colours;
use crate::theme::Theme;

/// Pairs of a color on white and the same on dark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Palette(Vec<(&'static str, &'static str)>);

impl Palette {
    /// Those of the themes, and those of so many runs.
    pub(crate) fn of(runs: usize) -> Self {
        let [light, dark] = [Theme::LIGHT, Theme::DARK].map(|theme| {
            let mut colours = vec![
                theme.background,
                theme.ink,
                theme.muted,
                theme.axis,
                theme.grid,
                theme.idle_shade,
                theme.web_shade,
                theme.range,
                theme.alarm,
                theme.best_effort,
                theme.background_class,
                theme.signaling,
                theme.expedited,
                theme.other_class,
            ];
            colours.extend(theme.variants);
            colours.extend(run_colours(&theme, runs.max(1)));
            colours
        });
        let mut pairs: Vec<(&'static str, &'static str)> = Vec::new();
        for pair in light.into_iter().zip(dark) {
            if !pairs.iter().any(|(known, _)| *known == pair.0) {
                pairs.push(pair);
            }
        }
        Self(pairs)
    }

    /// The number of a color of the light theme; that of ink for one that no theme has.
    pub(crate) fn number(&self, light: &str) -> usize {
        self.0.iter().position(|(known, _)| *known == light).unwrap_or(INK)
    }

    pub(crate) fn pairs(&self) -> &[(&'static str, &'static str)] {
        &self.0
    }

    /// What style sheets call them: `--c0` and so on.
    pub(crate) fn variables(&self, dark: bool) -> String {
        let one =
            |(number, pair): (usize, &(&str, &str))| format!("--c{number}:{};", if dark { pair.1 } else { pair.0 });
        self.0.iter().enumerate().map(one).collect()
    }
}

/// Where ink stands.
const INK: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_color_has_one_partner_whatever_it_is_used_for() {
        for runs in [0, 1, 4, 5, 10] {
            let palette = Palette::of(runs);
            assert_eq!(palette.pairs()[INK], (Theme::LIGHT.ink, Theme::DARK.ink));
            for (light, dark) in
                run_colours(&Theme::LIGHT, runs.max(1)).into_iter().zip(run_colours(&Theme::DARK, runs.max(1)))
            {
                assert_eq!(palette.pairs()[palette.number(light)], (light, dark), "{runs} runs");
            }
            let (light, dark) = (Theme::LIGHT, Theme::DARK);
            for pair in [
                (light.best_effort, dark.best_effort),
                (light.background_class, dark.background_class),
                (light.signaling, dark.signaling),
                (light.expedited, dark.expedited),
                (light.other_class, dark.other_class),
                (light.alarm, dark.alarm),
                (light.web_shade, dark.web_shade),
            ]
            .into_iter()
            .chain(light.variants.into_iter().zip(dark.variants))
            {
                assert_eq!(palette.pairs()[palette.number(pair.0)], pair, "{runs} runs");
            }
        }
    }
}
