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
        // OutgoingMessage by letter, so that a part of a text folds as it does within the whole.
        for letter in text.chars() {
            if letter.is_ascii() {
                out.push(letter.to_ascii_lowercase())
            } else {
                out.extend(letter.to_lowercase())
            }
        }
    }
}

/// Bytes of a text that is held against a pattern where it stands: to make it ready would cost more than to look at it
/// again for each place where a part of the pattern may begin.
const SHORT_BYTES_MAX: usize = 64;

/// The pattern of `like`: `%` stands for any text, also the empty one; letter case does not matter.
#[derive(Clone, Debug)]
pub(super) struct LikePattern {
    /// What stands before the first `%`, folded; everything where there is none.
    first: String,
    /// What stands between each `%` and the next, folded, where anything does.
    between: Vec<Finder<'static>>,
    /// What stands after the last `%`, folded; `None` where there is none.
    last: Option<String>,
}

impl LikePattern {
    /// The pattern of that spelling.
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = text.split('%').map(folded);
        let first = pieces.next().unwrap_or_default();
        let mut rest: Vec<String> = pieces.collect();
        let last = rest.pop();
        let between =
            rest.iter().filter(|piece| !piece.is_empty()).map(|piece| finder(piece)).collect();
        Self { first, between, last }
    }

    /// Whether a whole text is of this form. It is folded into `room`, whatever stood there, unless it can be looked at
    /// where it stands.
    pub(super) fn matches(&self, text: &str, room: &mut String) -> bool {
        if text.len() <= SHORT_BYTES_MAX && text.is_ascii() {
            return self.matches_short(text.as_bytes());
        }
        room.clear();
        push_folded(text, room);
        self.matches_folded(room)
    }

    /// The same of a short text of ASCII, whose letters have a capital each and no other form.
    fn matches_short(&self, text: &[u8]) -> bool {
        let Some(last) = &self.last else {
            return text.eq_ignore_ascii_case(self.first.as_bytes());
        };
        let (first, last) = (self.first.as_bytes(), last.as_bytes());
        let Some((begin, within)) = text.split_at_checked(first.len()) else { return false };
        let Some(middle) = within.len().checked_sub(last.len()) else { return false };
        let (mut within, end) = within.split_at(middle);
        if !begin.eq_ignore_ascii_case(first) || !end.eq_ignore_ascii_case(last) {
            return false;
        }
        for piece in self.between.iter().map(Finder::needle) {
            let found =
                within.windows(piece.len()).position(|window| window.eq_ignore_ascii_case(piece));
            let Some(at) = found else { return false };
            within = &within[at + piece.len()..];
        }
        true
    }

    /// Whether a whole text, folded, is of this form. What it costs grows with the text and the pattern, not with their
    /// product.
    pub(super) fn matches_folded(&self, folded: &str) -> bool {
        let Some(last) = &self.last else { return folded == self.first };
        // Nothing is not looked for: to compare no bytes at all, at the address that stands for none, takes the processor
        // longer than to compare a name.
        let within = if self.first.is_empty() {
            Some(folded)
        } else {
            folded.strip_prefix(self.first.as_str())
        };
        let within = if last.is_empty() {
            within
        } else {
            within.and_then(|text| text.strip_suffix(last.as_str()))
        };
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
    use proptest::prelude::*;

    #[test]
    fn a_text_folds_alike_alone_and_within_another() {
        for (text, lower) in
            [("DURAND", "durand"), ("ÉRIC", "éric"), ("İ", "i\u{307}"), ("ΣΑΣ", "σασ"), ("", "")]
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
            assert!(
                LikePattern::new(pattern).matches(text, &mut String::new()),
                "{text} like {pattern}"
            );
        }
        for (pattern, text) in
            [("dur", "Durand"), ("%x%", "Durand"), ("ab%bc", "abc"), ("", "a"), ("a_c", "abc")]
        {
            assert!(
                !LikePattern::new(pattern).matches(text, &mut String::new()),
                "{text} not like {pattern}"
            );
        }
    }

    /// Letters that fold to one, to several, to their like and to nothing else, and what a pattern means by itself.
    fn texts(most: usize) -> impl Strategy<Value = String> {
        let letters = prop::sample::select(vec![
            "a", "A", "b", "B", "\u{212a}", "z", "Z", "é", "É", "ß", "ẞ", "İ", "ı", "i", "I", "K",
            "k", "Σ", "ς", "%", "_", "@", "[", "`", "{", " ", "\n", "\u{307}", "😀",
        ]);
        prop::collection::vec(letters, 0..most).prop_map(|letters| letters.concat())
    }

    proptest! {
        #[test]
        fn a_text_matches_where_it_stands_as_it_does_folded(
            text in prop_oneof![texts(12), texts(80), "[abAB%_ ]{0,80}"],
            pattern in prop_oneof![texts(6), "[abAB%_]{0,8}", "%[abAB]{0,3}%", "[abAB]{0,2}%[abAB]{0,2}%[abAB]{0,2}"],
            whole in any::<bool>(),
        ) {
            let pattern = LikePattern::new(if whole { &text } else { &pattern });
            let mut room = "what stood there".to_owned();
            prop_assert_eq!(pattern.matches(&text, &mut room), pattern.matches_folded(&folded(&text)));
        }

        #[test]
        fn a_pattern_matches_what_it_is_made_from(pieces in prop::collection::vec(texts(5), 1..5), gap in texts(5)) {
            let pieces: Vec<String> = pieces.iter().map(|piece| piece.replace('%', "")).collect();
            let (pattern, text) = (pieces.join("%"), pieces.join(&gap));
            prop_assert!(LikePattern::new(&pattern).matches(&text, &mut String::new()), "{text} like {pattern}");
        }
    }
}
