//! The colours of a group as a stylesheet. Pairs whose contrast is too low are corrected.

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub(crate) use crate::notify::contrast::of_group;
use crate::notify::contrast::{Backgrounds, CONTENT, LINKS, LightColours, PAGE, Rgb, given};

/// The backgrounds of the dark scheme, on which only the colour of links is the group's.
const DARK_PAGE: Rgb = Rgb([0x12, 0x17, 0x14]);
const DARK_CONTENT: Rgb = Rgb([0x1c, 0x22, 0x1e]);
/// The content under the wash of the style: 18 of 255 parts of white.
const DARK_WASHED: Rgb = Rgb([0x2c, 0x31, 0x2e]);

/// Returns the stylesheet of colours by their keys.
pub(crate) fn stylesheet(colours: &Map<String, Value>) -> String {
    let LightColours { page, page_text, main, main_text, content, content_text, links, button } =
        LightColours::new(colours);
    let muted =
        |text: Rgb, background: Rgb| text.mixed(background, 30).readable_on_washed(background);
    let light = [
        ("page", page),
        ("page-text", page_text),
        ("page-link", links.readable_on(&[page])),
        ("main", main),
        ("main-text", main_text),
        ("main-muted", muted(main_text, main)),
        ("main-link", links.readable_on(&[main])),
        ("card", content),
        ("text", content_text),
        ("muted", muted(content_text, content)),
        ("line", content_text.mixed(content, 82)),
        ("link", button),
        ("button", button),
        ("button-text", button.text_on()),
    ];
    let dark_link = links.readable_on(&[DARK_PAGE, DARK_CONTENT, DARK_WASHED]);
    let dark = [
        ("page-link", dark_link),
        ("main-link", dark_link),
        ("link", dark_link),
        ("button", dark_link),
        ("button-text", dark_link.text_on()),
    ];
    let mut style = String::new();
    write_scheme(&mut style, "light", &light);
    write_scheme(&mut style, "dark", &dark);
    style
}

/// Whether a text is a colour, `#RRGGBB`.
pub(crate) fn is_colour(text: &str) -> bool {
    Rgb::parse(text).is_some()
}

/// Returns the colour that pages show of a given one whose contrast is too low; `None` for one that
/// stays as it is.
pub(crate) fn correction(colours: &Map<String, Value>, name: &str) -> Option<String> {
    let backgrounds = Backgrounds::new(colours);
    let background = match name {
        "page_text" => backgrounds.page,
        "main_text" => backgrounds.main,
        "content_text" | "content_links" => backgrounds.content,
        _ => return None,
    };
    let colour = given(colours, name)?;
    let shown = match name {
        "content_links" => colour.readable_on_washed(background),
        _ => colour.readable_on(&[background]),
    };
    if shown == colour { None } else { Some(shown.css()) }
}

/// Returns the colour of pages in place of one that the group does not set.
pub(crate) fn default_colour(name: &str) -> String {
    let colour = match name {
        "page_text" | "main_text" => PAGE.1,
        "content_bg" => CONTENT.0,
        "content_text" => CONTENT.1,
        "content_links" => LINKS,
        _ => PAGE.0,
    };
    colour.css()
}

fn write_scheme(style: &mut String, scheme: &str, colours: &[(&str, Rgb)]) {
    write!(style, "@media (prefers-color-scheme:{scheme}){{:root{{").expect("a String grows");
    for (name, colour) in colours {
        write!(style, "--{name}:{};", colour.css()).expect("a String grows");
    }
    style.push_str("}}\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::notify::contrast::CONTRAST_MIN;

    #[test]
    fn the_contrast_is_that_of_wcag() {
        assert!((Rgb::BLACK.contrast(Rgb::WHITE) - 21.0).abs() < 0.001);
        let grey = Rgb::parse("#767676").expect("a colour");
        assert!((grey.contrast(Rgb::WHITE) - 4.54).abs() < 0.01);
        assert_eq!(Rgb::parse("767676"), None);
    }

    #[test]
    fn a_readable_colour_stays() {
        for pair in [PAGE, CONTENT, (CONTENT.0, LINKS), (PAGE.0, LINKS)] {
            assert_eq!(pair.1.readable_on(&[pair.0]), pair.1);
        }
    }

    proptest! {
        #[test]
        fn each_text_can_be_read_on_its_background(text: [u8; 3], background: [u8; 3]) {
            let text = Rgb(text);
            let background = Rgb(background);
            prop_assert!(text.readable_on(&[background]).contrast(background) >= CONTRAST_MIN);
            prop_assert!(background.text_on().contrast(background) >= CONTRAST_MIN);
        }

        #[test]
        fn each_link_can_be_read_in_the_week_that_is_shown(links: [u8; 3], light in 0xc0_u8..) {
            let colours = json!({"content_links": Rgb(links).css()});
            let style = stylesheet(colours.as_object().expect("an object"));
            let (_, dark) = style.split_once("dark").expect("two schemes");
            let (_, link) = dark.split_once("--link:").expect("a colour");
            let link = Rgb::parse(&link[..7]).expect("a colour");
            for ground in [DARK_PAGE, DARK_CONTENT, DARK_WASHED] {
                prop_assert!(link.contrast(ground) >= CONTRAST_MIN);
            }
            let content = Rgb([light; 3]);
            let link = Rgb(links).readable_on_washed(content);
            prop_assert!(link.contrast(content) >= CONTRAST_MIN);
            prop_assert!(link.contrast(content.washed()) >= CONTRAST_MIN);
        }
    }
}
