//! The history of a group in requests and answers. Reference 16.

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{ObjectBuilder, Type};

use crate::domain::decisions::upkeep::history_end;
use crate::domain::directory::Directory;
use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{
    CalendarId, CalendarfeedId, CalendarsetId, CustomfieldId, FicheId, ID_MAX, InterventionId,
    InterventionsetId, ProId, VeventId, WebhookId,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::NumberedRow;
use crate::domain::state::history::page::{AuthorChoice, HistoryPage, HistoryQuery};
use crate::domain::state::history::row::{
    FieldChange, HistoryField, HistoryObject, HistoryVerb, ObjectKind,
};
use crate::domain::state::history::settings::{SettingsChange, Versions};
use crate::domain::time::{Civil, INSTANT_MAX, Instant};
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::datetime::{LocalTime, format_civil, format_rfc_3339};
use crate::wire::field::{Audience, Scope, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::params::Params;
use crate::wire::query::{FaultCollector, parse_moment, parse_number};
use crate::wire::schema::{UtcTime, at_least, of_type, of_types, one_of, pattern, schema_names};

/// Number of rows of a page without `results`.
const PAGE_DEFAULT: i64 = 50;
/// Maximum number of rows of a page.
pub const PAGE_MAX: i64 = 200;

/// The forms of the parameter `author`.
const AUTHOR_RULE: &str = "must be server, operator, visitor or unknown, professional:ID, \
                           account:ID with the id of the client, or application:KEY with the id \
                           of the key";

/// Parses the choice of rows. Rows that the group no longer keeps are left out.
///
/// # Errors
/// A malformed object, author, moment or number.
pub fn parse_query(
    params: &Params,
    state: &GroupState,
    now: Instant,
) -> Result<HistoryQuery, Vec<Fault>> {
    let zone = state.catalogue.zone();
    let mut faults = FaultCollector::default();
    let object = faults.keep_fault(parse_object(params, state));
    let author = faults.keep_fault(parse_author(params));
    let from = faults.keep_fault(parse_moment(params, "from", zone));
    let to = faults.keep_fault(parse_moment(params, "to", zone));
    if let (Some(from), Some(to)) = (from, to)
        && to <= from
    {
        faults.0.push(Fault::new("to", "must be after from"));
    }
    let below = faults.keep_fault(parse_number(params, "below", 1..=i64::MAX));
    let results = faults.keep_fault(parse_number(params, "results", 1..=PAGE_MAX));
    let kept_from = history_end(state, now);
    faults.finish(Ok(HistoryQuery {
        object,
        author,
        from: from.map_or(kept_from, |from| from.max(kept_from)),
        to: to.unwrap_or(INSTANT_MAX),
        below: below.map_or(u64::MAX, i64::cast_unsigned),
        results: usize::try_from(results.unwrap_or(PAGE_DEFAULT)).expect("a small number"),
    }))
}

fn parse_object(params: &Params, state: &GroupState) -> Result<Option<HistoryObject>, Fault> {
    const NAME: &str = "object";
    let Some(text) = params.value(NAME) else { return Ok(None) };
    let parsed = text.split_once(':').and_then(|(kind, id)| {
        let id = id.parse().ok().filter(|id| (1..=ID_MAX).contains(id))?;
        Some(HistoryObject { kind: ObjectKind::from_name(kind)?, id })
    });
    match parsed {
        Some(object) => Ok(Some(object)),
        None if text == ObjectKind::Group.name() => {
            Ok(Some(HistoryObject::of_group(state.catalogue.group.id)))
        }
        None => {
            let kinds: Vec<&str> = ObjectKind::ALL.iter().map(|kind| kind.name()).collect();
            let rule = format!("must be KIND:ID with one of the kinds {}", kinds.join(", "));
            Err(Fault::new(NAME, rule))
        }
    }
}

fn parse_author(params: &Params) -> Result<Option<AuthorChoice>, Fault> {
    const NAME: &str = "author";
    let Some(text) = params.value(NAME) else { return Ok(None) };
    match author_of(text) {
        Some(author) => Ok(Some(author)),
        None => Err(Fault::new(NAME, AUTHOR_RULE)),
    }
}

fn author_of(text: &str) -> Option<AuthorChoice> {
    let (kind, id) = text.split_once(':').unwrap_or((text, ""));
    let author = match (kind, id) {
        ("unknown", "") => return Some(AuthorChoice::Unknown),
        ("server", "") => Author::Server,
        ("operator", "") => Author::Operator,
        ("visitor", "") => Author::Visitor,
        ("application", key) => {
            let bytes = HEXLOWER_PERMISSIVE.decode(key.as_bytes()).ok()?;
            Author::Application(KeyId::from_bytes(bytes.try_into().ok()?))
        }
        ("account", id) => {
            Author::Account { client: id.parse().ok().and_then(FicheId::new)?, key: None }
        }
        ("professional", id) => {
            Author::Professional { id: id.parse().ok().and_then(ProId::new)?, key: None }
        }
        _ => return None,
    };
    Some(AuthorChoice::Known(author))
}

/// Whether an object is one of the group, or has a history there.
pub fn is_known(object: HistoryObject, state: &GroupState) -> bool {
    let catalogue = &state.catalogue;
    let HistoryObject { kind, id } = object;
    let exists = match kind {
        ObjectKind::Group => catalogue.group.id.number() == id,
        ObjectKind::Calendar => {
            CalendarId::new(id).is_some_and(|id| catalogue.calendars.contains_key(&id))
        }
        ObjectKind::Calendarset => {
            CalendarsetId::new(id).is_some_and(|id| catalogue.calendarsets.contains_key(&id))
        }
        ObjectKind::Intervention => {
            InterventionId::new(id).is_some_and(|id| catalogue.interventions.contains_key(&id))
        }
        ObjectKind::Interventionset => InterventionsetId::new(id)
            .is_some_and(|id| catalogue.interventionsets.contains_key(&id)),
        ObjectKind::Customfield => {
            CustomfieldId::new(id).is_some_and(|id| catalogue.customfields.contains_key(&id))
        }
        ObjectKind::Fiche | ObjectKind::Account => {
            FicheId::new(id).is_some_and(|id| state.fiches.contains_key(&id))
        }
        ObjectKind::Fiches => id == state.catalogue.group.id.number(),
        ObjectKind::Calendarfeed => {
            CalendarfeedId::new(id).is_some_and(|id| state.calendarfeeds.get(id).is_some())
        }
        ObjectKind::Vevent => VeventId::new(id).is_some_and(|id| state.rows.contains_key(&id)),
        ObjectKind::Webhook => {
            WebhookId::new(id).is_some_and(|id| state.webhooks.get(id).is_some())
        }
    };
    exists || state.history.tells_of(object)
}

schema_names! {
    /// An object, as its kind and its id.
    ShownObject => pattern("^[a-z]+:[0-9]+$");
    /// The act of a change.
    ShownVerb => one_of(HistoryVerb::ALL.iter().map(|verb| verb.name()));
    /// An author.
    ShownAuthor => pattern("^[a-z]+(:[0-9a-f]+)?$");
    /// The number of a row.
    ShownNumber => at_least(1);
    /// The number of a row, or null.
    ShownNext => of_types([Type::Integer, Type::Null]).minimum(Some(1));
    /// The id of a key, or null.
    ShownKey => of_types([Type::String, Type::Null]).pattern(Some("^[0-9a-f]{12}$"));
    /// The names of a person, or null.
    ShownNames => of_types([Type::String, Type::Null]);
    /// The name of a field.
    ShownField => of_type(Type::String);
    /// A value of any type.
    ShownValue => ObjectBuilder::new().schema_type(SchemaType::AnyValue);
}

/// A page of the history.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryAnswer {
    /// The rows, latest first.
    rows: Vec<HistoryRowAnswer>,
    /// The value of `below` for the next page; null if there is nothing more. Until then a page may
    /// have fewer rows than asked for, even none.
    #[schema(value_type = ShownNext)]
    next: Option<u64>,
}

/// A change of one object.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryRowAnswer {
    /// Number of the row.
    #[schema(value_type = ShownNumber)]
    id: u64,
    /// The moment, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    at: LocalTime,
    /// The same as an instant.
    #[schema(value_type = UtcTime)]
    at_utc: String,
    /// Number of the event of the group. All changes of one event have one.
    #[schema(value_type = ShownNumber)]
    sequence: u64,
    /// The author: server, operator, visitor, professional with its id, account with the id of the
    /// client, application with the id of its key, or unknown.
    #[schema(value_type = ShownAuthor)]
    author: String,
    /// The names of a professional of the group; null for others.
    #[schema(value_type = ShownNames)]
    author_name: Option<String>,
    /// The id of the key of the request; null without one, as on the pages.
    #[schema(value_type = ShownKey)]
    key: Option<String>,
    /// The object, as its kind and its id.
    #[schema(value_type = ShownObject)]
    object: String,
    /// The act.
    #[schema(value_type = ShownVerb)]
    verb: &'static str,
    /// The fields that changed.
    fields: Vec<FieldChangeAnswer>,
}

/// A field that changed. Of texts and of what tells of a person it has the name alone.
#[derive(Debug, Serialize, ToSchema)]
pub struct FieldChangeAnswer {
    /// Its name.
    #[schema(value_type = ShownField)]
    pub(crate) field: String,
    /// Its value before; left out if there was none, or it is not kept.
    #[schema(value_type = Option<ShownValue>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Value>,
    /// Its value after; left out if there is none, or it is not kept.
    #[schema(value_type = Option<ShownValue>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Value>,
}

impl HistoryAnswer {
    /// The answer with a page of the history of a group.
    pub fn new(page: HistoryPage, state: &GroupState, directory: &Directory) -> Self {
        let rows = page.rows.iter().map(|row| HistoryRowAnswer::new(row, state, directory));
        Self { rows: rows.collect(), next: page.next }
    }
}

impl HistoryRowAnswer {
    /// The answer about one row.
    pub fn new(numbered: &NumberedRow, state: &GroupState, directory: &Directory) -> Self {
        let row = &numbered.row;
        let mut fields: Vec<FieldChangeAnswer> = row.fields.iter().map(field_answer).collect();
        if let Some(change) = &numbered.settings {
            fields.extend(settings_fields(change, state));
        }
        Self {
            id: numbered.number,
            at: LocalTime::new(state.catalogue.zone(), row.at),
            at_utc: format_rfc_3339(row.at),
            sequence: row.sequence,
            author: author_text(row.author),
            author_name: author_name(row.author, state, directory),
            key: row.author.and_then(key_of).map(|key| key.to_string()),
            object: format!("{}:{}", row.object.kind.name(), row.object.id),
            verb: row.verb.name(),
            fields,
        }
    }
}

impl HistoryRowAnswer {
    /// The same as an object, for documents.
    pub fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            other => unreachable!("a row is an object: {other:?}"),
        }
    }
}

/// The text that names an author.
pub fn author_text(author: Option<Author>) -> String {
    match author {
        None => "unknown".into(),
        Some(Author::Server) => "server".into(),
        Some(Author::Operator) => "operator".into(),
        Some(Author::Visitor) => "visitor".into(),
        Some(Author::Application(key)) => format!("application:{key}"),
        Some(Author::Account { client, .. }) => format!("account:{client}"),
        Some(Author::Professional { id, .. }) => format!("professional:{id}"),
    }
}

/// The names of a professional who works for the group.
pub fn author_name(
    author: Option<Author>,
    state: &GroupState,
    directory: &Directory,
) -> Option<String> {
    let Some(Author::Professional { id, .. }) = author else { return None };
    let pro = directory.pros.get(&id)?;
    if !pro.works_for(state.catalogue.group.id) {
        return None;
    }
    Some(pro.names()?.as_str().to_owned())
}

/// The key of the request of an author.
pub const fn key_of(author: Author) -> Option<KeyId> {
    match author {
        Author::Server | Author::Operator | Author::Visitor => None,
        Author::Application(key) => Some(key),
        Author::Account { key, .. } | Author::Professional { key, .. } => key,
    }
}

fn field_answer(change: &FieldChange) -> FieldChangeAnswer {
    let value = |value: i64| field_value(change.field, value);
    FieldChangeAnswer {
        field: change.field.name().to_owned(),
        before: change.before.map(value),
        after: change.after.map(value),
    }
}

/// The value of a field in JSON, as records have it.
fn field_value(field: HistoryField, value: i64) -> Value {
    if field.is_civil() {
        format_civil(Civil(value)).into()
    } else if field.is_flag() {
        Value::Bool(value != 0)
    } else if field == HistoryField::StartUtc {
        format_rfc_3339(Instant(value)).into()
    } else {
        value.into()
    }
}

/// The fields of settings that differ, as professionals read them.
pub fn settings_fields(change: &SettingsChange, state: &GroupState) -> Vec<FieldChangeAnswer> {
    match change {
        SettingsChange::Group(versions) => differences(&GROUP, versions, state),
        SettingsChange::Calendar(versions) => differences(&CALENDAR, versions, state),
        SettingsChange::Calendarset(versions) => differences(&CALENDARSET, versions, state),
        SettingsChange::Intervention(versions) => differences(&INTERVENTION, versions, state),
        SettingsChange::Interventionset(versions) => differences(&INTERVENTIONSET, versions, state),
        SettingsChange::Customfield(versions) => differences(&CUSTOMFIELD, versions, state),
    }
}

fn differences<R: 'static>(
    table: &Table<R>,
    versions: &Versions<R>,
    state: &GroupState,
) -> Vec<FieldChangeAnswer> {
    let scope = Scope::for_group(state);
    let render = |record: &R| table.render(record, &scope, Audience::Pro);
    let before = versions.before.as_deref().map(render).unwrap_or_default();
    let after = versions.after.as_deref().map(render).unwrap_or_default();
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let value = |record: &Map<String, Value>, name: &str| record.get(name).cloned();
    let mut changes = Vec::new();
    for name in names {
        let is_stamp = name.starts_with("created_at") || name.starts_with("updated_at");
        let change = FieldChangeAnswer {
            field: name.clone(),
            before: value(&before, name),
            after: value(&after, name),
        };
        if !is_stamp && name != "id" && !change.is_empty() {
            changes.push(change);
        }
    }
    changes
}

impl FieldChangeAnswer {
    /// Whether both values are the same, or there is one that is unset.
    fn is_empty(&self) -> bool {
        let is_unset = |value: &Value| value.is_null() || value.as_str() == Some("");
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before == after,
            (Some(only), None) | (None, Some(only)) => is_unset(only),
            (None, None) => true,
        }
    }
}
