//! What uci prints, and what is refused.

use super::*;

const SHOWN: &str = "\
sqm.eth1=queue
sqm.eth1.enabled='1'
sqm.eth1.interface='eth1'
sqm.eth1.download='18000'
sqm.eth1.upload='7200'
sqm.eth1.qdisc='cake'
sqm.@queue[1]=queue
sqm.@queue[1].enabled='0'
sqm.@queue[1].interface='wwan0'
sqm.@queue[1].download='5000'
";

fn queue(section: &str, interface: &str, rates: (u64, u64)) -> Queue {
    let (download, upload) = rates;
    Queue { section: section.to_owned(), interface: interface.to_owned(), enabled: true, download, upload }
}

#[test]
fn sections_of_sqm_are_read_named_or_not() {
    let found = queues(SHOWN);
    let disabled = Queue { enabled: false, ..queue("@queue[1]", "wwan0", (5000, 0)) };
    assert_eq!(found, [queue("eth1", "eth1", (18_000, 7200)), disabled]);
    assert_eq!(queues(""), []);
}

#[test]
fn the_interface_is_the_only_enabled_one_or_the_one_that_is_named() {
    let one = queues(SHOWN);
    assert_eq!(choose(&one, None).unwrap().section, "eth1");
    assert!(choose(&one, Some("wwan0")).unwrap_err().to_string().contains("it is on eth1"));
    assert!(choose(&[], None).unwrap_err().to_string().contains("not enabled"));
    let two = [queue("a", "eth1", (1, 1)), queue("b", "eth2", (1, 1))];
    assert!(choose(&two, None).unwrap_err().to_string().contains("iface="));
    assert_eq!(choose(&two, Some("eth2")).unwrap().section, "b");
    assert!(choose(&[queue("a", "eth1", (0, 0))], None).unwrap_err().to_string().contains("neither direction"));
}

#[test]
fn what_would_disturb_the_search_is_refused() {
    assert_eq!(refuse_others(&Configuration::default()), Ok(()));
    let off = "firewall.@defaults[0].flow_offloading='0'".to_owned();
    assert_eq!(refuse_others(&Configuration { offloading: off, ..Configuration::default() }), Ok(()));
    for (shown, reason) in [
        (Configuration { pending: "sqm.eth1.download='9'".to_owned(), ..Configuration::default() }, "uci revert"),
        (Configuration { automatic: " 812 root cake-autorate.sh".to_owned(), ..Configuration::default() }, "autorate"),
        (
            Configuration {
                offloading: "firewall.@defaults[0].flow_offloading_hw='1'".to_owned(),
                ..Configuration::default()
            },
            "flow_offloading_hw",
        ),
    ] {
        let said = refuse_others(&shown).unwrap_err().to_string();
        assert!(said.contains(reason), "{said}");
    }
}
