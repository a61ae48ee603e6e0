//! Colours, their contrast, and the colours of a group on light grounds: pairs whose contrast is
//! too low are corrected. Pages and mails use the same. Reference 14.3.

use serde_json::{Map, Value};

use crate::domain::records::group::Group;

/// Minimum contrast of text (WCAG 2.2, 1.4.3).
pub(crate) const CONTRAST_MIN: f64 = 4.5;

/// The page's own colours, which a group may replace: background and text.
pub(crate) const PAGE: (Rgb, Rgb) = (Rgb([0xf4, 0xf5, 0xf2]), Rgb([0x1d, 0x26, 0x21]));
pub(crate) const CONTENT: (Rgb, Rgb) = (Rgb([0xff, 0xff, 0xff]), Rgb([0x1d, 0x26, 0x21]));
pub(crate) const LINKS: Rgb = Rgb([0x1c, 0x69, 0x49]);
/// A colour of the sRGB space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) [u8; 3]);

impl Rgb {
    pub(crate) const BLACK: Self = Self([0; 3]);
    pub(crate) const WHITE: Self = Self([255; 3]);

    /// Parses `#RRGGBB`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Self([red, green, blue]))
    }

    /// The relative luminance, as WCAG defines it.
    pub(crate) fn luminance(self) -> f64 {
        let linear = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// The contrast of two colours, 1 to 21.
    pub(crate) fn contrast(self, other: Self) -> f64 {
        let one = self.luminance();
        let two = other.luminance();
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// Returns this colour with a number of hundredths of another.
    pub(crate) fn mixed(self, other: Self, hundredths: u16) -> Self {
        let mut mixed = [0; 3];
        for (at, part) in mixed.iter_mut().enumerate() {
            let sum =
                u16::from(self.0[at]) * (100 - hundredths) + u16::from(other.0[at]) * hundredths;
            *part = u8::try_from(sum / 100).expect("a mean of bytes is a byte");
        }
        Self(mixed)
    }

    /// Returns the nearest colour, towards black or white, that can be read on some backgrounds.
    pub(crate) fn readable_on(self, backgrounds: &[Self]) -> Self {
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

    /// Returns this colour, corrected for a background and for its washed parts, such as the
    /// week of a month that is shown. Where no colour can be read on both, it can on the first.
    pub(crate) fn readable_on_washed(self, background: Self) -> Self {
        self.readable_on(&[background]).readable_on(&[background, background.washed()])
    }

    /// Returns this light background under the wash of the style: 11 of 255 parts of black.
    pub(crate) fn washed(self) -> Self {
        self.mixed(Self::BLACK, 5)
    }

    /// Returns black or white, which can be read on this colour.
    pub(crate) fn text_on(self) -> Self {
        if self.contrast(Self::WHITE) >= CONTRAST_MIN { Self::WHITE } else { Self::BLACK }
    }

    pub(crate) fn css(self) -> String {
        let [red, green, blue] = self.0;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Returns the colours that a group sets, by their keys.
pub(crate) fn of_group(group: &Group) -> Map<String, Value> {
    let given = group.usercolors.as_ref();
    given.and_then(|colours| serde_json::from_str(colours.as_str()).ok()).unwrap_or_default()
}

/// The backgrounds of a group's pages.
pub(crate) struct Backgrounds {
    pub(crate) page: Rgb,
    pub(crate) main: Rgb,
    pub(crate) content: Rgb,
}

impl Backgrounds {
    pub(crate) fn new(colours: &Map<String, Value>) -> Self {
        let page = given(colours, "page_bg");
        let main = given(colours, "main_bg").or(page).unwrap_or(PAGE.0);
        let content = given(colours, "content_bg").unwrap_or(CONTENT.0);
        Self { page: page.unwrap_or(main), main, content }
    }
}

/// Returns the colour of a key.
pub(crate) fn given(colours: &Map<String, Value>, name: &str) -> Option<Rgb> {
    colours.get(name).and_then(Value::as_str).and_then(Rgb::parse)
}

/// The colours of a group on light grounds. Each text can be read on its ground.
pub(crate) struct LightColours {
    pub(crate) page: Rgb,
    pub(crate) page_text: Rgb,
    pub(crate) main: Rgb,
    pub(crate) main_text: Rgb,
    pub(crate) content: Rgb,
    pub(crate) content_text: Rgb,
    /// The colour of links as it is given, which may need correction.
    pub(crate) links: Rgb,
    /// The colour of links and buttons on the content.
    pub(crate) button: Rgb,
}

impl LightColours {
    /// Corrects colours, given by their keys.
    pub(crate) fn new(colours: &Map<String, Value>) -> Self {
        let Backgrounds { page, main, content } = Backgrounds::new(colours);
        let text = |name: &str, default: Rgb, background: Rgb| match given(colours, name) {
            Some(colour) => colour.readable_on(&[background]),
            None if default.contrast(background) >= CONTRAST_MIN => default,
            None => background.text_on(),
        };
        let main_text = text("main_text", PAGE.1, main);
        let links = given(colours, "content_links").unwrap_or(LINKS);
        Self {
            page,
            page_text: text("page_text", main_text, page),
            main,
            main_text,
            content,
            content_text: text("content_text", CONTENT.1, content),
            links,
            button: links.readable_on_washed(content),
        }
    }
}
