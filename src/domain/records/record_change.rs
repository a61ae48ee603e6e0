//! Deciding what a professional changes in the group's records: whole rows, made and changed one at a time. Reference 6.

use std::fmt;

use crate::domain::booking::manual_change;
use crate::domain::identity::directory::IdKind;
use crate::domain::records::calendar::{Calendar, Calendarset, SortOrder};
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::customfield::{CustomName, Customfield, Model};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, FicheId, InterventionId, InterventionsetId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{Patch, Put, RecordChange};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Fault, Refusal, Refusals};
use crate::domain::time::zone::Zone;
use crate::domain::time::{INSTANT_MAX, INSTANT_MIN, Instant};

/// A kind of row that a professional makes and changes.
pub trait EditableRecord: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// What identifies a row.
    type Id: Copy + fmt::Debug + Send + Sync;

    /// Whose ids new rows have.
    const KIND: IdKind;

    /// The id of that number, if it is one.
    fn id(number: u64) -> Option<Self::Id>;

    /// The row of an id, deleted or not.
    fn find(state: &GroupState, id: Self::Id) -> Option<&Self>;

    /// A new row, with the defaults.
    fn blank(state: &GroupState, id: Self::Id, at: Instant) -> Self;

    /// What is wrong with the row, which stood as `before` if it is not new, in the group as it is.
    fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault>;

    /// Notes its change at `now`, stamped `at`, from how it stood `before` if it is not new.
    fn touch(&mut self, before: Option<&Self>, at: Instant, now: Instant);

    /// What has happened when the row stands like this.
    fn put(self, at: Instant) -> Event;
}

/// Decides a change of a record; `None` where it changes nothing. `new_id` is the number of the row, should one be made.
///
/// # Errors
/// NoResult where the row is not there; InvalidParameter, each fault by its field.
///
/// # Panics
/// Where `new_id` is no id and a row is made.
pub fn decide(
    state: &GroupState,
    change: &RecordChange,
    new_id: u64,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    match change {
        RecordChange::Group(fields) => change_group(state, fields, now),
        RecordChange::Fiche(put) => decide_put(state, put, new_id, now),
        RecordChange::Calendar(put) => decide_put(state, put, new_id, now),
        RecordChange::Calendarset(put) => decide_put(state, put, new_id, now),
        RecordChange::Intervention(put) => decide_put(state, put, new_id, now),
        RecordChange::Interventionset(put) => decide_put(state, put, new_id, now),
        RecordChange::Customfield(put) => decide_put(state, put, new_id, now),
        RecordChange::RemoveCalendarset(id) => {
            Calendarset::find(state, *id).ok_or_else(|| vec![Refusal::NoResult])?;
            Ok(Some(Event::CalendarsetRemoved { at: state.stamp_for(now), id: *id }))
        }
        RecordChange::RemoveInterventionset(id) => {
            Interventionset::find(state, *id).ok_or_else(|| vec![Refusal::NoResult])?;
            Ok(Some(Event::InterventionsetRemoved { at: state.stamp_for(now), id: *id }))
        }
    }
}

/// The kind of ids that a change may use, if it may use any.
#[must_use]
pub fn kind(change: &RecordChange) -> Option<IdKind> {
    Some(match change {
        RecordChange::Group(_)
        | RecordChange::RemoveCalendarset(_)
        | RecordChange::RemoveInterventionset(_) => {
            return None;
        }
        RecordChange::Fiche(_) => Fiche::KIND,
        RecordChange::Calendar(_) => Calendar::KIND,
        RecordChange::Calendarset(_) => Calendarset::KIND,
        RecordChange::Intervention(_) => Intervention::KIND,
        RecordChange::Interventionset(_) => Interventionset::KIND,
        RecordChange::Customfield(_) => Customfield::KIND,
    })
}

/// The number of the row that a change is about; `None` where it makes one, or where it is about the group itself.
#[must_use]
pub fn id(change: &RecordChange) -> Option<u64> {
    match change {
        RecordChange::Group(_) => None,
        RecordChange::Fiche(put) => put.id.map(FicheId::number),
        RecordChange::Calendar(put) => put.id.map(CalendarId::number),
        RecordChange::Calendarset(put) => put.id.map(CalendarsetId::number),
        RecordChange::Intervention(put) => put.id.map(InterventionId::number),
        RecordChange::Interventionset(put) => put.id.map(InterventionsetId::number),
        RecordChange::Customfield(put) => put.id.map(CustomfieldId::number),
        RecordChange::RemoveCalendarset(id) => Some(id.number()),
        RecordChange::RemoveInterventionset(id) => Some(id.number()),
    }
}

fn decide_put<R: EditableRecord>(
    state: &GroupState,
    put: &Put<R>,
    new_id: u64,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    let at = state.stamp_for(now);
    let before = match put.id {
        Some(id) => Some(R::find(state, id).ok_or_else(|| vec![Refusal::NoResult])?),
        None => None,
    };
    let blank = || R::blank(state, R::id(new_id).expect("granted ids are ids"), at);
    let mut row = before.cloned().unwrap_or_else(blank);
    put.fields.apply_to(&mut row);
    if before == Some(&row) {
        return Ok(None);
    }
    let faults = row.faults(before, state);
    if !faults.is_empty() {
        return Err(faults.into_iter().map(Refusal::InvalidParameter).collect());
    }
    row.touch(before, at, now);
    Ok(Some(row.put(at)))
}

/// Another timezone keeps wall clocks: each appointment is given the instant that its wall-clock start means there, each
/// series the one that its UNTIL means. Every live appointment is then asked of the calendar that would be, as a move would
/// be; one that overlaps another refuses the change.
fn change_group(
    state: &GroupState,
    fields: &Patch<Group>,
    now: Instant,
) -> Result<Option<Event>, Refusals> {
    let at = state.stamp_for(now);
    let before = &state.catalogue.group;
    let mut group = before.clone();
    fields.apply_to(&mut group);
    if group == *before {
        return Ok(None);
    }
    if group.name.is_blank() && !before.name.is_blank() {
        return Err(vec![Refusal::InvalidParameter(Fault::new("name", "must not be blank"))]);
    }
    group.updated_at = at;
    group.note_rescheduled(before, now);
    if group.timezone == before.timezone {
        return Ok(Some(Event::GroupChanged { at, group: Box::new(group), resolved: Vec::new() }));
    }
    let zones = (before.timezone.zone(), group.timezone.zone());
    let mut resolved = Vec::new();
    for row in state.rows.values() {
        let instant = resolution(row, zones).map_err(|what| {
            let rule = format!("event {} {what} on these clocks: change it first", row.id);
            vec![Refusal::InvalidParameter(Fault::new("timezone", rule))]
        })?;
        resolved.extend(instant.map(|instant| (row.id, instant)));
    }
    let event = Event::GroupChanged { at, group: Box::new(group), resolved };
    manual_change::all_stand_free(&state.apply(&event), now)?;
    Ok(Some(event))
}

/// The instant that an event holds, as it is when the clocks of one zone give way to those of another: an appointment's
/// start, a series' UNTIL; `None` where it stays or there is none.
///
/// # Errors
/// What the event would do that none may.
fn resolution(
    row: &Vevent,
    (before, after): (Zone, Zone),
) -> Result<Option<Instant>, &'static str> {
    if let Some(appointment) = row.appointment() {
        let start = after.instant_of(appointment.civil_start);
        if start < INSTANT_MIN
            || start.plus_seconds(i64::from(appointment.length_seconds)) > INSTANT_MAX
        {
            return Err("would leave the years 1970 to 9999");
        }
        return Ok((start != appointment.start).then_some(start));
    }
    let Some(series) = row.series() else { return Ok(None) };
    let until = series.on_clocks_of(after, before)?.repeat_until();
    Ok(until.filter(|_| until != series.repeat_until()))
}

/// The change that deletes a row, where deleting only marks it.
pub fn deletion<R>(mark: impl Fn(&mut R) + Send + Sync + 'static) -> Patch<R> {
    let mut fields = Patch::default();
    fields.push(mark);
    fields
}

impl EditableRecord for Fiche {
    type Id = FicheId;
    const KIND: IdKind = IdKind::Fiche;

    fn id(number: u64) -> Option<FicheId> {
        FicheId::new(number)
    }

    fn find(state: &GroupState, id: FicheId) -> Option<&Self> {
        state.fiches.get(&id).map(AsRef::as_ref)
    }

    fn blank(_: &GroupState, id: FicheId, at: Instant) -> Self {
        Self::new(id, at)
    }

    fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault> {
        let nameless = |fiche: &Self| fiche.lastname.is_blank() && fiche.firstname.is_blank();
        let mut faults = Vec::new();
        if nameless(self) && !before.is_some_and(nameless) {
            faults.push(Fault::new("lastname", "a client needs a last or first name"));
        }
        if before.is_none() {
            let missing = state
                .catalogue
                .demanded(Model::Fiche, true)
                .filter(|name| self.customs.value(*name).is_none());
            faults.extend(
                missing.map(|name| Fault::new(name.to_string(), "this attribute is required")),
            );
        }
        faults
    }

    fn touch(&mut self, before: Option<&Self>, at: Instant, now: Instant) {
        self.updated_at = at;
        self.note_reached(before, now);
    }

    fn put(self, at: Instant) -> Event {
        Event::FichePut { at, fiche: Box::new(self) }
    }
}

/// A row of the catalogue: where it stands, how a new one begins, what it must obey.
macro_rules! of_catalogue {
    ($record:ident, $id:ident, $rows:ident, $event:ident, $blank:expr, $faults:expr) => {
        impl EditableRecord for $record {
            type Id = $id;
            const KIND: IdKind = IdKind::$record;

            fn id(number: u64) -> Option<$id> {
                $id::new(number)
            }

            fn find(state: &GroupState, id: $id) -> Option<&Self> {
                state.catalogue.$rows.get(&id).map(AsRef::as_ref)
            }

            fn blank(state: &GroupState, id: $id, at: Instant) -> Self {
                let blank: fn(&Catalogue, $id, Instant) -> Self = $blank;
                blank(&state.catalogue, id, at)
            }

            fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault> {
                let faults: fn(&Self, Option<&Self>, &Catalogue) -> Vec<Option<Fault>> = $faults;
                faults(self, before, &state.catalogue).into_iter().flatten().collect()
            }

            fn touch(&mut self, _: Option<&Self>, at: Instant, _: Instant) {
                self.updated_at = at;
            }

            fn put(self, at: Instant) -> Event {
                Event::$event { at, row: Box::new(self) }
            }
        }
    };
}

/// A new row with the order after the last, and its faults: a name, and where it may belong.
macro_rules! sorted_of_catalogue {
    ($record:ident, $id:ident, $rows:ident, $event:ident, $set:expr) => {
        of_catalogue!(
            $record,
            $id,
            $rows,
            $event,
            |catalogue, id, at| Self {
                sort: after(catalogue.$rows.values().map(|row| row.sort)),
                ..Self::new(id, at)
            },
            |row, before, catalogue| {
                let set: fn(&Self, &Catalogue) -> Option<Fault> = $set;
                let was_blank = before.is_some_and(|before| before.name.is_blank());
                let nameless = (row.name.is_blank() && !was_blank)
                    .then(|| Fault::new("name", "must not be blank"));
                vec![nameless, set(row, catalogue)]
            }
        );
    };
}

sorted_of_catalogue!(Calendar, CalendarId, calendars, CalendarPut, |row, catalogue| {
    let known = |id| catalogue.calendarsets.contains_key(&id);
    let rule = "must be the id of one of the group's calendarsets";
    row.calendarset_id.is_some_and(|id| !known(id)).then(|| Fault::new("calendarset_id", rule))
});
sorted_of_catalogue!(Calendarset, CalendarsetId, calendarsets, CalendarsetPut, |_, _| None);
sorted_of_catalogue!(
    Intervention,
    InterventionId,
    interventions,
    InterventionPut,
    |row, catalogue| {
        let known = |id| catalogue.interventionsets.contains_key(&id);
        let rule = "must be the id of one of the group's interventionsets";
        row.interventionset_id
            .is_some_and(|id| !known(id))
            .then(|| Fault::new("interventionset_id", rule))
    }
);
sorted_of_catalogue!(
    Interventionset,
    InterventionsetId,
    interventionsets,
    InterventionsetPut,
    |_, _| None
);
of_catalogue!(
    Customfield,
    CustomfieldId,
    customfields,
    CustomfieldPut,
    |_, id, at| {
        // A new definition must be given both.
        let stand_in = CustomName::new("str0").expect("a custom name");
        Self::new(id, Model::Fiche, stand_in, at)
    },
    |row, before, catalogue| {
        let kept = |same: bool, field| {
            (!same).then(|| Fault::new(field, "an attribute keeps its model and its name"))
        };
        let other = catalogue
            .customfield(row.model, row.name)
            .filter(|other| other.id != row.id && !row.deleted);
        vec![
            kept(before.is_none_or(|before| before.model == row.model), "model"),
            kept(before.is_none_or(|before| before.name == row.name), "name"),
            other.map(|other| Fault::new("name", format!("is defined already, by {}", other.id))),
        ]
    }
);

/// The order after the last.
fn after(sorts: impl Iterator<Item = SortOrder>) -> SortOrder {
    let last = sorts.max().map_or(0, SortOrder::number).max(0);
    SortOrder::new(last + 1).unwrap_or(const { SortOrder::known(2_147_483_647) })
}
