//! Warnings to the professionals of a group. Reference 7.3.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::message::MessageContent;
use crate::domain::state::command::WarnShop;
use crate::domain::state::event::Event;
use crate::domain::time::DAY;

/// Decides a warning. It changes nothing if the same one was given within 24 hours, or if there is
/// no recipient.
pub(crate) fn decide(context: &Context<'_>, command: &WarnShop) -> Decision {
    let at = context.stamp();
    let outbox = &context.state.outbox;
    let last = outbox.last_warning(command.warning);
    if last.is_some_and(|last| context.now.seconds_since(last) < DAY) {
        return Decision::Unchanged(Outcome::default());
    }
    let mut messages = Vec::with_capacity(command.recipients.len());
    for (position, recipient) in (0..).zip(&command.recipients) {
        let content = MessageContent::ShopWarning(command.warning);
        messages.push(outbox.draft(position, at, content, recipient.as_str()));
    }
    if messages.is_empty() {
        return Decision::Unchanged(Outcome::default());
    }
    Decision::Event(Event::nothing(at).announced_by(messages), Outcome::default())
}
