//! The changes that an event makes, for the history: found before it is applied. Reference 16.

use crate::domain::records::account::Account;
use crate::domain::records::calendarfeed::{Calendarfeed, FeedTarget};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarfeedId, FicheId, VeventId};
use crate::domain::records::vevent::{OptionalFields, Permits, Vevent, VeventKind};
use crate::domain::recurrence::{Exceptions, Series};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::ObservedChange;
use crate::domain::state::history::row::{
    FieldChange, HistoryField, HistoryObject, HistoryVerb, ObjectKind,
};
use crate::domain::state::read_note::ReadNote;

impl GroupState {
    /// Returns the changes that an event makes to this state, without those of the events that it
    /// carries. Messages, holds and what was already so are no changes.
    pub(crate) fn observe(&self, event: &Event) -> Vec<ObservedChange> {
        match event {
            Event::AppointmentsBooked { fiche, legs, .. }
            | Event::BookingConfirmed { fiche, legs, .. } => {
                let client = fiche.iter().filter_map(|fiche| self.observe_fiche(fiche));
                client.chain(legs.iter().filter_map(|leg| self.observe_vevent(leg))).collect()
            }
            Event::AppointmentCancelled { id, .. } => {
                let fields = FieldChanges::default().with(HistoryField::Deleted, Some(0), Some(1));
                vec![of_vevent(*id, HistoryVerb::Deleted, fields)]
            }
            Event::ReadsNoted { reads, .. } => {
                reads.iter().map(|read| self.observe_read(*read)).collect()
            }
            Event::VeventPut { row, .. } => self.observe_vevent(row).into_iter().collect(),
            Event::FichePut { fiche, .. } => self.observe_fiche(fiche).into_iter().collect(),
            Event::AccountPut { was, account, fiche, .. } => {
                let client = fiche.iter().filter_map(|fiche| self.observe_fiche(fiche));
                let before = was.as_ref().and_then(|was| self.find_account(was));
                client.chain(of_account(before.map(AsRef::as_ref), account)).collect()
            }
            Event::VeventsRemoved { ids, .. } => ids.iter().map(|id| of_removal(*id)).collect(),
            Event::CancelledEmptied { vevents, fiches, .. } => {
                let emptied =
                    |id: &VeventId| of_vevent(*id, HistoryVerb::Emptied, FieldChanges::default());
                let client =
                    |id: &FicheId| of_fiche(*id, HistoryVerb::Emptied, FieldChanges::default());
                vevents.iter().map(emptied).chain(fiches.iter().map(client)).collect()
            }
            Event::FichesMerged { kept, merged, merged_before, vevents, accounts, .. } => {
                self.observe_merge(kept, *merged, merged_before, vevents, accounts)
            }
            Event::ClientsErased { erasure, .. } => self.observe_erasure(erasure),
            Event::AppointmentsEmptied { placeholder, parts, .. } => {
                self.observe_emptying(*placeholder, parts)
            }
            Event::AccountsClosed { accounts, .. } => self.observe_closing(accounts),
            Event::ImageSet { slot, .. } | Event::ImageRemoved { slot, .. } => {
                vec![self.observe_image(*slot)]
            }
            Event::CalendarfeedPut { feed, .. } => vec![self.observe_calendarfeed(feed)],
            Event::CalendarfeedRevoked { id, .. } => vec![of_revoked_calendarfeed(*id)],
            Event::GroupChanged { group, .. } => vec![self.observe_group(group)],
            Event::CalendarPut { row, .. } => vec![self.observe_calendar(row)],
            Event::CalendarsetPut { row, .. } => vec![self.observe_calendarset(row)],
            Event::InterventionPut { row, .. } => vec![self.observe_intervention(row)],
            Event::InterventionsetPut { row, .. } => vec![self.observe_interventionset(row)],
            Event::CustomfieldPut { row, .. } => vec![self.observe_customfield(row)],
            Event::CalendarsetRemoved { at, id } => self.observe_calendarset_removal(*id, *at),
            Event::InterventionsetRemoved { at, id } => {
                self.observe_interventionset_removal(*id, *at)
            }
            Event::InstantsResolved { .. } => vec![self.observe_tzdata()],
            Event::WebhookPut { .. }
            | Event::WebhookRemoved { .. }
            | Event::WebhookSettled { .. } => self.observe_webhooks(event),
            Event::Announced { .. }
            | Event::MessagePut { .. }
            | Event::DoneOnce { .. }
            | Event::AccountLinkRequested { .. }
            | Event::HoldMade { .. }
            | Event::HoldReleased { .. }
            | Event::HoldExtended { .. }
            | Event::CodeRefused { .. }
            | Event::GroupFounded { .. }
            | Event::BatchDone { .. }
            | Event::RetentionCountBegan { .. }
            | Event::AccountUsed { .. }
            | Event::HistoryEnded { .. } => Vec::new(),
        }
    }

    /// Returns the change of the release of the zone database.
    fn observe_tzdata(&self) -> ObservedChange {
        let object = HistoryObject::of_group(self.catalogue.group.id);
        let fields = FieldChanges::default().named(HistoryField::Tzdata, true).0;
        ObservedChange { object, verb: HistoryVerb::Changed, fields, settings: None }
    }

    /// Returns the changes of two records of a client that become one.
    fn observe_merge(
        &self,
        kept: &Fiche,
        merged: FicheId,
        merged_before: &[FicheId],
        vevents: &[VeventId],
        accounts: &[Account],
    ) -> Vec<ObservedChange> {
        let from = signed(merged.number());
        let into = signed(kept.id.number());
        let mut changes: Vec<ObservedChange> = self.observe_fiche(kept).into_iter().collect();
        for closed in [merged].iter().chain(merged_before) {
            let was = self.fiches.get(closed);
            let was_into = was.and_then(|was| was.merged_into).and_then(|id| signed(id.number()));
            let was_deleted = was.map(|was| i64::from(was.deleted));
            let mut fields = FieldChanges::default().with(HistoryField::FicheId, was_into, into);
            fields = fields.with(HistoryField::Deleted, was_deleted, Some(1));
            changes.push(of_fiche(*closed, HistoryVerb::Merged, fields));
        }
        for id in vevents {
            let fields = FieldChanges::default().with(HistoryField::FicheId, from, into);
            changes.push(of_vevent(*id, HistoryVerb::Changed, fields));
        }
        for account in accounts {
            let before = self.accounts.get(&account.email.folded());
            changes.extend(of_account(before.map(AsRef::as_ref), account));
        }
        changes
    }

    /// Returns the change of a calendar feed. Of its secret it has the name alone.
    fn observe_calendarfeed(&self, feed: &Calendarfeed) -> ObservedChange {
        let is_new = self.calendarfeeds.get(feed.id).is_none();
        let calendar = match feed.target {
            FeedTarget::Calendar(id) if is_new => signed(id.number()),
            FeedTarget::Calendar(_) | FeedTarget::Pro(_) => None,
        };
        let fields = FieldChanges::default()
            .with(HistoryField::CalendarId, None, calendar)
            .named(HistoryField::Secret, true);
        let verb = if is_new { HistoryVerb::Made } else { HistoryVerb::Changed };
        of_calendarfeed(feed.id, verb, fields)
    }

    fn observe_vevent(&self, after: &Vevent) -> Option<ObservedChange> {
        let before = self.rows.get(&after.id).map(AsRef::as_ref);
        let fields = vevent_fields(before, after);
        let verb = verb_of(before.map(|before| before.deleted), after.deleted);
        (before.is_none() || !fields.0.is_empty()).then(|| of_vevent(after.id, verb, fields))
    }

    fn observe_read(&self, read: ReadNote) -> ObservedChange {
        let (kind, id, fields) = match read {
            ReadNote::Client(id) => (ObjectKind::Fiche, id.number(), FieldChanges::default()),
            ReadNote::List { count, is_search } => {
                let group = self.catalogue.group.id.number();
                let fields = FieldChanges::default()
                    .with(HistoryField::Count, None, Some(count.into()))
                    .named(HistoryField::Search, is_search);
                (ObjectKind::Fiches, group, fields)
            }
        };
        let object = HistoryObject { kind, id };
        ObservedChange { object, verb: HistoryVerb::Read, fields: fields.0, settings: None }
    }

    fn observe_fiche(&self, after: &Fiche) -> Option<ObservedChange> {
        let before = self.fiches.get(&after.id).map(AsRef::as_ref);
        let fields = fiche_fields(before, after);
        let verb = verb_of(before.map(|before| before.deleted), after.deleted);
        (before.is_none() || !fields.0.is_empty()).then(|| of_fiche(after.id, verb, fields))
    }
}

/// The fields that changed, in their order.
#[derive(Default)]
pub(super) struct FieldChanges(pub(super) Vec<FieldChange>);

impl FieldChanges {
    /// Adds a field with its values, if they differ.
    pub(super) fn with(
        mut self,
        field: HistoryField,
        before: Option<i64>,
        after: Option<i64>,
    ) -> Self {
        if before != after {
            self.0.push(FieldChange { field, before, after });
        }
        self
    }

    /// Adds the name of a field whose values are not kept, if they differ.
    pub(super) fn named(mut self, field: HistoryField, differs: bool) -> Self {
        if differs {
            self.0.push(FieldChange { field, before: None, after: None });
        }
        self
    }
}

fn of_revoked_calendarfeed(id: CalendarfeedId) -> ObservedChange {
    of_calendarfeed(id, HistoryVerb::Removed, FieldChanges::default())
}

fn of_calendarfeed(id: CalendarfeedId, verb: HistoryVerb, fields: FieldChanges) -> ObservedChange {
    let object = HistoryObject { kind: ObjectKind::Calendarfeed, id: id.number() };
    ObservedChange { object, verb, fields: fields.0, settings: None }
}

pub(super) fn of_vevent(id: VeventId, verb: HistoryVerb, fields: FieldChanges) -> ObservedChange {
    let object = HistoryObject { kind: ObjectKind::Vevent, id: id.number() };
    ObservedChange { object, verb, fields: fields.0, settings: None }
}

fn of_removal(id: VeventId) -> ObservedChange {
    of_vevent(id, HistoryVerb::Removed, FieldChanges::default())
}

pub(super) fn of_fiche(id: FicheId, verb: HistoryVerb, fields: FieldChanges) -> ObservedChange {
    let object = HistoryObject { kind: ObjectKind::Fiche, id: id.number() };
    ObservedChange { object, verb, fields: fields.0, settings: None }
}

pub(super) fn of_account(before: Option<&Account>, after: &Account) -> Option<ObservedChange> {
    let client = |account: &Account| signed(account.fiche_id.number());
    let has_other_email = before.is_none_or(|before| before.email != after.email);
    let has_other_password =
        before.is_none_or(|before| before.password_hash != after.password_hash);
    let fields = FieldChanges::default()
        .with(HistoryField::FicheId, before.and_then(client), client(after))
        .named(HistoryField::Email, has_other_email)
        .named(HistoryField::Password, has_other_password);
    let verb = if before.is_some() { HistoryVerb::Changed } else { HistoryVerb::Made };
    let object = HistoryObject { kind: ObjectKind::Account, id: after.fiche_id.number() };
    let change = ObservedChange { object, verb, fields: fields.0, settings: None };
    if change.fields.is_empty() { None } else { Some(change) }
}

/// Returns the verb of a change, by whether the record was deleted before and is after.
pub(super) const fn verb_of(before: Option<bool>, is_deleted: bool) -> HistoryVerb {
    match (before, is_deleted) {
        (None, _) => HistoryVerb::Made,
        (Some(false), true) => HistoryVerb::Deleted,
        (Some(true), false) => HistoryVerb::Restored,
        (Some(false), false) | (Some(true), true) => HistoryVerb::Changed,
    }
}

/// Ids are at most `ID_MAX`, so none is lost.
fn signed(id: u64) -> Option<i64> {
    i64::try_from(id).ok()
}

/// A flag as a value. One that is not set needs no value in a new record.
const fn flag(is_set: bool, is_new: bool) -> Option<i64> {
    if is_set {
        Some(1)
    } else if is_new {
        None
    } else {
        Some(0)
    }
}

fn vevent_fields(before: Option<&Vevent>, after: &Vevent) -> FieldChanges {
    let is_new = before.is_none();
    let mut fields = FieldChanges::default();
    let old = before.map(|before| kept_values(before, is_new));
    for (place, (field, value)) in kept_values(after, is_new).into_iter().enumerate() {
        let old = old.as_ref().and_then(|old| old[place].1);
        fields = fields.with(field, old, value);
    }
    named_vevent_fields(fields, before, after)
}

/// The fields of an event whose values are kept, in their order.
fn kept_values(row: &Vevent, is_new: bool) -> [(HistoryField, Option<i64>); 12] {
    let appointment = row.appointment();
    let kind = |is_set: bool| flag(is_set, is_new);
    [
        (HistoryField::CalendarId, signed(row.calendar_id.number())),
        (HistoryField::Start, Some(row.civil_start().0)),
        (HistoryField::StartUtc, appointment.map(|it| it.start.0)),
        (HistoryField::Length, appointment.map(|it| it.length_seconds.into())),
        (HistoryField::End, row.series().map(|series| series.end().0)),
        (HistoryField::InterventionId, row.intervention_id().and_then(|id| signed(id.number()))),
        (HistoryField::FicheId, row.fiche_id().and_then(|id| signed(id.number()))),
        (HistoryField::State, state_of(row, is_new)),
        (HistoryField::Deleted, kind(row.deleted)),
        (HistoryField::Plage, kind(matches!(row.kind, VeventKind::Plage(_)))),
        (HistoryField::Availability, kind(matches!(row.kind, VeventKind::Availability(_)))),
        (HistoryField::Note, kind(matches!(row.kind, VeventKind::Note(_)))),
    ]
}

/// Adds the fields of an event whose values are not kept.
fn named_vevent_fields(
    fields: FieldChanges,
    before: Option<&Vevent>,
    after: &Vevent,
) -> FieldChanges {
    let unset = OptionalFields::default();
    let old = before.and_then(|row| row.rare.as_deref()).unwrap_or(&unset);
    let new = after.rare.as_deref().unwrap_or(&unset);
    let was = before.and_then(Vevent::series);
    let is = after.series();
    let none = Exceptions::default();
    let wish = |row: &Vevent| row.appointment().is_some_and(|it| it.smsreminder);
    fields
        .named(HistoryField::Rrule, was.and_then(Series::rule) != is.and_then(Series::rule))
        .named(
            HistoryField::Exdate,
            was.map_or(&none, Series::exceptions) != is.map_or(&none, Series::exceptions),
        )
        .named(HistoryField::AvailableInterventions, before.and_then(permits) != permits(after))
        .named(HistoryField::Text, old.text != new.text)
        .named(HistoryField::Comments, old.comments != new.comments)
        .named(HistoryField::InternalComments, old.internal_comments != new.internal_comments)
        .named(HistoryField::Colorref, old.colorref != new.colorref)
        .named(HistoryField::Taker, old.taker != new.taker)
        .named(HistoryField::Websource, old.websource != new.websource)
        .named(HistoryField::Customs, old.customs != new.customs)
        .named(HistoryField::Smsreminder, before.is_some_and(|row| wish(row) != wish(after)))
}

fn state_of(row: &Vevent, is_new: bool) -> Option<i64> {
    let state = row.appointment()?.state.number();
    if is_new && state == 0 { None } else { Some(state) }
}

fn permits(row: &Vevent) -> Option<&Permits> {
    match &row.kind {
        VeventKind::Availability(availability) => Some(&availability.permits),
        VeventKind::Appointment(_) | VeventKind::Plage(_) | VeventKind::Note(_) => None,
    }
}

/// The fields of a client: all but `deleted` by their names alone.
fn fiche_fields(before: Option<&Fiche>, after: &Fiche) -> FieldChanges {
    let blank = Fiche::new(after.id, after.created_at);
    let old = before.unwrap_or(&blank);
    let is_new = before.is_none();
    let deleted = before.and_then(|before| flag(before.deleted, false));
    FieldChanges::default()
        .with(HistoryField::Deleted, deleted, flag(after.deleted, is_new))
        .named(HistoryField::Comments, old.comments != after.comments)
        .named(HistoryField::Customs, old.customs != after.customs)
        .named(HistoryField::Lastname, old.lastname != after.lastname)
        .named(HistoryField::Firstname, old.firstname != after.firstname)
        .named(HistoryField::Firstphone, old.firstphone != after.firstphone)
        .named(HistoryField::Secondphone, old.secondphone != after.secondphone)
        .named(HistoryField::Email, old.email != after.email)
        .named(HistoryField::Birthdate, old.birthdate != after.birthdate)
        .named(HistoryField::RappelEmail, old.rappel_email != after.rappel_email)
        .named(HistoryField::RappelSms, old.rappel_sms != after.rappel_sms)
        .named(HistoryField::Externid, old.externid != after.externid)
}
