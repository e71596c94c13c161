//! Changes of a link while it is up, as people write them: `up.shaper.rate=9Mbit/s`, `down.shaper=off`.

use rrul_model::flow::Direction;

use crate::error::Error;
use crate::link::Link;
use crate::link::link_file::{SHAPER_KEYS, change_shaper, default_shaper};
use crate::link::toml_section::Source;

/// Keys and examples, for errors.
const KNOWN: &str = "known: up.shaper.rate=9Mbit/s, up.shaper.queue=cake, up.shaper.link_layer=docsis, up.shaper=off, \
                     and the same with down";

impl Link {
    /// Carries out a change of one shaper, written as `up.shaper.rate=9Mbit/s` or `down.shaper=off`; returns the direction.
    /// A direction without a shaper gets one with CAKE, at the line's first rate unless that is what changes. The value is as
    /// in a link file; quotes may be left out.
    ///
    /// ```
    /// # use rrul_lab::Link;
    /// let mut link = Link::builtin("cable_20_8_pfifo")?;
    /// link.change_shaper("up.shaper.rate=7.2Mbit/s")?;
    /// link.change_shaper("up.shaper.queue={ discipline = \"cake\", tins = \"diffserv4\" }")?;
    /// assert_eq!(link.up.shaper.unwrap().rate.0, 7_200_000);
    /// # Ok::<(), rrul_lab::Error>(())
    /// ```
    pub fn change_shaper(&mut self, change: &str) -> Result<Direction, Error> {
        let refused = || Error::ShaperChange { change: change.to_owned(), known: KNOWN };
        let (key, value) = change.split_once('=').ok_or_else(refused)?;
        let (key, value) = (key.trim(), value.trim());
        let (side, key) = key.split_once('.').ok_or_else(refused)?;
        let (direction, line) = match side {
            "up" => (Direction::Up, &mut self.up),
            "down" => (Direction::Down, &mut self.down),
            _ => return Err(refused()),
        };
        if key == "shaper" && value == "off" {
            line.shaper = None;
            return Ok(direction);
        }
        let key = key.strip_prefix("shaper.").filter(|key| SHAPER_KEYS.contains(key)).ok_or_else(refused)?;
        let bare = !value.starts_with(['"', '\'', '{']);
        let text =
            if bare { format!("{key} = \"{}\"", value.replace(['"', '\\'], "")) } else { format!("{key} = {value}") };
        let source = Source { file: change, text: &text };
        let document = source.parse()?;
        let mut shaper = line.shaper.clone().unwrap_or_else(|| default_shaper(line.rate.at(std::time::Duration::ZERO)));
        change_shaper(&mut shaper, &source.root(&document, SHAPER_KEYS)?)?;
        line.shaper = Some(shaper);
        Ok(direction)
    }
}

#[cfg(test)]
mod tests {
    use rrul_model::units::BitRate;

    use super::*;

    fn link() -> Link {
        Link::builtin("cable_20_8_pfifo").unwrap()
    }

    #[test]
    fn a_change_touches_its_setting_and_no_other() {
        let mut link = link();
        let before = link.clone();
        assert_eq!(link.change_shaper("down.shaper.rate=18Mbit/s").unwrap(), Direction::Down);
        link.change_shaper("down.shaper.queue=fq_codel").unwrap();
        link.change_shaper("down.shaper.link_layer = docsis").unwrap();
        link.change_shaper("down.shaper.rate=\"17Mbit/s\"").unwrap();
        let shaper = link.down.shaper.clone().unwrap();
        assert_eq!((shaper.rate, shaper.queue.discipline().name), (BitRate(17_000_000), "fq_codel"));
        assert_eq!(shaper.link_layer.to_string(), "docsis");
        link.change_shaper("down.shaper=off").unwrap();
        assert_eq!(link, before);
    }

    #[test]
    fn a_new_shaper_has_cake_at_the_rate_of_the_line() {
        let mut link = link();
        link.change_shaper("up.shaper.link_layer=ethernet").unwrap();
        let shaper = link.up.shaper.unwrap();
        assert_eq!((shaper.rate, shaper.queue.discipline().name), (BitRate(8_000_000), "cake"));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_would_be() {
        for change in ["up.shaper.rate", "up.rate=9Mbit/s", "left.shaper.rate=9Mbit/s", "up.shaper=on", "shaper.rate=1"]
        {
            let said = link().change_shaper(change).unwrap_err().to_string();
            assert!(said.contains("up.shaper.rate=9Mbit/s") && said.contains(change), "{said}");
        }
        for (change, part) in [
            ("up.shaper.rate=fast", "20Mbit/s"),
            ("up.shaper.rate=0bit/s", "more than zero"),
            ("up.shaper.queue=cate", "known: pfifo"),
            ("up.shaper.queue={ discipline = \"cake\", tins = \"diffserv5\" }", "besteffort"),
            ("up.shaper.queue={ discipline = ", "up.shaper.queue"),
        ] {
            let mut link = link();
            let said = link.change_shaper(change).unwrap_err().to_string();
            assert!(said.contains(part), "{change}: {said}");
            assert_eq!(link, self::link(), "a refused change changes nothing");
        }
    }
}
