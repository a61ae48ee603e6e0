//! A group's whole state at one moment: immutable, and cheap to make the next from.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::booking::client_time::ClientTime;
use crate::domain::booking::open_time::{CalendarView, Rules};
use crate::domain::booking::taken_time::{Taken, TakenTime};
use crate::domain::identity::account::Account;
use crate::domain::identity::account_link::{AccountLink, AccountLinks};
use crate::domain::identity::directory::IdKind;
use crate::domain::messaging::message::Message;
use crate::domain::messaging::outbox::Outbox;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarId, FicheId, VeventId};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::state::event::Event;
use crate::domain::state::idempotency::IdempotencyRecords;
use crate::domain::time::Instant;
use crate::domain::time::zone::tzdata_version;

/// The state of a group. Each part shares with the state before whatever an event did not change.
#[derive(Clone, Debug)]
pub struct GroupState {
    /// Settings, calendars, interventions, sets, customised attributes.
    pub catalogue: Arc<Catalogue>,
    /// What each calendar says of its time; one for every calendar of the catalogue.
    pub calendars: OrdMap<CalendarId, Arc<CalendarView>>,
    /// Every event of every calendar, deleted ones included.
    pub rows: OrdMap<VeventId, Arc<Vevent>>,
    /// Every client, deleted ones included.
    pub fiches: OrdMap<FicheId, Arc<Fiche>>,
    /// Accounts by their folded address.
    pub accounts: OrdMap<Box<str>, Arc<Account>>,
    /// Live fiches that have an address, by its folded form.
    emails: OrdSet<(Box<str>, FicheId)>,
    /// Each client's live appointments.
    clients: ClientTime,
    /// How many events have made this state: the sequence of the last.
    pub sequence: u64,
    /// The release of the zone database by which instants were resolved.
    pub tzdata: Arc<str>,
    /// No stamp of an earlier event is later than this.
    pub last_stamp: Instant,
    /// Highest id ever used for a fiche and for a vevent, rows removed since included.
    pub spent: HighestIds,
    /// Highest id of the rows of the catalogue that are no more, by kind; a kind of which none is gone is not there.
    pub removed: BTreeMap<IdKind, u64>,
    /// Messages to clients: those that wait, and what became of the others.
    pub outbox: Outbox,
    /// What is answered again to requests that come again.
    pub answers: IdempotencyRecords,
    /// Links about accounts that can be followed.
    pub links: AccountLinks,
}

/// Highest ids used; 0 where none was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "one per kind that is made while the server runs")]
pub struct HighestIds {
    pub fiche: u64,
    pub vevent: u64,
}

impl GroupState {
    /// A group without fiches and events.
    #[must_use]
    pub fn new(catalogue: Catalogue) -> Self {
        let view = |id: &CalendarId| (*id, Arc::new(CalendarView::new(*id)));
        Self {
            calendars: catalogue.calendars.keys().map(view).collect(),
            tzdata: tzdata_version().into(),
            last_stamp: catalogue.group.updated_at,
            catalogue: Arc::new(catalogue),
            rows: OrdMap::new(),
            fiches: OrdMap::new(),
            accounts: OrdMap::new(),
            emails: OrdSet::new(),
            clients: ClientTime::default(),
            sequence: 0,
            spent: HighestIds::default(),
            removed: BTreeMap::new(),
            outbox: Outbox::default(),
            answers: IdempotencyRecords::default(),
            links: AccountLinks::default(),
        }
    }

    /// A group put together from all its records at once, each under its own id. The same as putting one after
    /// another, at a fraction of the cost.
    ///
    /// # Panics
    /// Where an event's calendar or an appointment's fiche does not exist.
    #[must_use]
    pub fn assembled(
        catalogue: Catalogue,
        fiches: Vec<Arc<Fiche>>,
        accounts: Vec<Arc<Account>>,
        vevents: Vec<Arc<Vevent>>,
    ) -> Self {
        let mut state = Self::new(catalogue);
        state.spent.fiche = fiches.iter().map(|fiche| fiche.id.number()).max().unwrap_or(0);
        state.spent.vevent = vevents.iter().map(|row| row.id.number()).max().unwrap_or(0);
        state.emails = fiches.iter().filter_map(|fiche| email_entry(fiche)).collect();
        state.fiches = fiches.into_iter().map(|fiche| (fiche.id, fiche)).collect();
        state.accounts =
            accounts.into_iter().map(|account| (account.email.folded(), account)).collect();
        let mut taken: BTreeMap<CalendarId, Vec<Taken>> = BTreeMap::new();
        let mut clients: BTreeMap<FicheId, Vec<Taken>> = BTreeMap::new();
        let mut rules: BTreeMap<CalendarId, Rules> = BTreeMap::new();
        for row in &vevents {
            let Some(appointment) = row.appointment() else {
                rules.entry(row.calendar_id).or_default().put(row);
                continue;
            };
            assert!(
                state.fiches.contains_key(&appointment.fiche_id),
                "an appointment's client exists"
            );
            if !row.deleted {
                let hold = Taken { interval: appointment.interval(), id: row.id };
                taken.entry(row.calendar_id).or_default().push(hold);
                clients.entry(appointment.fiche_id).or_default().push(hold);
            }
        }
        for id in taken.keys().chain(rules.keys()) {
            assert!(state.calendars.contains_key(id), "an event's calendar exists");
        }
        for (id, view) in state.calendars.clone() {
            let mut view = CalendarView::clone(&view);
            view.taken = TakenTime::of(taken.remove(&id).unwrap_or_default());
            view.rules = rules.remove(&id).unwrap_or_default().into();
            state.calendars.insert(id, Arc::new(view));
        }
        state.clients = ClientTime::of(clients);
        state.rows = vevents.into_iter().map(|row| (row.id, row)).collect();
        state
    }

    /// The state after an event. Never refuses.
    ///
    /// # Panics
    /// Where the event does not fit the state: then our journal is wrong, not a user.
    #[must_use]
    pub fn apply(&self, event: &Event) -> Self {
        let mut next = self.clone();
        next.apply_in_place(event);
        next
    }

    /// Makes this the state after an event, as [`GroupState::apply`] does. What no other state shares is changed where it lies,
    /// so that a state that nobody else holds costs no copy.
    ///
    /// # Panics
    /// As [`GroupState::apply`]; what is left then is half of two states, and to be dropped.
    pub fn apply_in_place(&mut self, event: &Event) {
        match event {
            Event::AppointmentsBooked { at, fiche, legs } => {
                self.advance(*at);
                self.book(fiche.as_deref(), legs);
            }
            Event::AppointmentCancelled { at, id } => {
                self.advance(*at);
                self.cancel(*id, *at);
            }
            Event::VeventPut { at, row } => {
                self.advance(*at);
                self.put_vevent(Arc::new(Vevent::clone(row)));
            }
            Event::FichePut { at, fiche } => {
                self.advance(*at);
                self.put_fiche(Arc::new(Fiche::clone(fiche)));
            }
            Event::InstantsResolved { at, tzdata, resolved } => {
                self.advance(*at);
                self.follow(tzdata, resolved);
            }
            Event::VeventsRemoved { at, ids } => {
                self.advance(*at);
                ids.iter().for_each(|id| self.remove_vevent(*id));
            }
            Event::GroupChanged { at, group, resolved } => {
                self.advance(*at);
                self.change_group(group, resolved);
            }
            Event::MessagePut { at, message } => {
                self.advance(*at);
                self.put_message(message);
            }
            Event::AccountPut { at, hash, was, account, fiche } => {
                self.advance(*at);
                self.links.remove(hash);
                self.put_account(was.as_deref(), account, fiche.as_deref());
            }
            Event::CalendarPut { .. }
            | Event::CalendarsetPut { .. }
            | Event::InterventionPut { .. }
            | Event::InterventionsetPut { .. }
            | Event::CustomfieldPut { .. }
            | Event::CalendarsetRemoved { .. }
            | Event::InterventionsetRemoved { .. } => self.change_catalogue(event),
            Event::Announced { event, messages } => {
                self.apply_in_place(event);
                messages.iter().for_each(|message| self.enqueue(message));
            }
            Event::DoneOnce { answered, event } => {
                self.apply_in_place(event);
                assert!(
                    self.last_stamp == answered.at,
                    "an answer is stamped as what it answers for"
                );
                self.answers.keep(Arc::clone(answered));
            }
            Event::AccountLinkRequested { at, change, link, message } => {
                match change {
                    Some(change) => {
                        self.apply_in_place(change);
                        self.stamp(*at);
                    }
                    None => self.advance(*at),
                }
                self.links.put(Arc::new(AccountLink::clone(link)));
                self.enqueue(message);
            }
        }
    }

    /// One event further, stamped `at`.
    fn advance(&mut self, at: Instant) {
        self.sequence += 1;
        self.stamp(at);
    }

    /// Puts the appointments of a booking, with their client where it is new or changed.
    fn book(&mut self, fiche: Option<&Fiche>, legs: &[Vevent]) {
        if let Some(fiche) = fiche {
            self.put_fiche(Arc::new(fiche.clone()));
        }
        for leg in legs {
            assert!(!self.rows.contains_key(&leg.id), "a booked appointment is new");
            self.put_vevent(Arc::new(leg.clone()));
        }
    }

    /// Gives an appointment's time back.
    fn cancel(&mut self, id: VeventId, at: Instant) {
        let mut row = Vevent::clone(self.rows.get(&id).expect("a cancelled appointment exists"));
        assert!(
            !row.deleted && row.appointment().is_some(),
            "only a live appointment is cancelled"
        );
        row.deleted = true;
        row.updated_at = at;
        self.put_vevent(Arc::new(row));
    }

    /// Has the clock follow another release of the zone database.
    fn follow(&mut self, tzdata: &str, resolved: &[(VeventId, Instant)]) {
        self.resolve(resolved);
        self.tzdata = tzdata.into();
        self.forget_open_time();
    }

    /// Puts a message into the outbox: a new one, or one that is there as it is now. Whoever has an event that carries
    /// messages of its own applies them by this.
    ///
    /// # Panics
    /// Where a new message's id is not the next.
    pub fn enqueue(&mut self, message: &Message) {
        self.outbox.put(Arc::new(message.clone()), self.last_stamp);
    }

    /// Puts a message as it is now, and notes with an appointment what became of its reminder.
    fn put_message(&mut self, message: &Message) {
        self.enqueue(message);
        self.settle_reminder(message);
    }

    /// Notes with an appointment what became of its reminder, so that it is not sent again.
    fn settle_reminder(&mut self, message: &Message) {
        let (Some((channel, standing)), Some(settled)) =
            (message.reminder(), message.settled_reminder())
        else {
            return;
        };
        let Some(row) = self.rows.get_mut(&standing.id) else { return };
        if let VeventKind::Appointment(appointment) = &mut Arc::make_mut(row).kind {
            appointment.reminders.by_channel_mut(channel).settled = settled;
        }
    }

    /// Puts an account in place of the one that had the address `was`, and the fiche that changed with it. No link of old
    /// sets its password any more; where it has another password, none changes its address either, since whoever knew the
    /// one before may have asked for it.
    fn put_account(&mut self, was: Option<&str>, account: &Account, fiche: Option<&Fiche>) {
        if let Some(fiche) = fiche {
            self.put_fiche(Arc::new(fiche.clone()));
        }
        let folded = account.email.folded();
        if let Some(was) = was {
            let before = self.take_account(was).expect("an account that changes is there");
            self.links.remove_passwords(&before.email.folded());
            if before.password_hash != account.password_hash || *was != *folded {
                self.links.remove_changes(was);
            }
        }
        assert!(self.fiches.contains_key(&account.fiche_id), "an account's fiche exists");
        self.links.remove_passwords(&folded);
        let before = self.accounts.insert(folded, Arc::new(account.clone()));
        assert!(before.is_none(), "an address has one account");
    }

    /// Takes out the account of a folded address. In older journals that is the address in small letters, whatever they
    /// are: what then was equal is not always now.
    fn take_account(&mut self, was: &str) -> Option<Arc<Account>> {
        self.accounts.remove(was).or_else(|| {
            let key = self.accounts.keys().find(|key| key.to_lowercase() == was).cloned()?;
            self.accounts.remove(&key)
        })
    }

    /// Gives the group its fields, and the appointments the instants that its clock now means.
    fn change_group(&mut self, group: &Group, resolved: &[(VeventId, Instant)]) {
        let catalogue = Arc::make_mut(&mut self.catalogue);
        let same_clock = catalogue.group.timezone == group.timezone;
        catalogue.group = group.clone();
        self.resolve(resolved);
        if !same_clock {
            self.forget_open_time();
        }
    }

    /// Gives events the instants that their clocks mean now: appointments their starts, series their UNTIL.
    fn resolve(&mut self, resolved: &[(VeventId, Instant)]) {
        // All give their time back before any takes its new one.
        let rows: Vec<Arc<Vevent>> = resolved
            .iter()
            .map(|(id, _)| Arc::clone(self.rows.get(id).expect("a resolved event exists")))
            .collect();
        for row in &rows {
            self.withdraw(row);
            self.rows.remove(&row.id);
        }
        for (row, (_, instant)) in rows.iter().zip(resolved) {
            let mut row = Vevent::clone(row);
            match &mut row.kind {
                VeventKind::Appointment(appointment) => appointment.start = *instant,
                VeventKind::Plage(series) | VeventKind::Note(series) => {
                    **series = series.until(*instant)
                }
                VeventKind::Availability(availability) => {
                    availability.series = availability.series.until(*instant)
                }
            }
            self.put_vevent(Arc::new(row));
        }
    }

    /// Has every calendar's rules read anew: the clock they stand on shows something else.
    fn forget_open_time(&mut self) {
        let ids: Vec<CalendarId> = self.calendars.keys().copied().collect();
        ids.into_iter().for_each(|id| self.view(id).change_rules(|_| {}));
    }

    /// A calendar's view, to be changed.
    fn view(&mut self, id: CalendarId) -> &mut CalendarView {
        Arc::make_mut(self.calendars.get_mut(&id).expect("an event's calendar exists"))
    }

    /// Carries out what has happened to the catalogue.
    fn change_catalogue(&mut self, event: &Event) {
        let catalogue = Arc::make_mut(&mut self.catalogue);
        let at = match event {
            Event::CalendarPut { at, row } => {
                catalogue.calendars.insert(row.id, Arc::new(Calendar::clone(row)));
                if !self.calendars.contains_key(&row.id) {
                    self.calendars.insert(row.id, Arc::new(CalendarView::new(row.id)));
                }
                at
            }
            Event::CalendarsetPut { at, row } => {
                catalogue.calendarsets.insert(row.id, Arc::new(Calendarset::clone(row)));
                at
            }
            Event::InterventionPut { at, row } => {
                catalogue.interventions.insert(row.id, Arc::new(Intervention::clone(row)));
                at
            }
            Event::InterventionsetPut { at, row } => {
                catalogue.interventionsets.insert(row.id, Arc::new(Interventionset::clone(row)));
                at
            }
            Event::CustomfieldPut { at, row } => {
                catalogue.customfields.insert(row.id, Arc::new(Customfield::clone(row)));
                at
            }
            Event::CalendarsetRemoved { at, id } => {
                catalogue.remove_calendarset(*id, *at);
                self.note_removed(IdKind::Calendarset, id.number());
                at
            }
            Event::InterventionsetRemoved { at, id } => {
                catalogue.remove_interventionset(*id, *at);
                self.note_removed(IdKind::Interventionset, id.number());
                at
            }
            Event::AppointmentsBooked { .. }
            | Event::AppointmentCancelled { .. }
            | Event::VeventPut { .. }
            | Event::FichePut { .. }
            | Event::InstantsResolved { .. }
            | Event::VeventsRemoved { .. }
            | Event::GroupChanged { .. }
            | Event::Announced { .. }
            | Event::MessagePut { .. }
            | Event::AccountLinkRequested { .. }
            | Event::AccountPut { .. }
            | Event::DoneOnce { .. } => unreachable!("it does not change the catalogue"),
        };
        self.advance(*at);
    }

    /// Remembers an id that no row bears any more, so that none will again.
    pub fn note_removed(&mut self, kind: IdKind, id: u64) {
        let highest = self.removed.entry(kind).or_default();
        *highest = (*highest).max(id);
    }

    /// Highest id ever used of a kind; 0 where none was.
    #[must_use]
    pub fn spent(&self, kind: IdKind) -> u64 {
        let last = match kind {
            IdKind::Fiche => Some(self.spent.fiche),
            IdKind::Vevent => Some(self.spent.vevent),
            IdKind::Calendar => self.catalogue.calendars.keys().next_back().map(|id| id.number()),
            IdKind::Calendarset => {
                self.catalogue.calendarsets.keys().next_back().map(|id| id.number())
            }
            IdKind::Intervention => {
                self.catalogue.interventions.keys().next_back().map(|id| id.number())
            }
            IdKind::Interventionset => {
                self.catalogue.interventionsets.keys().next_back().map(|id| id.number())
            }
            IdKind::Customfield => {
                self.catalogue.customfields.keys().next_back().map(|id| id.number())
            }
        };
        last.unwrap_or(0).max(self.removed.get(&kind).copied().unwrap_or(0))
    }

    /// The stamp of an event decided now: never earlier than one before it, so that clients that synchronise by
    /// `updated_at` miss nothing.
    #[must_use]
    pub fn stamp_for(&self, now: Instant) -> Instant {
        now.max(self.last_stamp)
    }

    fn stamp(&mut self, at: Instant) {
        assert!(at >= self.last_stamp, "stamps never go back");
        self.last_stamp = at;
    }

    /// The live fiche of an address with the lowest id. OutgoingMessage case does not matter.
    #[must_use]
    pub fn fiche_of_email(&self, folded: &str) -> Option<&Arc<Fiche>> {
        let first = FicheId::new(1).expect("1 is an id");
        let (email, id) = self.emails.range((Box::from(folded), first)..).next()?;
        if **email == *folded { self.fiches.get(id) } else { None }
    }

    /// A client's live appointments, ascending by start.
    #[must_use]
    pub fn appointments_of(&self, client: FicheId) -> &[Taken] {
        self.clients.of_client(client)
    }

    /// Puts a fiche in place of what stood under its id.
    pub fn put_fiche(&mut self, fiche: Arc<Fiche>) {
        self.spent.fiche = self.spent.fiche.max(fiche.id.number());
        if let Some(old) = self.fiches.get(&fiche.id).cloned()
            && let Some(entry) = email_entry(&old)
        {
            self.emails.remove(&entry);
        }
        if let Some(entry) = email_entry(&fiche) {
            self.emails.insert(entry);
        }
        self.fiches.insert(fiche.id, fiche);
    }

    /// Puts an event in place of what stood under its id, and its time where it belongs.
    ///
    /// # Panics
    /// Where its calendar or its fiche does not exist.
    pub fn put_vevent(&mut self, row: Arc<Vevent>) {
        self.spent.vevent = self.spent.vevent.max(row.id.number());
        if let Some(old) = self.rows.get(&row.id).cloned() {
            self.withdraw(&old);
        }
        if let Some(appointment) = row.appointment() {
            assert!(
                self.fiches.contains_key(&appointment.fiche_id),
                "an appointment's client exists"
            );
            if row.deleted {
                assert!(
                    self.calendars.contains_key(&row.calendar_id),
                    "an event's calendar exists"
                );
            } else {
                let taken = Taken { interval: appointment.interval(), id: row.id };
                self.view(row.calendar_id).taken.add(taken);
                self.clients.add(appointment.fiche_id, taken);
            }
        } else {
            self.view(row.calendar_id).change_rules(|rules| rules.put(&row));
        }
        self.rows.insert(row.id, row);
    }

    /// Takes a deleted event out for good.
    fn remove_vevent(&mut self, id: VeventId) {
        let row = Arc::clone(self.rows.get(&id).expect("a removed event exists"));
        assert!(row.deleted, "only a deleted event is removed");
        self.withdraw(&row);
        self.rows.remove(&id);
    }

    /// Takes back what a row held: its hour, or its rule.
    fn withdraw(&mut self, old: &Vevent) {
        match old.appointment() {
            Some(_) if old.deleted => {}
            Some(appointment) => {
                let taken = Taken { interval: appointment.interval(), id: old.id };
                self.view(old.calendar_id).taken.remove(taken);
                self.clients.remove(appointment.fiche_id, taken);
            }
            None => self.view(old.calendar_id).change_rules(|rules| rules.remove(old.id)),
        }
    }
}

fn email_entry(fiche: &Fiche) -> Option<(Box<str>, FicheId)> {
    let email = fiche.email.as_ref()?;
    (!fiche.deleted).then(|| (email.folded(), fiche.id))
}
