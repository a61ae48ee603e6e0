//! The whole state of a group at one moment. It is immutable; [`GroupState::apply`] makes the next
//! one from an event.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::client_time::ClientTime;
use crate::domain::availability::open_time::{CalendarView, Rules};
use crate::domain::availability::taken_time::{TakenInterval, TakenTime};
use crate::domain::directory::Directory;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::account::Account;
use crate::domain::records::account_link::AccountLinks;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, FicheId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::account_table::AccountTable;
use crate::domain::state::calendarfeeds::Calendarfeeds;
use crate::domain::state::cancelled_bookings::{CancelledBookings, DeletionPlace};
use crate::domain::state::cancelled_times::CancelledTimes;
use crate::domain::state::client_index::ClientIndex;
use crate::domain::state::closed_addresses::ClosedAddresses;
use crate::domain::state::erasure::PrivacyMarks;
use crate::domain::state::group_images::GroupImages;
use crate::domain::state::history::History;
use crate::domain::state::holds::Holds;
use crate::domain::state::idempotency::IdempotencyRecords;
use crate::domain::state::outbox::Outbox;
use crate::domain::state::space::{ACCOUNT_BYTES, fiche_bytes, vevent_bytes};
use crate::domain::state::unverified_rate::UnverifiedRate;
use crate::domain::state::vevent_rows::VeventRows;
use crate::domain::state::webhooks::Webhooks;
use crate::domain::time::Instant;
use crate::domain::time::zone::tzdata_version;
use crate::planted_faults::PlantedFault;

mod apply;
mod erase;
pub(crate) mod held_time;
mod observed;
mod observed_settings;
mod retain;
mod webhook_events;

/// The state of a group. It shares the parts that an event did not change with the state before.
#[derive(Clone, Debug)]
pub struct GroupState {
    /// Settings, calendars, interventions, sets, customised attributes.
    pub catalogue: Arc<Catalogue>,
    /// The time of each calendar: one view for every calendar of the catalogue.
    pub calendars: OrdMap<CalendarId, Arc<CalendarView>>,
    /// The events of all calendars, deleted ones included.
    pub rows: VeventRows,
    /// The clients, deleted ones included.
    pub fiches: OrdMap<FicheId, Arc<Fiche>>,
    /// The accounts.
    pub accounts: AccountTable,
    /// The fiches by their addresses and identifiers. An index of `fiches`.
    client_index: ClientIndex,
    /// The live appointments of each client. An index of `rows`.
    clients: ClientTime,
    /// The deleted appointments, and the other events that name a client. An index of `rows`,
    /// except for its mark of progress.
    cancelled: CancelledBookings,
    /// The deleted appointments of each calendar. An index of `rows`.
    cancelled_times: CancelledTimes,
    /// The bytes of all vevents and fiches. Derived from `rows` and `fiches`.
    record_bytes: u64,
    /// The sequence number of the last event; 0 before the first.
    pub sequence: u64,
    /// The release of the zone database that resolved the instants of the appointments.
    pub tzdata: Arc<str>,
    /// The latest stamp so far. Stamps never decrease.
    pub last_stamp: Instant,
    /// Highest ids ever used for fiches and vevents, including removed ones.
    pub highest_ids: HighestIds,
    /// Highest id of the removed rows of the catalogue, by kind. A kind without removed rows has no
    /// entry.
    pub removed: BTreeMap<IdKind, u64>,
    /// The messages to clients.
    pub outbox: Outbox,
    /// The answers of requests with an Idempotency-Key.
    pub idempotency_records: IdempotencyRecords,
    /// The links mailed to clients.
    pub links: AccountLinks,
    /// The addresses whose accounts were closed.
    pub closed_addresses: ClosedAddresses,
    /// The holds. Those that keep time are also in the views of their calendars.
    holds: Holds,
    /// The rate of bookings with a key alone.
    pub unverified_rate: UnverifiedRate,
    /// The changes so far, with their authors.
    pub history: History,
    /// Marks of the privacy of the group's clients.
    pub privacy: PrivacyMarks,
    /// Logo, cover, and the photos of calendars.
    pub images: GroupImages,
    /// The links by which calendar programs read the agenda.
    pub calendarfeeds: Calendarfeeds,
    /// The webhooks.
    pub webhooks: Webhooks,
}

/// Highest ids ever used; 0 if none was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the record of its name")]
pub struct HighestIds {
    pub fiche: u64,
    pub vevent: u64,
}

impl GroupState {
    /// Makes the state of a group without fiches and events.
    pub fn new(catalogue: Catalogue) -> Self {
        let view = |id: &CalendarId| (*id, Arc::new(CalendarView::new(*id)));
        Self {
            calendars: catalogue.calendars.keys().map(view).collect(),
            tzdata: tzdata_version().into(),
            last_stamp: catalogue.group.updated_at,
            catalogue: Arc::new(catalogue),
            rows: VeventRows::default(),
            fiches: OrdMap::new(),
            accounts: AccountTable::default(),
            client_index: ClientIndex::default(),
            clients: ClientTime::default(),
            cancelled: CancelledBookings::default(),
            cancelled_times: CancelledTimes::default(),
            record_bytes: 0,
            sequence: 0,
            highest_ids: HighestIds::default(),
            removed: BTreeMap::new(),
            outbox: Outbox::default(),
            idempotency_records: IdempotencyRecords::default(),
            links: AccountLinks::default(),
            closed_addresses: ClosedAddresses::default(),
            holds: Holds::default(),
            unverified_rate: UnverifiedRate::default(),
            history: History::default(),
            privacy: PrivacyMarks::default(),
            images: GroupImages::default(),
            calendarfeeds: Calendarfeeds::default(),
            webhooks: Webhooks::default(),
        }
    }

    /// Builds the state of a group from its records, each with a distinct id. The result equals
    /// that of single puts, at a fraction of the cost.
    ///
    /// # Panics
    /// If the calendar or the fiche of an event does not exist.
    pub fn from_records(
        catalogue: Catalogue,
        fiches: Vec<Arc<Fiche>>,
        accounts: Vec<Arc<Account>>,
        vevents: Vec<Arc<Vevent>>,
    ) -> Self {
        let mut state = Self::new(catalogue);
        state.highest_ids.fiche = fiches.iter().map(|fiche| fiche.id.number()).max().unwrap_or(0);
        state.highest_ids.vevent = vevents.iter().map(|row| row.id.number()).max().unwrap_or(0);
        state.client_index = ClientIndex::from_fiches(fiches.iter().map(AsRef::as_ref));
        state.record_bytes = fiches.iter().map(|fiche| fiche_bytes(fiche)).sum();
        state.fiches = fiches.into_iter().map(|fiche| (fiche.id, fiche)).collect();
        state.accounts = accounts.into_iter().collect();
        let mut taken: BTreeMap<CalendarId, Vec<TakenInterval>> = BTreeMap::new();
        let mut unverified: BTreeMap<CalendarId, Vec<TakenInterval>> = BTreeMap::new();
        let mut clients: BTreeMap<FicheId, Vec<TakenInterval>> = BTreeMap::new();
        let mut rules: BTreeMap<CalendarId, Rules> = BTreeMap::new();
        for row in &vevents {
            state.record_bytes += vevent_bytes(row);
            state.cancelled.add(row);
            state.cancelled_times.add(row);
            state.unverified_rate.add(row);
            if let Some(client) = row.fiche_id() {
                assert!(state.fiches.contains_key(&client), "an event's client exists");
            }
            let Some(appointment) = row.appointment() else {
                rules.entry(row.calendar_id).or_default().add(row);
                continue;
            };
            if !row.deleted {
                let hold = TakenInterval { interval: appointment.interval(), id: row.id };
                taken.entry(row.calendar_id).or_default().push(hold);
                if row.is_booked_by_key() {
                    unverified.entry(row.calendar_id).or_default().push(hold);
                }
                clients.entry(appointment.fiche_id).or_default().push(hold);
            }
        }
        for id in taken.keys().chain(rules.keys()) {
            assert!(state.calendars.contains_key(id), "an event's calendar exists");
        }
        for (id, view) in state.calendars.clone() {
            let view = view.with(
                rules.remove(&id).unwrap_or_default(),
                TakenTime::from_rows(taken.remove(&id).unwrap_or_default()),
                TakenTime::from_rows(unverified.remove(&id).unwrap_or_default()),
            );
            state.calendars.insert(id, Arc::new(view));
        }
        state.clients = ClientTime::from_lists(clients);
        state.rows = vevents.into_iter().collect();
        state
    }

    /// Records the id of a removed row, so that it is never used again.
    pub fn record_removed_id(&mut self, kind: IdKind, id: u64) {
        let highest = self.removed.entry(kind).or_default();
        *highest = (*highest).max(id);
    }

    /// Registers the fiches and events of this group as used ids of it.
    pub fn claim_ids(&self, directory: &mut Directory) {
        let group = self.catalogue.group.id;
        for id in self.fiches.keys() {
            directory.blocks.claim_imported(IdKind::Fiche, id.number(), group);
        }
        for id in self.rows.keys() {
            directory.blocks.claim_imported(IdKind::Vevent, id.number(), group);
        }
    }

    /// Highest id ever used of a kind; 0 if none was.
    pub fn highest_id(&self, kind: IdKind) -> u64 {
        let catalogue = &self.catalogue;
        let last = match kind {
            IdKind::Fiche => Some(self.highest_ids.fiche),
            IdKind::Vevent => Some(self.highest_ids.vevent),
            IdKind::Calendar => catalogue.calendars.keys().next_back().map(|id| id.number()),
            IdKind::Calendarset => catalogue.calendarsets.keys().next_back().map(|id| id.number()),
            IdKind::Intervention => {
                catalogue.interventions.keys().next_back().map(|id| id.number())
            }
            IdKind::Interventionset => {
                catalogue.interventionsets.keys().next_back().map(|id| id.number())
            }
            IdKind::Customfield => catalogue.customfields.keys().next_back().map(|id| id.number()),
        };
        let removed = self.removed.get(&kind).copied();
        last.unwrap_or(0).max(removed.unwrap_or(0))
    }

    /// The stamp of an event decided at `now`. It is never before an earlier stamp, so clients that
    /// synchronise by `updated_at` miss nothing.
    pub fn stamp_for(&self, now: Instant) -> Instant {
        if PlantedFault::StampGoesBack.is_active() {
            return now;
        }
        now.max(self.last_stamp)
    }

    /// Finds the live fiche with a folded address; of several, the one with the lowest id.
    pub fn fiche_of_email(&self, folded: &str) -> Option<&Arc<Fiche>> {
        for id in self.client_index.may_have_email(folded) {
            let fiche = self.fiches.get(&id)?;
            if fiche.email.as_ref().is_some_and(|email| *email.folded() == *folded) {
                return Some(fiche);
            }
        }
        None
    }

    /// The fiches with an identifier of another system, deleted ones included, ascending by id.
    pub fn fiches_of_externid(&self, externid: i64) -> impl Iterator<Item = &Arc<Fiche>> {
        self.client_index.with_externid(externid).filter_map(|id| self.fiches.get(&id))
    }

    /// The client that an id stands for: itself, or the one that it was merged into.
    pub fn kept_client(&self, id: FicheId) -> FicheId {
        self.fiches.get(&id).and_then(|fiche| fiche.merged_into).unwrap_or(id)
    }

    /// The live appointments of a client, ascending by start.
    pub fn appointments_of(&self, client: FicheId) -> &[TakenInterval] {
        self.clients.for_client(client)
    }

    /// The deleted appointments.
    pub const fn cancelled(&self) -> &CancelledBookings {
        &self.cancelled
    }

    /// The deleted appointments of each calendar.
    pub const fn cancelled_times(&self) -> &CancelledTimes {
        &self.cancelled_times
    }

    /// Records how far upkeep has emptied the deleted web bookings.
    pub fn set_emptied_until(&mut self, until: DeletionPlace) {
        self.cancelled.set_emptied_until(until);
    }

    /// The bytes of the group's records and of its history. Reference 3.8.
    pub fn space_bytes(&self) -> u64 {
        self.records_bytes() + self.history.space_bytes()
    }

    /// The bytes of the group's clients, events, messages, accounts, images and kept answers.
    /// Follows from the records alone. Only they can fill a group, so that its history stops no
    /// booking. Reference 3.8.
    pub fn records_bytes(&self) -> u64 {
        self.record_bytes
            + ACCOUNT_BYTES * self.accounts.len() as u64
            + self.images.space_bytes()
            + self.outbox.space_bytes()
            + self.idempotency_records.space_bytes()
    }

    /// Inserts a fiche, or replaces the one with its id.
    pub fn put_fiche(&mut self, fiche: Arc<Fiche>) {
        self.highest_ids.fiche = self.highest_ids.fiche.max(fiche.id.number());
        if let Some(old) = self.fiches.get(&fiche.id).cloned() {
            self.record_bytes = self.record_bytes.saturating_sub(fiche_bytes(&old));
            self.client_index.remove(&old);
        }
        self.record_bytes += fiche_bytes(&fiche);
        self.client_index.add(&fiche);
        self.fiches.insert(fiche.id, fiche);
    }

    /// Inserts an event, or replaces the one with its id, and updates the time of its calendar. A
    /// live appointment ends the holds that it meets.
    ///
    /// # Panics
    /// If its calendar or its fiche does not exist.
    pub fn put_vevent(&mut self, row: Arc<Vevent>) {
        self.highest_ids.vevent = self.highest_ids.vevent.max(row.id.number());
        if let Some(old) = self.rows.get(&row.id).cloned() {
            self.withdraw(&old);
        }
        if let Some(client) = row.fiche_id() {
            assert!(self.fiches.contains_key(&client), "an event's client exists");
        }
        if let Some(appointment) = row.appointment() {
            if row.deleted {
                assert!(
                    self.calendars.contains_key(&row.calendar_id),
                    "an event's calendar exists"
                );
            } else {
                let taken = TakenInterval { interval: appointment.interval(), id: row.id };
                self.view(row.calendar_id).add_taken(taken, row.is_booked_by_key());
                self.clients.add(appointment.fiche_id, taken);
                self.overwrite_holds(row.calendar_id, taken.interval);
            }
        } else {
            self.view(row.calendar_id).change_rules(|rules| rules.add(&row));
        }
        self.record_bytes += vevent_bytes(&row);
        self.cancelled.add(&row);
        self.cancelled_times.add(&row);
        self.unverified_rate.add(&row);
        self.rows.insert(row);
    }

    /// The view of a calendar, for a change.
    fn view(&mut self, id: CalendarId) -> &mut CalendarView {
        Arc::make_mut(self.calendars.get_mut(&id).expect("an event's calendar exists"))
    }

    /// Removes an event from the view of its calendar and from all indexes.
    fn withdraw(&mut self, old: &Vevent) {
        self.record_bytes = self.record_bytes.saturating_sub(vevent_bytes(old));
        self.cancelled.remove(old);
        self.cancelled_times.remove(old);
        self.unverified_rate.remove(old);
        match old.appointment() {
            Some(_) if old.deleted => {}
            Some(appointment) => {
                let taken = TakenInterval { interval: appointment.interval(), id: old.id };
                self.view(old.calendar_id).remove_taken(taken, old.is_booked_by_key());
                self.clients.remove(appointment.fiche_id, taken);
            }
            None => self.view(old.calendar_id).change_rules(|rules| rules.remove(old)),
        }
    }
}
