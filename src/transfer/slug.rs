//! The name of a group as it can stand in an address. Reference 6.

/// A slug made from `name` that is not taken yet: small letters and digits, joined by `-`.
pub(super) fn unique_slug(name: &str, id: u64, taken: impl Fn(&str) -> bool) -> String {
    let slug = match slugify(name) {
        slug if slug.is_empty() => format!("group-{id}"),
        slug => slug,
    };
    if !taken(&slug) {
        return slug;
    }
    (2_u64..)
        .map(|number| format!("{slug}-{number}"))
        .find(|slug| !taken(slug))
        .expect("numbers do not end")
}

fn slugify(name: &str) -> String {
    const SLUG_MAX: usize = 100;
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

/// The plain letters of those that western European languages mark.
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
