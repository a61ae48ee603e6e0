//! The links in mails: `PUBLIC_URL/m/<token>`, without an apikey. Contract 7.
//!
//! A link about an appointment is made of its secret, which whoever has the mail has anyway, so nothing has to be kept for
//! it; its parts are joined by dots. A token without dots is that of an account.

use crate::domain::ids::{GroupId, VeventId};
use crate::domain::vevent::Key;

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// Cancels an appointment under its calendar's lead time.
    Cancel(Holder),
    /// Its client wants no more e-mail reminders.
    Unsubscribe(Holder),
    /// An account's token, as it was given out.
    Account(String),
}

/// An appointment, and the proof of having been written to about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its group.
    pub group: GroupId,
    /// Which.
    pub appointment: VeventId,
    /// Its secret.
    pub key: String,
}

/// The link that cancels an appointment.
#[must_use]
pub fn cancel(public_url: &str, group: GroupId, appointment: VeventId, key: &Key) -> String {
    format!("{public_url}/m/c.{group}.{appointment}.{}", key.as_str())
}

/// The link that ends e-mail reminders.
#[must_use]
pub fn unsubscribe(public_url: &str, group: GroupId, appointment: VeventId, key: &Key) -> String {
    format!("{public_url}/m/u.{group}.{appointment}.{}", key.as_str())
}

/// The link of an account's token.
#[must_use]
pub fn account(public_url: &str, token: &str) -> String {
    format!("{public_url}/m/{token}")
}

/// What a token means; `None` where it can mean nothing.
///
/// ```
/// use slotbook::notify::links::{Link, parse};
/// assert!(matches!(parse("c.4.90.abcdefghijklmnopqrst"), Some(Link::Cancel(_))));
/// assert_eq!(parse("abc-_9"), Some(Link::Account("abc-_9".into())));
/// assert_eq!(parse("c.4.x.abc"), None);
/// ```
#[must_use]
pub fn parse(token: &str) -> Option<Link> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !token.is_empty() && token.len() <= 128 && token.chars().all(is_plain) {
        return Some(Link::Account(token.to_owned()));
    }
    let parts: Vec<&str> = token.split('.').collect();
    let [what, group, appointment, key] = parts[..] else { return None };
    let holder = Holder {
        group: GroupId::new(group.parse().ok()?)?,
        appointment: VeventId::new(appointment.parse().ok()?)?,
        key: Key::new(key)?.as_str().to_owned(),
    };
    match what {
        "c" => Some(Link::Cancel(holder)),
        "u" => Some(Link::Unsubscribe(holder)),
        _ => None,
    }
}
