//! Text of an unknown sender in messages to others. Reference 7.3.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Digits from which a text may hold a telephone number.
const PHONE_DIGITS_MIN: usize = 6;

/// The characters of addresses and links, and those that look like them.
const AT_OR_SLASH: &str = "@/\u{2044}\u{2215}\u{29f8}\\:\u{2236}\u{a789}<>[]";

/// The dot of a domain, and the characters that look like it or that programs take for it.
const DOTS: &str = ".\u{3002}\u{6d4}\u{701}\u{702}\u{a4f8}\u{a60e}";

/// Whether a text looks like a mail address, a link, a domain or a telephone number. Names of
/// people have none of these, so it may find too much.
pub(crate) fn looks_like_address(text: &str) -> bool {
    let mut before = ' ';
    let mut after_dot = false;
    let mut digits = 0;
    let shown = plain_letters(text);
    for c in shown.chars() {
        if AT_OR_SLASH.contains(c) {
            return true;
        }
        if after_dot && c.is_alphanumeric() {
            return true;
        }
        after_dot = DOTS.contains(c) && before.is_alphanumeric();
        digits += usize::from(c.is_numeric());
        before = c;
    }
    digits >= PHONE_DIGITS_MIN || shown.to_lowercase().contains("www")
}

/// Returns the letters of a text as a reader sees them: wide and other compatible forms as plain
/// ones, without accents and other marks, and without characters that take no room.
fn plain_letters(text: &str) -> String {
    let visible = text.chars().filter(|c| !takes_no_room(*c));
    visible.nfkd().filter(|c| !is_combining_mark(*c)).collect()
}

/// The characters that Unicode lets programs ignore, the marks of interlinear text, and the spaces
/// that are hardly seen; without combining marks, which have a category of their own.
const fn takes_no_room(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{2006}'
            | '\u{2008}'..='\u{200f}'
            | '\u{202a}'..='\u{202f}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
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
            "evil.\u{2066}com",
            "evil.\u{202e}com",
            "evil.\u{61c}com",
            "evil.\u{fe0f}com",
            "evil.\u{e0100}com",
            "evil.\u{e0061}com",
            "evil.\u{301}com",
            "evil.\u{34f}com",
            "evil.\u{180e}com",
            "evil.\u{3164}com",
            "evil.\u{ffa0}com",
            "evil.\u{2062}com",
            "evil.\u{1d173}com",
            "evil\u{301}.\u{20dd}\u{fe0f}com",
            "evil.\u{200a}com",
            "evil\u{2024}com",
            "evil\u{a4f8}com",
            "www\u{2066} evil",
            "w\u{2060}w\u{fe0f}w evil",
            "ｗｗｗ evil",
            "pay﹫evil",
            "evil℀",
            "09\u{2066}00 １２３４",
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
            "Zoe\u{308} S\u{30c}t\u{30c}astna\u{301}",
            "Nguyễn Thị Ánh",
            "محمد\u{200f} بن علي",
            "김\u{115f} 민수",
            "रवि शर्मा",
            "Louis XIV, 2",
        ] {
            assert!(!looks_like_address(name), "{name}");
        }
    }
}
