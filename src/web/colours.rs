//! The colours of a group as a stylesheet. Pairs whose contrast is too low are corrected.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::domain::records::group::Group;

/// Minimum contrast of text (WCAG 2.2, 1.4.3).
const CONTRAST_MIN: f64 = 4.5;

/// The page's own colours, which a group may replace: background and text.
const PAGE: (Rgb, Rgb) = (Rgb([0xf4, 0xf5, 0xf2]), Rgb([0x1d, 0x26, 0x21]));
const CONTENT: (Rgb, Rgb) = (Rgb([0xff, 0xff, 0xff]), Rgb([0x1d, 0x26, 0x21]));
const LINKS: Rgb = Rgb([0x1c, 0x69, 0x49]);
/// The backgrounds of the dark scheme, on which only the colour of links is the group's.
const DARK_PAGE: Rgb = Rgb([0x12, 0x17, 0x14]);
const DARK_CONTENT: Rgb = Rgb([0x1c, 0x22, 0x1e]);

/// A colour of the sRGB space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rgb([u8; 3]);

impl Rgb {
    const BLACK: Self = Self([0; 3]);
    const WHITE: Self = Self([255; 3]);

    /// Parses `#RRGGBB`.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Self([red, green, blue]))
    }

    /// The relative luminance, as WCAG defines it.
    fn luminance(self) -> f64 {
        let linear = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// The contrast of two colours, 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let one = self.luminance();
        let two = other.luminance();
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// Returns this colour with a number of hundredths of another.
    fn mixed(self, other: Self, hundredths: u16) -> Self {
        let mut mixed = [0; 3];
        for (at, part) in mixed.iter_mut().enumerate() {
            let sum =
                u16::from(self.0[at]) * (100 - hundredths) + u16::from(other.0[at]) * hundredths;
            *part = u8::try_from(sum / 100).expect("a mean of bytes is a byte");
        }
        Self(mixed)
    }

    /// Returns the nearest colour, towards black or white, that can be read on some backgrounds.
    fn readable_on(self, backgrounds: &[Self]) -> Self {
        let is_readable = |colour: Self| {
            backgrounds.iter().all(|background| colour.contrast(*background) >= CONTRAST_MIN)
        };
        for hundredths in (0..=100).step_by(4) {
            for extreme in [Self::BLACK, Self::WHITE] {
                let colour = self.mixed(extreme, hundredths);
                if is_readable(colour) {
                    return colour;
                }
            }
        }
        // On backgrounds of which one is dark and one is light, no colour is readable on all.
        self
    }

    /// Returns black or white, which can be read on this colour.
    fn text_on(self) -> Self {
        if self.contrast(Self::WHITE) >= CONTRAST_MIN { Self::WHITE } else { Self::BLACK }
    }

    fn css(self) -> String {
        let [red, green, blue] = self.0;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Returns the colours that a group sets, by their keys.
pub(crate) fn of_group(group: &Group) -> Map<String, Value> {
    let given = group.usercolors.as_ref();
    given.and_then(|colours| serde_json::from_str(colours.as_str()).ok()).unwrap_or_default()
}

/// Returns the stylesheet of colours by their keys.
pub(crate) fn stylesheet(colours: &Map<String, Value>) -> String {
    let Backgrounds { page: page_bg, main: main_bg, content: content_bg } =
        Backgrounds::new(colours);
    let text = |name: &str, default: Rgb, background: Rgb| match given(colours, name) {
        Some(colour) => colour.readable_on(&[background]),
        None if default.contrast(background) >= CONTRAST_MIN => default,
        None => background.text_on(),
    };
    let main_text = text("main_text", PAGE.1, main_bg);
    let page_text = text("page_text", main_text, page_bg);
    let content_text = text("content_text", CONTENT.1, content_bg);
    let links = given(colours, "content_links").unwrap_or(LINKS);
    let button = links.readable_on(&[content_bg]);
    let muted = |text: Rgb, background: Rgb| text.mixed(background, 30).readable_on(&[background]);
    let light = [
        ("page", page_bg),
        ("page-text", page_text),
        ("page-link", links.readable_on(&[page_bg])),
        ("main", main_bg),
        ("main-text", main_text),
        ("main-muted", muted(main_text, main_bg)),
        ("main-link", links.readable_on(&[main_bg])),
        ("card", content_bg),
        ("text", content_text),
        ("muted", muted(content_text, content_bg)),
        ("line", content_text.mixed(content_bg, 82)),
        ("link", button),
        ("button", button),
        ("button-text", button.text_on()),
    ];
    let dark_link = links.readable_on(&[DARK_PAGE, DARK_CONTENT]);
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

/// The backgrounds of a group's pages.
struct Backgrounds {
    page: Rgb,
    main: Rgb,
    content: Rgb,
}

impl Backgrounds {
    fn new(colours: &Map<String, Value>) -> Self {
        let page = given(colours, "page_bg");
        let main = given(colours, "main_bg").or(page).unwrap_or(PAGE.0);
        let content = given(colours, "content_bg").unwrap_or(CONTENT.0);
        Self { page: page.unwrap_or(main), main, content }
    }
}

fn given(colours: &Map<String, Value>, name: &str) -> Option<Rgb> {
    colours.get(name).and_then(Value::as_str).and_then(Rgb::parse)
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
    let shown = colour.readable_on(&[background]);
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

    use super::*;

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
            let dark = text.readable_on(&[DARK_PAGE, DARK_CONTENT]);
            prop_assert!(dark.contrast(DARK_PAGE) >= CONTRAST_MIN);
            prop_assert!(dark.contrast(DARK_CONTENT) >= CONTRAST_MIN);
        }
    }
}
