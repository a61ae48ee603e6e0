//! Secrets of a fixed length that callers hand back as text.

/// Parses `N` ASCII letters and digits; `None` for any other text.
pub(crate) fn parse_alphanumeric<const N: usize>(text: &str) -> Option<[u8; N]> {
    let bytes = <[u8; N]>::try_from(text.as_bytes()).ok()?;
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    Some(bytes)
}

/// Whether `guess` is the secret. The time does not depend on the position of a difference.
pub(crate) fn is_secret<const N: usize>(secret: &[u8; N], guess: &str) -> bool {
    let guess = guess.as_bytes();
    if guess.len() != N {
        return false;
    }
    let mut difference = 0;
    for (byte, guessed) in secret.iter().zip(guess) {
        difference |= byte ^ guessed;
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_and_digits_of_the_length_are_parsed() {
        assert_eq!(parse_alphanumeric::<4>("aZ09"), Some(*b"aZ09"));
        for wrong in ["", "aZ0", "aZ090", "aZ-9", "aZé", "aZ0 "] {
            assert_eq!(parse_alphanumeric::<4>(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_guess_that_differs_anywhere_is_not_the_secret() {
        assert!(is_secret(b"aZ09", "aZ09"));
        for wrong in ["", "aZ0", "aZ090", "bZ09", "aY09", "aZ19", "aZ08"] {
            assert!(!is_secret(b"aZ09", wrong), "{wrong}");
        }
    }
}
