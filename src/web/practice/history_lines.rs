//! Rows of the history in words. Reference 15.13.

use serde_json::Value;

use crate::domain::decisions::upkeep::history_end;
use crate::domain::records::author::Author;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::state::history::NumberedRow;
use crate::domain::state::history::page::HistoryQuery;
use crate::domain::state::history::row::{
    FieldChange, HistoryField, HistoryObject, HistoryVerb, ObjectKind,
};
use crate::domain::time::{Civil, INSTANT_MAX, Instant};
use crate::web::format;
use crate::web::practice::settings::fields::label_in_change;
use crate::web::practice::texts::field_labels::fiche_label;
use crate::web::practice::texts::history::HistoryTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::history::{author_name, key_of, settings_fields};

/// Number of rows beside an object.
const BESIDE: usize = 5;
/// Maximum number of characters of a value of a setting.
const VALUE_CHARACTERS_MAX: usize = 120;

/// A row in words.
pub(crate) struct HistoryLine {
    pub(crate) when: String,
    pub(crate) who: String,
    /// The object, with the way to its own history; empty beside the object itself.
    pub(crate) object: String,
    pub(crate) object_url: String,
    pub(crate) verb: &'static str,
    /// The fields that changed.
    pub(crate) changes: Vec<String>,
}

/// The latest rows about an object, beside it.
pub(crate) struct ObjectHistory {
    pub(crate) text: &'static HistoryTexts,
    pub(crate) lines: Vec<HistoryLine>,
    /// The whole history of the object; empty if it is shown.
    pub(crate) all_url: String,
}

/// Returns the latest rows about an object.
pub(crate) fn history_beside(visit: &ProVisit, object: HistoryObject) -> ObjectHistory {
    let query = HistoryQuery {
        object: Some(object),
        author: None,
        from: history_end(&visit.state, visit.request.now),
        to: INSTANT_MAX,
        below: u64::MAX,
        results: BESIDE,
    };
    let page = visit.state.history.page(&query);
    let all_url = match page.next {
        Some(_) => object_url(visit, object),
        None => String::new(),
    };
    let mut lines: Vec<HistoryLine> =
        page.rows.iter().map(|row| history_line(visit, row)).collect();
    lines.iter_mut().for_each(|line| line.object.clear());
    let text = HistoryTexts::in_language(visit.language());
    ObjectHistory { text, lines, all_url }
}

/// Returns the screen with the history of an object.
fn object_url(visit: &ProVisit, object: HistoryObject) -> String {
    let name = format!("{}:{}", object.kind.name(), object.id);
    visit.url("/history", &[("object", &name)])
}

/// Returns a row in words.
pub(crate) fn history_line(visit: &ProVisit, numbered: &NumberedRow) -> HistoryLine {
    let text = HistoryTexts::in_language(visit.language());
    let row = &numbered.row;
    let mut changes: Vec<String> =
        row.fields.iter().filter_map(|change| field_in_words(visit, change)).collect();
    for (change, field) in numbered.settings.iter().flat_map(|change| {
        settings_fields(change, &visit.state).into_iter().map(move |field| (change, field))
    }) {
        let words = |value: &Value| value_in_words(value, text);
        let label = label_in_change(change, &field.field, visit.language());
        let before = field.before.as_ref().map(words);
        changes.push(change_in_words(text, label, before, field.after.as_ref().map(words)));
    }
    HistoryLine {
        when: when(visit, row.at),
        who: who(visit, row.author),
        object: object_in_words(visit, row.object),
        object_url: object_url(visit, row.object),
        verb: verb_in_words(row.verb, text),
        changes,
    }
}

const fn verb_in_words(verb: HistoryVerb, text: &HistoryTexts) -> &'static str {
    match verb {
        HistoryVerb::Begun => text.begun,
        HistoryVerb::Made => text.made,
        HistoryVerb::Changed => text.changed,
        HistoryVerb::Deleted => text.deleted,
        HistoryVerb::Restored => text.restored,
        HistoryVerb::Removed => text.removed,
        HistoryVerb::Emptied => text.emptied,
        HistoryVerb::Merged => text.merged,
    }
}

/// Returns an author in words: a professional by name, with the key of the request, if any.
fn who(visit: &ProVisit, author: Option<Author>) -> String {
    let text = HistoryTexts::in_language(visit.language());
    let Some(author) = author else { return text.by_unknown.to_owned() };
    let name = match author {
        Author::Server => text.by_server.to_owned(),
        Author::Operator => text.by_operator.to_owned(),
        Author::Visitor => text.by_visitor.to_owned(),
        Author::Application(key) => return fill(text.by_application, "key", &key.to_string()),
        Author::Account { client, .. } => fill(text.by_account, "client", &client.to_string()),
        Author::Professional { id, .. } => {
            author_name(Some(author), &visit.state, &visit.request.directory)
                .unwrap_or_else(|| fill(text.by_professional, "id", &id.to_string()))
        }
    };
    match key_of(author) {
        Some(key) => fill(&fill(text.with_key, "who", &name), "key", &key.to_string()),
        None => name,
    }
}

/// Returns an object in words: its kind, and its name or number.
pub(crate) fn object_in_words(visit: &ProVisit, object: HistoryObject) -> String {
    let text = HistoryTexts::in_language(visit.language());
    let id = object.id.cast_signed();
    if let Some(start) = start_of(visit, object) {
        return fill(text.vevent_of, "when", &local(visit, start));
    }
    let (kind, name) = match object.kind {
        ObjectKind::Group => return text.group.to_owned(),
        ObjectKind::Calendar => (text.calendar, calendar_name(visit, id)),
        ObjectKind::Calendarset => (text.calendarset, None),
        ObjectKind::Intervention => (text.intervention, service_name(visit, id)),
        ObjectKind::Interventionset => (text.interventionset, None),
        ObjectKind::Customfield => (text.customfield, None),
        ObjectKind::Fiche => (text.fiche, client_name(visit, id)),
        ObjectKind::Vevent => (text.vevent, None),
        ObjectKind::Account => (text.account, client_name(visit, id)),
    };
    format!("{kind} {}", name.unwrap_or_else(|| object.id.to_string()))
}

/// Returns the local start of an event that exists.
fn start_of(visit: &ProVisit, object: HistoryObject) -> Option<Civil> {
    if object.kind != ObjectKind::Vevent {
        return None;
    }
    visit.state.rows.get(&VeventId::new(object.id)?).map(|row| row.civil_start())
}

/// Returns a field in words; `None` for one that another field tells of.
fn field_in_words(visit: &ProVisit, change: &FieldChange) -> Option<String> {
    let text = HistoryTexts::in_language(visit.language());
    let label = label_of(visit, change.field)?;
    if change.before.is_none() && change.after.is_none() {
        return Some(label.to_owned());
    }
    let value = |value: i64| known_value(visit, change.field, value);
    Some(change_in_words(text, label, change.before.map(value), change.after.map(value)))
}

/// Returns a change in words. A value that was not there before stands alone.
fn change_in_words(
    text: &HistoryTexts,
    label: &str,
    before: Option<String>,
    after: Option<String>,
) -> String {
    let after = after.unwrap_or_else(|| text.nothing_before.to_owned());
    let sentence = match before {
        Some(before) => fill(text.change, "before", &before),
        None => text.set.to_owned(),
    };
    fill(&fill(&sentence, "field", label), "after", &after)
}

/// The label of a field; `None` for the instant of a start, and for the kind and the deletion of an
/// object, which other words say.
fn label_of(visit: &ProVisit, field: HistoryField) -> Option<&'static str> {
    let text = HistoryTexts::in_language(visit.language());
    Some(match field {
        HistoryField::StartUtc
        | HistoryField::Deleted
        | HistoryField::Plage
        | HistoryField::Availability
        | HistoryField::Note => return None,
        HistoryField::CalendarId => text.calendar,
        HistoryField::Start => text.start,
        HistoryField::Length => text.length,
        HistoryField::End => text.end,
        HistoryField::InterventionId => text.intervention,
        HistoryField::FicheId => text.client,
        HistoryField::State => text.state,
        HistoryField::Rrule => text.repetition,
        HistoryField::Exdate => text.exceptions,
        HistoryField::AvailableInterventions => text.services,
        HistoryField::Text => text.text,
        HistoryField::Comments => text.comments,
        HistoryField::InternalComments => text.internal_comments,
        HistoryField::Colorref => text.colour,
        HistoryField::Taker => text.taker,
        HistoryField::Websource => text.origin,
        HistoryField::Customs => text.attributes,
        HistoryField::Smsreminder => text.sms_wish,
        HistoryField::Password => text.password,
        HistoryField::PrivacyText => text.privacy_text,
        HistoryField::Description => text.description,
        HistoryField::Tzdata => text.tzdata,
        HistoryField::Lastname
        | HistoryField::Firstname
        | HistoryField::Firstphone
        | HistoryField::Secondphone
        | HistoryField::Email
        | HistoryField::Birthdate
        | HistoryField::RappelEmail
        | HistoryField::RappelSms
        | HistoryField::Externid => fiche_label(field.name(), visit.language()),
    })
}

/// Returns a value that the history keeps in words.
fn known_value(visit: &ProVisit, field: HistoryField, value: i64) -> String {
    let text = HistoryTexts::in_language(visit.language());
    let name = match field {
        HistoryField::Start | HistoryField::End => return local(visit, Civil(value)),
        HistoryField::Length => {
            return format::length(visit.language(), value.div_euclid(60).max(1));
        }
        HistoryField::State => match value {
            1 => Some(text.attended.to_owned()),
            2 => Some(text.no_show.to_owned()),
            3 => Some(text.pending.to_owned()),
            _ => Some(text.planned.to_owned()),
        },
        HistoryField::CalendarId => calendar_name(visit, value),
        HistoryField::InterventionId => service_name(visit, value),
        HistoryField::FicheId => client_name(visit, value),
        HistoryField::StartUtc
        | HistoryField::Deleted
        | HistoryField::Plage
        | HistoryField::Availability
        | HistoryField::Note
        | HistoryField::Rrule
        | HistoryField::Exdate
        | HistoryField::AvailableInterventions
        | HistoryField::Text
        | HistoryField::Comments
        | HistoryField::InternalComments
        | HistoryField::Colorref
        | HistoryField::Taker
        | HistoryField::Websource
        | HistoryField::Customs
        | HistoryField::Smsreminder
        | HistoryField::Lastname
        | HistoryField::Firstname
        | HistoryField::Firstphone
        | HistoryField::Secondphone
        | HistoryField::Email
        | HistoryField::Birthdate
        | HistoryField::RappelEmail
        | HistoryField::RappelSms
        | HistoryField::Externid
        | HistoryField::Password
        | HistoryField::PrivacyText
        | HistoryField::Description
        | HistoryField::Tzdata => None,
    };
    name.unwrap_or_else(|| value.to_string())
}

fn calendar_name(visit: &ProVisit, id: i64) -> Option<String> {
    let id = CalendarId::new(id.cast_unsigned())?;
    Some(visit.state.catalogue.calendars.get(&id)?.name.as_str().to_owned())
}

fn service_name(visit: &ProVisit, id: i64) -> Option<String> {
    let id = InterventionId::new(id.cast_unsigned())?;
    Some(visit.state.catalogue.interventions.get(&id)?.name.as_str().to_owned())
}

fn client_name(visit: &ProVisit, id: i64) -> Option<String> {
    let names = visit.state.fiches.get(&FicheId::new(id.cast_unsigned())?)?.names();
    if names.trim().is_empty() { None } else { Some(names) }
}

/// Returns the value of a setting in words.
fn value_in_words(value: &Value, text: &HistoryTexts) -> String {
    let full = match value {
        Value::Null => text.nothing_before.to_owned(),
        Value::Bool(true) => text.yes.to_owned(),
        Value::Bool(false) => text.no.to_owned(),
        Value::String(written) if written.is_empty() => text.nothing_before.to_owned(),
        Value::String(written) => written.clone(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match full.char_indices().nth(VALUE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &full[..end]),
        None => full,
    }
}

fn when(visit: &ProVisit, moment: Instant) -> String {
    local(visit, visit.zone().civil_of(moment))
}

fn local(visit: &ProVisit, at: Civil) -> String {
    format!("{}, {}", format::date(visit.language(), at.day()), format::time(at))
}
