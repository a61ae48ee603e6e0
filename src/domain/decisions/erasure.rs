//! Decision of the erasing of clients. Reference 17.1.

use std::collections::BTreeSet;

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::idle_clients::find_idle;
use crate::domain::records::account_link::{AccountLink, LinkAction};
use crate::domain::records::customfield::{CustomValue, Customs};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::hold::{Hold, HoldId, HoldState};
use crate::domain::records::ids::{FicheId, MessageId, VeventId};
use crate::domain::records::message::{LinkPurpose, Message, MessageContent};
use crate::domain::records::phone::to_international;
use crate::domain::records::text::folded;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::EraseClients;
use crate::domain::state::erasure::Erasure;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// Decides that clients are erased. Those that were erased already stay as they are.
///
/// # Errors
/// NoResult if one does not exist. PreconditionFailed if other records go than the command names,
/// or if one has not been idle.
/// UpcomingAppointments if they have some, which the command does not cancel.
pub fn decide(context: &mut Context<'_>, command: &EraseClients) -> Result<Decision, Refusals> {
    let state = context.state;
    let outcome = Outcome::object(command.ids.first().map_or(0, |id| id.number()));
    let mut known = Vec::with_capacity(command.ids.len());
    for id in &command.ids {
        known.push(state.fiches.get(id).ok_or(Refusal::NoResult)?.id);
    }
    let fiches = records_of(state, &known);
    if fiches.is_empty() {
        return Ok(Decision::Unchanged(outcome));
    }
    if fiches != command.records || !are_idle(state, command) {
        return Err(Refusal::PreconditionFailed(None).into());
    }
    let upcoming = find_upcoming(state, &fiches, context.now);
    if !command.cancels_upcoming && !upcoming.is_empty() {
        return Err(Refusal::UpcomingAppointments { ids: upcoming }.into());
    }
    let erasure = Box::new(find_parts(state, fiches, upcoming));
    Ok(Decision::Event(Event::ClientsErased { at: context.stamp(), erasure }, outcome))
}

/// Whether all clients have been idle for as long as the command says.
fn are_idle(state: &GroupState, command: &EraseClients) -> bool {
    let Some(before) = command.idle_since else { return true };
    let idle: BTreeSet<FicheId> = find_idle(state, before).into_iter().map(|(id, _)| id).collect();
    command.ids.iter().all(|id| idle.contains(id))
}

/// Returns the event that erases clients with their upcoming appointments; `None` if there are none
/// to erase. It serves an import, which would bring them back.
pub fn erase_again(state: &GroupState, ids: &[FicheId], now: Instant) -> Option<Event> {
    let fiches = records_of(state, ids);
    if fiches.is_empty() {
        return None;
    }
    let upcoming = find_upcoming(state, &fiches, now);
    let erasure = Box::new(find_parts(state, fiches, upcoming));
    Some(Event::ClientsErased { at: state.stamp_for(now), erasure })
}

/// Returns the records of the persons behind some clients that are not erased yet, ascending: each
/// with the one that it was merged into, and all that were merged into that.
pub fn records_of(state: &GroupState, ids: &[FicheId]) -> Vec<FicheId> {
    let kept: BTreeSet<FicheId> = ids.iter().map(|id| state.kept_client(*id)).collect();
    let is_theirs = |fiche: &&Fiche| {
        kept.contains(&fiche.id) || fiche.merged_into.is_some_and(|it| kept.contains(&it))
    };
    let all = state.fiches.values().map(AsRef::as_ref).filter(is_theirs);
    all.filter(|fiche| fiche.erased_at.is_none()).map(|fiche| fiche.id).collect()
}

/// Returns the appointments of some clients that have not ended, ascending by start.
pub fn find_upcoming(state: &GroupState, clients: &[FicheId], now: Instant) -> Vec<VeventId> {
    let all = clients.iter().flat_map(|client| state.appointments_of(*client));
    let mut upcoming: Vec<_> = all.filter(|taken| taken.interval.end > now).collect();
    upcoming.sort_by_key(|taken| (taken.interval.start, taken.id));
    upcoming.into_iter().map(|taken| taken.id).collect()
}

/// Everything that the state keeps of one person, by id.
#[derive(Clone, Debug)]
pub struct PersonRecords {
    /// The person's records, ascending: erased ones included.
    pub fiches: Vec<FicheId>,
    /// The events that name them, deleted ones included, ascending.
    pub vevents: Vec<VeventId>,
    /// The messages to the person, or about the person's appointments, ascending.
    pub messages: Vec<MessageId>,
    /// The bookings that wait for a code, and the holds of confirmed ones.
    pub holds: Vec<HoldId>,
    /// The kept links about the person's accounts, by the hash of the token.
    pub links: Vec<[u8; 32]>,
}

/// Finds everything that the state keeps of the person behind a client. Reference 17.4.
pub fn find_person(state: &GroupState, id: FicheId) -> PersonRecords {
    let kept = state.kept_client(id);
    let is_theirs = |fiche: &&Fiche| fiche.id == kept || fiche.merged_into == Some(kept);
    let all = state.fiches.values().map(AsRef::as_ref).filter(is_theirs);
    let fiches: Vec<FicheId> = all.map(|fiche| fiche.id).collect();
    let mut persons = Persons::find(state, &fiches);
    persons.add_asked_addresses(state);
    let mut messages = persons.find_messages(state);
    let holds = persons.find_holds(state);
    messages.extend(messages_of_codes(state, &holds));
    let links = state.links.iter().filter(|link| persons.are_in_link(link));
    PersonRecords {
        vevents: persons.vevents.iter().copied().collect(),
        messages: messages.into_iter().collect(),
        links: links.map(|link| link.hash).collect(),
        holds,
        fiches,
    }
}

/// Finds everything that tells of some clients.
fn find_parts(state: &GroupState, fiches: Vec<FicheId>, cancelled: Vec<VeventId>) -> Erasure {
    let mut persons = Persons::find(state, &fiches);
    let vevents = persons.vevents.iter().copied().filter(|id| has_texts(state, *id)).collect();
    persons.add_asked_addresses(state);
    let mut messages = persons.find_messages(state);
    let holds = persons.find_holds(state);
    messages.extend(messages_of_codes(state, &holds));
    let links = state.links.iter().filter(|link| persons.are_in_link(link));
    let answers = state.idempotency_records.iter();
    let answers = answers.filter(|record| persons.are_in_answer(&record.answer));
    Erasure {
        cancelled,
        vevents,
        messages: messages.into_iter().collect(),
        links: links.map(|link| link.hash).collect(),
        answers: answers.map(|record| record.scope).collect(),
        holds,
        fiches,
    }
}

/// Finds what tells of the persons of some appointments, and is about these alone.
pub(crate) fn find_appointment_parts(state: &GroupState, vevents: Vec<VeventId>) -> Erasure {
    let ids: BTreeSet<VeventId> = vevents.iter().copied().collect();
    let mut messages = BTreeSet::new();
    for id in &vevents {
        messages.extend(state.outbox.messages_about(*id).map(|message| message.id));
    }
    let about = Persons { vevents: ids, ..Persons::default() };
    let answers = state.idempotency_records.iter();
    let answers = answers.filter(|record| about.are_in_answer(&record.answer));
    Erasure {
        answers: answers.map(|record| record.scope).collect(),
        messages: messages.into_iter().collect(),
        vevents,
        ..Erasure::default()
    }
}

/// Whether an event has texts, an origin, or a client that is no appointment's.
fn has_texts(state: &GroupState, id: VeventId) -> bool {
    let Some(row) = state.rows.get(&id) else { return false };
    row.rare.is_some() || row.appointment().is_some_and(|it| it.booking_origin.is_some())
}

/// The messages with the codes of some holds.
fn messages_of_codes(state: &GroupState, holds: &[HoldId]) -> Vec<MessageId> {
    let mut found = Vec::new();
    for message in state.outbox.messages() {
        if let MessageContent::BookingCode { hold, .. } = &message.content
            && holds.contains(hold)
        {
            found.push(message.id);
        }
    }
    found
}

/// The persons that are erased, by everything that leads to them.
#[derive(Default)]
struct Persons {
    /// Their records.
    fiches: BTreeSet<FicheId>,
    /// The events that name them, deleted ones included.
    vevents: BTreeSet<VeventId>,
    /// Their folded addresses and their numbers in international form, which no other client has.
    addresses: BTreeSet<Box<str>>,
    /// Their texts.
    texts: BTreeSet<Box<str>>,
}

impl Persons {
    fn find(state: &GroupState, fiches: &[FicheId]) -> Self {
        let fiches: BTreeSet<FicheId> = fiches.iter().copied().collect();
        let is_named = |row: &&Vevent| row.fiche_id().is_some_and(|id| fiches.contains(&id));
        let rows = state.rows.values().map(AsRef::as_ref).filter(is_named);
        let vevents = rows.map(|row| row.id).collect();
        let mut addresses = BTreeSet::new();
        let mut texts = BTreeSet::new();
        for id in &fiches {
            let Some(fiche) = state.fiches.get(id) else { continue };
            addresses.extend(addresses_of(state, fiche));
            texts.extend(texts_of(fiche));
        }
        let erased: Vec<FicheId> = fiches.iter().copied().collect();
        for account in state.accounts.values() {
            let goes = account.own().any(|own| fiches.contains(&own))
                && state.account_without(account, &erased).is_none();
            if goes {
                addresses.insert(account.email.folded());
                texts.insert(account.email.as_str().into());
            }
        }
        let mut persons = Self { fiches, vevents, addresses, texts };
        persons.leave_shared(state);
        persons
    }

    /// Leaves out the addresses that another client or account has, such as those of a family.
    fn leave_shared(&mut self, state: &GroupState) {
        for fiche in state.fiches.values() {
            if !self.fiches.contains(&fiche.id) {
                for address in addresses_of(state, fiche) {
                    self.addresses.remove(&address);
                }
            }
        }
        for (address, account) in state.accounts.iter() {
            if !account.own().any(|own| self.fiches.contains(&own)) {
                self.addresses.remove(address);
            }
        }
    }

    /// Adds the addresses that their accounts have asked for and not confirmed yet.
    fn add_asked_addresses(&mut self, state: &GroupState) {
        let links = state.links.iter().filter(|link| self.are_in_link(link));
        let asked: Vec<Box<str>> = links.map(|link| link.email.folded()).collect();
        self.addresses.extend(asked);
        self.leave_shared(state);
    }

    /// Finds the messages to the persons. A message about their appointment tells their address,
    /// also one that they had before; other messages to it are theirs too.
    fn find_messages(&mut self, state: &GroupState) -> BTreeSet<MessageId> {
        let mut found = BTreeSet::new();
        let mut former = BTreeSet::new();
        for message in state.outbox.messages() {
            if self.is_about(state, message) {
                found.insert(message.id);
                former.insert(folded(message.recipient.as_str()));
            }
        }
        self.addresses.extend(former);
        self.leave_shared(state);
        for message in state.outbox.messages() {
            if self.addresses.contains(&folded(message.recipient.as_str())) && is_to_client(message)
            {
                found.insert(message.id);
            }
        }
        found
    }

    /// Whether a message is about an appointment of the persons, and was for them.
    fn is_about(&self, state: &GroupState, message: &Message) -> bool {
        if let Some(known) = &message.known {
            return self.fiches.contains(&known.client);
        }
        if let MessageContent::Withdrawal(withdrawn) = &message.content {
            return self.fiches.contains(&withdrawn.client);
        }
        message.appointments().iter().any(|appointment| {
            self.vevents.contains(&appointment.id)
                && !state.outbox.is_withdrawn_since(appointment.id, message.id)
        })
    }

    fn find_holds(&self, state: &GroupState) -> Vec<HoldId> {
        let holds = state.holds().iter().filter(|hold| self.are_in_hold(state, hold));
        holds.map(|hold| hold.id()).collect()
    }

    fn are_in_hold(&self, state: &GroupState, hold: &Hold) -> bool {
        match &hold.state {
            HoldState::Unconfirmed(booking) => {
                let names = booking.client.names();
                self.addresses.contains(&folded(booking.recipient.as_str()))
                    || addresses_of(state, &booking.client).any(|it| self.addresses.contains(&it))
                    || (!names.is_empty() && self.texts.contains(names.as_str()))
            }
            HoldState::Confirmed { appointments, .. } => {
                appointments.iter().any(|id| self.vevents.contains(id))
            }
            HoldState::Chosen | HoldState::Overwritten | HoldState::Guessed => false,
        }
    }

    fn are_in_link(&self, link: &AccountLink) -> bool {
        let is_theirs = match &link.action {
            LinkAction::Email { account, fiche_id } => {
                self.fiches.contains(fiche_id) || self.addresses.contains(account)
            }
            LinkAction::Account { .. } => false,
        };
        is_theirs || self.addresses.contains(&link.email.folded())
    }

    /// Whether a kept answer, which is JSON, has an id or a text of the persons. An answer that is
    /// taken for one of theirs is only repeated no more.
    fn are_in_answer(&self, answer: &[u8]) -> bool {
        let mut rest = answer;
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            if *byte == b'"' {
                let length = text_length(after);
                let raw = &answer[answer.len() - after.len() - 1..][..length + 1];
                let text = serde_json::from_slice::<String>(raw).unwrap_or_default();
                if self.texts.contains(text.as_str()) || self.addresses.contains(&folded(&text)) {
                    return true;
                }
                rest = &after[length..];
            } else if byte.is_ascii_digit() {
                let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let first = answer.len() - after.len() - 1;
                let number = std::str::from_utf8(&answer[first..=first + digits]);
                if number.ok().and_then(|it| it.parse().ok()).is_some_and(|id| self.has_id(id)) {
                    return true;
                }
                rest = &after[digits..];
            }
        }
        false
    }

    /// Whether a number is the id of one of their records or events.
    fn has_id(&self, number: u64) -> bool {
        FicheId::new(number).is_some_and(|id| self.fiches.contains(&id))
            || VeventId::new(number).is_some_and(|id| self.vevents.contains(&id))
    }
}

/// The bytes of a JSON text after its first quotation mark, with the last one.
fn text_length(after: &[u8]) -> usize {
    let mut is_escaped = false;
    for (at, byte) in after.iter().enumerate() {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    after.len()
}

/// Whether a message is to a client, and not to a professional of the shop.
fn is_to_client(message: &Message) -> bool {
    match &message.content {
        MessageContent::ShopWarning(_) => false,
        MessageContent::AccountLink { purpose, .. } => match purpose {
            LinkPurpose::Login | LinkPurpose::ProPassword | LinkPurpose::Invitation => false,
            LinkPurpose::Confirm | LinkPurpose::NewPassword | LinkPurpose::NewEmail => true,
        },
        MessageContent::Confirmation(_)
        | MessageContent::Change { .. }
        | MessageContent::Cancellation(_)
        | MessageContent::Reminder(..)
        | MessageContent::Withdrawal(_)
        | MessageContent::Restoration(_)
        | MessageContent::BookingCode { .. }
        | MessageContent::AccountNotice(_) => true,
    }
}

/// The folded address of a client, and its numbers in international form.
fn addresses_of(state: &GroupState, fiche: &Fiche) -> impl Iterator<Item = Box<str>> {
    let country = state.catalogue.group.country_code.as_str();
    let phones = [&fiche.firstphone, &fiche.secondphone];
    let phones = phones.map(|phone| to_international(phone.as_str(), country));
    let email = fiche.email.as_ref().map(|email| email.folded());
    email.into_iter().chain(phones.into_iter().flatten().map(|phone| folded(&phone)))
}

/// The texts of a client that an answer may hold whole.
fn texts_of(fiche: &Fiche) -> impl Iterator<Item = Box<str>> {
    let mut texts = vec![
        fiche.lastname.as_str().to_owned(),
        fiche.firstname.as_str().to_owned(),
        fiche.firstphone.as_str().to_owned(),
        fiche.secondphone.as_str().to_owned(),
        fiche.comments.as_str().to_owned(),
        fiche.names(),
    ];
    texts.extend(fiche.email.as_ref().map(|email| email.as_str().to_owned()));
    texts.extend(texts_of_customs(&fiche.customs));
    texts.into_iter().filter(|text| !text.is_empty()).map(Into::into)
}

fn texts_of_customs(customs: &Customs) -> impl Iterator<Item = String> {
    customs.iter().filter_map(|(_, value)| match value {
        CustomValue::String(text) => Some(text.as_str().to_owned()),
        CustomValue::Text(text) => Some(text.as_str().to_owned()),
        CustomValue::Boolean(_) | CustomValue::Datetime(_) | CustomValue::Number(_) => None,
    })
}
