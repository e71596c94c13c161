//! Colors: one per service class, the same in every chart.

use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;

/// The colors of a chart, as `#rrggbb`.
///
/// Hues tell classes apart, also under protanopia and deuteranopia (a test measures it). Families of one class share
/// its color and differ by dash. Ink is for means and medians, red for losses and doubts alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Behind everything.
    pub background: &'static str,
    /// Titles, means and medians.
    pub ink: &'static str,
    /// Text that explains.
    pub muted: &'static str,
    /// Axis lines and ticks.
    pub axis: &'static str,
    /// Lines across a panel.
    pub grid: &'static str,
    /// Behind the phases without load.
    pub idle_shade: &'static str,
    /// Behind the phase in which pages and short flows join the load.
    pub web_shade: &'static str,
    /// The range from the lowest to the highest packet.
    pub range: &'static str,
    /// Losses, and words of doubt.
    pub alarm: &'static str,
    pub best_effort: &'static str,
    /// Background (CS1, LE).
    pub background_class: &'static str,
    /// CS5 and similar classes.
    pub signaling: &'static str,
    /// Expedited forwarding and similar classes (VA, NQB).
    pub expedited: &'static str,
    /// Assured forwarding and the remaining class selectors.
    pub other_class: &'static str,
    /// Streams of one class that the plan sets apart. They differ in lightness too, for print without color.
    pub variants: [&'static str; 5],
    /// Whole runs in a comparison, in the order in which they are given.
    pub runs: [&'static str; 4],
}

impl Theme {
    /// Dark on white, for screens and paper.
    pub const LIGHT: Self = Self {
        background: "#ffffff",
        ink: "#16202c",
        muted: "#5b6675",
        axis: "#8b95a3",
        grid: "#e7eaee",
        idle_shade: "#f3f5f8",
        web_shade: "#fdf3dc",
        range: "#c9d1db",
        alarm: "#c8102e",
        best_effort: "#2f6fde",
        background_class: "#3aa981",
        signaling: "#e58a1f",
        expedited: "#a3216f",
        other_class: "#8a7a66",
        variants: ["#5a1fa8", "#d1660a", "#56b4b0", "#0a7285", "#e6c63c"],
        runs: ["#e58a1f", "#2f6fde", "#a3216f", "#3aa981"],
    };

    /// Light on dark, for slides and dim rooms; the hues mean the same.
    pub const DARK: Self = Self {
        background: "#12171d",
        ink: "#f1f4f8",
        muted: "#a3aebb",
        axis: "#6b7684",
        grid: "#29313a",
        idle_shade: "#1a2129",
        web_shade: "#2b2517",
        range: "#4a5664",
        alarm: "#ff5a5f",
        best_effort: "#5b9bff",
        background_class: "#46c79a",
        signaling: "#f2a33c",
        expedited: "#d64fa0",
        other_class: "#b8a68c",
        variants: ["#7a4ad0", "#e0862c", "#74d3a8", "#1c8fa5", "#f2dc6a"],
        runs: ["#f2a33c", "#5b9bff", "#d64fa0", "#46c79a"],
    };

    /// Both themes by the names that the command line knows.
    pub const NAMED: [(&'static str, Self); 2] = [("light", Self::LIGHT), ("dark", Self::DARK)];

    /// The color of a class.
    ///
    /// Related classes share one: DSCP 1 and 8 are background, 40 is CS5, 44 to 46 are expedited, 0 is best effort.
    pub fn class(&self, class: ServiceClass) -> &'static str {
        match class.dscp().value() {
            0 => self.best_effort,
            1 | 8 => self.background_class,
            40 => self.signaling,
            44..=46 => self.expedited,
            _ => self.other_class,
        }
    }

    /// Returns the color behind a phase in charts over time; `None` for phase `load`, whose background is that of the page.
    pub fn phase_shade(&self, phase: Phase) -> Option<&'static str> {
        match phase {
            Phase::Survey | Phase::Idle | Phase::After => Some(self.idle_shade),
            Phase::Web => Some(self.web_shade),
            Phase::Load => None,
        }
    }

    /// The color of the stream with this place among those that the plan sets apart; `None` beyond the last.
    pub fn variant(&self, index: usize) -> Option<&'static str> {
        self.variants.get(index).copied()
    }

    /// The color of a whole run, by its place among those compared; they repeat after the fourth.
    pub fn run(&self, index: usize) -> &'static str {
        self.runs[index % self.runs.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How linear RGB looks to a viewer: as it is, and with severity 1 of Machado, Oliveira and Fernandes (2009),
    /// "A Physiologically-based Model for Simulation of Color Vision Deficiency", table 1.
    const VIEWERS: [(&str, [[f64; 3]; 3]); 3] = [
        ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "deuteranopia",
            [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        ),
    ];

    /// sRGB (IEC 61966-2-1) to linear light.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Linear sRGB to CIE L*a*b* under D65.
    fn lab(rgb: [f64; 3]) -> [f64; 3] {
        let [red, green, blue] = rgb.map(|value| value.clamp(0.0, 1.0));
        let root = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.950_47);
        let y = root(0.2126 * red + 0.7152 * green + 0.0722 * blue);
        let z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.088_83);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// CIE 1976 color difference as this viewer sees it; about 2.3 is just noticeable.
    fn difference(a: &str, b: &str, viewer: &[[f64; 3]; 3]) -> f64 {
        let seen = |colour| {
            let rgb = linear(colour);
            lab(viewer.map(|row| row.iter().zip(rgb).map(|(weight, value)| weight * value).sum()))
        };
        let (a, b) = (seen(a), seen(b));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn assert_apart(colours: &[&str], least: f64) {
        for (viewer, matrix) in &VIEWERS {
            for (index, a) in colours.iter().enumerate() {
                for b in &colours[index + 1..] {
                    let apart = difference(a, b, matrix);
                    assert!(apart >= least, "{a} and {b} are only {apart:.1} apart with {viewer}");
                }
            }
        }
    }

    #[test]
    fn the_distance_of_black_and_white_is_one_hundred() {
        assert!((difference("#000000", "#ffffff", &VIEWERS[0].1) - 100.0).abs() < 0.1);
    }

    #[test]
    fn the_classes_of_the_default_test_differ_for_every_viewer() {
        // 20 is nearly ten times the just noticeable difference: enough for thin lines.
        for (_, theme) in Theme::NAMED {
            let classes = [ServiceClass::BE, ServiceClass::BK, ServiceClass::CS5, ServiceClass::EF];
            let mut colours = classes.map(|class| theme.class(class)).to_vec();
            colours.push(theme.ink);
            colours.push(theme.background);
            assert_apart(&colours, 20.0);
        }
    }

    #[test]
    fn the_runs_of_a_comparison_differ_for_every_viewer() {
        for (_, theme) in Theme::NAMED {
            assert_apart(&theme.runs, 20.0);
        }
    }

    #[test]
    fn streams_that_the_plan_sets_apart_differ_for_every_viewer_and_in_gray() {
        for (_, theme) in Theme::NAMED {
            let mut colours = theme.variants.to_vec();
            colours.extend([theme.ink, theme.background]);
            assert_apart(&colours, 20.0);
            let lightness = |colour: &str| lab(linear(colour))[0];
            for (index, a) in colours.iter().enumerate() {
                for b in colours[index + 1..].iter().filter(|_| index < theme.variants.len()) {
                    let apart = (lightness(a) - lightness(b)).abs();
                    assert!(apart >= 8.0, "{a} and {b} are only {apart:.1} apart in gray");
                }
            }
        }
    }

    #[test]
    fn a_class_has_nearly_the_same_hue_in_both_themes() {
        let hue = |colour| {
            let [_, a, b] = lab(linear(colour));
            b.atan2(a).to_degrees()
        };
        for dscp in [0, 8, 40, 46, 34] {
            let class = ServiceClass::from_dscp(rrul_model::marking::Dscp::new(dscp).unwrap());
            let [light, dark] = [Theme::LIGHT, Theme::DARK].map(|theme| hue(theme.class(class)));
            let apart = (light - dark).abs();
            assert!(apart.min(360.0 - apart) < 30.0, "{class}: {light:.0} and {dark:.0} degrees");
        }
    }

    #[test]
    fn text_can_be_read_on_its_background() {
        // WCAG 2.1, 1.4.3: 4.5 to 1 for small text.
        let luminance = |colour| {
            let [red, green, blue] = linear(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        for (name, theme) in Theme::NAMED {
            for colour in [theme.ink, theme.muted, theme.alarm] {
                let pair = [luminance(colour), luminance(theme.background)];
                let ratio = (pair[0].max(pair[1]) + 0.05) / (pair[0].min(pair[1]) + 0.05);
                assert!(ratio >= 4.5, "{colour} in {name}: {ratio:.1}");
            }
        }
    }

    #[test]
    fn loss_is_never_taken_for_a_mean() {
        for (_, theme) in Theme::NAMED {
            assert_apart(&[theme.alarm, theme.ink, theme.background], 20.0);
        }
    }
}
