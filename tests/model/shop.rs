//! A small shop to tell stories about.

use std::sync::Arc;

use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::availability::slot_request::{BookingMode, ChainSearch};
use slotbook::domain::availability::slots::free_starts;
use slotbook::domain::decisions::announcement::apply_with_messages;
use slotbook::domain::decisions::decide;
use slotbook::domain::decisions::decision::{Context, Decision, Environment, LinkDraws, Outcome};
use slotbook::domain::directory::confirmation_code::ConfirmationCode;
use slotbook::domain::directory::id_blocks::IdKind;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::directory::password_link::PasswordLink;
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::hold::{HoldId, HoldToken};
use slotbook::domain::records::ids::{
    CalendarId, FicheId, GroupId, InterventionId, ProId, VeventId,
};
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::message::MessageContent;
use slotbook::domain::records::text::{Bounded, Email, LongText, Name, Text};
use slotbook::domain::records::vevent::{
    AppointmentKey, Availability, Permits, Vevent, VeventKind,
};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::command::{
    BookAppointment, Caller, CancelAppointment, CancelRight, Client, Command, ConfirmBooking,
    FollowLink, HoldTime, Patch, PutVevent, RecordChange, RequestLink, VeventDraft,
};
use slotbook::domain::state::delivery_step::{DeliveryStep, LatePolicy};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::idempotency::{IdempotencyRecord, IdempotencyShare};
use slotbook::domain::state::refusal::{Refusal, Refusals};
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, Instant};

/// The group's state, the shop's clock, and everything that has happened.
#[derive(Clone)]
pub(crate) struct Shop {
    pub(crate) group_state: GroupState,
    pub(crate) now: Instant,
    pub(crate) events: Vec<Event>,
    /// Whether clients are written to about what happens, where the group's settings have it so.
    pub(crate) announces: bool,
    next_id: u64,
}

pub(crate) fn calendar(id: u64) -> CalendarId {
    CalendarId::new(id).expect("an id")
}

pub(crate) fn intervention(id: u64) -> InterventionId {
    InterventionId::new(id).expect("an id")
}

/// `YYYY-MM-DD HH:MM` as a wall clock shows it.
pub(crate) fn civil(text: &str) -> Civil {
    let numbers: Vec<u32> =
        text.split(['-', ' ', ':']).map(|part| part.parse().expect("a number")).collect();
    let year = i32::try_from(numbers[0]).expect("a year");
    Civil::from_ymd_hms(year, numbers[1], numbers[2], numbers[3], numbers[4], 0)
        .expect("a civil time")
}

impl Shop {
    /// Calendars 1 and 2, interventions 1 (30 minutes), 2 (60 minutes) and 3 (15 minutes), all shown; a slot every 30
    /// minutes; nothing open yet. It is `now`, and bookings need no account.
    pub(crate) fn in_zone(zone: &str, now: &str) -> Self {
        let zone = ZoneName::from_name(zone).expect("a zone");
        let now = zone.zone().instant_of(civil(now));
        let mut group = Group::new(GroupId::new(1).expect("an id"), zone, now);
        group.validate_email = false;
        group.notice_delay_seconds = Bounded::known(0);
        group.max_multirdvs = Bounded::known(3);
        let mut catalogue = Catalogue::new(group);
        let shown = Name::new("shown").expect("a name");
        for id in [1, 2] {
            let mut row = Calendar::new(calendar(id), now);
            row.publicname = shown.clone();
            row.generate_interval = Bounded::known(30);
            row.mintime_annulation = Bounded::known(120);
            catalogue.calendars.insert(row.id, row.into());
        }
        for (id, minutes) in [(1, 30), (2, 60), (3, 15)] {
            let mut row = Intervention::new(intervention(id), now);
            row.publicname = shown.clone();
            row.length = Bounded::new(minutes).expect("a length");
            catalogue.interventions.insert(row.id, row.into());
        }
        Self {
            group_state: GroupState::new(catalogue),
            now,
            events: Vec::new(),
            announces: false,
            next_id: 1,
        }
    }

    /// In Paris on the Monday before, with calendar 1 open on Tuesday 3 March 2026 from 9 to 12.
    pub(crate) fn open_on_tuesday() -> Self {
        Self::in_zone("Paris", "2026-03-02 08:00").opened(
            1,
            "2026-03-03 09:00",
            "2026-03-03 12:00",
            "",
            Permits::All,
        )
    }

    pub(crate) fn at(mut self, now: &str) -> Self {
        self.now = self.group_state.catalogue.zone().instant_of(civil(now));
        self
    }

    /// Changes the settings, as an administrator would.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Catalogue)) -> Self {
        change(Arc::make_mut(&mut self.group_state.catalogue));
        self
    }

    pub(crate) fn with_group(self, change: impl FnOnce(&mut Group)) -> Self {
        self.with(|catalogue| change(&mut catalogue.group))
    }

    pub(crate) fn with_calendar(self, id: u64, change: impl FnOnce(&mut Calendar)) -> Self {
        self.with(|c| {
            change(Arc::make_mut(c.calendars.get_mut(&calendar(id)).expect("a calendar")))
        })
    }

    pub(crate) fn opened(
        mut self,
        on: u64,
        from: &str,
        to: &str,
        rrule: &str,
        permits: Permits,
    ) -> Self {
        let series = self.series(from, to, rrule);
        self.put(on, VeventKind::Availability(Box::new(Availability { series, permits })));
        self
    }

    pub(crate) fn closed(mut self, on: u64, from: &str, to: &str) -> Self {
        let series = self.series(from, to, "");
        self.put(on, VeventKind::Plage(Box::new(series)));
        self
    }

    fn series(&self, from: &str, to: &str, rrule: &str) -> Series {
        let rule = if rrule.is_empty() { None } else { Some(rrule.parse().expect("a rule")) };
        let zone = self.group_state.catalogue.zone();
        Series::new(zone, civil(from), civil(to), rule, Exceptions::default()).expect("a series")
    }

    pub(crate) fn put(&mut self, on: u64, kind: VeventKind) {
        let row = Vevent {
            id: VeventId::new(self.id()).expect("an id"),
            calendar_id: calendar(on),
            kind,
            deleted: false,
            created_at: self.now,
            updated_at: self.now,
            rare: None,
        };
        self.group_state.put_vevent(row.into());
    }

    /// Decides a command as if the calendars replied at once, and carries it out.
    pub(crate) fn does(&mut self, command: Command, mut draws: Draws) -> Result<Outcome, Refusals> {
        let (event, outcome) = decide_at_once(&self.group_state, &command, &mut draws, self.now)?;
        if let Some(event) = event {
            let event = if self.announces {
                apply_with_messages(&self.group_state, None, &command, event, self.now).0
            } else {
                event
            };
            self.carry_out(event);
        }
        Ok(outcome)
    }

    /// Decides a command and carries it out; whether it changed anything.
    fn changes_by(&mut self, command: Command, draws: Draws) -> Result<bool, Refusals> {
        let events = self.events.len();
        self.does(command, draws)?;
        Ok(self.events.len() > events)
    }

    /// An id that nothing in the group had yet.
    pub(crate) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// A client that is already known.
    pub(crate) fn knows(&mut self, name: &str, email: &str) -> FicheId {
        let id = FicheId::new(self.id()).expect("an id");
        let mut fiche = Fiche::new(id, self.now);
        fiche.lastname = Name::new(name).expect("a name");
        fiche.email = Some(Email::new(email).expect("an address"));
        self.group_state.put_fiche(fiche.into());
        id
    }

    /// Keeps an answer under an Idempotency-Key.
    pub(crate) fn keeps_answer(&mut self, scope: u8, answer: &str) {
        self.group_state.idempotency_records.insert(Arc::new(IdempotencyRecord {
            scope: [scope; 32],
            body: [0; 32],
            at: self.now,
            answer: answer.as_bytes().into(),
            share: IdempotencyShare::default(),
            awaits_code: false,
        }));
    }

    /// Carries a decided event out, every third under a key that comes again some time.
    pub(crate) fn carry_out(&mut self, event: Event) {
        let number = u8::try_from(self.events.len() % 250).expect("small");
        let event = if number.is_multiple_of(3) {
            let at = self.group_state.apply(&event).last_stamp;
            let answered = IdempotencyRecord {
                scope: [number % 7; 32],
                body: [number; 32],
                at,
                answer: vec![number; 9].into(),
                share: IdempotencyShare::default(),
                awaits_code: false,
            };
            Event::DoneOnce { answered: answered.into(), event: Box::new(event) }
        } else {
            event
        };
        self.group_state = self.group_state.apply(&event);
        self.events.push(event);
    }

    /// Books as the command says; the appointments made, or every refusal.
    pub(crate) fn book(&mut self, command: &BookAppointment) -> Result<Vec<VeventId>, Refusals> {
        let legs = command.intervention_ids.len() as u64;
        let fiche = self.id();
        let first = self.next_id;
        self.next_id += legs;
        let draws =
            Draws { fiche, first, order: self.id(), token: self.id(), ..Draws::none(self.now) };
        self.does(Command::BookAppointment(Box::new(command.clone())), draws)?;
        Ok((first..first + legs).map(|id| VeventId::new(id).expect("an id")).collect())
    }

    /// Books in a group that asks for a code; the hold of the booking.
    pub(crate) fn book_until_code(
        &mut self,
        command: &BookAppointment,
    ) -> Result<HoldId, Refusals> {
        self.book(command)?;
        Ok(self.newest_hold())
    }

    /// The hold that the last event made.
    fn newest_hold(&self) -> HoldId {
        self.events.last().and_then(Event::made_hold).expect("the last event made a hold")
    }

    /// Holds time for a web caller.
    pub(crate) fn holds(&mut self, command: &HoldTime) -> Result<HoldId, Refusals> {
        let draws = Draws { token: self.id(), order: self.id(), ..Draws::none(self.now) };
        self.does(Command::HoldTime(Box::new(command.clone())), draws)?;
        Ok(self.newest_hold())
    }

    /// Gives held time back; whether it was held.
    pub(crate) fn releases(&mut self, hold: HoldId) -> bool {
        self.does(Command::ReleaseHold(hold), Draws::none(self.now)).is_ok()
    }

    /// Gives the right code or a wrong one for a booking; its appointments, none after a wrong code.
    pub(crate) fn confirms(
        &mut self,
        hold: HoldId,
        is_right: bool,
    ) -> Result<Vec<VeventId>, Refusals> {
        let group = self.group_state.catalogue.group.id;
        let code = ConfirmationCode::derive(&LinkSecret::new([1; 32]), group, hold);
        let guess = if is_right { code.as_str().into() } else { "wrong".into() };
        let command = ConfirmBooking { hold, code: Some(code), guess };
        let fiche = self.id();
        let draws = Draws { fiche, first: self.next_id, ..Draws::none(self.now) };
        self.next_id += 3;
        let done = self.does(Command::ConfirmBooking(Box::new(command)), draws)?;
        Ok(done.appointments)
    }

    /// The one refusal of a booking that has exactly one.
    pub(crate) fn refusal_of(&mut self, command: &BookAppointment) -> Refusal {
        let mut refusals = self.book(command).expect_err("it is refused");
        assert_eq!(refusals.len(), 1, "{refusals:?}");
        refusals.remove(0)
    }

    pub(crate) fn cancel(&mut self, id: VeventId, right: CancelRight) -> Result<bool, Refusal> {
        let command = Command::CancelAppointment(CancelAppointment { id, right });
        match self.changes_by(command, Draws::none(self.now)) {
            Ok(is_changed) => Ok(is_changed),
            Err(mut refusals) => {
                assert_eq!(refusals.len(), 1, "{refusals:?}");
                Err(refusals.remove(0))
            }
        }
    }

    /// Does something to the agenda by a professional's hand; whether it changed anything.
    pub(crate) fn by_hand(&mut self, command: &PutVevent) -> Result<bool, Refusals> {
        let draws = Draws { first: self.id(), ..Draws::none(self.now) };
        self.changes_by(Command::PutVevent(command.clone()), draws)
    }

    /// Changes a record, or makes one; whether it changed anything.
    pub(crate) fn changes(&mut self, change: &RecordChange) -> Result<bool, Refusals> {
        let new_id = self.id();
        let draws = Draws { fiche: new_id, first: new_id, ..Draws::none(self.now) };
        self.changes_by(Command::ChangeRecord(change.clone()), draws)
    }

    /// Asks for a link about an account; the link where one is mailed, without a password.
    pub(crate) fn asks_link(
        &mut self,
        command: &RequestLink,
    ) -> Result<Option<FollowLink>, Refusals> {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.id().to_be_bytes());
        let mut draws = Draws { hash, ..Draws::none(self.now) };
        let command = Command::RequestLink(Box::new(command.clone()));
        let (asked, _) = decide_at_once(&self.group_state, &command, &mut draws, self.now)?;
        let asked = asked.expect("a request is always recorded");
        let group = self.group_state.catalogue.group.id;
        let mut signed = None;
        if let Event::Announced { messages, .. } = &asked {
            for message in messages {
                if let MessageContent::AccountLink { token, .. } = &message.content {
                    signed = PasswordLink::open(token.as_str(), group, &link_secret());
                }
            }
        }
        let is_mailed = signed.is_some() || matches!(asked, Event::AccountLinkRequested { .. });
        self.carry_out(asked);
        Ok(is_mailed.then_some(FollowLink { hash, signed, password_hash: None }))
    }

    /// Follows a link, and gives a password that has not been given before.
    pub(crate) fn follows_link(&mut self, link: FollowLink) -> Result<(), Refusals> {
        let draws = Draws { fiche: self.id(), ..Draws::none(self.now) };
        let password_hash = Some(Text::new(&format!("hash {}", self.id())).expect("a text"));
        let command = Command::FollowLink(Box::new(FollowLink { password_hash, ..link }));
        self.does(command, draws).map(drop)
    }

    /// One step of the sending of a message; whether it was due.
    pub(crate) fn delivers(&mut self, step: &DeliveryStep) -> bool {
        self.changes_by(Command::Deliver(step.clone()), Draws::none(self.now))
            .expect("never refused")
    }

    /// Moves an appointment to a start on a calendar.
    pub(crate) fn moves(&mut self, id: VeventId, on: u64, start: &str) -> Result<bool, Refusals> {
        let start = civil(start);
        self.by_hand(&PutVevent::Change(
            id,
            redrawn(move |group_state, row| {
                row.calendar_id = calendar(on);
                if let VeventKind::Appointment(appointment) = &mut row.kind {
                    appointment.civil_start = start;
                    appointment.start = group_state.catalogue.zone().instant_of(start);
                }
            }),
        ))
    }

    /// Makes an event of this kind by a professional's hand, or changes one; its id.
    pub(crate) fn puts(
        &mut self,
        id: Option<VeventId>,
        on: u64,
        kind: VeventKind,
        deleted: bool,
    ) -> Result<VeventId, Refusals> {
        let draft = VeventDraft::new(move |_, before, draws, at| {
            let (kind, calendar_id) = (kind.clone(), calendar(on));
            Ok(match before {
                Some(before) => Vevent { calendar_id, kind, deleted, ..before.clone() },
                None => Vevent {
                    id: draws.id,
                    calendar_id,
                    kind,
                    deleted,
                    created_at: at,
                    updated_at: at,
                    rare: None,
                },
            })
        });
        match id {
            Some(id) => self.by_hand(&PutVevent::Change(id, draft)).map(|_| id),
            None => {
                self.by_hand(&PutVevent::Make(draft))?;
                Ok(*self.group_state.rows.keys().next_back().expect("it was made"))
            }
        }
    }

    /// A booking that [`says`] something keeps it, also after a move to eleven o'clock.
    pub(crate) fn assert_said(&mut self, booked: VeventId) {
        let row = &self.group_state.rows[&booked];
        let rare = row.rare.as_ref().expect("there are some");
        assert_eq!(rare.comments.as_str(), "by the back door");
        assert_eq!(row.booking_comments(), "by the back door");
        assert_eq!(rare.websource.as_str(), "leaflet");
        self.now = self.now.plus_minutes(1);
        self.moves(booked, 1, "2026-03-03 11:00").expect("it is free");
        let moved = &self.group_state.rows[&booked];
        assert_eq!(moved.booking_comments(), "by the back door", "a later change leaves them");
    }

    pub(crate) fn restores(&mut self, id: VeventId) -> Result<bool, Refusals> {
        self.by_hand(&PutVevent::Change(id, redrawn(|_, row| row.deleted = false)))
    }

    /// The starts that the search offers on a calendar for one intervention, on the wall clock.
    pub(crate) fn offers(
        &self,
        on: u64,
        interventions: &[u64],
        mode: BookingMode,
        from: &str,
        to: &str,
    ) -> Vec<Civil> {
        let zone = self.group_state.catalogue.zone();
        let ids: Vec<InterventionId> = interventions.iter().map(|id| intervention(*id)).collect();
        let chain = self.group_state.catalogue.chain(&ids, mode).expect("a chain");
        let window =
            Interval { start: zone.instant_of(civil(from)), end: zone.instant_of(civil(to)) };
        let view = self.group_state.calendars.get(&calendar(on)).expect("a calendar");
        let mut starts = Vec::new();
        let search = ChainSearch::new(&chain, mode);
        free_starts(&self.group_state.catalogue, view, search, window, self.now, &mut starts);
        starts.into_iter().map(|start| zone.civil_of(start)).collect()
    }
}

/// Decides on a state whose calendars reply at once; the event, or `None` where nothing changes.
pub(crate) fn decide_at_once(
    state: &GroupState,
    command: &Command,
    draws: &mut Draws,
    now: Instant,
) -> Result<(Option<Event>, Outcome), Refusals> {
    let mut context = Context { state, now, environment: draws };
    let mut decision = decide(&mut context, command)?;
    loop {
        match decision {
            Decision::Unchanged(outcome) => return Ok((None, outcome)),
            Decision::Event(event, outcome) => return Ok((Some(event), outcome)),
            Decision::Ask(pending) => {
                let slot = pending.slot();
                let asked = pending.state_ahead().unwrap_or(state);
                let view = asked.calendars.get(&slot.calendar_id).expect("a view");
                let verdict = bookable(&asked.catalogue, view, &slot.request, now);
                decision = pending.on_reply(&mut context, verdict)?;
            }
        }
    }
}

/// The event of a command that draws nothing and is never refused; `None` where nothing changes.
pub(crate) fn event_of(state: &GroupState, command: &Command, now: Instant) -> Option<Event> {
    let decided = decide_at_once(state, command, &mut Draws::none(now), now);
    decided.expect("never refused").0
}

/// The values that one decision may draw.
pub(crate) struct Draws {
    /// The id of a new fiche.
    pub(crate) fiche: u64,
    /// The first id of other new records.
    pub(crate) first: u64,
    pub(crate) order: u64,
    /// The number of the token of a new hold.
    pub(crate) token: u64,
    /// The secret of a new appointment.
    pub(crate) key: AppointmentKey,
    /// The hash of a new link.
    pub(crate) hash: [u8; 32],
    pub(crate) now: Instant,
    pub(crate) late: LatePolicy,
}

impl Draws {
    /// Values for a command that draws none, or only secrets.
    pub(crate) fn none(now: Instant) -> Self {
        Self {
            fiche: 1,
            first: 1,
            order: 0,
            token: 0,
            key: AppointmentKey::new(SECRET).expect("20 letters"),
            hash: [0; 32],
            now,
            late: LatePolicy::GiveUp,
        }
    }
}

impl Environment for Draws {
    fn id(&self, kind: IdKind, used: u64, position: usize) -> u64 {
        let first = if kind == IdKind::Fiche { self.fiche } else { self.first };
        first.max(used + 1) + position as u64
    }

    fn number(&mut self) -> u64 {
        self.order
    }

    fn key(&mut self) -> AppointmentKey {
        self.key
    }

    fn hold_token(&mut self) -> HoldToken {
        token(self.token)
    }

    fn link(&mut self, _: GroupId) -> LinkDraws {
        LinkDraws { token: Text::new("token").expect("a text"), hash: self.hash }
    }

    fn steady_now(&self) -> Instant {
        self.now
    }

    fn late_policy(&self) -> LatePolicy {
        self.late
    }
}

/// The event that puts a vevent, and ends no hold by a plage.
pub(crate) fn put_event(at: Instant, row: Vevent) -> Event {
    Event::VeventPut { at, row: Box::new(row), ended_holds: Vec::new() }
}

/// A draft that changes the event that is there.
pub(crate) fn redrawn(
    change: impl Fn(&GroupState, &mut Vevent) + Send + Sync + 'static,
) -> VeventDraft {
    VeventDraft::new(move |group_state, before, _, _| {
        let mut row = before.expect("it is there").clone();
        change(group_state, &mut row);
        Ok(row)
    })
}

pub(crate) const SECRET: &str = "abcdefghijklmnopqrst";

/// The token of the hold of this number.
pub(crate) fn token(number: u64) -> HoldToken {
    HoldToken::new(&format!("{number:032}")).expect("32 digits")
}

/// A web booking of intervention 1 on calendar 1 by somebody of that name.
pub(crate) fn booking_of(name: &str, date: &str) -> BookAppointment {
    BookAppointment {
        permission: None,
        calendarset_ids: Vec::new(),
        is_by_page: false,
        is_code_demanded: false,
        needs_contact: false,
        booking_origin: None,
        hold: None,
        caller: Caller::Application,
        from_web: true,
        date: civil(date),
        intervention_ids: vec![intervention(1)],
        calendar_id: Some(calendar(1)),
        client: somebody(name),
        comments: LongText::default(),
        internal_comments: Text::default(),
        taker: Text::default(),
        websource: Text::default(),
        smsreminder: None,
        customs: Vec::new(),
    }
}

/// Gives a booking comments and an origin.
pub(crate) fn says(command: &mut BookAppointment) {
    command.comments = LongText::new("by the back door").expect("a text");
    command.websource = Text::new("leaflet").expect("a text");
}

/// A client described by a name and the address made from it.
pub(crate) fn somebody(name: &str) -> Client {
    let mut fields = Patch::default();
    let lastname = Name::new(name).expect("a name");
    let email = Email::new(&format!("{}@example.org", name.to_lowercase())).expect("an address");
    let shown = email.clone();
    fields.push(move |fiche: &mut Fiche| fiche.lastname = lastname.clone());
    fields.push(move |fiche: &mut Fiche| fiche.email = Some(shown.clone()));
    Client { id: None, email: Some(email), fields, customs: Vec::new() }
}

/// The same booking asked for by a professional.
pub(crate) fn by_pro(mut command: BookAppointment, from_web: bool) -> BookAppointment {
    command.caller = Caller::Pro(ProId::new(1).expect("an id"));
    command.from_web = from_web;
    command
}

/// The secret that signs links.
pub(crate) fn link_secret() -> LinkSecret {
    LinkSecret::new([3; 32])
}

/// Each row that an event has written has its stamp, and each new one was made then.
pub(crate) fn assert_stamped(before: &GroupState, after: &GroupState, event: &Event) {
    for row in after.rows.values() {
        let was = before.rows.get(&row.id);
        if was != Some(row) {
            assert_eq!(row.updated_at, event.at(), "{row:?}");
            assert_eq!(row.created_at, was.map_or(event.at(), |was| was.created_at), "{row:?}");
        }
    }
}
