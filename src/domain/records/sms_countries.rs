//! The countries that text messages about bookings with a key may go to. Reference 7.5.

use serde::{Deserialize, Serialize};

use crate::domain::records::text::{InvalidValue, Text};

/// Stands for the group's own `country_code` in the list.
const OWN_COUNTRY: &str = "country_code";
/// Maximum number of digits of a prefix.
const PREFIX_DIGITS_MAX: usize = 7;

/// Country prefixes with commas between them; empty for every country. `country_code` stands for
/// the prefix of the group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SmsCountries(Text<255>);

impl SmsCountries {
    /// The group's own country.
    pub fn own() -> Self {
        Self(Text::new(OWN_COUNTRY).expect("a short text"))
    }

    /// Parses a list.
    ///
    /// # Errors
    /// An element is neither `country_code` nor `+` and 1 to 7 digits, or the text is longer than
    /// 255 characters.
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        let kept = Text::new(text.trim())?;
        for element in elements(kept.as_str()) {
            let is_prefix = match element.strip_prefix('+') {
                Some(digits) => {
                    (1..=PREFIX_DIGITS_MAX).contains(&digits.len())
                        && digits.bytes().all(|byte| byte.is_ascii_digit())
                }
                None => element == OWN_COUNTRY,
            };
            if !is_prefix {
                return Err(InvalidValue(format!(
                    "must be prefixes such as +33, with commas between them, or {OWN_COUNTRY} for \
                     the group's own; empty for every country"
                )));
            }
        }
        Ok(Self(kept))
    }

    /// The list.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether a number in the form of [`crate::domain::records::phone`] may get a text message.
    /// Without a `country_code` the element of that name allows every number.
    ///
    /// ```
    /// use slotbook::domain::records::sms_countries::SmsCountries;
    /// let allows = |list, number| SmsCountries::new(list).expect("a list").allow(number, "+33");
    /// assert!(allows("country_code", "+33612345678") && !allows("country_code", "+88213"));
    /// assert!(allows("+32, +49", "+491711234567") && !allows("+32, +49", "+33612345678"));
    /// assert!(allows("", "+88213"));
    /// ```
    pub fn allow(&self, number: &str, country_code: &str) -> bool {
        let mut is_any_given = false;
        for element in elements(self.as_str()) {
            is_any_given = true;
            let prefix = if element == OWN_COUNTRY { country_code } else { element };
            let digits = prefix.trim_start_matches(|c: char| !c.is_ascii_digit() || c == '0');
            if digits.is_empty() {
                return true;
            }
            if let Some(dialled) = number.strip_prefix('+')
                && dialled.starts_with(digits)
            {
                return true;
            }
        }
        !is_any_given
    }
}

/// Returns the elements of a list; none of an empty text.
fn elements(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(move |_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_prefixes_or_the_own_country() {
        for good in ["", "+33", "+33,+590, +32", "country_code", "country_code,+32", "+1684"] {
            assert!(SmsCountries::new(good).is_ok(), "{good}");
        }
        for bad in ["33", "+", "+33,", "FR", "+33 +32", "+123456789", "own"] {
            assert!(SmsCountries::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_is_allowed_by_any_element() {
        for (list, country_code, number, is_allowed) in [
            ("country_code", "+33", "+33612345678", true),
            ("country_code", "0033", "+33612345678", true),
            ("country_code", "+33", "+882131234567", false),
            ("country_code", "+33", "0612", false),
            ("country_code", "", "+882131234567", true),
            ("country_code,+32", "+33", "+32471234567", true),
            ("+32", "+33", "+33612345678", false),
            ("", "+33", "+882131234567", true),
        ] {
            let list = SmsCountries::new(list).expect("a list");
            assert_eq!(list.allow(number, country_code), is_allowed, "{list:?} {number}");
        }
    }
}
