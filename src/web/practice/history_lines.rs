//! Rows of the history in words. Reference 15.13.

use serde_json::Value;

use crate::domain::decisions::upkeep::history_end;
use crate::domain::directory::roles::GroupRight;
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

/// Returns the latest rows about an object; `None` for a professional who reads no history.
pub(crate) fn history_beside(visit: &ProVisit, object: HistoryObject) -> Option<ObjectHistory> {
    if !visit.role().has(GroupRight::History) {
        return None;
    }
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
    Some(ObjectHistory { text, lines, all_url })
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
    if let Some(change) = &numbered.settings {
        for field in settings_fields(change, &visit.state) {
            let words = |value: &Value| value_in_words(value, text);
            let label = label_in_change(change, &field.field, visit.language());
            let before = field.before.as_ref().map(words);
            changes.push(change_in_words(text, label, before, field.after.as_ref().map(words)));
        }
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
        HistoryVerb::Read => text.read,
        HistoryVerb::Erased => text.erased,
    }
}

/// Returns an author in words: a professional by name, with the key of the request, if any.
pub(crate) fn who(visit: &ProVisit, author: Option<Author>) -> String {
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
        Some(key) => fill(&fill(text.with_key, "key", &key.to_string()), "who", &name),
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
        ObjectKind::Webhook => (text.webhook, None),
        ObjectKind::Fiches => return text.fiches.to_owned(),
        ObjectKind::Calendarfeed => (text.calendarfeed, None),
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
    let FieldWords { label, value } = words_of(visit, change.field)?;
    if change.before.is_none() && change.after.is_none() {
        return Some(label.to_owned());
    }
    let words = |number: i64| value_of(visit, value, number);
    Some(change_in_words(text, label, change.before.map(words), change.after.map(words)))
}

/// Returns a change in words. A value that was not there before stands alone.
fn change_in_words(
    text: &HistoryTexts,
    label: &str,
    before: Option<String>,
    after: Option<String>,
) -> String {
    // From the last place to the first, so that no value is taken for a place.
    let after = after.unwrap_or_else(|| text.nothing_before.to_owned());
    let sentence = match before {
        Some(before) => fill(&fill(text.change, "after", &after), "before", &before),
        None => fill(text.set, "after", &after),
    };
    fill(&sentence, "field", label)
}

/// The words about a field.
struct FieldWords {
    label: &'static str,
    value: ValueForm,
}

/// The form in which values of a field are read.
#[derive(Clone, Copy)]
enum ValueForm {
    LocalTime,
    Length,
    Presence,
    Calendar,
    Service,
    Client,
    Number,
    /// The history keeps no value.
    NameAlone,
}

/// Returns the words about a field; `None` for the instant of a start, and for the kind and the
/// deletion of an object, which other words say.
fn words_of(visit: &ProVisit, field: HistoryField) -> Option<FieldWords> {
    let text = HistoryTexts::in_language(visit.language());
    let valued = |label, value| Some(FieldWords { label, value });
    let named = |label| valued(label, ValueForm::NameAlone);
    match field {
        HistoryField::StartUtc
        | HistoryField::Deleted
        | HistoryField::Plage
        | HistoryField::Availability
        | HistoryField::Note => None,
        HistoryField::CalendarId => valued(text.calendar, ValueForm::Calendar),
        HistoryField::Start => valued(text.start, ValueForm::LocalTime),
        HistoryField::Length => valued(text.length, ValueForm::Length),
        HistoryField::End => valued(text.end, ValueForm::LocalTime),
        HistoryField::InterventionId => valued(text.intervention, ValueForm::Service),
        HistoryField::FicheId => valued(text.client, ValueForm::Client),
        HistoryField::State => valued(text.state, ValueForm::Presence),
        HistoryField::Rrule => named(text.repetition),
        HistoryField::Exdate => named(text.exceptions),
        HistoryField::AvailableInterventions => named(text.services),
        HistoryField::Text => named(text.text),
        HistoryField::Comments => named(text.comments),
        HistoryField::InternalComments => named(text.internal_comments),
        HistoryField::Colorref => named(text.colour),
        HistoryField::Taker => named(text.taker),
        HistoryField::Websource => named(text.origin),
        HistoryField::Customs => named(text.attributes),
        HistoryField::Smsreminder => named(text.sms_wish),
        HistoryField::Password => named(text.password),
        HistoryField::PrivacyText => named(text.privacy_text),
        HistoryField::Description => named(text.description),
        HistoryField::Tzdata => named(text.tzdata),
        HistoryField::Logo => named(text.logo),
        HistoryField::Cover => named(text.cover),
        HistoryField::Photo => named(text.photo),
        HistoryField::Url => named(text.url),
        HistoryField::Objects => named(text.objects),
        HistoryField::Secret => named(text.secret),
        HistoryField::Active => named(text.active),
        HistoryField::Since => named(text.since),
        HistoryField::Count => valued(text.count, ValueForm::Number),
        HistoryField::Search => named(text.search),
        HistoryField::Lastname
        | HistoryField::Firstname
        | HistoryField::Firstphone
        | HistoryField::Secondphone
        | HistoryField::Email
        | HistoryField::Birthdate
        | HistoryField::RappelEmail
        | HistoryField::RappelSms
        | HistoryField::Externid => named(fiche_label(field.name(), visit.language())),
    }
}

/// Returns a value that the history keeps in words; its number if nothing has that name now.
fn value_of(visit: &ProVisit, form: ValueForm, number: i64) -> String {
    let text = HistoryTexts::in_language(visit.language());
    let name = match form {
        ValueForm::LocalTime => return local(visit, Civil(number)),
        ValueForm::Length => {
            return format::length(visit.language(), number.div_euclid(60).max(1));
        }
        ValueForm::Presence => match number {
            1 => return text.attended.to_owned(),
            2 => return text.no_show.to_owned(),
            3 => return text.pending.to_owned(),
            _ => return text.planned.to_owned(),
        },
        ValueForm::Calendar => calendar_name(visit, number),
        ValueForm::Service => service_name(visit, number),
        ValueForm::Client => client_name(visit, number),
        ValueForm::Number | ValueForm::NameAlone => None,
    };
    name.unwrap_or_else(|| number.to_string())
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

pub(crate) fn when(visit: &ProVisit, moment: Instant) -> String {
    local(visit, visit.zone().civil_of(moment))
}

fn local(visit: &ProVisit, at: Civil) -> String {
    format!("{}, {}", format::date(visit.language(), at.day()), format::time(at))
}
