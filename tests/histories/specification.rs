//! The sequential specification: what a shop with one clerk would answer. Reference 4, 6.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Answer, Call, Caller, HalfHour, Request, Row, Shown, Slots, Span};

/// Codes of refusals. Reference 2.2.
pub(crate) const INVALID_PARAMETER: u64 = 2;
pub(crate) const MAX_RDV_NUMBER: u64 = 6;
pub(crate) const MINTIME_BETWEEN: u64 = 7;
pub(crate) const SAME_TIME_RDV: u64 = 12;
pub(crate) const NOT_AVAILABLE: u64 = 14;

/// The calendars of a group, and its rules for clients.
#[derive(Clone, Debug)]
pub(crate) struct Shop {
    pub(crate) calendars: BTreeSet<u64>,
    /// `maxrdv_number`; 0 is no limit.
    pub(crate) appointments_max: usize,
    /// `mintime_between`, in half hours.
    pub(crate) gap_min: u64,
}

/// An appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    shown: Shown,
    client: u64,
    /// Booked with a key alone.
    is_by_key: bool,
    booked_by: usize,
}

/// A part of a group whose history is checked by itself.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Calendars of which the time is compared.
    pub(crate) calendars: BTreeSet<u64>,
    /// Clients of whom the rules are compared; `None` for all.
    pub(crate) clients: Option<BTreeSet<u64>>,
    /// Appointments that ever touch the part; `None` for all.
    pub(crate) appointments: Option<BTreeSet<u64>>,
    pub(crate) name: String,
}

impl Scope {
    fn has_client(&self, client: u64) -> bool {
        self.clients.as_ref().is_none_or(|clients| clients.contains(&client))
    }

    pub(crate) fn has_appointment(&self, id: u64) -> bool {
        self.appointments.as_ref().is_none_or(|ids| ids.contains(&id))
    }

    /// Returns the calendars of the scope that a request names.
    fn named(&self, calendar: Option<u64>) -> impl Iterator<Item = u64> {
        self.calendars.iter().copied().filter(move |id| calendar.is_none_or(|named| named == *id))
    }

    /// Returns whether a call tells something of the scope, or changes it.
    pub(crate) fn concerns(&self, call: &Call) -> bool {
        if let Some(id) = call.appointment() {
            return self.has_appointment(id);
        }
        match &call.request {
            Request::Book { client, calendar, .. } => {
                self.has_client(*client) || self.named(*calendar).next().is_some()
            }
            Request::Hold(span) => self.calendars.contains(&span.calendar),
            Request::Search { calendar, .. } => self.named(*calendar).next().is_some(),
            Request::Release { calendar, .. } => self.calendars.contains(calendar),
            Request::List => true,
            Request::Cancel { .. } | Request::Move { .. } => false,
            Request::Shift { .. } | Request::Read { .. } => false,
        }
    }
}

/// State of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Every appointment of the scope, also on calendars outside it and cancelled.
    appointments: BTreeMap<u64, Entry>,
    /// Live holds on its calendars, by the call that made them.
    holds: BTreeMap<usize, Span>,
}

/// Time of the caller that counts as free.
#[derive(Clone, Copy, Default)]
struct Own {
    hold: Option<usize>,
    appointment: Option<u64>,
}

/// The specification over a scope.
#[derive(Clone, Debug)]
pub(crate) struct Specification<'a> {
    pub(crate) shop: &'a Shop,
    pub(crate) scope: &'a Scope,
}

impl Specification<'_> {
    /// Returns whether a state gives this answer to a call that changes nothing.
    pub(crate) fn explains(&self, state: &State, call: &Call) -> bool {
        match (&call.request, &call.answer) {
            (_, Answer::Nothing | Answer::Lost) => true,
            (Request::Search { calendar, open, length, hold }, Answer::Free(slots)) => {
                self.shows(state, *calendar, *open, *length, *hold, slots)
            }
            (Request::Read { id }, Answer::Seen(shown)) => {
                state.appointments.get(id).is_some_and(|entry| entry.shown == *shown)
            }
            (Request::List, Answer::Rows(rows)) => self.lists(state, rows),
            (Request::Release { hold, .. }, Answer::Gone) => !state.holds.contains_key(hold),
            (Request::Hold(span), Answer::Refused(codes)) => {
                let own = Own::default();
                is_only(codes, NOT_AVAILABLE) && !state.is_free(*span, Caller::Public, own)
            }
            (Request::Book { .. }, Answer::Refused(codes)) => {
                self.refuses_booking(state, call, codes)
            }
            (Request::Move { id, start, caller }, Answer::Refused(codes)) => {
                self.refuses_move(state, *id, *start, *caller, codes)
            }
            (Request::Shift { id, calendar, start }, Answer::Refused(codes)) => {
                let Some(entry) = state.appointments.get(id) else { return false };
                let to = Span { calendar: *calendar, start: *start, ..entry.shown.span };
                let is_new = entry.shown.is_live && to != entry.shown.span;
                is_only(codes, NOT_AVAILABLE)
                    && is_new
                    && (!self.compares(*calendar) || !self.takes_shift(state, *id, to))
            }
            _ => false,
        }
    }

    /// Returns the state after a call, if the call can be carried out with its answer. A lost call
    /// is carried out with the answer that it would have got.
    pub(crate) fn apply(&self, state: &State, call: &Call) -> Option<State> {
        match (&call.request, &call.answer) {
            (Request::Book { .. }, Answer::Booked { id, calendar }) => {
                self.book(state, call, *id, *calendar)
            }
            (Request::Book { calendar: Some(calendar), .. }, Answer::Lost) => {
                self.book(state, call, call.appointment()?, *calendar)
            }
            (Request::Cancel { id, .. }, Answer::Done | Answer::Lost) => {
                let mut next = state.clone();
                next.appointments.get_mut(id)?.shown.is_live = false;
                Some(next)
            }
            (Request::Move { id, start, caller }, Answer::Done | Answer::Lost) => {
                let entry = state.appointments.get(id)?;
                let to = Span { start: *start, ..entry.shown.span };
                if !entry.shown.is_live {
                    return None;
                }
                if to == entry.shown.span {
                    return Some(state.clone());
                }
                let free = !self.compares(to.calendar) || self.takes_move(state, *id, to, *caller);
                let broken = self.broken_rules(state, entry.client, to, moved(*id, entry, *caller));
                (free && broken.is_empty()).then(|| self.place(state, *id, to))
            }
            (Request::Shift { id, calendar, start }, Answer::Done | Answer::Lost) => {
                let entry = state.appointments.get(id)?;
                let to = Span { calendar: *calendar, start: *start, ..entry.shown.span };
                let is_taken = entry.shown.is_live
                    && to != entry.shown.span
                    && !self.takes_shift(state, *id, to);
                (!is_taken).then(|| self.place(state, *id, to))
            }
            (Request::Hold(span), Answer::Done | Answer::Lost) => {
                if !state.is_free(*span, Caller::Public, Own::default()) {
                    return None;
                }
                let mut next = state.clone();
                next.holds.insert(call.number, *span);
                Some(next)
            }
            (Request::Release { hold, .. }, Answer::Done | Answer::Lost) => {
                let mut next = state.clone();
                next.holds.remove(hold)?;
                Some(next)
            }
            _ => None,
        }
    }

    /// Returns whether the time of a calendar is compared.
    fn compares(&self, calendar: u64) -> bool {
        self.scope.calendars.contains(&calendar)
    }

    fn book(&self, state: &State, call: &Call, id: u64, calendar: u64) -> Option<State> {
        let Request::Book { caller, client, start, length, hold, .. } = call.request else {
            return None;
        };
        let span = Span { calendar, start, length };
        let own = Own { hold, ..Own::default() };
        if self.compares(calendar) && !state.is_free(span, caller, own) {
            return None;
        }
        let rules = ClientRules {
            counts_by_key: caller == Caller::Public,
            is_bound: caller != Caller::BackOffice,
            moved: None,
        };
        if !self.broken_rules(state, client, span, rules).is_empty() {
            return None;
        }
        let shown = Shown { span, is_live: true };
        let is_by_key = caller == Caller::Public;
        let entry = Entry { shown, client, is_by_key, booked_by: call.number };
        let mut next = state.clone();
        if next.appointments.insert(id, entry).is_some() {
            return None;
        }
        next.holds.retain(|_, held| !held.overlaps(span));
        Some(next)
    }

    /// Returns the state with an appointment at another place. If it is live, holds there end.
    fn place(&self, state: &State, id: u64, to: Span) -> State {
        let mut next = state.clone();
        let entry = next.appointments.get_mut(&id).expect("it was found before");
        let is_new = entry.shown.is_live && entry.shown.span != to;
        entry.shown.span = to;
        if is_new {
            next.holds.retain(|_, held| !held.overlaps(to));
        }
        next
    }

    /// Returns whether a move finds its time free. A professional's move does not notice holds.
    fn takes_move(&self, state: &State, id: u64, to: Span, caller: Caller) -> bool {
        state.is_free(to, caller, Own { appointment: Some(id), ..Own::default() })
    }

    fn takes_shift(&self, state: &State, id: u64, to: Span) -> bool {
        let own = Own { appointment: Some(id), ..Own::default() };
        !self.compares(to.calendar) || state.is_free(to, Caller::BackOffice, own)
    }

    /// Returns the codes of the client's rules that a new time breaks. Reference 6.4.
    fn broken_rules(
        &self,
        state: &State,
        client: u64,
        span: Span,
        rules: ClientRules,
    ) -> BTreeSet<u64> {
        let mut broken = BTreeSet::new();
        if !self.scope.has_client(client) {
            return broken;
        }
        let mut count = 0;
        for (id, entry) in &state.appointments {
            let counts = !entry.is_by_key || rules.counts_by_key;
            if entry.client != client || !entry.shown.is_live || !counts || rules.moved == Some(*id)
            {
                continue;
            }
            count += 1;
            let other = entry.shown.span;
            if other.meets(span) {
                broken.insert(SAME_TIME_RDV);
            } else if rules.is_bound {
                let behind = span.start.saturating_sub(other.start + other.length);
                let ahead = other.start.saturating_sub(span.start + span.length);
                if behind.max(ahead) < self.shop.gap_min {
                    broken.insert(MINTIME_BETWEEN);
                }
            }
        }
        let most = self.shop.appointments_max;
        if rules.is_bound && most > 0 && count + 1 > most {
            broken.insert(MAX_RDV_NUMBER);
        }
        broken
    }

    /// Returns whether a state refuses a booking with these codes: those of the client first.
    fn refuses_booking(&self, state: &State, call: &Call, codes: &BTreeSet<u64>) -> bool {
        let Request::Book { caller, client, calendar, start, length, hold } = call.request else {
            return false;
        };
        let span = Span { calendar: calendar.unwrap_or(0), start, length };
        let rules = ClientRules {
            counts_by_key: caller == Caller::Public,
            is_bound: caller != Caller::BackOffice,
            moved: None,
        };
        let broken = self.broken_rules(state, client, span, rules);
        if !is_only(codes, NOT_AVAILABLE) {
            return !self.scope.has_client(client) || broken == *codes;
        }
        let own = Own { hold, ..Own::default() };
        let mut is_free = false;
        for id in self.scope.named(calendar) {
            is_free |= state.is_free(Span { calendar: id, ..span }, caller, own);
        }
        broken.is_empty() && !is_free
    }

    fn refuses_move(
        &self,
        state: &State,
        id: u64,
        start: HalfHour,
        caller: Caller,
        codes: &BTreeSet<u64>,
    ) -> bool {
        let Some(entry) = state.appointments.get(&id) else { return false };
        let to = Span { start, ..entry.shown.span };
        if !entry.shown.is_live {
            return is_only(codes, INVALID_PARAMETER);
        }
        if to == entry.shown.span {
            return false;
        }
        let broken = self.broken_rules(state, entry.client, to, moved(id, entry, caller));
        if !is_only(codes, NOT_AVAILABLE) {
            return !codes.contains(&INVALID_PARAMETER)
                && (!self.scope.has_client(entry.client) || broken == *codes);
        }
        let is_taken = !self.compares(to.calendar) || !self.takes_move(state, id, to, caller);
        broken.is_empty() && is_taken
    }

    /// Returns whether a search of a state shows these starts, on the calendars of the scope.
    fn shows(
        &self,
        state: &State,
        calendar: Option<u64>,
        open: (HalfHour, HalfHour),
        length: u64,
        hold: Option<usize>,
        slots: &Slots,
    ) -> bool {
        let own = Own { hold, ..Own::default() };
        let none = BTreeSet::new();
        let in_hours = slots.keys().all(|start| open.0 <= *start && start + length <= open.1);
        in_hours
            && (open.0..=open.1 - length).all(|start| {
                let shown = slots.get(&start).unwrap_or(&none);
                self.scope.named(calendar).all(|calendar| {
                    let span = Span { calendar, start, length };
                    state.is_free(span, Caller::Public, own) == shown.contains(&calendar)
                })
            })
    }

    /// Returns whether a list shows the state, as far as the scope goes.
    fn lists(&self, state: &State, rows: &BTreeMap<u64, Row>) -> bool {
        let mut count = 0;
        for (id, row) in rows {
            // A row that no call of the history has made belongs to no scope, and to every one.
            let is_known = self.scope.has_appointment(*id);
            let Some(entry) = state.appointments.get(id) else {
                if is_known {
                    return false;
                }
                continue;
            };
            if entry.shown != row.shown || entry.booked_by != row.booked_by {
                return false;
            }
            count += 1;
        }
        count == state.appointments.len()
    }
}

/// The part of the client's rules that depends on the caller.
#[derive(Clone, Copy)]
struct ClientRules {
    /// Appointments that were booked with a key alone count.
    counts_by_key: bool,
    /// The module's rules hold, not the one about overlaps alone.
    is_bound: bool,
    moved: Option<u64>,
}

/// Returns the rules of a move. With the secret of an appointment that was booked with a key alone,
/// the mover proves no more than the key.
fn moved(id: u64, entry: &Entry, caller: Caller) -> ClientRules {
    let counts_by_key = caller == Caller::Public && entry.is_by_key;
    ClientRules { counts_by_key, is_bound: true, moved: Some(id) }
}

fn is_only(codes: &BTreeSet<u64>, code: u64) -> bool {
    codes.len() == 1 && codes.contains(&code)
}

impl State {
    /// Returns whether no live appointment takes a moment of a span, nor for the public a hold.
    fn is_free(&self, span: Span, caller: Caller, own: Own) -> bool {
        for (id, entry) in &self.appointments {
            if entry.shown.is_live
                && own.appointment != Some(*id)
                && entry.shown.span.overlaps(span)
            {
                return false;
            }
        }
        let mut is_free = true;
        if caller == Caller::Public {
            for (maker, held) in &self.holds {
                is_free &= own.hold == Some(*maker) || !held.overlaps(span);
            }
        }
        is_free
    }

    /// Returns the appointments that a list shows otherwise, or not at all.
    pub(crate) fn differing(&self, rows: &BTreeMap<u64, Row>) -> BTreeSet<u64> {
        let mut differing = BTreeSet::new();
        for (id, entry) in &self.appointments {
            if rows.get(id).is_none_or(|row| row.shown != entry.shown) {
                differing.insert(*id);
            }
        }
        differing
    }

    /// Returns the time that live appointments and holds take.
    pub(crate) fn taken(&self) -> impl Iterator<Item = Span> {
        let live = self.appointments.values().filter(|entry| entry.shown.is_live);
        live.map(|entry| entry.shown.span).chain(self.holds.values().copied())
    }
}
