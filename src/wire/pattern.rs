//! Texts compared without regard to letter case.

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
        out.extend(text.chars().flat_map(char::to_lowercase));
    }
}

/// The pattern of `like`: `%` stands for any text, also the empty one; letter case does not matter.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// What stands before the first `%`, folded.
    first: String,
    /// What stands after each `%`, folded.
    rest: Vec<String>,
}

impl Pattern {
    /// The pattern of that spelling.
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = text.split('%').map(folded);
        let first = pieces.next().unwrap_or_default();
        Self { first, rest: pieces.collect() }
    }

    /// Whether a whole text is of this form. What it costs grows with the text and the pattern, not with their product.
    /// The text is folded in `room`, whatever stood there.
    pub(super) fn matches(&self, text: &str, room: &mut String) -> bool {
        room.clear();
        push_folded(text, room);
        let text = room.as_str();
        let Some((last, between)) = self.rest.split_last() else { return text == self.first };
        let within = text.strip_prefix(self.first.as_str()).and_then(|text| text.strip_suffix(last.as_str()));
        let Some(mut within) = within else { return false };
        for piece in between {
            let Some(at) = within.find(piece.as_str()) else { return false };
            within = &within[at + piece.len()..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_stands_for_any_text() {
        for (pattern, text) in
            [("dur%", "Durand"), ("%AND", "Durand"), ("%u%a%", "Durand"), ("%", ""), ("é%", "Éric"), ("a_c", "A_C")]
        {
            assert!(Pattern::new(pattern).matches(text, &mut String::new()), "{text} like {pattern}");
        }
        for (pattern, text) in [("dur", "Durand"), ("%x%", "Durand"), ("ab%bc", "abc"), ("", "a"), ("a_c", "abc")] {
            assert!(!Pattern::new(pattern).matches(text, &mut String::new()), "{text} not like {pattern}");
        }
    }
}
