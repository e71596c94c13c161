//! An SVG chart read back: what is written on it where, and where its lines run.
#![allow(dead_code, reason = "each test file uses its own share of this")]

use resvg::tiny_skia::PathSegment;
use resvg::usvg::roxmltree::Document;
use resvg::usvg::{Group, Node, Options, Paint, Path, Tree};

/// A point in pixels.
pub(crate) type Point = (f64, f64);

/// A text on the chart.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) words: String,
    pub(crate) colour: String,
    pub(crate) anchor: String,
    pub(crate) at: Point,
}

/// A path with a stroke.
#[derive(Debug, Clone)]
pub(crate) struct Stroke {
    pub(crate) colour: String,
    pub(crate) width: f64,
    pub(crate) dashed: bool,
    pub(crate) points: Vec<Point>,
}

/// A chart read back.
pub(crate) struct Picture {
    pub(crate) texts: Vec<Text>,
    pub(crate) strokes: Vec<Stroke>,
    /// Filled shapes: color, and middle.
    pub(crate) fills: Vec<(String, Point)>,
    /// The same shapes: color, and left, top, right and bottom.
    pub(crate) boxes: Vec<(String, [f64; 4])>,
}

impl Picture {
    pub(crate) fn of(svg: &str) -> Self {
        let document = Document::parse(svg).expect("a chart is well-formed XML");
        let texts = document.descendants().filter(|node| node.has_tag_name("text")).map(|node| {
            let number = |name| node.attribute(name).and_then(|value| value.parse::<f64>().ok()).unwrap_or(0.0);
            let transform = node.attribute("transform").unwrap_or("translate(0 0)");
            let shift: Vec<f64> = transform
                .trim_start_matches("translate(")
                .trim_end_matches(')')
                .split(' ')
                .map(|value| value.parse().expect("texts are only shifted"))
                .collect();
            Text {
                words: node.text().unwrap_or_default().to_owned(),
                colour: node.attribute("fill").unwrap_or_default().to_owned(),
                anchor: node.attribute("text-anchor").unwrap_or_default().to_owned(),
                at: (number("x") + shift[0], number("y") + shift[1]),
            }
        });
        let mut picture = Self { texts: texts.collect(), strokes: Vec::new(), fills: Vec::new(), boxes: Vec::new() };
        let tree = Tree::from_str(svg, &Options::default()).expect("a chart is SVG");
        picture.collect(tree.root());
        picture
    }

    fn collect(&mut self, group: &Group) {
        for node in group.children() {
            match node {
                Node::Group(group) => self.collect(group),
                Node::Path(path) => self.add(path),
                Node::Image(_) | Node::Text(_) => {}
            }
        }
    }

    fn add(&mut self, path: &Path) {
        let transform = path.abs_transform();
        let points: Vec<Point> = path
            .data()
            .segments()
            .filter_map(|segment| match segment {
                PathSegment::MoveTo(point) | PathSegment::LineTo(point) => Some(point),
                _ => None,
            })
            .map(|mut point| {
                transform.map_point(&mut point);
                (f64::from(point.x), f64::from(point.y))
            })
            .collect();
        let colour = |paint: &Paint| match paint {
            Paint::Color(colour) => format!("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue),
            _ => String::new(),
        };
        if let Some(fill) = path.fill() {
            let bounds = path.abs_bounding_box();
            let middle =
                (f64::from(bounds.left() + bounds.right()) / 2.0, f64::from(bounds.top() + bounds.bottom()) / 2.0);
            let sides = [bounds.left(), bounds.top(), bounds.right(), bounds.bottom()].map(f64::from);
            self.boxes.push((colour(fill.paint()), sides));
            self.fills.push((colour(fill.paint()), middle));
        }
        if let Some(stroke) = path.stroke() {
            self.strokes.push(Stroke {
                colour: colour(stroke.paint()),
                width: f64::from(stroke.width().get()),
                dashed: stroke.dasharray().is_some(),
                points,
            });
        }
    }

    /// Whether some text on the chart contains `part`.
    pub(crate) fn says(&self, part: &str) -> bool {
        self.texts.iter().any(|text| text.words.contains(part))
    }

    /// Everything written, for messages.
    pub(crate) fn words(&self) -> Vec<&str> {
        self.texts.iter().map(|text| text.words.as_str()).collect()
    }

    /// The lines of this color that have many points, from the highest on the page to the lowest.
    pub(crate) fn lines(&self, colour: &str) -> Vec<&Stroke> {
        let mut lines: Vec<&Stroke> =
            self.strokes.iter().filter(|line| line.colour == colour && line.points.len() > 10).collect();
        lines.sort_by(|a, b| a.points[0].1.total_cmp(&b.points[0].1));
        lines
    }

    /// The seconds at a pixel, read from the figures below the lowest panel.
    pub(crate) fn seconds(&self, x: f64) -> f64 {
        let figures = self.texts.iter().filter(|text| text.anchor == "middle");
        let figures: Vec<(f64, f64)> = figures.filter_map(|text| Some((text.words.parse().ok()?, text.at.0))).collect();
        interpolate(&figures, x)
    }

    /// The value at a height, read from the figures at the left of the panel which that height belongs to.
    pub(crate) fn value(&self, y: f64) -> f64 {
        let mut figures: Vec<(f64, f64)> = self
            .texts
            .iter()
            .filter(|text| text.anchor == "end" && text.at.0 < 66.0)
            .filter_map(|text| Some((text.words.replace(',', "").parse().ok()?, text.at.1)))
            .collect();
        figures.sort_by(|a, b| a.1.total_cmp(&b.1));
        // Figures fall from the top of a panel to its zero; the next panel begins where they rise again.
        let mut panels: Vec<Vec<(f64, f64)>> = Vec::new();
        for figure in figures {
            match panels.last_mut() {
                Some(panel) if panel.last().is_some_and(|last| last.0 > figure.0) => panel.push(figure),
                _ => panels.push(vec![figure]),
            }
        }
        let panel =
            panels.iter().find(|panel| panel[panel.len() - 1].1 >= y - 1.0).expect("every line is above some zero");
        interpolate(panel, y)
    }
}

/// The value at `pixel` on the straight line through the first and the last of `(value, pixel)`.
fn interpolate(figures: &[(f64, f64)], pixel: f64) -> f64 {
    let (first, last) = (figures[0], figures[figures.len() - 1]);
    first.0 + (pixel - first.1) / (last.1 - first.1) * (last.0 - first.0)
}
