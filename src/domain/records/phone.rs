//! Phone numbers in the form that gateways take. Reference 12.1 `country_code`.

/// Maximum digits of a number with its country prefix, by E.164.
const DIGITS_MAX: usize = 15;
/// Digits from which a number may be complete, so that another may follow it.
const COMPLETE_DIGITS_MIN: usize = 8;
/// Digits from which a number that begins with the default prefix is taken to include it. No
/// national number is as long.
const WITH_PREFIX_DIGITS_MIN: usize = 11;
/// First digits of mobile numbers after the country prefix, for countries where they are distinct.
const MOBILE_FIRST_DIGITS: [(&str, &str); 7] =
    [("32", "4"), ("33", "67"), ("34", "67"), ("352", "6"), ("39", "3"), ("41", "7"), ("44", "7")];

/// Converts a number to international form: `+` and digits. That needs a `+` before its first
/// digit, a leading `00`, or a default prefix of the group. Otherwise its digits are returned as
/// they are. Of several numbers in one text the first is taken. `None` if there is no digit, or if
/// there are more than 15, the maximum of E.164.
///
/// ```
/// use slotbook::domain::records::phone::to_international;
/// assert_eq!(to_international("06 12 34 56 78", "+33").as_deref(), Some("+33612345678"));
/// assert_eq!(to_international("0044 20 7946 0000", "33").as_deref(), Some("+442079460000"));
/// assert_eq!(to_international("+33 (0)6 12 34 56 78", "").as_deref(), Some("+33612345678"));
/// let labelled = "mobile: (+33) 6 12 34 56 78";
/// assert_eq!(to_international(labelled, "33").as_deref(), Some("+33612345678"));
/// assert_eq!(to_international("06.12", "").as_deref(), Some("0612"));
/// assert_eq!(to_international("33612345678", "33").as_deref(), Some("+33612345678"));
/// let two = "06.12.34.56.78/0711223344";
/// assert_eq!(to_international(two, "33").as_deref(), Some("+33612345678"));
/// assert_eq!(to_international("06 12 34 56 78 07 11 22 33 44", "33"), None);
/// assert_eq!(to_international("none", "33"), None);
/// ```
pub fn to_international(number: &str, default_prefix: &str) -> Option<String> {
    let dialled = dialled_form(first_number(number), default_prefix)?;
    if digits(&dialled).len() > DIGITS_MAX {
        return None;
    }
    Some(dialled)
}

/// Returns the number that text messages go to, of a client's two. It is the first number, unless
/// that is known to be a landline and the second is known to be a mobile.
///
/// ```
/// use slotbook::domain::records::phone::text_message_number;
/// let number = |first, second| text_message_number([first, second], "33");
/// assert_eq!(number("01 23 45 67 89", "06 12 34 56 78").as_deref(), Some("+33612345678"));
/// assert_eq!(number("01 23 45 67 89", "").as_deref(), Some("+33123456789"));
/// assert_eq!(number("01 23 45 67 89", "+49 30 123456").as_deref(), Some("+33123456789"));
/// ```
pub fn text_message_number(phones: [&str; 2], default_prefix: &str) -> Option<String> {
    let [first, second] = phones.map(|phone| to_international(phone, default_prefix));
    let (Some(first), Some(second)) = (&first, &second) else { return first.or(second) };
    let prefer_second = is_mobile(first, default_prefix) == Some(false)
        && is_mobile(second, default_prefix) == Some(true);
    Some(if prefer_second { second.clone() } else { first.clone() })
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// The part of a text before a second number.
fn first_number(text: &str) -> &str {
    let mut count = 0;
    for (at, c) in text.char_indices() {
        let separates_digits = c.is_whitespace() || matches!(c, '.' | '-' | '(' | ')' | '\u{2011}');
        if !c.is_ascii_digit() && !separates_digits && count >= COMPLETE_DIGITS_MIN {
            return &text[..at];
        }
        if c.is_ascii_digit() {
            count += 1;
        }
    }
    text
}

/// The digits to dial, with `+` and the country prefix where they are known.
fn dialled_form(number: &str, default_prefix: &str) -> Option<String> {
    let given = digits(number);
    let first = number.find(|c: char| c.is_ascii_digit())?;
    let plus = number[..first].contains('+');
    let is_international = plus || given.starts_with("00");
    // The 0 that is dialled only within the country is often written in brackets.
    let given = if is_international { digits(&number.replacen("(0)", "", 1)) } else { given };
    if plus {
        return Some(format!("+{given}"));
    }
    if let Some(rest) = given.strip_prefix("00") {
        return Some(format!("+{rest}"));
    }
    let prefix = digits(default_prefix);
    let prefix = prefix.trim_start_matches('0');
    if prefix.is_empty() {
        return Some(given);
    }
    if given.len() >= WITH_PREFIX_DIGITS_MIN && given.starts_with(prefix) {
        return Some(format!("+{given}"));
    }
    // Italian numbers keep their 0 in international form.
    let national =
        if prefix == "39" { given.as_str() } else { given.strip_prefix('0').unwrap_or(&given) };
    Some(format!("+{prefix}{national}"))
}

/// Whether a number of the group's own country is a mobile number; `None` if that is not known.
fn is_mobile(number: &str, default_prefix: &str) -> Option<bool> {
    let prefix = digits(default_prefix);
    let prefix = prefix.trim_start_matches('0');
    let (_, mobiles) = MOBILE_FIRST_DIGITS.iter().find(|(known, _)| *known == prefix)?;
    let first = number.strip_prefix('+')?.strip_prefix(prefix)?.chars().next()?;
    Some(mobiles.contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_at_most_15_digits() {
        let number = |digits: usize| format!("+{}", "1".repeat(digits));
        assert_eq!(to_international(&number(DIGITS_MAX), "33"), Some(number(DIGITS_MAX)));
        assert_eq!(to_international(&number(DIGITS_MAX + 1), "33"), None);
    }

    #[test]
    fn a_number_is_dialled_with_the_prefix_of_its_country() {
        for (number, prefix, dialled) in [
            ("0044 (0)20 7946 0000", "33", "+442079460000"),
            ("06 12 34 56 78", "0033", "+33612345678"),
            // A number of 11 digits may have the prefix already.
            ("33 6 12 34 56 78", "33", "+33612345678"),
            ("33 12 34 56 78", "33", "+333312345678"),
            ("44 6 12 34 56 78", "33", "+3344612345678"),
            ("06 1234 5678", "39", "+390612345678"),
        ] {
            assert_eq!(to_international(number, prefix).as_deref(), Some(dialled), "{number}");
        }
    }

    #[test]
    fn texts_go_to_the_first_number_unless_only_the_second_is_a_mobile() {
        let landline = "01 23 45 67 89";
        let mobile = "06 12 34 56 78";
        let other = "07 12 34 56 78";
        for (phones, number) in [
            ([landline, mobile], "+33612345678"),
            ([mobile, other], "+33612345678"),
            ([mobile, landline], "+33612345678"),
            ([landline, "04 23 45 67 89"], "+33123456789"),
            (["", mobile], "+33612345678"),
        ] {
            assert_eq!(text_message_number(phones, "33").as_deref(), Some(number), "{phones:?}");
        }
    }
}
