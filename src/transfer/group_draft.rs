//! A group under import: its state without vevents, and the rows read so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::directory::Directory;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::messaging::reminder;
use crate::domain::records::account::Account;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, FicheId, ID_MAX, MessageId, VeventId};
use crate::domain::records::message::Message;
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::outbox::Outbox;
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;
use crate::engine::randomness::Randomness;
use crate::transfer::faults::ImportFaults;
use crate::transfer::ids::{IdAllocator, record_highest_id};
use crate::transfer::message_row;
use crate::transfer::rows::parse_stamps;
use crate::wire::datetime;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope, is_filled};
use crate::wire::value;
use crate::wire::vevent::{self, VEVENT};

/// Highest number of a message in a document, so that numbers are left for later messages.
pub(crate) const MESSAGES_MADE_MAX: u64 = ID_MAX / 2;

/// Start of the reminders of a client or a group. An import does not know it, so it is the earliest
/// time; past reminders are suppressed per appointment.
pub(crate) const ALWAYS: Instant = Instant(0);

/// A group under import.
pub(crate) struct GroupDraft {
    /// Path of the group in the document.
    pub(crate) path: String,
    /// The group without vevents, for the lookup of references.
    pub(crate) state: GroupState,
    /// Counters of the group in the document.
    counters: GroupCounters,
    /// Fiches read so far.
    fiches: Vec<Arc<Fiche>>,
    /// Accounts, which are read after the rows.
    pub(crate) accounts: Vec<Arc<Account>>,
    /// Vevents read so far, each with its index in the document, ascending.
    vevents: Vec<(usize, Arc<Vevent>)>,
    /// Highest id of a vevent that the group ever used, as far as the document has been read.
    highest_vevent: u64,
    /// Messages read so far.
    messages: BTreeMap<MessageId, Arc<Message>>,
}

/// Counters of a group, which cover its removed rows as well.
#[derive(Debug, Default)]
pub(crate) struct GroupCounters {
    /// Number of messages that the group has made.
    pub(crate) messages_made: u64,
    /// Highest id ever used, by kind; a kind may be missing.
    pub(crate) highest_ids: BTreeMap<IdKind, u64>,
}

/// The time of one live appointment on a calendar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OccupiedTime {
    calendar: CalendarId,
    start: Instant,
    end: Instant,
    /// Index of the vevent in the document.
    index: usize,
}

impl GroupDraft {
    pub(crate) fn new(path: String, state: GroupState, counters: GroupCounters) -> Self {
        let highest_vevent = counters.highest_ids.get(&IdKind::Vevent).copied().unwrap_or(0);
        Self {
            path,
            state,
            counters,
            fiches: Vec::new(),
            accounts: Vec::new(),
            vevents: Vec::new(),
            highest_vevent,
            messages: BTreeMap::new(),
        }
    }

    /// Reads the fiche `row`.
    pub(crate) fn read_fiche(
        &mut self,
        index: usize,
        row: &Value,
        now: Instant,
        ids: &mut IdAllocator,
        faults: &mut ImportFaults,
    ) {
        let path = format!("{}.fiches[{index}]", self.path);
        let Some(object) = row.as_object() else { return faults.add(path, "must be an object") };
        let scope = Scope::for_group(&self.state);
        let id = ids.claim("fiches", object, &path, faults).and_then(FicheId::new);
        let parsed = if is_emptied_client(object)
            || is_filled(object, "merged_into")
            || is_filled(object, "erased_at")
        {
            FICHE.parse(object, &scope, Audience::Store)
        } else {
            FICHE.parse_new(object, &scope, Audience::Store)
        };
        let (Some(patch), Some(id)) = (faults.keep(&path, parsed), id) else { return };
        parse_stamps(&FICHE, object, &scope, now, &path, faults);
        let mut fiche = Fiche::new(id, now);
        fiche.mail_since = ALWAYS;
        fiche.sms_since = ALWAYS;
        // Set before the patch: a deleted fiche's last name is given as it is shown, with a `$`.
        if let Some(deleted) = object.get("deleted") {
            fiche.deleted = value::parse_boolean(deleted) == Ok(true);
        }
        patch.apply_to(&mut fiche);
        self.fiches.push(Arc::new(fiche));
    }

    /// Reads the vevent `row`. `draws` makes the secret of an appointment that has none.
    pub(crate) fn read_vevent(
        &mut self,
        index: usize,
        row: &Value,
        now: Instant,
        draws: &mut Randomness,
        ids: &mut IdAllocator,
        faults: &mut ImportFaults,
    ) {
        let path = format!("{}.vevents[{index}]", self.path);
        let Some(object) = row.as_object() else { return faults.add(path, "must be an object") };
        let scope = Scope::for_group(&self.state);
        let id = ids.claim("vevents", object, &path, faults).and_then(VeventId::new);
        let input = vevent::parse(object, &scope, Audience::Store);
        let stamps = parse_stamps(&VEVENT, object, &scope, now, &path, faults);
        let Some(input) = faults.keep(&path, input) else { return };
        let (Some(id), Some((created_at, updated_at))) = (id, stamps) else { return };
        let mut row = input.into_vevent(id, draws.key(), created_at, updated_at);
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            suppress_past_reminders(appointment, &scope, now);
        }
        self.highest_vevent = self.highest_vevent.max(id.number());
        self.vevents.push((index, Arc::new(row)));
    }

    /// Reads the message `row`, once all vevents are read.
    pub(crate) fn read_message(
        &mut self,
        index: usize,
        row: &Value,
        now: Instant,
        faults: &mut ImportFaults,
    ) {
        let path = format!("{}.messages[{index}]", self.path);
        let Some(object) = row.as_object() else { return faults.add(path, "must be an object") };
        let parsed = message_row::parse_message(object, now).map_err(|fault| vec![fault]);
        let Some(message) = faults.keep(&path, parsed) else { return };
        if message.id.number() > MESSAGES_MADE_MAX {
            faults.add(format!("{path}.id"), format!("must be at most {MESSAGES_MADE_MAX}"));
        }
        for (place, appointment) in message.appointments().iter().enumerate() {
            // A later event would get this id, and the message would be about that one.
            if appointment.id.number() > self.highest_vevent {
                let rule =
                    "must be the id of a vevent of the group, at most its highest_ids.vevents";
                faults.add(format!("{path}.appointments[{place}].id"), rule);
            }
        }
        let id = message.id;
        if self.messages.insert(id, Arc::new(message)).is_some() {
            let rule = format!("{id} appears twice among the group's messages");
            faults.add(format!("{path}.id"), rule);
        }
    }

    /// Reports each merged fiche that does not lead to one that is kept.
    pub(crate) fn check_merged(&self, faults: &mut ImportFaults) {
        for fiche in &self.fiches {
            let Some(kept) = fiche.merged_into else { continue };
            let found = self.state.fiches.get(&kept);
            if !fiche.deleted || found.is_none_or(|kept| kept.merged_into.is_some()) {
                let rule = format!(
                    "merged_into of fiche {} must be the id of a fiche that is not merged itself, \
                     and the fiche must be deleted",
                    fiche.id
                );
                faults.add(format!("{}.fiches", self.path), rule);
            }
        }
    }

    /// Moves the fiches into the state, where vevents and accounts look them up.
    pub(crate) fn settle_fiches(&mut self) {
        let catalogue = Catalogue::clone(&self.state.catalogue);
        let images = self.state.images.clone();
        let fiches = self.fiches.clone();
        self.state = GroupState::from_records(catalogue, fiches, Vec::new(), Vec::new());
        self.state.images = images;
    }

    /// Reports any two live appointments that overlap on a calendar.
    pub(crate) fn check_overlaps(&self, faults: &mut ImportFaults) {
        let mut occupied = Vec::new();
        for (index, row) in &self.vevents {
            if let Some(appointment) = row.appointment()
                && !row.deleted
            {
                let Interval { start, end } = appointment.interval();
                let calendar = row.calendar_id;
                occupied.push(OccupiedTime { calendar, start, end, index: *index });
            }
        }
        occupied.sort_unstable();
        // The appointment of the calendar that ends last so far. One that starts before its end
        // overlaps it.
        let mut last: Option<OccupiedTime> = None;
        for next in occupied {
            match last {
                Some(other) if other.calendar == next.calendar => {
                    if next.start < other.end {
                        self.report_overlap(other, next, faults);
                    }
                    if other.end < next.end {
                        last = Some(next);
                    }
                }
                _ => last = Some(next),
            }
        }
    }

    fn report_overlap(&self, first: OccupiedTime, second: OccupiedTime, faults: &mut ImportFaults) {
        let first_id = self.vevent_id(first.index);
        let second_id = self.vevent_id(second.index);
        let at = datetime::format_local(self.state.catalogue.zone(), second.start);
        let calendar = second.calendar;
        let path = &self.path;
        let rule = format!(
            "appointments {first_id} and {second_id} overlap on calendar {calendar} at {at}; \
             the other is {path}.vevents[{}]",
            first.index
        );
        faults.add(format!("{path}.vevents[{}].start", second.index), rule);
    }

    /// Returns the id of the vevent with that index in the document.
    fn vevent_id(&self, index: usize) -> VeventId {
        let at = self.vevents.partition_point(|(other, _)| *other < index);
        self.vevents[at].1.id
    }

    /// Assembles the state of the group, and claims its ids in `directory`.
    pub(crate) fn finish(self, directory: &mut Directory) -> GroupState {
        let catalogue = Catalogue::clone(&self.state.catalogue);
        let mut last_stamp = last_catalogue_stamp(&catalogue);
        for fiche in &self.fiches {
            last_stamp = last_stamp.max(fiche.updated_at).max(fiche.created_at);
        }
        let mut vevents = Vec::with_capacity(self.vevents.len());
        for (_, row) in self.vevents {
            last_stamp = last_stamp.max(row.updated_at).max(row.created_at);
            vevents.push(row);
        }
        let mut state = GroupState::from_records(catalogue, self.fiches, self.accounts, vevents);
        state.images = self.state.images;
        state.claim_ids(directory);
        for message in self.messages.values() {
            last_stamp = last_stamp.max(message.created_at);
        }
        state.last_stamp = last_stamp;
        for (kind, highest) in self.counters.highest_ids {
            record_highest_id(&mut state, kind, highest);
        }
        let messages = self.messages.into_values().collect();
        state.outbox = Outbox::from_messages(messages, self.counters.messages_made);
        state
    }
}

/// Returns the latest stamp of a catalogue.
fn last_catalogue_stamp(catalogue: &Catalogue) -> Instant {
    let group = catalogue.group.updated_at.max(catalogue.group.created_at);
    let rows = (catalogue.calendars.values().map(|row| row.updated_at))
        .chain(catalogue.calendarsets.values().map(|row| row.updated_at))
        .chain(catalogue.interventions.values().map(|row| row.updated_at))
        .chain(catalogue.interventionsets.values().map(|row| row.updated_at))
        .chain(catalogue.customfields.values().map(|row| row.updated_at));
    rows.max().map_or(group, |last| last.max(group))
}

/// Suppresses reminders whose time is past. They count as sent only where the document says so.
/// Reference 7.1. Only a reminder's own time is kept, so the day of the import makes no difference.
fn suppress_past_reminders(appointment: &mut Appointment, scope: &Scope<'_>, now: Instant) {
    let group = &scope.state.catalogue.group;
    let mail_lead = lead_minutes(group.mailreminder.minutes());
    let sms_lead = lead_minutes(group.smsreminder.minutes());
    let mail = reminder::mail_time(appointment.start, mail_lead);
    let sms = reminder::sms_time(scope.zone, appointment.start, sms_lead);
    appointment.reminders.mail.set_since(reminders_since(mail, now));
    appointment.reminders.sms.set_since(reminders_since(sms, now));
}

/// Whether a row is that of a client whom upkeep has emptied: made from the web, with empty names
/// given, and without a telephone number or an address. Reference 6.16.
fn is_emptied_client(row: &Map<String, Value>) -> bool {
    let from_web = row.get("from_web").map(value::parse_boolean) == Some(Ok(true));
    // An export always holds the names, and the other fields only if they are set.
    let names_empty =
        ["lastname", "firstname"].iter().all(|name| row.get(*name).is_some_and(value::is_empty));
    let contacts = ["firstphone", "secondphone", "email"];
    from_web
        && names_empty
        && contacts.iter().all(|name| row.get(*name).is_none_or(value::is_empty))
}

fn lead_minutes(minutes: Option<i64>) -> u32 {
    minutes.and_then(|minutes| u32::try_from(minutes).ok()).unwrap_or(0)
}

/// Returns the time right after a past reminder; the earliest time for one that is due later.
fn reminders_since(due: Option<Instant>, now: Instant) -> Instant {
    match due {
        Some(due) if due <= now => due.plus_seconds(1),
        _ => Instant(0),
    }
}
