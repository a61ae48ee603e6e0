//! Text of an unknown sender in messages to others. Reference 7.3.

/// Digits from which a text may hold a telephone number.
const PHONE_DIGITS_MIN: usize = 6;

/// Whether a text looks like a mail address, a link, a domain or a telephone number. Names of
/// people have none of these, so it may find too much.
pub(crate) fn looks_like_address(text: &str) -> bool {
    let mut before = ' ';
    let mut after_dot = false;
    let mut digits = 0;
    for c in text.chars() {
        // Characters without a shape hide what stands around them.
        if is_shapeless(c) {
            continue;
        }
        if is_at_or_slash(c) {
            return true;
        }
        if after_dot && c.is_alphanumeric() {
            return true;
        }
        after_dot = is_dot(c) && before.is_alphanumeric();
        digits += usize::from(c.is_numeric());
        before = c;
    }
    digits >= PHONE_DIGITS_MIN || text.to_lowercase().contains("www")
}

/// The characters of addresses and links, and those that look like them.
const fn is_at_or_slash(c: char) -> bool {
    matches!(
        c,
        '@' | '\u{ff20}'
            | '\u{fe6b}'
            | '/'
            | '\u{ff0f}'
            | '\u{2044}'
            | '\u{2215}'
            | '\\'
            | ':'
            | '\u{ff1a}'
            | '\u{fe55}'
            | '\u{a789}'
            | '<'
            | '>'
            | '['
            | ']'
    )
}

/// The dot of a domain, and the characters that look like it or that programs take for it.
const fn is_dot(c: char) -> bool {
    matches!(c, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' | '\u{2024}' | '\u{fe52}')
}

const fn is_shapeless(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_links_domains_and_numbers_are_recognised_and_names_are_not() {
        for suspicious in [
            "https://evil.example/x",
            "Win at evil.example",
            "EVIL。example",
            "www evil",
            "ann@evil.example",
            "ann＠evil",
            "evil.\u{200b}example",
            "Call 0900 123456",
            "192.0.2.7",
            "evil.example/pay",
            "[click](x)",
            "пример.рф",
        ] {
            assert!(looks_like_address(suspicious), "{suspicious}");
        }
        for name in [
            "",
            "Ada Durand",
            "Jean-Pierre O'Neil",
            "Martin Jr.",
            "St. Clair",
            "J. R. R. Tolkien",
            "Zoë Šťastná (née Müller)",
            "Louis XIV, 2",
        ] {
            assert!(!looks_like_address(name), "{name}");
        }
    }
}
