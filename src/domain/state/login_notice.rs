//! The command that mails a person about logins. Reference 3.3, 3.6.

use crate::domain::records::account_link::LinkToken;
use crate::domain::records::message::MessageKind;
use crate::domain::records::text::Email;
use crate::domain::time::Instant;

/// Mails a person about logins, a few times in 24 hours at most. Reference 3.3, 3.6.
#[derive(Clone, Debug)]
pub struct NotifyOfLogin {
    /// The address that the person logs in with.
    pub email: Email,
    /// The cause.
    pub notice: LoginNotice,
}

/// The subject of a mail about logins.
#[derive(Clone, Debug)]
pub enum LoginNotice {
    /// A login with a device that is not known.
    NewDevice,
    /// A login was refused after others had failed. The link lets the person try at once.
    Link {
        /// The token of the link.
        token: LinkToken,
        /// The end of its validity.
        expires: Instant,
    },
}

impl LoginNotice {
    /// The kind of its message.
    pub const fn kind(&self) -> MessageKind {
        match self {
            Self::NewDevice => MessageKind::NewDevice,
            Self::Link { .. } => MessageKind::LoginLink,
        }
    }

    /// Maximum number of such messages to one recipient within 24 hours.
    pub const fn daily_max(&self) -> usize {
        match self {
            Self::NewDevice => 3,
            Self::Link { .. } => 1,
        }
    }
}
