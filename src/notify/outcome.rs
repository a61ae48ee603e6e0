//! Outcomes of attempts, with reasons fit to be kept in the history and logged. Reference 7.2.

use crate::domain::records::text::Text;
use crate::domain::state::delivery_step::DeliveryOutcome;
use crate::notify::language::one_line;

/// Maximum number of characters of a reason.
const REASON_CHARS_MAX: usize = 200;

/// Creates the outcome of an attempt that is not repeated.
pub(crate) fn refused(reason: &str) -> DeliveryOutcome {
    DeliveryOutcome::Refused(shorten(reason))
}

/// Creates the outcome of an attempt that is repeated later.
pub(crate) fn deferred(reason: &str) -> DeliveryOutcome {
    DeliveryOutcome::Deferred { reason: shorten(reason), draw: 0 }
}

/// Returns an error with all its causes. Many errors name only their own step.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// Returns one line without control characters and without mail addresses; a remote server may have
/// chosen the text.
fn shorten(reason: &str) -> Text<255> {
    let line: String = hide_addresses(&one_line(reason)).chars().take(REASON_CHARS_MAX).collect();
    Text::new(&line).expect("a short line without control characters")
}

/// Replaces each mail address in a line, also one written for a URL, with `<address>`.
fn hide_addresses(line: &str) -> String {
    let mut hidden = String::with_capacity(line.len());
    for piece in line.split_inclusive(ends_address) {
        let word = piece.trim_end_matches(ends_address);
        if word.contains('@') || word.contains("%40") {
            hidden.push_str("<address>");
        } else {
            hidden.push_str(word);
        }
        hidden.push_str(&piece[word.len()..]);
    }
    hidden.replace("<<address>>", "<address>")
}

/// Whether a character stands beside an address and not in it.
fn ends_address(character: char) -> bool {
    character.is_whitespace() || "<>()[],;:\"'".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_holds_no_mail_address() {
        for (reply, kept) in [
            ("550 5.1.1 <Ann.B+c@example.org>: no such user", "550 5.1.1 <address>: no such user"),
            ("550 ann@example.org unknown", "550 <address> unknown"),
            ("RCPT TO:ann@example.org, bob@example.org", "RCPT TO:<address>, <address>"),
            ("see https://x.org/?p=ann%40example.org", "see https:<address>"),
            ("(ann@bücher.example)", "(<address>)"),
            ("451 4.7.1 try again later", "451 4.7.1 try again later"),
            ("ann@example.org", "<address>"),
            ("", ""),
        ] {
            assert_eq!(shorten(reply).as_str(), kept, "{reply}");
        }
    }
}
