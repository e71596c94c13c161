//! Colors of whole runs: four that all can tell apart, or for more a sequence from dark to bright.

use crate::theme::Theme;

/// Steps of viridis (Smith and van der Walt 2015, CC0): evenly bright steps, also under color vision deficiencies.
const SEQUENCE: [&str; 24] = [
    "#440154", "#461062", "#471f71", "#462e7a", "#433c82", "#3f4988", "#3a548b", "#35608d", "#306b8d", "#2b768e",
    "#27818d", "#238c8c", "#21968a", "#22a087", "#25aa82", "#34b47a", "#43be71", "#59c664", "#71ce56", "#8bd546",
    "#a9db33", "#c5e026", "#e1e425", "#fde725",
];

/// Steps that can be seen on white, and on a dark background.
const ON_WHITE: std::ops::Range<usize> = 0..21;
const ON_DARK: std::ops::Range<usize> = 5..24;

/// One color for each of so many runs, in the order in which they are given.
pub(crate) fn run_colours(theme: &Theme, runs: usize) -> Vec<&'static str> {
    if runs <= theme.runs.len() {
        return (0..runs).map(|index| theme.run(index)).collect();
    }
    let dark = theme.background.get(1..2).is_some_and(|digit| digit < "8");
    let steps = &SEQUENCE[if dark { ON_DARK } else { ON_WHITE }];
    (0..runs).map(|index| steps[index * (steps.len() - 1) / (runs - 1)]).collect()
}

/// What the colors of so many runs mean, where it has to be said.
pub(crate) fn colour_words(runs: usize) -> &'static str {
    if runs <= Theme::LIGHT.runs.len() {
        ""
    } else {
        "Colors: from dark to bright in the order in which runs were given."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_have_the_colors_of_every_chart_and_many_a_sequence() {
        assert_eq!(run_colours(&Theme::LIGHT, 2), Theme::LIGHT.runs[..2]);
        let many = run_colours(&Theme::LIGHT, 10);
        assert_eq!((many[0], many[9]), (SEQUENCE[0], SEQUENCE[20]));
        assert_eq!(run_colours(&Theme::LIGHT, 500).len(), 500);
        let dark = Theme { background: "#101418", ..Theme::LIGHT };
        assert_eq!(run_colours(&dark, 5)[4], SEQUENCE[23]);
    }
}
