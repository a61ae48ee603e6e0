//! Slug of a group: its name in URLs. Reference 12.1.

/// Maximum length of a slug in bytes, without a number at its end.
const SLUG_MAX: usize = 100;

/// Returns a slug of `name` that is not `taken`: lower-case letters and digits, joined by `-`. `id`
/// replaces a name without any of them.
pub(crate) fn unique_slug(name: &str, id: u64, taken: impl Fn(&str) -> bool) -> String {
    let mut slug = slugify(name);
    if slug.is_empty() {
        slug = format!("group-{id}");
    }
    if !taken(&slug) {
        return slug;
    }
    let mut number = 2_u64;
    loop {
        let numbered = format!("{slug}-{number}");
        if !taken(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

fn slugify(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        match unaccented(letter) {
            Some(plain) => slug.push_str(plain),
            None if letter.is_ascii_alphanumeric() => slug.push(letter),
            None if slug.is_empty() || slug.ends_with('-') => {}
            None => slug.push('-'),
        }
        if slug.len() >= SLUG_MAX {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Returns the plain letters of an accented letter of western European languages.
fn unaccented(letter: char) -> Option<&'static str> {
    Some(match letter {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => "a",
        'ç' => "c",
        'è' | 'é' | 'ê' | 'ë' => "e",
        'ì' | 'í' | 'î' | 'ï' => "i",
        'ñ' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' => "o",
        'ù' | 'ú' | 'û' | 'ü' => "u",
        'ý' | 'ÿ' => "y",
        'æ' => "ae",
        'œ' => "oe",
        'ß' => "ss",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_plain_and_unique() {
        let taken = |slug: &str| slug == "a";
        assert_eq!(
            unique_slug("  Cabinet médical « Les Œillets »", 4, taken),
            "cabinet-medical-les-oeillets"
        );
        assert_eq!(unique_slug("A!", 4, taken), "a-2");
        assert_eq!(unique_slug("診療所", 4, taken), "group-4");
    }
}
