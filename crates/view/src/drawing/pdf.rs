//! PDF from SVG, for papers: lines and text stay lines and text.

use krilla::Document;
use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::usvg::{Options, Tree};

use crate::drawing::font;
use crate::error::ViewError;

/// Points of PDF for each unit of SVG: 96 of these are an inch, as are 72 of those.
const POINTS: f32 = 0.75;

/// The picture as a PDF of one page that is as large as it. The same picture gives the same bytes.
///
/// # Errors
/// When `svg` is no SVG, or cannot be put onto a page.
pub fn pdf(svg: &str) -> Result<Vec<u8>, ViewError> {
    let options = Options { fontdb: font::database(), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let (width, height) = (tree.size().width() * POINTS, tree.size().height() * POINTS);
    let refused = || ViewError::Pdf(format!("a page of {width} x {height} points"));
    let size = Size::from_wh(width, height).ok_or_else(refused)?;
    let mut document = Document::new();
    let mut page = document.start_page_with(PageSettings::from_wh(width, height).ok_or_else(refused)?);
    let mut surface = page.surface();
    surface.draw_svg(&tree, size, SvgSettings::default()).ok_or_else(refused)?;
    surface.finish();
    page.finish();
    document.finish().map_err(|error| ViewError::Pdf(format!("{error:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="100" height="200"><rect width="9" height="9"/><text x="9" y="90" font-family="Inter" font-size="12">delay</text></svg>"#;

    #[test]
    fn a_page_is_as_large_as_the_picture_and_the_same_each_time() {
        let octets = pdf(SQUARE).unwrap();
        assert!(octets.starts_with(b"%PDF-"));
        let text = String::from_utf8_lossy(&octets);
        assert!(text.contains("75 150"), "the size of the page");
        assert_eq!(octets, pdf(SQUARE).unwrap());
        assert!(matches!(pdf("no svg"), Err(ViewError::Svg(_))));
    }
}
