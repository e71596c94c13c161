//! The shares that a shaper promises to service classes, from the name of its queue discipline.

use rrul_model::marking::ServiceClass;

/// Queues within a class of htb that share evenly between streams.
const FAIR: [&str; 4] = ["fq_codel", "cake", "fq_pie", "sfq"];

/// What one class is promised, as parts of the shaper's rate. `None` where nothing is promised.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Promise {
    /// The most that it gets, alone.
    pub(super) alone: Option<f64>,
    /// What it gets when best effort, background, CS5 and EF all load with as many streams each.
    pub(super) together: Option<f64>,
}

/// What a discipline promises this class. Names are those of `ShaperDescription`: `cake diffserv4`, `htb with fq_codel`.
pub(super) fn promise(discipline: Option<&str>, class: ServiceClass) -> Promise {
    let Some(place) = [ServiceClass::EF, ServiceClass::CS5, ServiceClass::BE, ServiceClass::BK]
        .into_iter()
        .position(|known| known == class)
    else {
        return Promise::default();
    };
    let full = |together: Option<f64>| Promise { alone: Some(1.0), together };
    let name = discipline.unwrap_or_default();
    match name {
        "cake diffserv3" => full(Some([0.25, 0.34375, 0.34375, 0.0625][place])),
        // EF and CS5 share a tin.
        "cake diffserv4" => full(Some([0.125, 0.125, 0.6875, 0.0625][place])),
        "cake besteffort" | "fq_codel" => full(Some(0.25)),
        _ => match name.strip_prefix("htb with ").and_then(|rest| rest.split_once(", classes ")) {
            Some((leaf, classes)) => of_htb(FAIR.contains(&leaf), classes, place),
            None if name.strip_prefix("htb with ").is_some_and(|leaf| FAIR.contains(&leaf)) => full(Some(0.25)),
            None => Promise::default(),
        },
    }
}

/// Three classes by priority, as simple.qos of sqm-scripts has them: EF, everything else, background. Each is guaranteed its
/// floor. What is left goes to the first class whose ceiling allows it.
fn of_htb(fair: bool, classes: &str, place: usize) -> Promise {
    let limits: Option<Vec<(f64, f64)>> = classes
        .trim_end_matches(" %")
        .split(' ')
        .map(|class| {
            let (floor, ceiling) = class.split_once('-')?;
            Some((floor.parse::<f64>().ok()? / 100.0, ceiling.parse::<f64>().ok()? / 100.0))
        })
        .collect();
    let Some([first, middle, last]) = limits.and_then(|limits| <[(f64, f64); 3]>::try_from(limits).ok()) else {
        return Promise::default();
    };
    let mut left = (1.0 - first.0 - middle.0 - last.0).max(0.0);
    let shares = [first, middle, last].map(|(floor, ceiling)| {
        let more = (ceiling - floor).clamp(0.0, left);
        left -= more;
        floor + more
    });
    // Best effort and CS5 are in the same class.
    let (leaf, streams) = [(0, 1.0), (1, 2.0), (1, 2.0), (2, 1.0)][place];
    let ceiling = [first, middle, last][leaf].1;
    let together = (fair || streams < 2.0).then_some(shares[leaf] / streams);
    Promise { alone: Some(ceiling.min(1.0)), together }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ServiceClass; 4] = [ServiceClass::EF, ServiceClass::CS5, ServiceClass::BE, ServiceClass::BK];

    fn together(name: &str) -> [Option<f64>; 4] {
        ALL.map(|class| promise(Some(name), class).together.map(rounded))
    }

    fn rounded(share: f64) -> f64 {
        (share * 1e4).round() / 1e4
    }

    #[test]
    fn the_classes_of_simple_qos_are_promised_their_floors_and_ceilings() {
        let name = "htb with fq_codel, classes 33.3-33.3 16.7-83.3 16.7-83.3 %";
        assert_eq!(together(name), [Some(0.333), Some(0.25), Some(0.25), Some(0.167)]);
        let alone = ALL.map(|class| promise(Some(name), class).alone.map(rounded));
        assert_eq!(alone, [Some(0.333), Some(0.833), Some(0.833), Some(0.833)]);
        let unfair = together(&name.replace("fq_codel", "pfifo"));
        assert_eq!(unfair, [Some(0.333), None, None, Some(0.167)]);
    }

    #[test]
    fn the_shares_of_each_known_kind_add_up_to_the_whole() {
        for name in ["cake diffserv3", "cake diffserv4", "cake besteffort", "fq_codel", "htb with fq_codel"] {
            let sum: f64 = together(name).into_iter().flatten().sum();
            assert!((sum - 1.0).abs() < 1e-3, "{name}: {sum}");
        }
    }

    #[test]
    fn nothing_is_promised_for_an_unknown_kind() {
        for name in
            ["", "cake", "cake precedence", "htb", "htb with pfifo", "tbf", "htb with fq_codel, classes 10-20 %"]
        {
            assert_eq!(together(name), [None; 4], "{name}");
        }
        assert_eq!(promise(None, ServiceClass::EF), Promise::default());
        let other = ServiceClass::from_dscp(rrul_model::marking::Dscp::new(34).unwrap());
        assert_eq!(promise(Some("cake diffserv4"), other), Promise::default());
    }
}
