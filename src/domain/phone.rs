//! Telephone numbers in the form that gateways take. Spec 2.1 `country_code`.

/// A number as it is dialled from anywhere, `+` and digits, where it can be told: `+` stands before its first digit, or it
/// begins with `00`, or the group has a default prefix. Otherwise its digits as they are; `None` where it has none.
///
/// ```
/// use slotbook::domain::phone::international;
/// assert_eq!(international("06 12 34 56 78", "+33").as_deref(), Some("+33612345678"));
/// assert_eq!(international("0044 20 7946 0000", "33").as_deref(), Some("+442079460000"));
/// assert_eq!(international("+33 (0)6 12 34 56 78", "").as_deref(), Some("+33612345678"));
/// assert_eq!(international("mobile: (+33) 6 12 34 56 78", "33").as_deref(), Some("+33612345678"));
/// assert_eq!(international("06.12", "").as_deref(), Some("0612"));
/// assert_eq!(international("none", "33"), None);
/// ```
#[must_use]
pub fn international(number: &str, default_prefix: &str) -> Option<String> {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
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
    // Italy dials its 0 from abroad, too.
    let national = if prefix == "39" { given.as_str() } else { given.strip_prefix('0').unwrap_or(&given) };
    Some(format!("+{prefix}{national}"))
}
