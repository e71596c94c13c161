//! The machine: what it runs in, and how fast its cores are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::line;

/// Makers of virtual machines as firmware names them (/sys/class/dmi/id), and what they are called.
const HYPERVISORS: [(&str, &str); 9] = [
    ("Amazon EC2", "amazon"),
    ("BHYVE", "bhyve"),
    ("Google Compute Engine", "google"),
    ("KVM", "kvm"),
    ("Microsoft Corporation", "hyper-v"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
];

/// What the host runs in, in words; empty where nothing points to a hypervisor or container.
pub(super) fn virtualisation() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut found = Vec::new();
    if is_virtual(&cpuinfo) || !line("/sys/hypervisor/type").is_empty() {
        found.push(hypervisor(&["sys_vendor", "product_name"].map(|name| line(&format!("/sys/class/dmi/id/{name}")))));
    }
    found.extend(container().map(str::to_owned));
    found.join(", ")
}

/// Whether the processor says that it belongs to a hypervisor.
fn is_virtual(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn hypervisor(firmware: &[String]) -> String {
    let known = HYPERVISORS.iter().find(|(maker, _)| firmware.iter().any(|word| word.contains(maker)));
    known.map_or("hypervisor", |(_, name)| name).to_owned()
}

/// The kind of container, by the traces that the common ones leave.
fn container() -> Option<&'static str> {
    let declared = line("/run/systemd/container");
    let traces =
        [("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/run/host/container-manager", "nspawn")];
    let trace = traces.into_iter().find(|(path, _)| Path::new(path).exists()).map(|(_, name)| name);
    trace.or_else(|| (!declared.is_empty()).then_some("container")).or_else(|| {
        let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        ["docker", "kubepods", "lxc", "libpod"].into_iter().find(|word| group.contains(word))
    })
}

/// Frequency governors with the number of cores under each.
pub(super) fn governors() -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for governor in cores("scaling_governor") {
        *found.entry(governor).or_default() += 1;
    }
    found
}

/// The cores' present frequencies, kHz.
pub(super) fn core_frequencies() -> Vec<u32> {
    cores("scaling_cur_freq").filter_map(|text| text.parse().ok()).collect()
}

/// What each core says under this name of its frequency control.
fn cores(name: &str) -> impl Iterator<Item = String> + use<'_> {
    let path = move |core| format!("/sys/devices/system/cpu/cpu{core}/cpufreq/{name}");
    (0..).map(move |core| line(&path(core))).take_while(|text| !text.is_empty())
}

/// The load averages, hundredths.
pub(super) fn load_average() -> Vec<u32> {
    let text = line("/proc/loadavg");
    text.split(' ').take(3).filter_map(|word| word.replace('.', "").parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_machine_is_known_by_its_processor_and_named_by_its_firmware() {
        assert!(is_virtual("processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n"));
        assert!(!is_virtual("processor\t: 0\nflags\t\t: fpu lahf_lm\nbugs : hypervisor\n"));
        assert_eq!(hypervisor(&["QEMU".to_owned(), "Standard PC (Q35)".to_owned()]), "qemu");
        assert_eq!(hypervisor(&["Acme".to_owned(), String::new()]), "hypervisor", "a maker that is not known");
    }

    #[test]
    fn load_averages_are_three() {
        assert_eq!(load_average().len(), 3);
    }
}
