use rrul_model::random::Random;
use rrul_model::shaping::{ShaperRates, StepPurpose, TuningStep};

use super::*;
use crate::metrics::marking::code_point::{CodePoint, CodePointVerdict};
use crate::metrics::marking::marking_path::{MarkingPath, MarkingPhase, PathVerdict};
use crate::metrics::marking::marking_tally::MarkingSource;

const CLASSES: [ServiceClass; 4] = [ServiceClass::EF, ServiceClass::CS5, ServiceClass::BE, ServiceClass::BK];
const HTB: &str = "htb with fq_codel, classes 33.3-33.3 16.7-83.3 16.7-83.3 %";
/// Seconds that a fixed rate is measured.
const SECONDS: usize = 8;

/// A step in which these classes got these parts of 18 Mbit/s each way, up to 3 % more or less each second.
fn trial(parts: &[(ServiceClass, f64)], seed: u64) -> Trial {
    let mut random = Random(seed);
    let mut classes = |parts: &[(ServiceClass, f64)]| -> Vec<ClassRate> {
        let of = |(class, part): &(ServiceClass, f64)| {
            let mut second = || 1.0 + 0.03 * (random.below(2001) as f64 / 1000.0 - 1.0);
            let seconds = (0..SECONDS).map(|_| ByteCount((2.25e6 * part * second()) as u64)).collect();
            ClassRate { class: *class, seconds }
        };
        parts.iter().map(of).collect()
    };
    let step = TuningStep {
        number: 0,
        purpose: StepPurpose::Fixed,
        direction: None,
        rates: ShaperRates::UNSHAPED,
        set_at: TestTime::ZERO,
        settled_at: TestTime::ZERO,
        ended_at: TestTime::ZERO + SECOND * SECONDS as u32,
        counters: None,
    };
    let directions = ByDirection::each(|_| TrialDirection {
        classes: classes(parts),
        saturated: Some(true),
        ..TrialDirection::default()
    });
    Trial { step, directions, host_limit: None, stolen_from: None }
}

/// Class runs of a shaper that gives these parts alone and together.
fn runs(alone: [f64; 4], together: [f64; 4], seed: u64) -> Vec<(Option<ServiceClass>, Trial)> {
    let of_one = |(place, class): (usize, ServiceClass)| {
        (Some(class), trial(&[(class, alone[place])], seed * 10 + place as u64))
    };
    let all: Vec<(ServiceClass, f64)> = CLASSES.into_iter().zip(together).collect();
    CLASSES.into_iter().enumerate().map(of_one).chain([(None, trial(&all, seed * 10 + 9))]).collect()
}

fn judged(
    runs: &[(Option<ServiceClass>, Trial)],
    discipline: &str,
    markings: &Markings,
) -> ByDirection<Vec<ClassShare>> {
    let shaper = ShaperDescription {
        up_discipline: Some(discipline.to_owned()),
        down_discipline: Some(discipline.to_owned()),
        ..ShaperDescription::default()
    };
    let trials: Vec<ClassTrial<'_>> = runs.iter().map(|(alone, trial)| ClassTrial { alone: *alone, trial }).collect();
    class_shares(&trials, &shaper, markings).directions
}

fn of(shares: &[ClassShare], class: ServiceClass) -> &ClassShare {
    shares.iter().find(|share| share.class == class).unwrap()
}

#[test]
fn shapers_that_keep_their_promises_are_measured_within_two_points() {
    for (discipline, alone, together) in [
        ("cake diffserv3", [1.0; 4], [0.25, 0.34375, 0.34375, 0.0625]),
        ("cake diffserv4", [1.0; 4], [0.125, 0.125, 0.6875, 0.0625]),
        ("cake besteffort", [1.0; 4], [0.25; 4]),
        (HTB, [0.333, 0.833, 0.833, 0.833], [0.333, 0.25, 0.25, 0.167]),
    ] {
        for seed in 0..20 {
            let shares = judged(&runs(alone, together, seed), discipline, &Markings::default());
            for shares in [&shares.up, &shares.down] {
                for (place, class) in CLASSES.into_iter().enumerate() {
                    let share = of(shares, class);
                    let together_found = share.together.unwrap();
                    assert!((together_found.share - together[place]).abs() < 0.02, "{discipline} {seed}: {share:?}");
                    assert_eq!(together_found.verdict, ShareVerdict::AsPromised, "{discipline} {seed}: {share:?}");
                    let alone_found = share.alone.unwrap();
                    assert!((alone_found.share - alone[place]).abs() < 0.02, "{discipline} {seed}: {share:?}");
                    assert_eq!(alone_found.verdict, ShareVerdict::AsPromised, "{discipline} {seed}: {share:?}");
                }
            }
        }
    }
}

#[test]
fn a_cap_of_a_fifth_in_place_of_a_third_is_found_each_time() {
    for seed in 0..20 {
        let runs = runs([0.2, 0.833, 0.833, 0.833], [0.2, 0.3165, 0.3165, 0.167], seed);
        let shares = judged(&runs, HTB, &Markings::default());
        for shares in [&shares.up, &shares.down] {
            let ef = of(shares, ServiceClass::EF);
            assert_eq!(ef.alone.unwrap().verdict, ShareVerdict::Less, "{seed}: {ef:?}");
            assert_eq!(ef.together.unwrap().verdict, ShareVerdict::Less, "{seed}: {ef:?}");
            assert_eq!(of(shares, ServiceClass::BE).together.unwrap().verdict, ShareVerdict::More, "{seed}");
            assert_eq!(of(shares, ServiceClass::BK).alone.unwrap().verdict, ShareVerdict::AsPromised, "{seed}");
        }
    }
}

#[test]
fn a_load_that_a_host_limits_blames_no_shaper() {
    let mut runs = runs([0.2, 0.833, 0.833, 0.833], [0.333, 0.25, 0.25, 0.167], 1);
    runs[0].1.directions.up.saturated = Some(false);
    runs[1].1.directions.up.foreign = Some(0.2);
    let shares = judged(&runs, HTB, &Markings::default());
    assert_eq!(of(&shares.up, ServiceClass::EF).alone.unwrap().verdict, ShareVerdict::HostLimited);
    assert_eq!(of(&shares.up, ServiceClass::CS5).alone.unwrap().verdict, ShareVerdict::OtherTraffic);
    assert_eq!(of(&shares.down, ServiceClass::EF).alone.unwrap().verdict, ShareVerdict::Less);
}

#[test]
fn an_unknown_kind_is_measured_but_not_judged() {
    let shares = judged(&runs([1.0; 4], [0.25; 4], 3), "cake precedence", &Markings::default());
    for share in shares.up.iter().flat_map(|share| [share.alone, share.together]).flatten() {
        assert_eq!((share.verdict, share.promised), (ShareVerdict::NoPromise, None));
        assert!(share.low.unwrap() <= share.share && share.share <= share.high.unwrap(), "{share:?}");
    }
}

/// A download path that bleaches EF.
fn bleached() -> Markings {
    let ef = CodePoint {
        dscp: 46,
        class: ServiceClass::EF,
        verdict: CodePointVerdict::Bleached,
        arrives_as: Some(0),
        sent: Some(4),
        arrived: 4,
        excess_loss: None,
        excess_loss_low: None,
        excess_loss_high: None,
    };
    let idle = MarkingPhase {
        verdict: PathVerdict::Altered,
        remarked_to: None,
        preserved: 63,
        bleached: 1,
        remarked: 0,
        mixed: 0,
        dropped: 0,
        unknown: 0,
        altered: vec![ef],
    };
    let path = MarkingPath {
        direction: Direction::Down,
        family: rrul_model::flow::AddressFamily::Ipv4,
        evidence: MarkingSource::Sweep,
        verdict: PathVerdict::Altered,
        remarked_to: None,
        idle: Some(idle),
        load: None,
        matrix: Vec::new(),
    };
    Markings { paths: vec![path], flows: Vec::new() }
}

#[test]
fn a_lost_marking_cannot_be_verified_where_the_classes_differ() {
    let runs = runs([1.0; 4], [0.25; 4], 4);
    let shares = judged(&runs, "cake diffserv3", &bleached());
    assert!(shares.down.iter().all(|share| share.together.unwrap().verdict == ShareVerdict::MarkingLost));
    assert_eq!(of(&shares.down, ServiceClass::EF).alone.unwrap().verdict, ShareVerdict::MarkingLost);
    assert_eq!(of(&shares.down, ServiceClass::BE).alone.unwrap().verdict, ShareVerdict::AsPromised);
    assert_eq!(of(&shares.up, ServiceClass::BK).together.unwrap().verdict, ShareVerdict::More);
    let shares = judged(&runs, "cake besteffort", &bleached());
    assert!(shares.down.iter().all(|share| share.together.unwrap().verdict == ShareVerdict::AsPromised));
}
