//! Slug of a group: its name in URLs. Reference 12.1.

use crate::domain::records::folding::fold_text;

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
    for letter in fold_text(name).chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= SLUG_MAX {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
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
