//! Outcomes of attempts, with reasons fit to be kept in the history.

use crate::domain::messaging::delivery::DeliveryOutcome;
use crate::domain::records::text::Text;
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

/// Returns one line without control characters; a remote server may have chosen the text.
fn shorten(reason: &str) -> Text<255> {
    let line: String = one_line(reason).chars().take(REASON_CHARS_MAX).collect();
    Text::new(&line).expect("a short line without control characters")
}
