//! Mails to people who log in. Reference 3.3, 3.6.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::message::{AccountChange, LinkPurpose, MessageContent};
use crate::domain::state::event::Event;
use crate::domain::state::login_notice::{LoginNotice, NotifyOfLogin};

/// Decides a mail to a person. It changes nothing once the person has had enough of them.
pub(crate) fn decide(context: &Context<'_>, command: &NotifyOfLogin) -> Decision {
    let NotifyOfLogin { email, notice } = command;
    let outbox = &context.state.outbox;
    let at = context.stamp();
    if !outbox.has_room_for_login(command, at) {
        return Decision::Unchanged(Outcome::default());
    }
    let content = match notice {
        LoginNotice::NewDevice => MessageContent::AccountNotice(AccountChange::Device),
        LoginNotice::UnknownLogin => MessageContent::AccountNotice(AccountChange::UnknownLogin),
        LoginNotice::Link { token, expires } => MessageContent::AccountLink {
            purpose: LinkPurpose::Login,
            token: token.clone(),
            expires: *expires,
        },
        LoginNotice::NewPassword { token, expires } => MessageContent::AccountLink {
            purpose: LinkPurpose::ProPassword,
            token: token.clone(),
            expires: *expires,
        },
        LoginNotice::Invitation { token, expires } => MessageContent::AccountLink {
            purpose: LinkPurpose::Invitation,
            token: token.clone(),
            expires: *expires,
        },
    };
    let message = outbox.draft(0, at, content, email.as_str());
    Decision::Event(Event::nothing(at).announced_by(vec![message]), Outcome::default())
}
