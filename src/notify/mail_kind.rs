//! Kinds of mails. Reference 7.3.

use crate::notify::calendar::ItipMethod;

/// Kind of a mail; it selects the sentences of the templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailKind {
    Confirmed,
    Changed,
    Restored,
    Cancelled,
    Reminder,
    ConfirmAccount,
    NewPassword,
    NewEmail,
    BookingCode,
    PasswordChanged,
    EmailChanged,
    NewDevice,
    LoginLink,
    CodesHalfUsed,
    CodesAsked,
    CodesNoLongerAsked,
    ProPassword,
    Invitation,
    UnknownLogin,
    WebhookFailed,
    WebhookGone,
}

impl MailKind {
    /// Returns whether the mail's appointments still take place.
    pub(crate) const fn has_live_appointments(self) -> bool {
        matches!(self, Self::Confirmed | Self::Changed | Self::Restored | Self::Reminder)
    }

    /// Returns the method of the mail's calendar parts; `None` if it has none.
    pub(crate) const fn method(self) -> Option<ItipMethod> {
        match self {
            Self::Confirmed | Self::Changed | Self::Restored => Some(ItipMethod::Request),
            Self::Cancelled => Some(ItipMethod::Cancel),
            Self::Reminder
            | Self::ConfirmAccount
            | Self::NewPassword
            | Self::NewEmail
            | Self::BookingCode
            | Self::PasswordChanged
            | Self::EmailChanged
            | Self::NewDevice
            | Self::LoginLink
            | Self::ProPassword
            | Self::Invitation
            | Self::UnknownLogin
            | Self::CodesHalfUsed
            | Self::CodesAsked
            | Self::CodesNoLongerAsked
            | Self::WebhookFailed
            | Self::WebhookGone => None,
        }
    }
}
