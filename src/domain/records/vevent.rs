//! The events of a calendar, of four kinds. Reference 12.7.

use serde::{Deserialize, Serialize};

use crate::domain::messaging::channel::Channel;
use crate::domain::records::customfield::Customs;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::text::{Colour, LongText, Text};
use crate::domain::recurrence::Series;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Civil, Instant};

/// An event of a calendar. Reference 12.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vevent {
    /// Its id; an appointment's is the appointment's.
    pub id: VeventId,
    /// The calendar whose time it takes, opens or only annotates.
    pub calendar_id: CalendarId,
    /// What it is.
    pub kind: VeventKind,
    /// A deleted event neither takes nor opens time.
    pub deleted: bool,
    /// When it was made; never goes back within a group.
    pub created_at: Instant,
    /// When it last changed, deletion included; never goes back within a group.
    pub updated_at: Instant,
    /// What most events lack.
    pub rare: Option<Box<OptionalFields>>,
}

/// What an event is, and what only that kind has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum VeventKind {
    /// A client, an intervention, and time that nobody else may have.
    Appointment(Appointment),
    /// Time taken without a client: lunch, a holiday.
    Plage(Box<Series>),
    /// Time that the module may offer.
    Availability(Box<Availability>),
    /// A remark on a day; it takes no time.
    Note(Box<Series>),
}

/// The part of an event that only an appointment has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Appointment {
    /// What the shop's clock showed for the start when it was made or moved.
    pub civil_start: Civil,
    /// The instant that start meant, resolved then and never read from the wall again.
    pub start: Instant,
    /// Elapsed seconds, at least 1.
    pub length_seconds: u32,
    /// The intervention it is for.
    pub intervention_id: InterventionId,
    /// The client it is for.
    pub fiche_id: FicheId,
    /// The secret by which the client reads or cancels it.
    pub key: AppointmentKey,
    /// Whether the client came.
    pub state: State,
    /// Whether an SMS reminder is wanted.
    pub smsreminder: bool,
    /// Whether the module made it.
    pub from_web: bool,
    /// What is known of its reminders.
    pub reminders: Reminders,
}

impl Appointment {
    /// The time it takes.
    #[must_use]
    pub fn interval(&self) -> Interval {
        Interval { start: self.start, end: self.start.plus_seconds(i64::from(self.length_seconds)) }
    }
}

/// The part of an event that only an availability has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Availability {
    /// When it opens.
    pub series: Series,
    /// For what.
    pub permits: Permits,
}

/// Which interventions an availability may be used for. Reference 12.7 `availableInterventions`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Permits {
    /// Every intervention.
    All,
    /// These only; ascending, each once, never empty.
    Only(Box<[InterventionId]>),
}

impl Permits {
    /// Only these interventions; all of them when the list is empty. Reference 12.7.
    #[must_use]
    pub fn only(mut ids: Vec<InterventionId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() { Self::All } else { Self::Only(ids.into()) }
    }

    /// Whether it may be used for an intervention.
    #[must_use]
    pub fn permits(&self, intervention: InterventionId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.binary_search(&intervention).is_ok(),
        }
    }
}

/// What few events have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptionalFields {
    /// Who made it, where somebody said so.
    pub taker: Text<255>,
    /// Its colour in the Pro Interface.
    pub colorref: Option<Colour>,
    /// Its description; an appointment's is derived from the fiche instead.
    pub text: LongText,
    /// A comment on an appointment.
    pub comments: LongText,
    /// The origin label of a booking.
    pub websource: Text<255>,
    /// Values of customised attributes.
    pub customs: Customs,
}

impl OptionalFields {
    /// `None` where everything is unset.
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
    /// All of them; each stands at its number.
    pub const ALL: [Self; 4] = [Self::InProgress, Self::Attended, Self::NoShow, Self::Pending];

    /// Its number, 0 to 3.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            Self::InProgress => 0,
            Self::Attended => 1,
            Self::NoShow => 2,
            Self::Pending => 3,
        }
    }
}

/// What is known of the reminders of an appointment beyond what follows from settings. Reference 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminders {
    /// The e-mail reminder.
    pub mail: Reminder,
    /// The SMS reminder.
    pub sms: Reminder,
}

/// What is known of one reminder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    /// When the appointment was made, moved or restored, or this reminder asked for: what was due before is not sent.
    pub since: Instant,
    /// What became of it.
    pub settled: ReminderOutcome,
}

/// What became of a reminder. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReminderOutcome {
    /// Nothing yet.
    No,
    /// It has left, for an appointment with this start; for another start there may be another.
    Sent(Instant),
    /// It came too late or nobody took it, for an appointment with this start.
    GivenUp(Instant),
}

impl Reminders {
    /// Those of an appointment made, moved or restored at a moment.
    #[must_use]
    pub const fn since(moment: Instant) -> Self {
        let reminder = Reminder { since: moment, settled: ReminderOutcome::No };
        Self { mail: reminder, sms: reminder }
    }

    /// The one of a channel.
    #[must_use]
    pub const fn by_channel(&self, channel: Channel) -> Reminder {
        match channel {
            Channel::Mail => self.mail,
            Channel::Sms => self.sms,
        }
    }

    /// The one of a channel, to be changed.
    pub const fn by_channel_mut(&mut self, channel: Channel) -> &mut Reminder {
        match channel {
            Channel::Mail => &mut self.mail,
            Channel::Sms => &mut self.sms,
        }
    }
}

/// The secret of an appointment: 20 random letters and digits. Reference 6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AppointmentKey([u8; Self::LENGTH]);

impl AppointmentKey {
    /// Characters of a key.
    pub const LENGTH: usize = 20;

    /// The key of 20 ASCII letters and digits, or `None`.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let bytes = <[u8; Self::LENGTH]>::try_from(text.as_bytes()).ok()?;
        bytes.iter().all(u8::is_ascii_alphanumeric).then_some(Self(bytes))
    }

    /// Its 20 characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a key is ASCII")
    }

    /// Whether `guess` is this key, in a time that does not depend on where they differ.
    #[must_use]
    pub fn matches(&self, guess: &str) -> bool {
        let guess = guess.as_bytes();
        guess.len() == Self::LENGTH
            && self.0.iter().zip(guess).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

impl std::fmt::Debug for AppointmentKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppointmentKey(…)")
    }
}

impl Vevent {
    /// The appointment, if it is one.
    #[must_use]
    pub fn appointment(&self) -> Option<&Appointment> {
        match &self.kind {
            VeventKind::Appointment(appointment) => Some(appointment),
            VeventKind::Plage(_) | VeventKind::Availability(_) | VeventKind::Note(_) => None,
        }
    }

    /// Takes over what is known of the reminders of the event as it stood `before`. Where it is newly an appointment, moved,
    /// restored, given to another client or wants a text message it did not want, what would have been due by `now` is not sent any more.
    pub fn take_over_reminders(&mut self, before: Option<&Self>, now: Instant) {
        let deleted = self.deleted;
        let VeventKind::Appointment(appointment) = &mut self.kind else { return };
        let stood = before.and_then(|before| Some((before.appointment()?, before.deleted)));
        let Some((stood, was_deleted)) = stood else {
            appointment.reminders = Reminders::since(now);
            return;
        };
        if stood.fiche_id != appointment.fiche_id {
            // What its client was sent before is nothing to another.
            appointment.reminders = Reminders::since(now);
            return;
        }
        appointment.reminders = stood.reminders;
        let moved = stood.start != appointment.start || (was_deleted && !deleted);
        if moved {
            appointment.reminders.mail.since = now;
        }
        if moved || (appointment.smsreminder && !stood.smsreminder) {
            appointment.reminders.sms.since = now;
        }
    }

    /// Gives an appointment that is another client's than before another secret, so that the links of whoever had it open
    /// nothing any more.
    pub fn lock_out_former_client(&mut self, before: &Self, key: AppointmentKey) {
        let VeventKind::Appointment(appointment) = &mut self.kind else { return };
        if before.appointment().is_some_and(|was| was.fiche_id != appointment.fiche_id) {
            appointment.key = key;
        }
    }

    /// The series, if it is not an appointment.
    #[must_use]
    pub fn series(&self) -> Option<&Series> {
        match &self.kind {
            VeventKind::Appointment(_) => None,
            VeventKind::Plage(series) | VeventKind::Note(series) => Some(series),
            VeventKind::Availability(availability) => Some(&availability.series),
        }
    }
}
