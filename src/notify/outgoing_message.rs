//! A mail with everything that its headers and parts need.

use crate::notify::calendar::Method;

/// A mail to one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutgoingMessage {
    /// The address it goes to.
    pub(super) to: String,
    /// Whose name stands before the address it comes from.
    pub(super) from_name: String,
    /// One line.
    pub(super) subject: String,
    /// The plain text.
    pub(super) text: String,
    /// The same as a page.
    pub(super) html: String,
    /// What a calendar is to do with it, where it has calendar parts.
    pub(super) method: Option<Method>,
    /// One `.ics` per appointment.
    pub(super) calendars: Vec<String>,
    /// The link that ends such mails.
    pub(super) unsubscribe: Option<String>,
}

impl OutgoingMessage {
    /// A mail that says one sentence.
    pub(super) fn test(to: &str, sentence: &str) -> Self {
        Self {
            to: to.to_owned(),
            from_name: "slotbook".to_owned(),
            subject: sentence.to_owned(),
            text: sentence.to_owned(),
            html: format!("<p>{sentence}</p>"),
            method: None,
            calendars: Vec::new(),
            unsubscribe: None,
        }
    }
}
