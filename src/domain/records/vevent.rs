//! Vevents: the events of a calendar, of four kinds. Reference 12.7.

use serde::{Deserialize, Serialize};

use crate::domain::records::booking_origin::{BookingOrigin, ClientProof};
use crate::domain::records::channel::Channel;
use crate::domain::records::customfield::Customs;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::secret_text::{is_secret, parse_alphanumeric};
use crate::domain::records::text::{Colour, LongText, Text};
use crate::domain::recurrence::Series;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Civil, Instant};

/// An event of a calendar. Reference 12.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vevent {
    /// Its id. An appointment has the same id.
    pub id: VeventId,
    /// Its calendar.
    pub calendar_id: CalendarId,
    /// Its kind, with the fields that only this kind has.
    pub kind: VeventKind,
    /// Whether it is deleted. A deleted event neither takes nor opens time.
    pub deleted: bool,
    /// The stamp of its creation. Stamps never decrease within a group.
    pub created_at: Instant,
    /// The stamp of its last change or deletion. Stamps never decrease within a group.
    pub updated_at: Instant,
    /// Fields that few events have; `None` if all are unset.
    pub rare: Option<Box<OptionalFields>>,
}

/// The kind of an event, with the fields that only this kind has. The order of the variants is the
/// format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum VeventKind {
    /// A client, an intervention, and time that no other appointment may take.
    Appointment(Appointment),
    /// Time taken without a client: lunch, a holiday.
    Plage(Box<Series>),
    /// Time that the module offers.
    Availability(Box<Availability>),
    /// A remark; it takes no time.
    Note(Box<Series>),
}

/// The fields that only an appointment has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Appointment {
    /// The local time of the start, as given when the appointment was made or moved.
    pub civil_start: Civil,
    /// The instant of the start, resolved at that time. A later change of zone rules does not move
    /// it by itself.
    pub start: Instant,
    /// Its length in elapsed seconds, at least 1.
    pub length_seconds: u32,
    /// Its intervention.
    pub intervention_id: InterventionId,
    /// Its client.
    pub fiche_id: FicheId,
    /// The secret with which the client reads or cancels it.
    pub key: AppointmentKey,
    /// Whether the client came.
    pub state: State,
    /// Whether the client wants a text message as a reminder.
    pub smsreminder: bool,
    /// Whether it was booked through the module.
    pub from_web: bool,
    /// The state of its reminders.
    pub reminders: Reminders,
    /// The origin of a booking with a key alone or by an account; `None` for others, and for
    /// bookings of format 1.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub booking_origin: Option<Box<BookingOrigin>>,
}

impl Appointment {
    /// The time that it takes.
    pub fn interval(&self) -> Interval {
        Interval { start: self.start, end: self.start.plus_seconds(i64::from(self.length_seconds)) }
    }

    /// Its length in minutes, rounded up.
    pub fn minutes(&self) -> u32 {
        self.length_seconds.div_ceil(60)
    }
}

/// The fields that only an availability has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Availability {
    /// The times that it opens.
    pub series: Series,
    /// The interventions it is open for.
    pub permits: Permits,
}

/// The interventions that an availability is open for. Reference 12.7 `availableInterventions`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Permits {
    /// Every intervention.
    All,
    /// Only these; ascending, without duplicates, never empty.
    Only(Box<[InterventionId]>),
}

impl Permits {
    /// Permits the listed interventions; every intervention if the list is empty. Reference 12.7.
    pub fn only(mut ids: Vec<InterventionId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() { Self::All } else { Self::Only(ids.into()) }
    }

    /// Whether an intervention is permitted.
    pub fn permits(&self, intervention: InterventionId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.binary_search(&intervention).is_ok(),
        }
    }
}

/// Fields that few events have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptionalFields {
    /// The name of the person who took the appointment, if given.
    pub taker: Text<255>,
    /// Its colour in the calendar.
    pub colorref: Option<Colour>,
    /// Its description. That of an appointment is derived from the fiche instead.
    pub text: LongText,
    /// A comment on an appointment.
    pub comments: LongText,
    /// A label for the origin of a booking.
    pub websource: Text<255>,
    /// Values of customised attributes.
    pub customs: Customs,
    /// A comment on an appointment that only professionals read.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub internal_comments: LongText,
    /// The comments that came with the booking of an appointment.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub booking_comments: BookingComments,
    /// The half of an appointment that an event of another kind names. An appointment has none.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub half: AppointmentHalf,
}

/// The client or the intervention of an event that becomes an appointment when it is given the
/// other. The order of the variants is the format on disk. Reference 6.14.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AppointmentHalf {
    /// The event names neither.
    #[default]
    Neither,
    /// It names a client, whose intervention is not known yet.
    Client(FicheId),
    /// It names an intervention, whose client is not known yet.
    Intervention(InterventionId),
}

/// The comments that came with the booking of an appointment. Professionals may have changed
/// `comments` since. The order of the variants is the format on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BookingComments {
    /// None came, or an earlier release made the appointment.
    #[default]
    Unrecorded,
    /// They are in `comments`.
    Unchanged,
    /// They were these. They are empty if a professional made the appointment, or gave it to
    /// another client.
    Replaced(LongText),
}

impl BookingComments {
    /// Records the comments that came with a booking, beside the present ones.
    pub fn record(booked: LongText, present: &LongText) -> Self {
        if booked != *present {
            Self::Replaced(booked)
        } else if booked == LongText::default() {
            Self::Unrecorded
        } else {
            Self::Unchanged
        }
    }
}

impl OptionalFields {
    /// Boxes the fields; `None` if all are unset.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        if self == Self::default() { None } else { Some(Box::new(self)) }
    }
}

/// Whether the client came. Reference 12.7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum State {
    /// 0: no value, in progress.
    #[default]
    InProgress,
    /// 1: came.
    Attended,
    /// 2: did not come.
    NoShow,
    /// 3: pending.
    Pending,
}

impl State {
    /// All states; the index is the number.
    pub const ALL: [Self; 4] = [Self::InProgress, Self::Attended, Self::NoShow, Self::Pending];

    /// The number, 0 to 3.
    pub const fn number(self) -> i64 {
        self as i64
    }
}

/// The stored state of an appointment's reminders. Their due times follow from the settings.
/// Reference 7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminders {
    /// The e-mail reminder.
    pub mail: Reminder,
    /// The SMS reminder.
    pub sms: Reminder,
}

/// The stored state of one reminder, without padding in each of many appointments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredReminder", into = "StoredReminder")]
pub struct Reminder {
    /// [`Reminder::since`].
    since: ShortInstant,
    /// The outcome, as a variant of [`ReminderOutcome`].
    outcome: OutcomeKind,
    /// The start in the outcome; 0 without one.
    outcome_start: ShortInstant,
}

/// The low five bytes of an instant, which hold all between `INSTANT_MIN` and `INSTANT_MAX`. One
/// beyond becomes the nearer of the two ends that five bytes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ShortInstant([u8; 5]);

impl ShortInstant {
    const MAX: i64 = (1 << 39) - 1;
    const MIN: i64 = -(1 << 39);

    const fn new(instant: Instant) -> Self {
        let seconds = match instant.0 {
            seconds if seconds > Self::MAX => Self::MAX,
            seconds if seconds < Self::MIN => Self::MIN,
            seconds => seconds,
        };
        let [first, second, third, fourth, fifth, ..] = seconds.to_le_bytes();
        Self([first, second, third, fourth, fifth])
    }

    const fn instant(self) -> Instant {
        let [first, second, third, fourth, fifth] = self.0;
        // In the high bytes, so that the shift back extends the sign.
        Instant(i64::from_le_bytes([0, 0, 0, first, second, third, fourth, fifth]) >> 24)
    }
}

/// Kind of a [`ReminderOutcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutcomeKind {
    No,
    Sent,
    GivenUp,
}

/// A reminder as it is stored. The order of the members is the format on disk.
#[derive(Serialize, Deserialize)]
struct StoredReminder {
    since: Instant,
    settled: ReminderOutcome,
}

impl From<StoredReminder> for Reminder {
    fn from(stored: StoredReminder) -> Self {
        let mut reminder = Self::new(stored.since);
        reminder.set_settled(stored.settled);
        reminder
    }
}

impl From<Reminder> for StoredReminder {
    fn from(reminder: Reminder) -> Self {
        Self { since: reminder.since(), settled: reminder.settled() }
    }
}

impl Reminder {
    /// A reminder without an outcome.
    const fn new(since: Instant) -> Self {
        let since = ShortInstant::new(since);
        let none = ShortInstant::new(Instant(0));
        Self { since, outcome: OutcomeKind::No, outcome_start: none }
    }

    /// The moment at which the appointment was made, moved or restored, or this reminder was asked
    /// for. A reminder due before is not sent.
    pub const fn since(&self) -> Instant {
        self.since.instant()
    }

    /// Sets that moment.
    pub const fn set_since(&mut self, since: Instant) {
        self.since = ShortInstant::new(since);
    }

    /// Its outcome.
    pub const fn settled(&self) -> ReminderOutcome {
        let start = self.outcome_start.instant();
        match self.outcome {
            OutcomeKind::No => ReminderOutcome::No,
            OutcomeKind::Sent => ReminderOutcome::Sent(start),
            OutcomeKind::GivenUp => ReminderOutcome::GivenUp(start),
        }
    }

    /// Sets its outcome.
    pub const fn set_settled(&mut self, settled: ReminderOutcome) {
        let (outcome, start) = match settled {
            ReminderOutcome::No => (OutcomeKind::No, Instant(0)),
            ReminderOutcome::Sent(start) => (OutcomeKind::Sent, start),
            ReminderOutcome::GivenUp(start) => (OutcomeKind::GivenUp, start),
        };
        self.outcome = outcome;
        self.outcome_start = ShortInstant::new(start);
    }
}

/// The outcome of a reminder. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReminderOutcome {
    /// None yet.
    No,
    /// It was sent for this start. A reminder for another start may follow.
    Sent(Instant),
    /// It was too late for this start, or was rejected.
    GivenUp(Instant),
}

impl Reminders {
    /// The state for an appointment made, moved or restored at a moment.
    pub const fn since(moment: Instant) -> Self {
        let reminder = Reminder::new(moment);
        Self { mail: reminder, sms: reminder }
    }

    /// The reminder of a channel.
    pub const fn by_channel(&self, channel: Channel) -> Reminder {
        match channel {
            Channel::Mail => self.mail,
            Channel::Sms => self.sms,
        }
    }

    /// The reminder of a channel, for a change.
    pub const fn by_channel_mut(&mut self, channel: Channel) -> &mut Reminder {
        match channel {
            Channel::Mail => &mut self.mail,
            Channel::Sms => &mut self.sms,
        }
    }
}

/// The secret of an appointment: 20 random letters and digits. Reference 6.5.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AppointmentKey([u8; Self::LENGTH]);

impl AppointmentKey {
    /// Characters of a key.
    pub const LENGTH: usize = 20;

    /// Parses a key; `None` if the text is not 20 ASCII letters and digits.
    pub fn new(text: &str) -> Option<Self> {
        parse_alphanumeric(text).map(Self)
    }

    /// The 20 characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a key is ASCII")
    }

    /// Whether `guess` is this key. The time does not depend on the position of a difference.
    pub fn matches(&self, guess: &str) -> bool {
        is_secret(&self.0, guess)
    }
}

impl std::fmt::Debug for AppointmentKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppointmentKey(…)")
    }
}

impl VeventKind {
    /// Returns the series of a kind that may repeat; `None` for an appointment.
    pub fn series(&self) -> Option<&Series> {
        match self {
            Self::Appointment(_) => None,
            Self::Plage(series) | Self::Note(series) => Some(series),
            Self::Availability(availability) => Some(&availability.series),
        }
    }
}

impl Vevent {
    /// The appointment; `None` for an event of another kind.
    pub fn appointment(&self) -> Option<&Appointment> {
        if let VeventKind::Appointment(appointment) = &self.kind { Some(appointment) } else { None }
    }

    /// The client that it names: that of an appointment, or the one given alone.
    pub fn fiche_id(&self) -> Option<FicheId> {
        if let Some(appointment) = self.appointment() {
            return Some(appointment.fiche_id);
        }
        if let AppointmentHalf::Client(id) = self.rare.as_ref()?.half { Some(id) } else { None }
    }

    /// Replaces the client that it names, who is another record of the same person.
    pub fn set_client(&mut self, client: FicheId) {
        if let VeventKind::Appointment(appointment) = &mut self.kind {
            appointment.fiche_id = client;
        } else if let Some(rare) = &mut self.rare {
            rare.half = AppointmentHalf::Client(client);
        }
    }

    /// The local time of its start: of a series, that of the first occurrence.
    pub fn civil_start(&self) -> Civil {
        match &self.kind {
            VeventKind::Appointment(appointment) => appointment.civil_start,
            VeventKind::Plage(series) | VeventKind::Note(series) => series.start(),
            VeventKind::Availability(availability) => availability.series.start(),
        }
    }

    /// The intervention that it names: that of an appointment, or the one given alone.
    pub fn intervention_id(&self) -> Option<InterventionId> {
        if let Some(appointment) = self.appointment() {
            return Some(appointment.intervention_id);
        }
        if let AppointmentHalf::Intervention(id) = self.rare.as_ref()?.half {
            return Some(id);
        }
        None
    }

    /// Copies the state of the reminders from the event `before` a change. A change may move the
    /// due times: a new appointment, a move, a restoration, another client, or a newly wanted text
    /// message. Then no reminder is sent that would have been due by `now`.
    pub fn carry_over_reminders(&mut self, before: Option<&Self>, now: Instant) {
        let deleted = self.deleted;
        let VeventKind::Appointment(appointment) = &mut self.kind else { return };
        appointment.reminders = Reminders::since(now);
        let Some(before) = before else { return };
        let Some(was) = before.appointment() else { return };
        // The reminders of a former client do not count for the new one.
        if was.fiche_id != appointment.fiche_id {
            return;
        }
        appointment.reminders = was.reminders;
        let is_restored = before.deleted && !deleted;
        let is_moved = was.start != appointment.start || is_restored;
        if is_moved {
            appointment.reminders.mail.set_since(now);
        }
        if is_moved || (appointment.smsreminder && !was.smsreminder) {
            appointment.reminders.sms.set_since(now);
        }
    }

    /// The comments that came with the booking of an appointment; empty if they are not known. An
    /// appointment of an earlier release shows them if it was made from the web and has not changed
    /// since.
    pub fn booking_comments(&self) -> &str {
        let (Some(rare), Some(appointment)) = (&self.rare, self.appointment()) else { return "" };
        match &rare.booking_comments {
            BookingComments::Unchanged => rare.comments.as_str(),
            BookingComments::Replaced(booked) => booked.as_str(),
            BookingComments::Unrecorded => {
                let is_as_booked = appointment.from_web && self.created_at == self.updated_at;
                if is_as_booked { rare.comments.as_str() } else { "" }
            }
        }
    }

    /// Copies the origin of an appointment from the event `before` a change.
    pub fn keep_booking_origin(&mut self, before: &Self) {
        let VeventKind::Appointment(appointment) = &mut self.kind else { return };
        if let Some(was) = before.appointment() {
            appointment.booking_origin.clone_from(&was.booking_origin);
        }
    }

    /// The proof that links a web booking to its client; `None` if its origin is not known.
    pub fn client_proof(&self) -> Option<ClientProof> {
        Some(self.appointment()?.booking_origin.as_deref()?.proof)
    }

    /// The hash of the source that a web booking came from; `None` if its origin is not known.
    pub fn booking_source(&self) -> Option<[u8; 16]> {
        Some(self.appointment()?.booking_origin.as_deref()?.source)
    }

    /// Whether it is an appointment that was booked with a key alone, so that no proof links it to
    /// its client.
    pub fn is_booked_by_key(&self) -> bool {
        self.client_proof() == Some(ClientProof::KeyAlone)
    }

    /// Gives an appointment a new secret if its client has changed since `before`. The links of the
    /// former client then open nothing any more, and the new secret does not show what the former
    /// client wrote.
    pub fn lock_out_former_client(&mut self, before: &Self, key: AppointmentKey) {
        let VeventKind::Appointment(appointment) = &mut self.kind else { return };
        let Some(was) = before.appointment() else { return };
        if was.fiche_id == appointment.fiche_id {
            return;
        }
        appointment.key = key;
        if let Some(rare) = &mut self.rare {
            rare.booking_comments = BookingComments::record(LongText::default(), &rare.comments);
        }
    }

    /// The series; `None` for an appointment.
    pub fn series(&self) -> Option<&Series> {
        self.kind.series()
    }
}

#[cfg(test)]
mod tests;
