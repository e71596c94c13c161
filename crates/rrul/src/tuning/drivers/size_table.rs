//! Size tables of tc-stab(8): what the kernel counts of a packet beside its own bytes, for any discipline.

/// The size table of a root queue discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SizeTable {
    /// As tc writes and takes it.
    words: String,
    pub(super) overhead: i64,
    pub(super) mpu: u32,
    pub(super) atm: bool,
}

impl SizeTable {
    /// Reads it from `tc -d qdisc show`, where it is the line below its discipline.
    pub(super) fn read(shown: &str) -> Option<Self> {
        let root = |line: &&str| line.starts_with("qdisc") && line.split_whitespace().any(|word| word == "root");
        let mut lines = shown.lines().skip_while(|line| !root(line)).skip(1);
        let line = lines.next().filter(|line| line.starts_with(' '))?.trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let after =
            |word: &str| words.iter().position(|other| *other == word).and_then(|index| words.get(index + 1)).copied();
        let atm = after("linklayer")? == "atm";
        let overhead = after("overhead").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mpu = after("mpu").and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(Self { words: line.to_owned(), overhead, mpu, atm })
    }

    /// What a change of the discipline must contain: without it the table would be gone.
    pub(super) fn words(&self) -> String {
        format!("stab {}", self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_table_is_the_line_below_its_discipline() {
        let shown = "qdisc htb 1:[00010000] root refcnt 3 r2q 10 ver 3.17 direct_qlen 1000\n linklayer atm overhead 26 mpu 64 \
                     mtu 2047 tsize 512 \nqdisc pfifo 120: parent 1:12 limit 100p\n";
        let table = SizeTable::read(shown).unwrap();
        assert_eq!((table.overhead, table.mpu, table.atm), (26, 64, true));
        assert_eq!(table.words(), "stab linklayer atm overhead 26 mpu 64 mtu 2047 tsize 512");
        let without = shown.replace(" linklayer atm overhead 26 mpu 64 mtu 2047 tsize 512 \n", "");
        assert_eq!(SizeTable::read(&without), None);
        assert_eq!(SizeTable::read(""), None);
    }
}
