//! Parsing of events from requests and import documents. The kind decides which fields apply.
//! Reference 6.14, 12.7.

use serde_json::{Map, Value};

use crate::domain::records::customfield::Model;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId};
use crate::domain::records::text::{Colour, InvalidValue, LongText, Text};
use crate::domain::records::vevent::{
    AppointmentHalf, AppointmentKey, Availability, BookingComments, OptionalFields, Permits, State,
    VeventKind,
};
use crate::domain::recurrence::{Exceptions, LegacyError, LegacyFields, Rule, Series, SeriesError};
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, Instant};
use crate::wire::custom_values::parse_custom_values;
use crate::wire::datetime;
use crate::wire::field::{Audience, Scope, foreign_group};
use crate::wire::object_reader::ObjectReader;
use crate::wire::value::{self, find_filled};
use crate::wire::vevent::input::{AppointmentInput, KindInput, VeventInput};
use crate::wire::vevent::table::{AVAILABILITY, VEVENT};

/// Fault of an end whose local time is not after that of the start.
const NOT_AFTER_START: &str = "must be after start";
/// Fault of an end after the start in local time only: it falls into the hour that is skipped.
pub(crate) const END_IN_GAP: &str =
    "must be after start: clocks are put forward in between, so give the time after the change";
/// Fault of an end in the hour that occurs twice, after a start in its second occurrence.
const END_IN_REPEATED_HOUR: &str = "must be after start: this hour occurs twice that day, and end means its first occurrence while start is in the second";

/// Returns the fault of an end that is after the start in local time only.
///
/// `given` is the local time of the start, and `start` its instant.
fn end_not_after(zone: Zone, given: Civil, start: Instant) -> &'static str {
    if zone.civil_of(start) == given && zone.instant_of(given) != start {
        END_IN_REPEATED_HOUR
    } else {
        END_IN_GAP
    }
}

/// Parses an event. Fields of other kinds are ignored, except those that select another kind.
///
/// # Errors
/// All faults, each with its field.
pub fn parse(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    audience: Audience,
) -> Result<VeventInput, Vec<Fault>> {
    let members = ObjectReader { object, faults: VEVENT.find_missing(object) };
    let mut reader = VeventReader { members, scope: *scope, audience };
    for (name, utc) in [("start", "start_utc"), ("end", "end_utc")] {
        // At import the instant in UTC replaces the local time, which is then not required.
        if reader.find_stored(utc).is_some() {
            reader.members.faults.retain(|fault| fault.field != name);
        }
    }
    reader.members.faults.extend(foreign_group(object, scope));
    let calendar_id = reader.read_reference("calendar_id", "calendars", |id| {
        CalendarId::new(id).filter(|id| scope.state.catalogue.calendars.contains_key(id))
    });
    if calendar_id.is_none() && !reader.members.has_fault("calendar_id") {
        // The id 0 stands for none and is no fault by itself, but an event needs a calendar.
        let rule = "is required: give the id of one of the group's calendars";
        reader.members.add_fault("calendar_id", rule);
    }
    let (kind, half) = reader.read_kind().unzip();
    let half = half.unwrap_or_default();
    let deleted = reader.read_flag("deleted");
    if object.contains_key("deleted") && find_filled(object, "deleted").is_none() {
        // An empty value must not restore a deleted event.
        reader.members.add_fault("deleted", "must be true or false");
    }
    let is_appointment = matches!(kind, Some(KindInput::Appointment(_)));
    let rare = OptionalFields { half, ..reader.read_rare(is_appointment) };
    match (calendar_id, kind) {
        (Some(calendar_id), Some(kind)) if reader.members.faults.is_empty() => {
            Ok(VeventInput { calendar_id, kind, deleted, rare })
        }
        _ => Err(reader.members.faults),
    }
}

/// Reads field by field and collects the faults. A method that finds a fault returns a default.
struct VeventReader<'a> {
    members: ObjectReader<'a>,
    scope: Scope<'a>,
    audience: Audience,
}

impl<'a> VeventReader<'a> {
    /// Returns the non-empty value of a field that only an import may set.
    fn find_stored(&self, name: &str) -> Option<&'a Value> {
        if self.audience == Audience::Store { find_filled(self.members.object, name) } else { None }
    }

    /// Returns the value of a field that only an import may set.
    fn read_stored<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&Value) -> Result<T, InvalidValue>,
    ) -> Option<T> {
        let given = self.find_stored(name)?;
        self.members.keep_fault(name, parse(given))
    }

    fn read_flag(&mut self, name: &str) -> bool {
        self.members.read_filled(name, value::parse_boolean).unwrap_or(false)
    }

    /// Returns the id of an existing object, if one is given. `things` names the objects.
    fn read_reference<T>(
        &mut self,
        name: &str,
        things: &str,
        find: impl Fn(u64) -> Option<T>,
    ) -> Option<T> {
        let number = self.members.read_filled(name, value::parse_id).flatten()?;
        let found = find(number);
        if found.is_none() {
            self.members.add_fault(name, format!("must be the id of one of the group's {things}"));
        }
        found
    }

    /// Returns the kind that the fields select, with the fields of this kind, and the client or the
    /// intervention that an event of another kind than an appointment names.
    fn read_kind(&mut self) -> Option<(KindInput, AppointmentHalf)> {
        let scope = self.scope;
        let type_name =
            self.members.read_filled("type", |given| Ok(value::parse_text(given)?.into_owned()));
        let availability = match type_name.as_deref() {
            None => false,
            Some(AVAILABILITY) => true,
            Some(_) => {
                self.members.add_fault("type", format!("must be {AVAILABILITY} or empty"));
                return None;
            }
        };
        let note = self.read_flag("note");
        let intervention = self.read_reference("intervention_id", "interventions", |id| {
            InterventionId::new(id)
                .filter(|id| scope.state.catalogue.interventions.contains_key(id))
        });
        let fiche = self.read_reference("fiche_id", "fiches", |id| {
            FicheId::new(id).filter(|id| scope.state.fiches.contains_key(id))
        });
        if note && availability {
            self.members.add_fault("note", "must be false for an availability");
        }
        let half = match (intervention, fiche) {
            (Some(_), Some(_)) if note => {
                self.members.add_fault(
                    "note",
                    "must be false: an event with a client and an intervention is an appointment",
                );
                return None;
            }
            (Some(_), Some(_)) if availability => {
                self.members.add_fault("type", "must be empty for an appointment");
                return None;
            }
            (Some(intervention), Some(fiche)) => {
                let appointment = self.read_appointment(intervention, fiche)?;
                return Some((KindInput::Appointment(appointment), AppointmentHalf::Neither));
            }
            (Some(intervention), None) => AppointmentHalf::Intervention(intervention),
            (None, Some(fiche)) => AppointmentHalf::Client(fiche),
            (None, None) => AppointmentHalf::Neither,
        };
        Some((self.read_other_kind(availability, note)?, half))
    }

    /// Returns an event that is no appointment.
    fn read_other_kind(&mut self, availability: bool, note: bool) -> Option<KindInput> {
        // No event of these kinds has a state or a reminder, but a wrong value is refused.
        self.members.read_filled("state", parse_state);
        self.read_flag("smsreminder");
        let series = self.read_series(note)?;
        let kind = if availability {
            let permits = self.read_permits()?;
            VeventKind::Availability(Box::new(Availability { series, permits }))
        } else if note {
            VeventKind::Note(Box::new(series))
        } else {
            VeventKind::Plage(Box::new(series))
        };
        Some(KindInput::Other(kind))
    }

    fn read_appointment(
        &mut self,
        intervention_id: InterventionId,
        fiche_id: FicheId,
    ) -> Option<AppointmentInput> {
        for name in ["rrule", "repeat_freq"] {
            if find_filled(self.members.object, name).is_some() {
                self.members.add_fault(name, "must be empty: an appointment does not repeat");
            }
        }
        let start = self.read_moment("start", "start_utc");
        let end = self.read_moment("end", "end_utc");
        let state = self.members.read_filled("state", parse_state);
        let key = self.read_stored("key", parse_key);
        let civil_start = self.read_stored("civil_start", value::parse_civil).flatten();
        let smsreminder = self.read_flag("smsreminder");
        let from_web = self.read_flag("from_web");
        let mail_sent = self.read_stored("mail_sent", value::parse_boolean);
        let sms_sent = self.read_stored("sms_sent", value::parse_boolean);
        let start = start?;
        let end = end?;
        let length_seconds = match u32::try_from(end.seconds_since(start)) {
            Ok(length) if length > 0 => length,
            Ok(_) | Err(_) => {
                let rule = match (self.read_civil("start"), self.read_civil("end")) {
                    (Some(given), Some(end)) if given < end => {
                        end_not_after(self.scope.zone, given, start)
                    }
                    _ => NOT_AFTER_START,
                };
                self.members.add_fault("end", rule);
                return None;
            }
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

    /// Returns an instant, from its local time or, at import, from UTC.
    fn read_moment(&mut self, name: &str, utc: &str) -> Option<Instant> {
        if self.find_stored(utc).is_some() {
            return self.read_stored(utc, parse_utc);
        }
        let time = self.members.read_filled(name, value::parse_time).flatten()?;
        self.members.keep_fault(name, time.to_instant(self.scope.zone))
    }

    /// Returns the wall-clock time of a field, whose seconds may be given as an instant.
    fn read_civil(&mut self, name: &str) -> Option<Civil> {
        let time = self.members.read_filled(name, value::parse_time).flatten()?;
        Some(time.to_civil(self.scope.zone))
    }

    /// Returns a wall-clock time, from its local time or, at import, from UTC.
    fn wall_time(&mut self, name: &str, utc: &str) -> Option<Civil> {
        let zone = self.scope.zone;
        if self.find_stored(utc).is_some() {
            return Some(zone.civil_of(self.read_moment(name, utc)?));
        }
        let civil = self.read_civil(name)?;
        self.members.keep_fault(name, datetime::to_instant(zone, civil))?;
        Some(civil)
    }

    /// Returns the wall-clock times of an event that may repeat, with its rule and exceptions.
    fn read_series(&mut self, note: bool) -> Option<Series> {
        let zone = self.scope.zone;
        let start = self.wall_time("start", "start_utc");
        let end = self.wall_time("end", "end_utc");
        let before = self.members.faults.len();
        let rule = self.read_rule();
        let exceptions = self.members.read_filled("repeat_exceptions", |given| {
            let parsed = value::parse_text(given)?.parse::<Exceptions>();
            parsed.map_err(|error| InvalidValue(error.to_string()))
        });
        let start = start?;
        let end = end?;
        if self.members.faults.len() > before {
            return None;
        }
        let exceptions = exceptions.unwrap_or_default();
        let series = if !note && self.audience == Audience::Store {
            Series::from_stored(zone, start, end, rule, exceptions)
        } else if !note {
            Series::new(zone, start, end, rule, exceptions)
        } else if start == end && start.second_of_day() == 0 {
            Series::new_note(zone, start.day(), rule, exceptions)
        } else {
            let name = if start.second_of_day() == 0 { "end" } else { "start" };
            self.members
                .add_fault(name, "must be midnight of the note's day, as start and end both are");
            return None;
        };
        let series = match series {
            // Imported events may be longer, and so may a stored one that is read for a change.
            Ok(series) if self.audience != Audience::Store => {
                series.check_length().map(|()| series)
            }
            Ok(_) | Err(_) => series,
        };
        match series {
            Ok(series) => Some(series),
            Err(error @ SeriesError::TooLong { .. }) => {
                self.members.add_fault("end", error.to_string());
                None
            }
            Err(SeriesError::EndNotAfterStart) => {
                let rule = if start < end { END_IN_GAP } else { NOT_AFTER_START };
                self.members.add_fault("end", rule);
                None
            }
            Err(error @ SeriesError::UntilNotAfterStart) => {
                let name = if find_filled(self.members.object, "rrule").is_some() {
                    "rrule"
                } else {
                    "repeat_until"
                };
                self.members.add_fault(name, error.to_string());
                None
            }
        }
    }

    /// Returns the recurrence rule, from `rrule` or else from the obsolete fields.
    /// Reference 5.2, 5.4.
    fn read_rule(&mut self) -> Option<Rule> {
        if find_filled(self.members.object, "rrule").is_some() {
            return self.members.read_filled("rrule", |given| {
                let parsed = value::parse_text(given)?.trim().parse::<Rule>();
                parsed.map_err(|error| InvalidValue(error.to_string()))
            });
        }
        let freq = self
            .members
            .read_filled("repeat_freq", |given| Ok(value::parse_text(given)?.into_owned()))?;
        let before = self.members.faults.len();
        let fields = LegacyFields {
            freq: &freq,
            interval: self.members.read_filled("repeat_intervall", value::parse_integer).flatten(),
            count: self.members.read_filled("repeat_count", value::parse_integer).flatten(),
            byday: self.members.read_filled("repeat_byday", value::parse_integer).flatten(),
            until: self.read_civil("repeat_until"),
        };
        if self.members.faults.len() > before {
            return None;
        }
        match fields.to_rule(self.scope.zone) {
            Ok(rule) => Some(rule),
            Err(error) => {
                self.members.add_fault(legacy_field_name(error), error.to_string());
                None
            }
        }
    }

    /// Returns the interventions for which an availability may be booked; all by default.
    fn read_permits(&mut self) -> Option<Permits> {
        const NAME: &str = "availableInterventions";
        let Some(given) = find_filled(self.members.object, NAME) else { return Some(Permits::All) };
        let numbers = self.members.keep_fault(NAME, value::parse_ids(given))?;
        let known = &self.scope.state.catalogue.interventions;
        let find = |number| InterventionId::new(number).filter(|id| known.contains_key(id));
        let Some(ids) = numbers.into_iter().map(find).collect::<Option<Vec<_>>>() else {
            self.members.add_fault(NAME, "must be ids of the group's interventions");
            return None;
        };
        if ids.is_empty() {
            // A list without ids, such as ",", must not permit everything: removing the last id
            // does not mean that.
            self.members
                .add_fault(NAME, "must hold at least one id, or be empty for all interventions");
        }
        Some(Permits::only(ids))
    }

    /// Returns the comments that came with the booking. A professional's new event has none; at
    /// import, null stands for those that were not recorded, and an empty text for none.
    fn read_booking_comments(&mut self, comments: &LongText) -> BookingComments {
        const NAME: &str = "booking_comments";
        if self.audience != Audience::Store {
            return BookingComments::record(LongText::default(), comments);
        }
        let given = match self.members.object.get(NAME) {
            None | Some(Value::Null) => return BookingComments::Unrecorded,
            Some(given) => given,
        };
        let parsed = value::parse_text(given).and_then(|text| LongText::new(&text));
        match self.members.keep_fault(NAME, parsed) {
            Some(booked) => BookingComments::record(booked, comments),
            None => BookingComments::Unrecorded,
        }
    }

    fn read_rare(&mut self, appointment: bool) -> OptionalFields {
        let mut rare = OptionalFields {
            taker: self.members.read_text("taker"),
            colorref: self
                .members
                .read_filled("colorref", |given| Colour::new(value::parse_text(given)?.trim())),
            // The text of an appointment is its client's names and is not stored.
            text: if appointment { Text::default() } else { self.members.read_text("text") },
            comments: self.members.read_text("comments"),
            websource: self.members.read_text("websource"),
            internal_comments: self.members.read_text("internal_comments"),
            ..OptionalFields::default()
        };
        rare.booking_comments = self.read_booking_comments(&rare.comments);
        let customs =
            parse_custom_values(self.members.object, &self.scope, Model::Vevent, self.audience);
        for (name, value) in self.members.keep_faults(customs).unwrap_or_default() {
            rare.customs.set(name, value);
        }
        rare
    }
}

fn parse_state(given: &Value) -> Result<State, InvalidValue> {
    let number = value::parse_integer(given)?.unwrap_or(0);
    let state = State::ALL.into_iter().find(|state| state.number() == number);
    state.ok_or_else(|| InvalidValue("must be 0, 1, 2 or 3".into()))
}

fn parse_key(given: &Value) -> Result<AppointmentKey, InvalidValue> {
    let key = value::parse_text(given).ok().and_then(|text| AppointmentKey::new(&text));
    key.ok_or_else(|| InvalidValue("must be 20 letters and digits".into()))
}

fn parse_utc(given: &Value) -> Result<Instant, InvalidValue> {
    match value::parse_civil(given)? {
        Some(civil) => datetime::instant_from_utc(civil),
        None => Err(InvalidValue("must be a datetime".into())),
    }
}

fn legacy_field_name(error: LegacyError) -> &'static str {
    match error {
        LegacyError::Freq => "repeat_freq",
        LegacyError::Interval => "repeat_intervall",
        LegacyError::Count | LegacyError::CountWithUntil => "repeat_count",
        LegacyError::ByDay => "repeat_byday",
        LegacyError::Until => "repeat_until",
    }
}
