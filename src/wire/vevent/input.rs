//! Events as professionals and import documents write them. Which fields count depends on the kind. Reference 5, 6.

use serde_json::{Map, Value};

use crate::domain::records::customfield::Model;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::text::{Colour, InvalidValue, Text};
use crate::domain::records::vevent::{
    Appointment, AppointmentKey, Availability, OptionalFields, Permits, ReminderOutcome, Reminders,
    State, Vevent, VeventKind,
};
use crate::domain::recurrence::{Exceptions, LegacyError, LegacyFields, Rule, Series, SeriesError};
use crate::domain::state::refusal::Fault;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, Instant};
use crate::wire::customfield;
use crate::wire::datetime;
use crate::wire::field::{Audience, Scope, foreign_group};
use crate::wire::value;
use crate::wire::vevent::{AVAILABILITY, VEVENT};

/// The rule of an end that its clock does not show after the start.
const NOT_AFTER_START: &str = "must be after start";
/// The rule of an end that the clock shows after the start, and is not: the clocks are put forward in between.
pub(super) const SWALLOWED: &str =
    "must be after start, and is not, since the clocks are put forward: take the time after that";
/// The rule of an end in an hour that the clock shows twice, whose start is in the second pass.
const REPEATED: &str = "must be after start, and is not: in the hour that the clock shows twice it means the first pass, and start is in the second";

/// An event with all its values legal, before it has an id and stamps.
#[derive(Clone, Debug, PartialEq)]
pub struct VeventInput {
    /// On which calendar.
    pub calendar_id: CalendarId,
    /// What it is.
    pub kind: KindInput,
    /// Whether it is deleted.
    pub deleted: bool,
    /// What most events lack.
    pub rare: OptionalFields,
}

/// What an event is to be.
#[derive(Clone, Debug, PartialEq)]
pub enum KindInput {
    /// An appointment.
    Appointment(AppointmentInput),
    /// Any other kind, complete.
    Other(VeventKind),
}

/// An appointment, before it has a secret.
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
    /// The secret of an imported one.
    pub key: Option<AppointmentKey>,
    /// What an import says was sent; `None` where it does not say.
    pub mail_sent: Option<bool>,
    /// See `mail_sent`.
    pub sms_sent: Option<bool>,
}

impl VeventInput {
    /// The event, with what the system gives it. The secret is for an appointment that brings none.
    #[must_use]
    pub fn vevent(
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
                let settled = |sent| {
                    if sent == Some(true) {
                        ReminderOutcome::Sent(input.start)
                    } else {
                        ReminderOutcome::No
                    }
                };
                reminders.mail.settled = settled(input.mail_sent);
                reminders.sms.settled = settled(input.sms_sent);
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
                })
            }
        };
        let (calendar_id, deleted, rare) = (self.calendar_id, self.deleted, self.rare.boxed());
        Vevent { id, calendar_id, kind, deleted, created_at, updated_at, rare }
    }
}

/// The rule of an end that the clock shows after the start `shown`, which names the instant `start`, and that is not.
fn not_after(zone: Zone, shown: Civil, start: Instant) -> &'static str {
    if zone.civil_of(start) == shown && zone.instant_of(shown) != start {
        REPEATED
    } else {
        SWALLOWED
    }
}

/// The event that an object describes. Fields that its kind has not are ignored, save those that say another kind.
///
/// # Errors
/// Everything that is wrong, each by its field.
pub fn parse(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    audience: Audience,
) -> Result<VeventInput, Vec<Fault>> {
    let mut reader = Reader { object, scope: *scope, audience, faults: VEVENT.missing(object) };
    // At import the instant in UTC stands for the local time.
    let exact = [("start", "start_utc"), ("end", "end_utc")]
        .map(|(name, utc)| reader.stored(utc).map(|_| name));
    reader.faults.retain(|fault| !exact.contains(&Some(fault.field.as_str())));
    reader.faults.extend(foreign_group(object, scope));
    let calendar_id = reader.reference("calendar_id", "calendars", |id| {
        CalendarId::new(id).filter(|id| scope.state.catalogue.calendars.contains_key(id))
    });
    if calendar_id.is_none() && !reader.faults.iter().any(|fault| fault.field == "calendar_id") {
        // 0 stands for no calendar, which is not enough for an event.
        reader.fault("calendar_id", "is required: give the id of one of the group's calendars");
    }
    let kind = reader.kind();
    let deleted = reader.flag("deleted");
    if object.contains_key("deleted") && reader.given("deleted").is_none() {
        // Nobody restores an event by saying nothing.
        reader.fault("deleted", "must be true or false");
    }
    let rare = reader.rare(matches!(kind, Some(KindInput::Appointment(_))));
    match (calendar_id, kind) {
        (Some(calendar_id), Some(kind)) if reader.faults.is_empty() => {
            Ok(VeventInput { calendar_id, kind, deleted, rare })
        }
        _ => Err(reader.faults),
    }
}

/// Reads field after field and collects what is wrong; a method that has found a fault returns a stand-in.
struct Reader<'a> {
    object: &'a Map<String, Value>,
    scope: Scope<'a>,
    audience: Audience,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    /// What is given under a name, unless it is empty.
    fn given(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value::is_empty(value))
    }

    /// The same, for what only an import may give.
    fn stored(&self, name: &str) -> Option<&'a Value> {
        if self.audience == Audience::Store { self.given(name) } else { None }
    }

    fn fault(&mut self, name: &str, rule: impl Into<String>) {
        self.faults.push(Fault::new(name, rule));
    }

    fn keep<T>(&mut self, name: &str, read: Result<T, InvalidValue>) -> Option<T> {
        read.map_err(|InvalidValue(rule)| self.fault(name, rule)).ok()
    }

    fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Result<T, InvalidValue>,
    ) -> Option<T> {
        let given = self.given(name)?;
        self.keep(name, read(given))
    }

    fn flag(&mut self, name: &str) -> bool {
        self.read(name, value::boolean).unwrap_or(false)
    }

    fn text<const MAX: usize>(&mut self, name: &str) -> Text<MAX> {
        let text =
            self.object.get(name).map(|given| value::text(given).and_then(|text| Text::new(&text)));
        text.and_then(|text| self.keep(name, text)).unwrap_or_default()
    }

    /// An id that must lead to something, if one is given.
    fn reference<T>(
        &mut self,
        name: &str,
        things: &str,
        find: impl Fn(u64) -> Option<T>,
    ) -> Option<T> {
        let number = self.read(name, value::id).flatten()?;
        let found = find(number);
        if found.is_none() {
            self.fault(name, format!("must be the id of one of the group's {things}"));
        }
        found
    }

    /// Which kind the object says, and all that this kind has.
    fn kind(&mut self) -> Option<KindInput> {
        let scope = self.scope;
        let availability =
            match self.read("type", |given| value::text(given).map(String::from)).as_deref() {
                None => false,
                Some(AVAILABILITY) => true,
                Some(_) => {
                    self.fault("type", format!("must be {AVAILABILITY} or empty"));
                    return None;
                }
            };
        let note = self.flag("note");
        let intervention = self.reference("intervention_id", "interventions", |id| {
            InterventionId::new(id)
                .filter(|id| scope.state.catalogue.interventions.contains_key(id))
        });
        let fiche = self.reference("fiche_id", "fiches", |id| {
            FicheId::new(id).filter(|id| scope.state.fiches.contains_key(id))
        });
        if note && availability {
            self.fault("note", "an event is a note or an availability, not both");
        }
        match (intervention, fiche) {
            (Some(_), Some(_)) if note => {
                self.fault(
                    "note",
                    "an event with a client and an intervention is an appointment, not a note",
                );
                None
            }
            (Some(_), Some(_)) if availability => {
                self.fault("type", "must be empty for an appointment");
                None
            }
            (Some(intervention), Some(fiche)) => {
                self.appointment(intervention, fiche).map(KindInput::Appointment)
            }
            (Some(_), None) | (None, Some(_) | None) => {
                let series = self.series(note)?;
                Some(KindInput::Other(if availability {
                    VeventKind::Availability(Box::new(Availability {
                        series,
                        permits: self.permits()?,
                    }))
                } else if note {
                    VeventKind::Note(Box::new(series))
                } else {
                    VeventKind::Plage(Box::new(series))
                }))
            }
        }
    }

    fn appointment(
        &mut self,
        intervention_id: InterventionId,
        fiche_id: FicheId,
    ) -> Option<AppointmentInput> {
        for name in ["rrule", "repeat_freq"] {
            if self.given(name).is_some() {
                self.fault(name, "an appointment does not repeat");
            }
        }
        let start = self.moment("start", "start_utc");
        let end = self.moment("end", "end_utc");
        let state = self.read("state", |given| {
            let number = value::integer(given)?.unwrap_or(0);
            let state = State::ALL.into_iter().find(|state| state.number() == number);
            state.ok_or_else(|| InvalidValue("must be 0, 1, 2 or 3".into()))
        });
        let key = match self.stored("key") {
            None => None,
            Some(given) => {
                let key = value::text(given).ok().and_then(|text| AppointmentKey::new(&text));
                self.keep(
                    "key",
                    key.ok_or_else(|| InvalidValue("must be 20 letters and digits".into())),
                )
            }
        };
        let civil_start = self.stored("civil_start").map(value::civil);
        let civil_start = civil_start.and_then(|read| self.keep("civil_start", read)).flatten();
        let (smsreminder, from_web) = (self.flag("smsreminder"), self.flag("from_web"));
        let mut sent =
            |name| self.stored(name).map(value::boolean).and_then(|read| self.keep(name, read));
        let (mail_sent, sms_sent) = (sent("mail_sent"), sent("sms_sent"));
        let (start, end) = (start?, end?);
        let Some(length_seconds) =
            u32::try_from(end.seconds_since(start)).ok().filter(|length| *length > 0)
        else {
            let rule = match (self.civil("start"), self.civil("end")) {
                (Some(given), Some(end)) if given < end => not_after(self.scope.zone, given, start),
                _ => NOT_AFTER_START,
            };
            self.fault("end", rule);
            return None;
        };
        Some(AppointmentInput {
            civil_start: civil_start.unwrap_or_else(|| self.scope.zone.civil_of(start)),
            start,
            length_seconds,
            intervention_id,
            fiche_id,
            state: state.unwrap_or_default(),
            smsreminder,
            from_web,
            key,
            mail_sent,
            sms_sent,
        })
    }

    /// An instant, from its local time or, at import, from UTC.
    fn moment(&mut self, name: &str, utc: &str) -> Option<Instant> {
        if let Some(given) = self.stored(utc) {
            let read = value::civil(given)
                .and_then(|civil| civil.ok_or_else(|| InvalidValue("must be a datetime".into())))
                .and_then(datetime::instant_of_utc);
            return self.keep(utc, read);
        }
        let civil = self.civil(name)?;
        self.keep(name, datetime::instant(self.scope.zone, civil))
    }

    fn civil(&mut self, name: &str) -> Option<Civil> {
        self.read(name, value::civil).flatten()
    }

    /// The wall-clock times of an event that may repeat, and how it does.
    fn series(&mut self, note: bool) -> Option<Series> {
        let zone = self.scope.zone;
        let mut wall = |name, utc| match self.stored(utc) {
            Some(_) => self.moment(name, utc).map(|instant| zone.civil_of(instant)),
            None => {
                let civil = self.civil(name)?;
                let bounded = datetime::instant(zone, civil);
                self.keep(name, bounded).map(|_| civil)
            }
        };
        let (start, end) = (wall("start", "start_utc"), wall("end", "end_utc"));
        let before = self.faults.len();
        let rule = self.rule();
        let exceptions = self.read("repeat_exceptions", |given| {
            value::text(given)?
                .parse::<Exceptions>()
                .map_err(|error| InvalidValue(error.to_string()))
        });
        let (start, end) = (start?, end?);
        if self.faults.len() > before {
            return None;
        }
        let exceptions = exceptions.unwrap_or_default();
        let series = if !note && self.audience == Audience::Store {
            Series::stored(zone, start, end, rule, exceptions)
        } else if !note {
            Series::new(zone, start, end, rule, exceptions)
        } else if start == end && start.second_of_day() == 0 {
            Series::of_note(zone, start.day(), rule, exceptions)
        } else {
            let name = if start.second_of_day() == 0 { "end" } else { "start" };
            self.fault(name, "start and end of a note must both be midnight of its day");
            return None;
        };
        match series {
            Ok(series) => Some(series),
            Err(SeriesError::EndNotAfterStart) => {
                self.fault("end", if start < end { SWALLOWED } else { NOT_AFTER_START });
                None
            }
            Err(error @ SeriesError::UntilNotAfterStart) => {
                self.fault(
                    if self.given("rrule").is_some() { "rrule" } else { "repeat_until" },
                    error.to_string(),
                );
                None
            }
        }
    }

    /// How the event repeats: by `rrule`, else by the obsolete fields. Reference 12.7, 5.
    fn rule(&mut self) -> Option<Rule> {
        if self.given("rrule").is_some() {
            return self.read("rrule", |given| {
                value::text(given)?
                    .trim()
                    .parse::<Rule>()
                    .map_err(|error| InvalidValue(error.to_string()))
            });
        }
        let freq = self.read("repeat_freq", |given| value::text(given).map(String::from))?;
        let before = self.faults.len();
        let fields = LegacyFields {
            freq: &freq,
            interval: self.read("repeat_intervall", value::integer).flatten(),
            count: self.read("repeat_count", value::integer).flatten(),
            byday: self.read("repeat_byday", value::integer).flatten(),
            until: self.civil("repeat_until"),
        };
        if self.faults.len() > before {
            return None;
        }
        let zone = self.scope.zone;
        fields.rule(zone).map_err(|error| self.fault(legacy_field(error), error.to_string())).ok()
    }

    /// For which interventions an availability may be used.
    fn permits(&mut self) -> Option<Permits> {
        const NAME: &str = "availableInterventions";
        let Some(given) = self.given(NAME) else { return Some(Permits::All) };
        let numbers = self.keep(NAME, value::ids(given))?;
        let interventions = &self.scope.state.catalogue.interventions;
        let known =
            |number| InterventionId::new(number).filter(|id| interventions.contains_key(id));
        let ids: Option<Vec<InterventionId>> = numbers.into_iter().map(known).collect();
        if ids.is_none() {
            self.fault(NAME, "must be ids of the group's interventions");
        } else if ids.as_ref().is_some_and(Vec::is_empty) {
            // A list without any id is no permission for everything: who took out the last one did not mean that.
            self.fault(NAME, "must hold at least one id, or be empty for all interventions");
        }
        ids.map(Permits::only)
    }

    fn rare(&mut self, appointment: bool) -> OptionalFields {
        let mut rare = OptionalFields {
            taker: self.text("taker"),
            colorref: self.read("colorref", |given| Colour::new(value::text(given)?.trim())),
            // An appointment's text is its client's names.
            text: if appointment { Text::default() } else { self.text("text") },
            comments: self.text("comments"),
            websource: self.text("websource"),
            ..OptionalFields::default()
        };
        match customfield::given(self.object, &self.scope, Model::Vevent, self.audience) {
            Ok(given) => given.into_iter().for_each(|(name, value)| rare.customs.set(name, value)),
            Err(wrong) => self.faults.extend(wrong),
        }
        rare
    }
}

fn legacy_field(error: LegacyError) -> &'static str {
    match error {
        LegacyError::Freq => "repeat_freq",
        LegacyError::Interval => "repeat_intervall",
        LegacyError::Count | LegacyError::CountWithUntil => "repeat_count",
        LegacyError::ByDay => "repeat_byday",
        LegacyError::Until => "repeat_until",
    }
}
