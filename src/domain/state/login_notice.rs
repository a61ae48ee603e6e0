//! The command that mails a person about logins. Reference 3.3, 3.6.

use crate::domain::records::account_link::LinkToken;
use crate::domain::records::message::MessageKind;
use crate::domain::records::text::Email;
use crate::domain::time::{DAY, HOUR, Instant};

/// Mails a person about logins, a few times at most. Reference 3.3, 3.6.
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
    /// A professional has forgotten the password. The link sets another one.
    NewPassword {
        /// The token of the link.
        token: LinkToken,
        /// The end of its validity.
        expires: Instant,
    },
    /// Another password was asked for an address that no professional has.
    UnknownLogin,
    /// An administrator invites the owner of the address to the group.
    Invitation {
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
            Self::NewPassword { .. } => MessageKind::ProPassword,
            Self::UnknownLogin => MessageKind::UnknownLogin,
            Self::Invitation { .. } => MessageKind::Invitation,
        }
    }

    /// The number of such messages to one recipient.
    pub const fn limit(&self) -> NoticeLimit {
        match self {
            Self::NewDevice => NoticeLimit { most: 3, seconds: DAY },
            Self::Link { .. } => NoticeLimit { most: 1, seconds: DAY },
            // Enough that a link which is good for long enough is always there.
            Self::NewPassword { .. } | Self::UnknownLogin => NoticeLimit { most: 2, seconds: HOUR },
            Self::Invitation { .. } => NoticeLimit { most: 3, seconds: DAY },
        }
    }
}

/// The number of messages of a kind to one recipient within some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticeLimit {
    /// The maximum number.
    pub most: usize,
    /// The time.
    pub seconds: i64,
}
