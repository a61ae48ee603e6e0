//! A mail with the content of its headers and parts.

use crate::notify::calendar::ItipMethod;

/// A mail to one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutgoingMessage {
    /// Address of the recipient.
    pub(crate) to: String,
    /// Display name of the sender.
    pub(crate) from_name: String,
    /// Subject; one line.
    pub(crate) subject: String,
    /// The plain text part.
    pub(crate) text: String,
    /// The HTML part.
    pub(crate) html: String,
    /// Method of the calendar parts; `None` if there are none.
    pub(crate) method: Option<ItipMethod>,
    /// One iCalendar object per appointment.
    pub(crate) calendars: Vec<String>,
    /// URL that ends such mails; `None` if nothing does.
    pub(crate) unsubscribe_url: Option<String>,
}

impl OutgoingMessage {
    /// Creates a mail of one sentence.
    pub(crate) fn plain(to: &str, sentence: &str) -> Self {
        Self {
            to: to.to_owned(),
            from_name: "slotbook".to_owned(),
            subject: sentence.to_owned(),
            text: sentence.to_owned(),
            html: format!("<p>{sentence}</p>"),
            method: None,
            calendars: Vec::new(),
            unsubscribe_url: None,
        }
    }
}
