//! Telephone numbers in the form that gateways take. Reference 12.1 `country_code`.

/// A number as it is dialled from anywhere, `+` and digits, where it can be told: `+` stands before its first digit, or it
/// begins with `00`, or the group has a default prefix. Otherwise its digits as they are. Of several numbers in one text it
/// is the first. `None` where there is none, or one of more than 15 digits, which nobody has (E.164).
///
/// ```
/// use slotbook::domain::messaging::phone::international;
/// assert_eq!(international("06 12 34 56 78", "+33").as_deref(), Some("+33612345678"));
/// assert_eq!(international("0044 20 7946 0000", "33").as_deref(), Some("+442079460000"));
/// assert_eq!(international("+33 (0)6 12 34 56 78", "").as_deref(), Some("+33612345678"));
/// assert_eq!(international("mobile: (+33) 6 12 34 56 78", "33").as_deref(), Some("+33612345678"));
/// assert_eq!(international("06.12", "").as_deref(), Some("0612"));
/// assert_eq!(international("33612345678", "33").as_deref(), Some("+33612345678"));
/// assert_eq!(international("06.12.34.56.78/0711223344", "33").as_deref(), Some("+33612345678"));
/// assert_eq!(international("06 12 34 56 78 07 11 22 33 44", "33"), None);
/// assert_eq!(international("none", "33"), None);
/// ```
#[must_use]
pub fn international(number: &str, default_prefix: &str) -> Option<String> {
    let dialled = dialled(first_of(number), default_prefix)?;
    (digits(&dialled).len() <= DIGITS_MAX).then_some(dialled)
}

/// The number that text messages go to, of a client's two: the first, unless that is certainly no mobile and the other
/// certainly is one.
///
/// ```
/// use slotbook::domain::messaging::phone::for_texts;
/// assert_eq!(for_texts(["01 23 45 67 89", "06 12 34 56 78"], "33").as_deref(), Some("+33612345678"));
/// assert_eq!(for_texts(["01 23 45 67 89", ""], "33").as_deref(), Some("+33123456789"));
/// assert_eq!(for_texts(["01 23 45 67 89", "+49 30 123456"], "33").as_deref(), Some("+33123456789"));
/// ```
#[must_use]
pub fn for_texts(phones: [&str; 2], default_prefix: &str) -> Option<String> {
    let [first, second] = phones.map(|phone| international(phone, default_prefix));
    let is = |number: &Option<String>, mobile| {
        number.as_deref().and_then(|number| is_mobile(number, default_prefix)) == Some(mobile)
    };
    if is(&first, false) && is(&second, true) { second } else { first.or(second) }
}

/// Digits of a number with its country's prefix at most. E.164.
const DIGITS_MAX: usize = 15;
/// Digits from which on a number may be a whole one, and another may follow it.
const WHOLE_MIN: usize = 8;
/// Digits from which on a number that begins with its country's prefix is taken to have it: no national number is as long.
const WITH_PREFIX_MIN: usize = 11;
/// Of countries where it can be told from the first digit after the prefix: those that mobiles begin with.
const MOBILES: [(&str, &str); 7] =
    [("32", "4"), ("33", "67"), ("34", "67"), ("352", "6"), ("39", "3"), ("41", "7"), ("44", "7")];

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// A text up to where a second number begins.
fn first_of(text: &str) -> &str {
    let mut count = 0;
    for (at, c) in text.char_indices() {
        let within = c.is_ascii_digit()
            || c.is_whitespace()
            || matches!(c, '.' | '-' | '(' | ')' | '\u{2011}');
        if !within && count >= WHOLE_MIN {
            return &text[..at];
        }
        count += usize::from(c.is_ascii_digit());
    }
    text
}

fn dialled(number: &str, default_prefix: &str) -> Option<String> {
    let given = digits(number);
    let first = number.find(|c: char| c.is_ascii_digit())?;
    let plus = number[..first].contains('+');
    let abroad = plus || given.starts_with("00");
    // The 0 that is dialled only at home is often written in brackets.
    let given = if abroad { digits(&number.replacen("(0)", "", 1)) } else { given };
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
    if given.len() >= WITH_PREFIX_MIN && given.starts_with(prefix) {
        return Some(format!("+{given}"));
    }
    // Italy dials its 0 from abroad, too.
    let national =
        if prefix == "39" { given.as_str() } else { given.strip_prefix('0').unwrap_or(&given) };
    Some(format!("+{prefix}{national}"))
}

/// Whether a number of the group's own country is a mobile's, where that can be told.
fn is_mobile(number: &str, default_prefix: &str) -> Option<bool> {
    let prefix = digits(default_prefix);
    let prefix = prefix.trim_start_matches('0');
    let (_, mobiles) = MOBILES.iter().find(|(known, _)| *known == prefix)?;
    let begins = number.strip_prefix('+')?.strip_prefix(prefix)?.chars().next()?;
    Some(mobiles.contains(begins))
}
