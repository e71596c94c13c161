//! Room for names beside points: where a name covers no point, no line and no other name.

/// From a point to its name, pixels.
const GAP: f64 = 4.0;

/// A rectangle of a drawing, pixels from its top left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Area {
    /// A square around a point.
    pub(crate) fn around((x, y): (f64, f64), reach: f64) -> Self {
        Self { left: x - reach, top: y - reach, width: 2.0 * reach, height: 2.0 * reach }
    }

    /// The line between two points, which lie beside or above each other.
    pub(crate) fn between((x, y): (f64, f64), (other_x, other_y): (f64, f64)) -> Self {
        Self { left: x.min(other_x), top: y.min(other_y), width: (x - other_x).abs(), height: (y - other_y).abs() }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.left + other.width
            && other.left < self.left + self.width
            && self.top < other.top + other.height
            && other.top < self.top + self.height
    }

    fn lies_in(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.top >= other.top
            && self.left + self.width <= other.left + other.width
            && self.top + self.height <= other.top + other.height
    }
}

/// A panel, and what of it is taken.
#[derive(Debug)]
pub(crate) struct NameRoom {
    panel: Area,
    taken: Vec<Area>,
}

impl NameRoom {
    pub(crate) fn new(panel: Area) -> Self {
        Self { panel, taken: Vec::new() }
    }

    /// Takes this for a point or a line.
    pub(crate) fn take(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// Takes room for a name of this width and height beside a point of this reach: where it is free first of right and left,
    /// above and below. `None` where none is: the name is then to be left out.
    pub(crate) fn place(&mut self, (x, y): (f64, f64), reach: f64, width: f64, height: f64) -> Option<Area> {
        let (right, left) = (x + reach + GAP, x - reach - GAP - width);
        let (above, below, beside) = (y - reach - height, y + reach, y - height / 2.0);
        let places = [(right, above), (right, below), (left, above), (left, below), (right, beside), (left, beside)];
        let areas = places.map(|(left, top)| Area { left, top, width, height });
        let free = areas
            .into_iter()
            .find(|area| area.lies_in(&self.panel) && !self.taken.iter().any(|one| one.meets(area)))?;
        self.taken.push(free);
        Some(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANEL: Area = Area { left: 0.0, top: 0.0, width: 200.0, height: 100.0 };

    #[test]
    fn a_name_covers_no_point_no_line_no_other_name_and_stays_in_its_panel() {
        let mut room = NameRoom::new(PANEL);
        let (one, other) = ((100.0, 50.0), (118.0, 40.0));
        room.take(Area::around(one, 5.0));
        room.take(Area::around(other, 5.0));
        room.take(Area::between((100.0, 50.0), (100.0, 100.0)));
        let at = |left, top| Some(Area { left, top, width: 40.0, height: 14.0 });
        assert_eq!(room.place(one, 5.0, 40.0, 14.0), at(109.0, 55.0), "right and below: above is the other point");
        assert_eq!(room.place(other, 5.0, 40.0, 14.0), at(127.0, 21.0), "right and above");
        assert_eq!(room.place((198.0, 2.0), 5.0, 40.0, 14.0), at(149.0, 7.0), "left, at the end of the panel");
    }

    #[test]
    fn a_name_without_room_is_left_out() {
        let mut room = NameRoom::new(PANEL);
        room.take(PANEL);
        assert_eq!(room.place((100.0, 50.0), 5.0, 40.0, 14.0), None);
    }
}
