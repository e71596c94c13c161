//! How a test is getting on, in one line.

use rrul_analysis::live::LiveSnapshot;
use rrul_model::phase::PhaseWindow;
use rrul_model::time::TestTime;

/// The phase, or what is before and after all of them.
pub(crate) fn phase_name(now: TestTime, phases: &[PhaseWindow]) -> &'static str {
    let phase = phases.iter().find(|phase| phase.window.contains(now));
    match phase {
        Some(phase) => phase.phase.name(),
        None if now < TestTime::ZERO => "start",
        None => "finish",
    }
}

/// How it is getting on in one line.
pub(crate) fn line(now: TestTime, phases: &[PhaseWindow], live: &LiveSnapshot) -> String {
    let phase = phase_name(now, phases);
    let left = phases.last().map_or(0.0, |phase| (phase.window.to.seconds() - now.seconds()).max(0.0));
    let delay = live.delay.map_or_else(|| "-".to_owned(), |delay| delay.to_string());
    let lost = if live.lost_last_second > 0 { format!("   lost {}", live.lost_last_second) } else { String::new() };
    let [down, up] = [live.down, live.up].map(|rate| rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string()));
    format!("{phase:<6} {left:>3.0} s left   down {down:>11}   up {up:>11}   delay {delay:>8}{lost}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::phase::Phase;
    use rrul_model::time::Window;
    use rrul_model::units::{BitRate, Delay};

    #[test]
    fn a_line_says_phase_time_left_rates_and_delay() {
        let window = Window { from: TestTime(0), to: TestTime(20_000_000_000) };
        let phases = [PhaseWindow { phase: Phase::Load, window }];
        let live = LiveSnapshot {
            up: Some(BitRate(7_200_000)),
            down: Some(BitRate(18_900_000)),
            delay: Some(Delay(215_000_000)),
            lost_last_second: 3,
        };
        let line = line(TestTime(5_000_000_000), &phases, &live);
        assert_eq!(line, "load    15 s left   down 18.9 Mbit/s   up 7.20 Mbit/s   delay   215 ms   lost 3");
        let silent =
            super::line(TestTime(5_000_000_000), &phases, &LiveSnapshot { up: None, lost_last_second: 0, ..live });
        assert_eq!(
            silent, "load    15 s left   down 18.9 Mbit/s   up           -   delay   215 ms",
            "no word of the server"
        );
    }
}
