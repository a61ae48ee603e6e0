//! Texts, numbers and colours that hold only legal values. Reference 10.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::records::mail_domain;

/// The rule that a value breaks, such as "must be from 1 to 5, not 7".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidValue(pub String);

impl InvalidValue {
    fn new(rule: impl Into<String>) -> Self {
        Self(rule.into())
    }
}

/// Text of at most `MAX` Unicode characters. Newline and tab are the only control characters it may
/// hold. Reference 10.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize>(Box<str>);

/// Text of at most `MAX` Unicode characters without control characters. Reference 10.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name<const MAX: usize>(Box<str>);

/// A text of the longest kind. Reference 10.
pub type LongText = Text<65_535>;

fn check_text(
    text: &str,
    max: usize,
    control_allowed: fn(char) -> bool,
) -> Result<(), InvalidValue> {
    if let Some(found) = text.chars().find(|&c| c.is_control() && !control_allowed(c)) {
        return Err(InvalidValue::new(format!(
            "must not hold the control character U+{:04X}",
            found as u32
        )));
    }
    // A text has at most as many characters as bytes, so most texts need no count.
    if text.len() > max {
        let length = text.chars().count();
        if length > max {
            return Err(InvalidValue::new(format!(
                "must have at most {max} characters, not {length}"
            )));
        }
    }
    Ok(())
}

macro_rules! text {
    ($name:ident, $allowed:expr, $normalise:expr) => {
        impl<const MAX: usize> $name<MAX> {
            /// Checks a text.
            ///
            /// # Errors
            /// It has more than `MAX` characters or a forbidden control character.
            pub fn new(text: &str) -> Result<Self, InvalidValue> {
                let normalise: fn(&str) -> std::borrow::Cow<'_, str> = $normalise;
                let text = normalise(text);
                check_text(&text, MAX, $allowed)?;
                Ok(Self(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether it holds only white space. The module hides a record whose public name is
            /// blank.
            pub fn is_blank(&self) -> bool {
                self.0.trim().is_empty()
            }
        }

        impl<const MAX: usize> fmt::Debug for $name<MAX> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text!(Text, |c| c == '\n' || c == '\t', normalise_newlines);
text!(Name, |_| false, |text| text.into());

/// Replaces CR LF, which HTML forms send, with a newline. A lone carriage return stays and is
/// refused.
fn normalise_newlines(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

/// An e-mail address of at most 255 characters: one `@` with text on both sides, and no white space
/// or control character. Reference 10.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Email(Box<str>);

impl Email {
    /// Checks an address.
    ///
    /// # Errors
    /// It cannot be an e-mail address.
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        check_text(text, 255, |_| false)?;
        if !looks_like_address(text) {
            return Err(InvalidValue::new("must be an e-mail address such as name@example.org"));
        }
        Ok(Self(text.into()))
    }

    /// The address as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form for comparisons, by [`folded`].
    pub fn folded(&self) -> Box<str> {
        folded(&self.0)
    }
}

fn looks_like_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    if local.is_empty() || local.contains('@') || domain.is_empty() {
        return false;
    }
    if text.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | ',' | ';' | '"')) {
        return false;
    }
    !domain.starts_with('.') && !domain.ends_with('.') && !domain.contains("..")
}

/// Returns a text in lower case, for the comparison of addresses. Both spellings of a domain have
/// one form. In the part before `@`, a letter outside ASCII whose lower case is partly ASCII is
/// kept: mail servers take it for another letter, so the mailbox is another.
///
/// ```
/// use slotbook::domain::records::text::folded;
/// assert_eq!(*folded("Kim@Élan.fr"), *"kim@élan.fr");
/// assert_eq!(folded("kim@xn--lan-9la.fr"), folded("kim@élan.fr"));
/// assert_ne!(folded("\u{212a}im@x.org"), folded("kim@x.org"));
/// ```
pub fn folded(text: &str) -> Box<str> {
    if let Some((local, domain)) = text.rsplit_once('@')
        && let Some(domain) = mail_domain::in_letters(domain)
    {
        return format!("{}@{domain}", fold_letters(local)).into();
    }
    fold_letters(text)
}

fn fold_letters(text: &str) -> Box<str> {
    let lower = text.to_lowercase();
    if text.is_ascii() {
        return lower.into();
    }
    // The lower case of a sigma depends on its neighbours, so the whole text is converted.
    let mut rest = lower.chars();
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_ambiguous =
            !letter.is_ascii() && letter.to_lowercase().any(|lower| lower.is_ascii());
        let lower = rest.by_ref().take(letter.to_lowercase().count());
        if is_ambiguous {
            // Skips its lower case.
            lower.for_each(drop);
            out.push(letter);
        } else {
            out.extend(lower);
        }
    }
    out.into()
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A colour `#RRGGBB`, with the case of its digits as given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Colour([u8; 7]);

impl Colour {
    /// The default colour of an intervention. Reference 12.4.
    pub const DEFAULT: Self = Self(*b"#dddddd");

    /// Parses a colour.
    ///
    /// # Errors
    /// The text is not `#` with six hexadecimal digits.
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        match <[u8; 7]>::try_from(text.as_bytes()) {
            Ok(bytes) if bytes[0] == b'#' && bytes[1..].iter().all(u8::is_ascii_hexdigit) => {
                Ok(Self(bytes))
            }
            Ok(_) | Err(_) => Err(InvalidValue::new("must be a colour such as #1a2b3c")),
        }
    }

    /// The seven characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a colour is ASCII")
    }
}

impl fmt::Debug for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bounded<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Bounded<MIN, MAX> {
    /// Checks a number.
    ///
    /// # Errors
    /// It lies outside `MIN` to `MAX`.
    pub fn new(number: i64) -> Result<Self, InvalidValue> {
        if (MIN..=MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(InvalidValue::new(format!("must be from {MIN} to {MAX}, not {number}")))
        }
    }

    /// A constant number. In a `const` context, one outside the bounds does not compile.
    ///
    /// # Panics
    /// If the number lies outside `MIN` to `MAX`.
    pub const fn known(number: i64) -> Self {
        assert!(MIN <= number && number <= MAX, "a constant must lie within its bounds");
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> i64 {
        self.0
    }
}

/// Minutes between a reminder and its appointment: 60 to `MAX`, or 0 for no reminder.
/// Reference 10, 12.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReminderLead<const MAX: i64>(i64);

impl<const MAX: i64> ReminderLead<MAX> {
    /// Checks a number of minutes.
    ///
    /// # Errors
    /// It is neither 0 nor from 60 to `MAX`.
    pub fn new(minutes: i64) -> Result<Self, InvalidValue> {
        if minutes == 0 || (60..=MAX).contains(&minutes) {
            Ok(Self(minutes))
        } else {
            Err(InvalidValue::new(format!("must be 0 or from 60 to {MAX} minutes, not {minutes}")))
        }
    }

    /// The minutes; `None` if no reminder is sent.
    pub const fn minutes(self) -> Option<i64> {
        if self.0 == 0 { None } else { Some(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_counts_characters_not_bytes() {
        assert!(Text::<4>::new("éééé").is_ok());
        assert_eq!(
            Text::<4>::new("ééééé").expect_err("five").0,
            "must have at most 4 characters, not 5"
        );
    }

    #[test]
    fn a_name_takes_no_newline_and_a_text_does() {
        assert!(Text::<9>::new("a\nb\tc").is_ok());
        assert!(Text::<9>::new("a\u{0}").is_err());
        assert!(Name::<9>::new("a\nb").is_err());
    }

    #[test]
    fn an_address_needs_text_on_both_sides_of_the_at_sign() {
        for good in ["a@b", "Jean.Dupont+rdv@example.org", "é@exemple.fr"] {
            assert!(Email::new(good).is_ok(), "{good}");
        }
        for bad in
            ["", "a", "@b", "a@", "a b@c", "a@b@c", "a@.b", "a@b.", "a@b..c", "a@b\n", "a,b@c"]
        {
            assert!(Email::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn letters_that_only_look_like_ascii_stay_distinct() {
        let same = |one: &str, other: &str| folded(one) == folded(other);
        assert!(
            same("Kim@X.org", "kim@x.ORG")
                && same("ÉLAN@x", "élan@x")
                && same("\u{212b}sa@x", "åsa@x")
        );
        assert!(
            !same("\u{212a}im@x", "kim@x")
                && !same("\u{130}da@x", "ida@x")
                && !same("\u{17f}am@x", "sam@x")
        );
        assert!(same("\u{212a}IM\u{130}É@X", "\u{212a}im\u{130}é@x"));
        assert_eq!(*folded("ΣΑΣ@x"), *"σας@x");
        for text in ["\u{212a}im@x", "\u{130}da@x", "ΣΑ\u{212a}Σ"] {
            assert_eq!(folded(&folded(text)), folded(text));
            assert_eq!(
                folded(text).to_lowercase(),
                text.to_lowercase(),
                "folding joins no texts that lower case keeps apart"
            );
        }
    }

    #[test]
    fn a_colour_has_seven_characters() {
        assert_eq!(Colour::new("#1A2b3c").expect("a colour").as_str(), "#1A2b3c");
        for bad in ["", "#12345", "1234567", "#12345g", "#1234567"] {
            assert!(Colour::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bounded_number_may_equal_its_bounds() {
        type Length = Bounded<1, 1_440>;
        assert!(Length::new(1).is_ok() && Length::new(1_440).is_ok());
        assert!(Length::new(0).is_err() && Length::new(1_441).is_err());
        assert!(ReminderLead::<1_440>::new(0).is_ok() && ReminderLead::<1_440>::new(59).is_err());
        assert!(
            ReminderLead::<1_440>::new(60).is_ok() && ReminderLead::<1_440>::new(1_441).is_err()
        );
    }
}
