//! The fold of events into the state of a group. Invariant 7.

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::account::Account;
use crate::domain::records::account_link::AccountLink;
use crate::domain::records::author::Author;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::hold::{Hold, HoldId, HoldState, WRONG_CODES_MAX};
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, FicheId, InterventionsetId, VeventId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::message::Message;
use crate::domain::records::text::folded;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::state::cancelled_bookings::DeletionPlace;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::group_state::observed_settings::observe;
use crate::domain::state::history::ObservedChange;
use crate::domain::state::history::row::{HistoryObject, HistoryRow, HistoryVerb};
use crate::domain::state::history::settings::SettingsChange;
use crate::domain::state::idempotency::IdempotencyRecord;
use crate::domain::time::Instant;
use crate::planted_faults::PlantedFault;

impl GroupState {
    /// Returns the state after an event, by an author that is not known. Never refuses. It serves
    /// to try an event out; what is written has an author.
    ///
    /// # Panics
    /// If the event does not fit the state. Then the journal is wrong.
    #[must_use]
    pub fn apply(&self, event: &Event) -> Self {
        self.apply_by(None, event)
    }

    /// Returns the state after an event of an author. Never refuses.
    ///
    /// # Panics
    /// As [`GroupState::apply`].
    #[must_use]
    pub fn apply_by(&self, author: Option<Author>, event: &Event) -> Self {
        let mut next = self.clone();
        next.apply_in_place(author, event);
        next
    }

    /// Returns the calendars whose view an event on this state can change; `None` for any of them.
    /// Each is named once. An actor of a calendar that is not named keeps its view.
    pub fn calendars_changed_by(&self, event: &Event) -> Option<Vec<CalendarId>> {
        let mut changed = self.calendars_named_by(event)?;
        changed.extend(self.holds().removed_at(event.at()).map(|hold| hold.calendar_id));
        changed.sort_unstable();
        changed.dedup();
        Some(changed)
    }

    /// Returns the calendars that an event is about; `None` for any of them.
    fn calendars_named_by(&self, event: &Event) -> Option<Vec<CalendarId>> {
        let carried = event.carried();
        if !carried.is_empty() {
            let mut named = Vec::new();
            for event in carried {
                named.extend(self.calendars_named_by(event)?);
            }
            return Some(named);
        }
        match event {
            Event::AppointmentsBooked { legs, .. } | Event::BookingConfirmed { legs, .. } => {
                Some(legs.iter().map(|leg| leg.calendar_id).collect())
            }
            Event::AppointmentCancelled { id, .. } => {
                Some(self.rows.get(id).map(|row| row.calendar_id).into_iter().collect())
            }
            Event::VeventPut { row, .. } => {
                let before = self.rows.get(&row.id).map(|before| before.calendar_id);
                Some(before.into_iter().chain([row.calendar_id]).collect())
            }
            Event::FichesMerged { vevents, .. } => {
                let rows = vevents.iter().filter_map(|id| self.rows.get(id));
                Some(rows.map(|row| row.calendar_id).collect())
            }
            Event::ClientsErased { erasure, .. }
            | Event::AppointmentsEmptied { parts: erasure, .. } => {
                Some(self.calendars_of_erasure(erasure))
            }
            Event::CalendarPut { row, .. } => Some(vec![row.id]),
            Event::HoldMade { hold, replaced, .. } => {
                let replaced = replaced.and_then(|id| self.holds().get(id));
                let before = replaced.map(|hold| hold.calendar_id);
                Some(before.into_iter().chain([hold.calendar_id]).collect())
            }
            Event::HoldReleased { id, .. }
            | Event::HoldExtended { id, .. }
            | Event::CodeRefused { id, .. } => {
                Some(self.holds().get(*id).map(|hold| hold.calendar_id).into_iter().collect())
            }
            Event::FichePut { .. }
            | Event::WebhookPut { .. }
            | Event::WebhookRemoved { .. }
            | Event::WebhookSettled { .. }
            | Event::CalendarsetPut { .. }
            | Event::InterventionPut { .. }
            | Event::InterventionsetPut { .. }
            | Event::CustomfieldPut { .. }
            | Event::InterventionsetRemoved { .. }
            | Event::MessagePut { .. }
            | Event::AccountPut { .. }
            | Event::AccountLinkRequested { .. }
            | Event::Announced { .. }
            | Event::DoneOnce { .. }
            | Event::BatchDone { .. }
            | Event::CancelledEmptied { .. }
            | Event::RetentionCountBegan { .. }
            | Event::AccountUsed { .. }
            | Event::AccountsClosed { .. }
            | Event::ImageSet { .. }
            | Event::ImageRemoved { .. }
            | Event::CalendarfeedPut { .. }
            | Event::CalendarfeedRevoked { .. }
            | Event::HistoryEnded { .. }
            | Event::ReadsNoted { .. } => Some(Vec::new()),
            Event::CalendarsetRemoved { .. }
            | Event::GroupChanged { .. }
            | Event::GroupFounded { .. }
            | Event::InstantsResolved { .. }
            | Event::VeventsRemoved { .. } => None,
        }
    }

    /// Applies an event to this state. Parts that no other state shares are changed in place,
    /// without a copy.
    ///
    /// # Panics
    /// As [`GroupState::apply`]. The state is then half changed and must be dropped.
    pub fn apply_in_place(&mut self, author: Option<Author>, event: &Event) {
        self.sequence += 1;
        self.apply_uncounted(author, event);
    }

    /// Applies an event, which was counted, after those that it carries.
    fn apply_uncounted(&mut self, author: Option<Author>, event: &Event) {
        let carried = event.carried();
        for event in carried {
            self.apply_uncounted(author, event);
        }
        self.stamp(event.at());
        if carried.is_empty() {
            self.remove_old_holds(event.at());
            self.closed_addresses.remove_old(event.at());
        }
        let observed = self.observe(event);
        self.change(event);
        for change in observed {
            self.record_change(author, change);
        }
    }

    /// Records that the group was founded, as the first row of its history.
    pub fn record_founding(&mut self, author: Option<Author>) {
        let object = HistoryObject::of_group(self.catalogue.group.id);
        let group = Some(&self.catalogue.group);
        let made = observe(object, HistoryVerb::Made, None, group, SettingsChange::Group);
        self.add_row(author, made);
    }

    /// Adds a change to the history. A group that was not founded with one has a first row that
    /// says so.
    fn record_change(&mut self, author: Option<Author>, change: ObservedChange) {
        if self.history.last() == 0 {
            self.record_begin(Author::Server);
        }
        self.add_row(author, change);
    }

    /// Records that nothing is known of what was before.
    pub fn record_begin(&mut self, author: Author) {
        let object = HistoryObject::of_group(self.catalogue.group.id);
        let verb = HistoryVerb::Begun;
        let fields = Vec::new();
        self.add_row(Some(author), ObservedChange { object, verb, fields, settings: None });
    }

    fn add_row(&mut self, author: Option<Author>, change: ObservedChange) {
        let ObservedChange { object, verb, fields, settings } = change;
        let at = self.last_stamp;
        let sequence = self.sequence;
        self.history.add(HistoryRow { at, sequence, author, object, verb, fields }, settings);
    }

    /// Applies an event without those that it carries.
    fn change(&mut self, event: &Event) {
        match event {
            Event::AppointmentsBooked { fiche, legs, .. } => {
                self.add_booking(fiche.as_deref(), legs);
            }
            Event::AppointmentCancelled { at, id } => self.cancel_appointment(*id, *at),
            Event::VeventPut { row, ended_holds, .. } => {
                self.put_vevent(Arc::new(Vevent::clone(row)));
                ended_holds.iter().for_each(|id| self.overwrite_hold(*id));
            }
            Event::FichePut { fiche, .. } => self.put_fiche(Arc::new(Fiche::clone(fiche))),
            Event::InstantsResolved { tzdata, resolved, .. } => {
                self.change_tzdata(tzdata, resolved)
            }
            Event::VeventsRemoved { ids, .. } => ids.iter().for_each(|id| self.remove_vevent(*id)),
            Event::CancelledEmptied { at, until, vevents, fiches } => {
                self.empty_cancelled(*at, *until, vevents, fiches);
            }
            Event::GroupChanged { group, resolved, ended_holds, .. } => {
                self.change_group(group, resolved, ended_holds);
            }
            Event::MessagePut { message, .. } => self.put_message(message),
            Event::AccountPut { hash, was, account, fiche, .. } => {
                self.links.remove(hash);
                self.put_account(was.as_deref(), account, fiche.as_deref());
            }
            Event::HoldMade { hold, replaced, .. } => {
                replaced.iter().for_each(|id| self.remove_hold(*id));
                self.put_hold(Arc::new(Hold::clone(hold)));
            }
            Event::HoldReleased { id, .. } => self.remove_hold(*id),
            Event::HoldExtended { id, expires_at, .. } => self.extend_hold(*id, *expires_at),
            Event::CodeRefused { id, .. } => self.change_hold(*id, count_wrong_code),
            Event::BookingConfirmed { id, fiche, legs, .. } => {
                // The hold ends first, so that its appointments do not count as overwriting it.
                self.record_confirmation(*id, legs);
                self.add_booking(fiche.as_deref(), legs);
            }
            Event::CalendarPut { row, .. } => self.put_calendar(row),
            Event::CalendarsetPut { row, .. } => self.put_calendarset(row),
            Event::InterventionPut { row, .. } => self.put_intervention(row),
            Event::InterventionsetPut { row, .. } => self.put_interventionset(row),
            Event::CustomfieldPut { row, .. } => self.put_customfield(row),
            Event::CalendarsetRemoved { at, id } => self.remove_calendarset(*id, *at),
            Event::InterventionsetRemoved { at, id } => self.remove_interventionset(*id, *at),
            Event::Announced { messages, .. } => messages.iter().for_each(|it| self.enqueue(it)),
            Event::DoneOnce { answered, .. } => self.record_answer(answered),
            Event::BatchDone { .. } | Event::ReadsNoted { .. } => {}
            Event::FichesMerged { at, kept, merged, merged_before, vevents, accounts } => {
                self.merge_fiches(*at, kept, *merged, merged_before, vevents, accounts);
            }
            Event::AccountLinkRequested { link, message, .. } => {
                self.links.put(Arc::new(AccountLink::clone(link)));
                self.enqueue(message);
            }
            Event::GroupFounded { .. } => panic!("a group is founded once"),
            Event::HistoryEnded { below, .. } => self.history.end_below(*below),
            Event::ClientsErased { at, erasure } => self.erase(*at, erasure),
            Event::RetentionCountBegan { at } => self.begin_retention_count(*at),
            Event::AccountUsed { client, day, .. } => self.record_account_use(*client, *day),
            Event::AppointmentsEmptied { at, placeholder, parts } => {
                self.empty_appointments(*at, *placeholder, parts);
            }
            Event::AccountsClosed { at, accounts } => self.close_accounts(*at, accounts),
            Event::ImageSet { slot, image, .. } => self.images.put(*slot, Arc::clone(image)),
            Event::ImageRemoved { slot, .. } => self.images.remove(*slot),
            Event::CalendarfeedPut { feed, .. } => self.calendarfeeds.put(feed.clone().into()),
            Event::CalendarfeedRevoked { id, .. } => self.calendarfeeds.remove(*id),
            Event::WebhookPut { .. }
            | Event::WebhookRemoved { .. }
            | Event::WebhookSettled { .. } => self.change_webhooks(event),
        }
    }

    fn remove_interventionset(&mut self, id: InterventionsetId, at: Instant) {
        self.own_catalogue().remove_interventionset(id, at);
        self.record_removed_id(IdKind::Interventionset, id.number());
    }

    fn remove_calendarset(&mut self, id: CalendarsetId, at: Instant) {
        self.own_catalogue().remove_calendarset(id, at);
        self.record_removed_id(IdKind::Calendarset, id.number());
    }

    fn put_calendarset(&mut self, row: &Calendarset) {
        self.own_catalogue().calendarsets.insert(row.id, row.clone().into());
    }

    fn put_intervention(&mut self, row: &Intervention) {
        self.own_catalogue().interventions.insert(row.id, row.clone().into());
    }

    fn put_interventionset(&mut self, row: &Interventionset) {
        self.own_catalogue().interventionsets.insert(row.id, row.clone().into());
    }

    fn put_customfield(&mut self, row: &Customfield) {
        self.own_catalogue().customfields.insert(row.id, row.clone().into());
    }

    /// Makes one record of two, with the accounts that point to it from now on.
    fn merge_fiches(
        &mut self,
        at: Instant,
        kept: &Fiche,
        merged: FicheId,
        merged_before: &[FicheId],
        vevents: &[VeventId],
        accounts: &[Account],
    ) {
        self.put_fiche(Arc::new(kept.clone()));
        vevents.iter().for_each(|id| self.give_to_kept(*id, merged, kept.id, at));
        self.close_merged(merged, kept.id, at);
        merged_before.iter().for_each(|id| self.close_merged(*id, kept.id, at));
        for account in accounts {
            self.accounts.insert(account.email.folded(), Arc::new(account.clone()));
        }
    }

    /// The catalogue, for a change.
    fn own_catalogue(&mut self) -> &mut Catalogue {
        Arc::make_mut(&mut self.catalogue)
    }

    fn put_calendar(&mut self, calendar: &Calendar) {
        let id = calendar.id;
        self.own_catalogue().calendars.insert(id, Arc::new(calendar.clone()));
        if !self.calendars.contains_key(&id) {
            self.calendars.insert(id, Arc::new(CalendarView::new(id)));
        }
    }

    fn record_answer(&mut self, answered: &Arc<IdempotencyRecord>) {
        let has_stamp_of_event = self.last_stamp == answered.at;
        assert!(has_stamp_of_event, "an idempotency record has the stamp of its event");
        self.idempotency_records.insert(Arc::clone(answered));
    }

    fn stamp(&mut self, at: Instant) {
        assert!(at >= self.last_stamp, "stamps never go back");
        self.last_stamp = at;
    }

    /// Adds the appointments of a booking, and puts the client's fiche if it is new or changed.
    fn add_booking(&mut self, fiche: Option<&Fiche>, legs: &[Vevent]) {
        if let Some(fiche) = fiche {
            self.put_fiche(Arc::new(fiche.clone()));
        }
        for leg in legs {
            assert!(!self.rows.contains_key(&leg.id), "a booked appointment is new");
            self.put_vevent(Arc::new(leg.clone()));
        }
    }

    /// Keeps the appointments of a confirmed booking with its hold, for a repeated confirmation.
    fn record_confirmation(&mut self, id: HoldId, legs: &[Vevent]) {
        let appointments = legs.iter().map(|leg| leg.id).collect();
        self.change_hold(id, |state| {
            let mut wrong_codes = 0;
            if let HoldState::Unconfirmed(booking) = state
                && !PlantedFault::WrongCodesForgotten.is_active()
            {
                wrong_codes = booking.wrong_codes;
            }
            *state = HoldState::Confirmed { appointments, wrong_codes };
        });
    }

    /// Marks an appointment as deleted, which frees its time.
    pub(super) fn cancel_appointment(&mut self, id: VeventId, at: Instant) {
        let mut row = Vevent::clone(self.rows.get(&id).expect("a cancelled appointment exists"));
        assert!(
            !row.deleted && row.appointment().is_some(),
            "only a live appointment is cancelled"
        );
        row.deleted = true;
        row.updated_at = at;
        self.put_vevent(Arc::new(row));
    }

    /// Moves appointments to the instants of another release of the zone database.
    fn change_tzdata(&mut self, tzdata: &str, resolved: &[(VeventId, Instant)]) {
        self.set_instants(resolved);
        self.tzdata = tzdata.into();
        self.clear_open_time();
    }

    /// Removes a deleted event for good.
    fn remove_vevent(&mut self, id: VeventId) {
        let row = Arc::clone(self.rows.get(&id).expect("a removed event exists"));
        assert!(row.deleted, "only a deleted event is removed");
        self.withdraw(&row);
        self.rows.remove(&id);
    }

    /// Empties deleted web bookings and clients.
    fn empty_cancelled(
        &mut self,
        at: Instant,
        until: DeletionPlace,
        vevents: &[VeventId],
        fiches: &[FicheId],
    ) {
        for id in vevents {
            let row = Vevent::clone(self.rows.get(id).expect("an emptied event exists"));
            assert!(row.deleted, "only a deleted event is emptied");
            self.put_vevent(Arc::new(Vevent { rare: None, ..row }));
        }
        for id in fiches {
            let fiche = self.fiches.get(id).expect("an emptied client exists");
            let emptied = Arc::new(fiche.emptied(at));
            self.put_fiche(emptied);
        }
        self.set_emptied_until(until);
    }

    /// Gives an event of a merged client to the kept one. A deleted event keeps its stamp, since
    /// upkeep counts from its deletion.
    fn give_to_kept(&mut self, id: VeventId, merged: FicheId, kept: FicheId, at: Instant) {
        let mut row = Vevent::clone(self.rows.get(&id).expect("an event of a merge exists"));
        assert_eq!(row.fiche_id(), Some(merged), "an event of a merge names the merged client");
        row.set_client(kept);
        if !row.deleted {
            row.updated_at = at;
        }
        self.put_vevent(Arc::new(row));
    }

    /// Leaves of a client that was merged what leads to the kept one.
    fn close_merged(&mut self, merged: FicheId, kept: FicheId, at: Instant) {
        assert_ne!(merged, kept, "no client is merged into itself");
        let fiche = self.fiches.get(&merged).expect("a merged client exists");
        let closed = fiche.merged(kept, at);
        self.put_fiche(Arc::new(closed));
    }

    /// Puts a message into the outbox: a new one, or another form of an existing one. The `apply`
    /// of every event with messages calls this.
    ///
    /// # Panics
    /// If a new message's id is not the next one.
    pub fn enqueue(&mut self, message: &Message) {
        self.outbox.put(Arc::new(message.clone()), self.last_stamp);
    }

    /// Puts a message, and records the outcome of a reminder with its appointment.
    fn put_message(&mut self, message: &Message) {
        self.enqueue(message);
        self.settle_reminder(message);
    }

    /// Records the outcome of a reminder with its appointment, so that it is not sent again.
    fn settle_reminder(&mut self, message: &Message) {
        let Some((channel, announced)) = message.reminder() else { return };
        let Some(outcome) = message.settled_reminder() else { return };
        // The appointment may have been removed for good.
        let Some(row) = self.rows.get_mut(&announced.id) else { return };
        if let VeventKind::Appointment(appointment) = &mut Arc::make_mut(row).kind {
            appointment.reminders.by_channel_mut(channel).set_settled(outcome);
        }
    }

    /// Puts an account in place of the one with the folded address `was`, and the fiche that
    /// changed with it. Earlier links no longer set its password. If its password or address has
    /// changed, earlier links no longer change its address either: an intruder may have requested
    /// them.
    fn put_account(&mut self, was: Option<&str>, account: &Account, fiche: Option<&Fiche>) {
        if let Some(fiche) = fiche {
            self.put_fiche(Arc::new(fiche.clone()));
        }
        let folded = account.email.folded();
        // Of two accounts of an earlier release whose addresses have one folded form now, the later
        // one stays. So the one that changed may be gone, and a new one may replace another.
        if let Some(was) = was
            && let Some(before) = self.take_account(was)
        {
            self.links.remove_passwords(&before.email.folded());
            if before.password_hash != account.password_hash || *was != *folded {
                self.links.remove_changes(was);
            }
        }
        assert!(self.fiches.contains_key(&account.fiche_id), "an account's fiche exists");
        self.links.remove_passwords(&folded);
        self.accounts.insert(folded, Arc::new(account.clone()));
    }

    /// Removes the account of a folded address. Journals of earlier releases hold the address in
    /// lower case, which may differ from its folded form.
    fn take_account(&mut self, was: &str) -> Option<Arc<Account>> {
        let key = self.find_account(was)?.email.folded();
        self.accounts.remove(&key)
    }

    /// Finds the account of an address, as [`GroupState::take_account`] does.
    pub(super) fn find_account(&self, was: &str) -> Option<&Arc<Account>> {
        let named = self.accounts.get(was).or_else(|| self.accounts.get(&folded(was)));
        named.or_else(|| {
            self.accounts.iter().find(|(key, _)| key.to_lowercase() == was).map(|(_, found)| found)
        })
    }

    /// Sets the group's fields, and the instants of events in its new time zone. Ends the holds
    /// that a plage meets there.
    fn change_group(
        &mut self,
        group: &Group,
        resolved: &[(VeventId, Instant)],
        ended_holds: &[HoldId],
    ) {
        let catalogue = Arc::make_mut(&mut self.catalogue);
        let is_same_zone = catalogue.group.timezone == group.timezone;
        catalogue.group = group.clone();
        self.set_instants(resolved);
        ended_holds.iter().for_each(|id| self.overwrite_hold(*id));
        if !is_same_zone {
            self.clear_open_time();
        }
    }

    /// Sets the instants of events: the start of an appointment, the UNTIL of a series.
    fn set_instants(&mut self, resolved: &[(VeventId, Instant)]) {
        // Every event frees its time before one takes a new time, because they may exchange places.
        let mut rows = Vec::with_capacity(resolved.len());
        for (id, instant) in resolved {
            let row = self.rows.remove(id).expect("a resolved event exists");
            self.withdraw(&row);
            rows.push((row, instant));
        }
        for (row, instant) in rows {
            let mut row = Vevent::clone(&row);
            match &mut row.kind {
                VeventKind::Appointment(appointment) => appointment.start = *instant,
                VeventKind::Plage(series) | VeventKind::Note(series) => {
                    **series = series.with_until(*instant)
                }
                VeventKind::Availability(availability) => {
                    availability.series = availability.series.with_until(*instant)
                }
            }
            self.put_vevent(Arc::new(row));
        }
    }

    /// Clears the cached open time of every calendar, because the time zone or its rules changed.
    fn clear_open_time(&mut self) {
        let ids: Vec<CalendarId> = self.calendars.keys().copied().collect();
        for id in ids {
            // Every change of the rules clears the cache, also one that changes nothing.
            self.view(id).change_rules(|_| {});
        }
    }
}

/// Counts a wrong code. The last one allowed ends the booking, or the repetition of its answer.
fn count_wrong_code(state: &mut HoldState) {
    let wrong_codes = match state {
        HoldState::Unconfirmed(booking) => &mut booking.wrong_codes,
        HoldState::Confirmed { wrong_codes, .. } => wrong_codes,
        HoldState::Chosen | HoldState::Overwritten | HoldState::Guessed => return,
    };
    *wrong_codes += 1;
    if *wrong_codes >= WRONG_CODES_MAX {
        *state = HoldState::Guessed;
    }
}
