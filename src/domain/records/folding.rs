//! Folding of letter case and accents, for search, order and slugs. Reference 1.4.

use std::cmp::Ordering;
use std::str::Chars;
use std::sync::LazyLock;

use unicode_normalization::char::decompose_compatible;

/// Letters whose folded forms are kept in a table: those of European languages.
const TABLE_LETTERS: std::ops::Range<u32> = 0xC0..0x250;

/// The folded form of each letter of [`TABLE_LETTERS`] that has one of one or two ASCII letters;
/// the second is 0 if there is none.
static TABLE: LazyLock<Vec<Option<[u8; 2]>>> = LazyLock::new(|| {
    let mut table = Vec::new();
    for letter in TABLE_LETTERS.filter_map(char::from_u32) {
        let folded: String = fold_letter(letter).into_iter().collect();
        table.push(match *folded.as_bytes() {
            [only] => Some([only, 0]),
            [first, second] if folded.is_ascii() => Some([first, second]),
            _ => None,
        });
    }
    table
});

/// Returns the folded form of a text: lower case, without accents. Texts that differ in these only
/// have the same form. The form of a part is a part of the form of the whole.
///
/// ```
/// use slotbook::domain::records::folding::fold_text;
/// assert_eq!(fold_text("ZOÉ Œillet"), "zoe oeillet");
/// ```
pub fn fold_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    append_folded(text, &mut out);
    out
}

/// Appends the folded form of a text.
pub fn append_folded(text: &str, out: &mut String) {
    if text.is_ascii() {
        let from = out.len();
        out.push_str(text);
        out[from..].make_ascii_lowercase();
    } else {
        out.extend(FoldedLetters::new(text));
    }
}

/// Orders two texts by their folded forms, so that `Émile` stands among the texts with `E`. Texts
/// with the same form are ordered by themselves: only identical texts are equal.
pub fn compare_texts(a: &str, b: &str) -> Ordering {
    let folded = if a.is_ascii() && b.is_ascii() {
        let lower = |byte: u8| byte.to_ascii_lowercase();
        a.bytes().map(lower).cmp(b.bytes().map(lower))
    } else {
        FoldedLetters::new(a).cmp(FoldedLetters::new(b))
    };
    folded.then_with(|| a.cmp(b))
}

/// The letters of a text's folded form.
struct FoldedLetters<'t> {
    letters: Chars<'t>,
    /// The rest of the form of the last letter; 0 if there is none.
    second: u8,
    /// The same of a letter outside the table. Empty for nearly all letters, without an allocation.
    rest: std::vec::IntoIter<char>,
}

impl<'t> FoldedLetters<'t> {
    fn new(text: &'t str) -> Self {
        Self { letters: text.chars(), second: 0, rest: Vec::new().into_iter() }
    }
}

impl Iterator for FoldedLetters<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.second != 0 {
            return Some(char::from(std::mem::take(&mut self.second)));
        }
        loop {
            if let Some(letter) = self.rest.next() {
                return Some(letter);
            }
            let letter = self.letters.next()?;
            if letter.is_ascii() {
                return Some(letter.to_ascii_lowercase());
            }
            if let Some([first, second]) = find_in_table(letter) {
                self.second = second;
                return Some(char::from(first));
            }
            // A mark of its own folds to nothing.
            self.rest = fold_letter(letter).into_iter();
        }
    }
}

fn find_in_table(letter: char) -> Option<[u8; 2]> {
    let at = u32::from(letter).checked_sub(TABLE_LETTERS.start)?;
    *TABLE.get(usize::try_from(at).ok()?)?
}

/// Returns the folded form of one letter.
fn fold_letter(letter: char) -> Vec<char> {
    let mut folded = Vec::new();
    for lower in letter.to_lowercase() {
        decompose_compatible(lower, |part| match part {
            // Marks over and under letters.
            '\u{300}'..='\u{36f}' => {}
            'ß' => folded.extend(['s', 's']),
            'æ' => folded.extend(['a', 'e']),
            'œ' => folded.extend(['o', 'e']),
            'þ' => folded.extend(['t', 'h']),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' | 'ð' => folded.push('d'),
            'ħ' => folded.push('h'),
            'ı' => folded.push('i'),
            'ς' => folded.push('σ'),
            _ => folded.extend(part.to_lowercase()),
        });
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_are_folded() {
        for (text, folded) in [
            ("DURAND", "durand"),
            ("Zoé", "zoe"),
            ("Zoe\u{301}", "zoe"),
            ("İzmir", "izmir"),
            ("ΣΑΣ σας", "σασ σασ"),
            ("Œillet straße ẞ ǽ", "oeillet strasse ss ae"),
            ("Łódź Đorđe", "lodz dorde"),
            ("Þór Øre ħıž", "thor ore hiz"),
            ("ﬁn ℡ 診療所", "fin tel 診療所"),
            ("Ёлка Й", "елка и"),
            ("\u{301}", ""),
            ("", ""),
        ] {
            assert_eq!(fold_text(text), folded);
            let mut out = "A".to_owned();
            append_folded(text, &mut out);
            assert_eq!(out, format!("A{folded}"));
        }
    }

    #[test]
    fn accented_letters_stand_among_the_plain_ones() {
        let mut names = ["Zoé", "zola", "Émile", "ebay", "Emil", "emile", "eve", "", "É", "E"];
        names.sort_by(|a, b| compare_texts(a, b));
        let sorted = ["", "E", "É", "ebay", "Emil", "emile", "Émile", "eve", "Zoé", "zola"];
        assert_eq!(names, sorted);
        assert_eq!(compare_texts("Émile", "Émile"), Ordering::Equal);
    }
}
