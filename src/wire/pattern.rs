//! Texts compared without regard to letter case.

use memchr::memmem::Finder;

/// The form in which two spellings of one text that differ in letter case are equal.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_folded(text, &mut out);
    out
}

/// Appends the folded form of a text.
pub(super) fn push_folded(text: &str, out: &mut String) {
    if text.is_ascii() {
        let from = out.len();
        out.push_str(text);
        out[from..].make_ascii_lowercase();
    } else {
        // Letter by letter, so that a part of a text folds as it does within the whole.
        for letter in text.chars() {
            if letter.is_ascii() { out.push(letter.to_ascii_lowercase()) } else { out.extend(letter.to_lowercase()) }
        }
    }
}

/// The pattern of `like`: `%` stands for any text, also the empty one; letter case does not matter.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// What stands before the first `%`, folded; everything where there is none.
    first: String,
    /// What stands between each `%` and the next, folded.
    between: Vec<Finder<'static>>,
    /// What stands after the last `%`, folded; `None` where there is none.
    last: Option<String>,
}

impl Pattern {
    /// The pattern of that spelling.
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = text.split('%').map(folded);
        let first = pieces.next().unwrap_or_default();
        let mut rest: Vec<String> = pieces.collect();
        let last = rest.pop();
        Self { first, between: rest.iter().map(|piece| finder(piece)).collect(), last }
    }

    /// Whether a whole text, folded, is of this form. What it costs grows with the text and the pattern, not with their
    /// product.
    pub(super) fn matches(&self, folded: &str) -> bool {
        let Some(last) = &self.last else { return folded == self.first };
        // Nothing is not looked for: to compare no bytes at all, at the address that stands for none, takes the processor
        // longer than to compare a name.
        let within = if self.first.is_empty() { Some(folded) } else { folded.strip_prefix(self.first.as_str()) };
        let within = if last.is_empty() { within } else { within.and_then(|text| text.strip_suffix(last.as_str())) };
        let Some(within) = within else { return false };
        let mut within = within.as_bytes();
        for piece in &self.between {
            let Some(at) = piece.find(within) else { return false };
            within = &within[at + piece.needle().len()..];
        }
        true
    }
}

/// What finds a folded text within others, made ready once.
pub(super) fn finder(folded: &str) -> Finder<'static> {
    Finder::new(folded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_folds_alike_alone_and_within_another() {
        for (text, lower) in [("DURAND", "durand"), ("ÉRIC", "éric"), ("İ", "i\u{307}"), ("ΣΑΣ", "σασ"), ("", "")]
        {
            assert_eq!(folded(text), lower);
            let mut out = "A".to_owned();
            push_folded(text, &mut out);
            assert_eq!(out, format!("A{lower}"));
        }
    }

    #[test]
    fn a_percent_sign_stands_for_any_text() {
        for (pattern, text) in [
            ("dur%", "Durand"),
            ("%AND", "Durand"),
            ("%u%a%", "Durand"),
            ("%", ""),
            ("%%", "x"),
            ("é%", "Éric"),
            ("a_c", "A_C"),
        ] {
            assert!(Pattern::new(pattern).matches(&folded(text)), "{text} like {pattern}");
        }
        for (pattern, text) in [("dur", "Durand"), ("%x%", "Durand"), ("ab%bc", "abc"), ("", "a"), ("a_c", "abc")] {
            assert!(!Pattern::new(pattern).matches(&folded(text)), "{text} not like {pattern}");
        }
    }
}
