//! Decisions about the webhooks of a group. Reference 18.4.

use std::sync::Arc;

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::WebhookId;
use crate::domain::records::message::{Message, MessageContent, ShopWarning};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::state::webhooks::WEBHOOKS_MAX;
use crate::domain::state::webhooks::settlement::{
    WebhookCommand, WebhookFields, WebhookSettlement, WebhookStart,
};
use crate::domain::state::webhooks::webhook::{
    FORMER_SECRET_SECONDS, FormerSecret, OffReason, Webhook, WebhookOff, WebhookProgress,
    WebhookSecret,
};
use crate::domain::time::Instant;

/// Decides a command about webhooks.
///
/// # Errors
/// NoResult for a webhook that does not exist. InvalidParameter for a new one without an address,
/// or beyond [`WEBHOOKS_MAX`].
pub(crate) fn decide(
    context: &mut Context<'_>,
    command: &WebhookCommand,
) -> Result<Decision, Refusals> {
    match command {
        WebhookCommand::Put { id: None, fields } => make(context, fields),
        WebhookCommand::Put { id: Some(id), fields } => change(context, *id, fields),
        WebhookCommand::RotateSecret(id) => rotate_secret(context, *id),
        WebhookCommand::EndFormerSecret(id) => end_former_secret(context, *id),
        WebhookCommand::Remove(id) => {
            find(context.state, *id)?;
            let event = Event::WebhookRemoved { at: context.stamp(), id: *id };
            Ok(Decision::Event(event, Outcome::object(id.number())))
        }
        WebhookCommand::Settle(settlement) => Ok(settle(context, settlement)),
    }
}

fn find(state: &GroupState, id: WebhookId) -> Result<&Arc<Webhook>, Refusal> {
    state.webhooks.get(id).ok_or(Refusal::NoResult)
}

fn make(context: &mut Context<'_>, fields: &WebhookFields) -> Result<Decision, Refusals> {
    let state = context.state;
    let Some(url) = fields.url.clone() else {
        return Err(Fault::new("url", "must be given").into());
    };
    if state.webhooks.len() >= WEBHOOKS_MAX {
        let rule = format!("a group has at most {WEBHOOKS_MAX} webhooks: remove one first");
        return Err(Fault::new("webhook", rule).into());
    }
    let id = WebhookId::new(state.webhooks.last() + 1).expect("few webhooks were ever made");
    let at = context.stamp();
    let after = match fields.since {
        Some(WebhookStart::After(after)) => after,
        Some(WebhookStart::Now) | None => next_change_after(state),
    };
    let webhook = Webhook {
        id,
        url,
        objects: fields.objects.clone().unwrap_or_default(),
        secret: draw_secret(context),
        former: None,
        created_at: at,
        updated_at: at,
        round: 0,
        off: off_by_hand(fields.active, None, at),
        progress: WebhookProgress { after, ..WebhookProgress::default() },
    };
    let event = Event::WebhookPut { at, webhook: Box::new(webhook) };
    Ok(Decision::Event(event, Outcome::object(id.number())))
}

/// Returns the number of the row behind which the next change stands. The first row of a history
/// that begins with the webhook says so, and is no change.
fn next_change_after(state: &GroupState) -> u64 {
    state.history.last().max(1)
}

/// Returns whether a webhook is off after a change of that.
fn off_by_hand(
    active: Option<bool>,
    before: Option<WebhookOff>,
    at: Instant,
) -> Option<WebhookOff> {
    match active {
        None => before,
        Some(true) => None,
        Some(false) => before.or(Some(WebhookOff { reason: OffReason::ByHand, since: at })),
    }
}

fn change(
    context: &mut Context<'_>,
    id: WebhookId,
    fields: &WebhookFields,
) -> Result<Decision, Refusals> {
    let before = find(context.state, id)?;
    let at = context.stamp();
    let mut after = Webhook::clone(before);
    if let Some(url) = &fields.url
        && *url != after.url
    {
        after.url = url.clone();
        // Another receiver need not wait for what the one before has failed to take.
        after.progress.failing = None;
    }
    if let Some(objects) = &fields.objects {
        after.objects = objects.clone();
    }
    after.off = off_by_hand(fields.active, after.off, at);
    if after.off.is_none() && before.off.is_some() {
        after.progress.failing = None;
    }
    match fields.since {
        Some(WebhookStart::After(row)) => after.go_on_after(row, false),
        Some(WebhookStart::Now) => after.go_on_after(next_change_after(context.state), false),
        None => {}
    }
    put(context, before, after)
}

fn rotate_secret(context: &mut Context<'_>, id: WebhookId) -> Result<Decision, Refusals> {
    let before = find(context.state, id)?;
    let mut after = Webhook::clone(before);
    let ends_at = context.environment.steady_now().plus_seconds(FORMER_SECRET_SECONDS);
    let secret = draw_secret(context);
    let former = std::mem::replace(&mut after.secret, secret);
    after.former = Some(FormerSecret { secret: former, ends_at });
    put(context, before, after)
}

fn end_former_secret(context: &mut Context<'_>, id: WebhookId) -> Result<Decision, Refusals> {
    let before = find(context.state, id)?;
    let after = Webhook { former: None, ..Webhook::clone(before) };
    put(context, before, after)
}

fn put(context: &Context<'_>, before: &Arc<Webhook>, after: Webhook) -> Result<Decision, Refusals> {
    let outcome = Outcome::object(after.id.number());
    if after == **before {
        return Ok(Decision::Unchanged(outcome));
    }
    let at = context.stamp();
    let webhook = Box::new(Webhook { updated_at: at, ..after });
    Ok(Decision::Event(Event::WebhookPut { at, webhook }, outcome))
}

/// Draws a secret of 256 bits.
fn draw_secret(context: &mut Context<'_>) -> WebhookSecret {
    let mut bits = [0; 32];
    for part in bits.chunks_exact_mut(8) {
        part.copy_from_slice(&context.environment.number().to_le_bytes());
    }
    WebhookSecret::new(bits)
}

/// Decides what a webhook has delivered. It changes nothing if the webhook was removed, turned off
/// or set to another place meanwhile.
fn settle(context: &Context<'_>, settlement: &WebhookSettlement) -> Decision {
    let WebhookSettlement { id, round, progress, begins_round, off, recipients } = settlement;
    let outcome = Outcome::object(id.number());
    let webhook = context.state.webhooks.get(*id);
    if !webhook.is_some_and(|webhook| webhook.round == *round && webhook.is_on()) {
        return Decision::Unchanged(outcome);
    }
    let at = context.stamp();
    let progress = Box::new(progress.clone());
    let event =
        Event::WebhookSettled { at, id: *id, progress, begins_round: *begins_round, off: *off };
    let mut messages: Vec<Message> = Vec::new();
    if off.is_some() {
        for (position, recipient) in (0..).zip(recipients) {
            let content = MessageContent::ShopWarning(ShopWarning::WebhookOff(*id));
            let outbox = &context.state.outbox;
            messages.push(outbox.draft(position, at, content, recipient.as_str()));
        }
    }
    Decision::Event(event.announced_by(messages), outcome)
}
