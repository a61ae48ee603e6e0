//! The rules for a new password that is given in plain text. Reference 3.4.

/// Minimum number of characters.
pub const CHARACTERS_MIN: usize = 10;
/// Maximum number of characters.
pub const CHARACTERS_MAX: usize = 1_000;
/// Passwords that are guessed first, in lower case, ascending by bytes: well-known ones, and words
/// of the field with a year or a few digits. None is shorter than the minimum.
const COMMON: &str = include_str!("../../data/common-passwords.txt");

/// Checks a new password.
///
/// # Errors
/// The rule that it breaks.
///
/// ```
/// use slotbook::password::strength::check_new_password;
/// assert!(check_new_password("nine char").is_err());
/// assert!(check_new_password("Password2026").is_err());
/// assert!(check_new_password("three plain words").is_ok());
/// ```
pub fn check_new_password(plain: &str) -> Result<(), String> {
    let length = plain.chars().count();
    if length < CHARACTERS_MIN {
        return Err(format!("has {length} characters, and must have at least {CHARACTERS_MIN}"));
    }
    if length > CHARACTERS_MAX {
        return Err(format!("must have at most {CHARACTERS_MAX} characters"));
    }
    if is_sha1(plain) {
        return Err(
            "must be the password itself, not 40 hexadecimal digits as of its SHA-1".to_owned()
        );
    }
    if is_common(plain) {
        return Err("is one of the passwords that are guessed first: choose another".to_owned());
    }
    Ok(())
}

/// Returns whether a text may be a SHA-1, which hides what it stands for.
pub fn is_sha1(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a password is in the list in any letter case, or repeats one or two characters.
fn is_common(plain: &str) -> bool {
    let folded: Vec<char> = plain.chars().flat_map(char::to_lowercase).collect();
    if folded.iter().skip(1).all(|letter| *letter == folded[0])
        || folded.iter().zip(folded.iter().skip(2)).all(|(letter, other)| letter == other)
    {
        return true;
    }
    let folded: String = folded.into_iter().collect();
    COMMON.lines().any(|common| common == folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_not_one_of_the_first_guesses() {
        for (password, is_good) in [
            ("", false),
            ("abcdefghi", false),
            ("Azertyuiop", false),
            ("MotDePasse2025", false),
            ("1234567890", false),
            ("abababababab", false),
            ("zzzzzzzzzzzz", false),
            ("éééééééééé", false),
            ("356a192b7913b04c54574d18c28d46e6395428ab", false),
            ("356A192B7913B04C54574D18C28D46E6395428AB", false),
            ("356a192b7913b04c54574d18c28d46e6395428ag", true),
            ("lundi gris 7", true),
            ("ten-letters", true),
        ] {
            assert_eq!(check_new_password(password).is_ok(), is_good, "{password}");
        }
        assert!(check_new_password(&"ab c".repeat(250)).is_ok());
        assert!(check_new_password(&"ab c".repeat(251)).is_err());
    }

    #[test]
    fn the_list_holds_each_password_once_in_lower_case() {
        let passwords: Vec<&str> = COMMON.lines().collect();
        assert!(passwords.is_sorted_by(|one, next| one < next));
        for password in passwords {
            assert!(password.chars().count() >= CHARACTERS_MIN, "{password}");
            assert_eq!(password, password.to_lowercase());
        }
    }
}
