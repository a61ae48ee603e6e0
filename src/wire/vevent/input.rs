//! Parsed events, before the system gives them ids, keys and stamps. Reference 12.7.

use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::vevent::{
    Appointment, AppointmentKey, OptionalFields, ReminderOutcome, Reminders, State, Vevent,
    VeventKind,
};
use crate::domain::time::{Civil, Instant};

/// Event with legal values, before it has an id and stamps.
#[derive(Clone, Debug, PartialEq)]
pub struct VeventInput {
    /// The calendar of the event.
    pub calendar_id: CalendarId,
    /// Its kind, with the fields of this kind.
    pub kind: KindInput,
    /// Whether it is deleted.
    pub deleted: bool,
    /// Fields that most events lack.
    pub rare: OptionalFields,
}

/// Kind of a parsed event, with the fields of this kind.
#[derive(Clone, Debug, PartialEq)]
pub enum KindInput {
    /// An appointment.
    Appointment(AppointmentInput),
    /// Any other kind, complete.
    Other(VeventKind),
}

/// Appointment, before it has a key.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields of the domain's appointment")]
pub struct AppointmentInput {
    pub civil_start: Civil,
    pub start: Instant,
    pub length_seconds: u32,
    pub intervention_id: InterventionId,
    pub fiche_id: FicheId,
    pub state: State,
    pub smsreminder: bool,
    pub from_web: bool,
    /// The key of an imported appointment.
    pub key: Option<AppointmentKey>,
    /// Whether the mail reminder was sent; `None` if an import does not say.
    pub mail_sent: Option<bool>,
    /// Whether the SMS reminder was sent; `None` if an import does not say.
    pub sms_sent: Option<bool>,
}

impl VeventInput {
    /// Creates the event with the values that the system sets.
    ///
    /// The key is for an appointment without one of its own.
    pub fn into_vevent(
        self,
        id: VeventId,
        key: AppointmentKey,
        created_at: Instant,
        updated_at: Instant,
    ) -> Vevent {
        let kind = match self.kind {
            KindInput::Other(kind) => kind,
            KindInput::Appointment(input) => {
                let mut reminders = Reminders::since(updated_at);
                if input.mail_sent == Some(true) {
                    reminders.mail.set_settled(ReminderOutcome::Sent(input.start));
                }
                if input.sms_sent == Some(true) {
                    reminders.sms.set_settled(ReminderOutcome::Sent(input.start));
                }
                VeventKind::Appointment(Appointment {
                    civil_start: input.civil_start,
                    start: input.start,
                    length_seconds: input.length_seconds,
                    intervention_id: input.intervention_id,
                    fiche_id: input.fiche_id,
                    key: input.key.unwrap_or(key),
                    state: input.state,
                    smsreminder: input.smsreminder,
                    from_web: input.from_web,
                    reminders,
                    booking_origin: None,
                })
            }
        };
        let calendar_id = self.calendar_id;
        let deleted = self.deleted;
        let rare = self.rare.boxed();
        Vevent { id, calendar_id, kind, deleted, created_at, updated_at, rare }
    }
}
