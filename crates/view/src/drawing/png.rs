//! PNG from SVG, with the embedded font.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::drawing::font;
use crate::error::ViewError;

/// Most pixels a side may have: 16384 on each is 1 GiB of picture, and more than any screen.
const LIMIT: u32 = 16_384;

/// The picture as PNG at `scale` pixels per SVG unit; 2 suits screens and print.
///
/// # Errors
/// When `svg` is no SVG, or the scale makes a side empty or longer than 16384 pixels.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, ViewError> {
    let options = Options { fontdb: font::database(), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    let fits = |side: f32| (0.5..LIMIT as f32).contains(&side);
    let size_error = ViewError::Size { width, height, limit: LIMIT };
    if !fits(width) || !fits(height) {
        return Err(size_error);
    }
    let Some(mut picture) = Pixmap::new(width.round() as u32, height.round() as u32) else { return Err(size_error) };
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| ViewError::Png(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: &str =
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"><rect width="9" height="9"/></svg>"#;

    #[test]
    fn a_picture_has_the_size_that_the_scale_says() {
        let picture = Pixmap::decode_png(&png(SQUARE, 2.0).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (20, 40));
        let alpha = |x, y| picture.pixel(x, y).unwrap().alpha();
        assert_eq!((alpha(17, 17), alpha(18, 18)), (255, 0), "the square ends at 9 units, 18 pixels");
    }

    #[test]
    fn a_picture_without_extent_or_end_is_refused_in_words() {
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e6] {
            let error = png(SQUARE, scale).unwrap_err().to_string();
            assert!(error.contains("choose a scale"), "{error}");
        }
        assert!(png("no picture", 1.0).unwrap_err().to_string().starts_with("SVG: "));
    }

    #[test]
    fn text_is_drawn_without_any_font_on_the_host() {
        let text = r#"<svg xmlns="http://www.w3.org/2000/svg" width="99" height="20"><text y="15" font-family="Nowhere, sans-serif">load</text></svg>"#;
        let picture = Pixmap::decode_png(&png(text, 1.0).unwrap()).unwrap();
        assert!(picture.pixels().iter().any(|pixel| pixel.alpha() > 200), "no ink");
    }
}
