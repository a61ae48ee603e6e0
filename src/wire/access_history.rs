//! The history of access in requests and answers. Reference 16.5.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::Type;

use crate::domain::decisions::upkeep::history_end;
use crate::domain::directory::Directory;
use crate::domain::directory::access_history::{
    AccessAct, AccessPage, AccessQuery, AccessRow, LoginPerson,
};
use crate::domain::directory::roles::ProRole;
use crate::domain::records::fault::Fault;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{INSTANT_MAX, Instant};
use crate::wire::datetime::{LocalTime, format_rfc_3339};
use crate::wire::history::{PAGE_MAX, author_name, author_text, key_of};
use crate::wire::params::Params;
use crate::wire::query::{FaultCollector, parse_moment, parse_number};
use crate::wire::schema::{UtcTime, at_least, of_types, one_of, pattern, schema_names};

/// Number of rows of a page without `results`.
const PAGE_DEFAULT: i64 = 50;

/// The acts, as answers name them.
const VERBS: [&str; 15] = [
    "factor_set",
    "factor_removed",
    "made",
    "changed",
    "removed",
    "added",
    "left",
    "password",
    "role",
    "invited",
    "answered",
    "logged_in",
    "login_failed",
    "exported",
    "logged_out",
];

/// Parses the choice of rows. Rows that the group no longer keeps are left out.
///
/// # Errors
/// A malformed moment or number.
pub fn parse_access_query(
    params: &Params,
    state: &GroupState,
    now: Instant,
) -> Result<AccessQuery, Vec<Fault>> {
    let zone = state.catalogue.zone();
    let mut faults = FaultCollector::default();
    let from = faults.keep_fault(parse_moment(params, "from", zone));
    let to = faults.keep_fault(parse_moment(params, "to", zone));
    let below = faults.keep_fault(parse_number(params, "below", 1..=i64::MAX));
    let results = faults.keep_fault(parse_number(params, "results", 1..=PAGE_MAX));
    let kept_from = history_end(state, now);
    faults.finish(Ok(AccessQuery {
        group: state.catalogue.group.id,
        from: from.map_or(kept_from, |from| from.max(kept_from)),
        to: to.unwrap_or(INSTANT_MAX),
        below: below.map_or(u64::MAX, i64::cast_unsigned),
        results: usize::try_from(results.unwrap_or(PAGE_DEFAULT)).expect("a small number"),
    }))
}

schema_names! {
    /// The number of a row.
    AccessNumber => at_least(1);
    /// The number of a row, or null.
    AccessNext => of_types([Type::Integer, Type::Null]).minimum(Some(1));
    /// An author.
    AccessAuthor => pattern("^[a-z]+(:[0-9a-f]+)?$");
    /// A text, or null.
    AccessText => of_types([Type::String, Type::Null]);
    /// The object of an act.
    AccessObject => pattern("^[a-z]+:[0-9a-f]+$");
    /// The act.
    AccessVerb => one_of(VERBS);
}

/// A page of the history of access.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccessHistoryAnswer {
    /// The rows, latest first.
    rows: Vec<AccessRowAnswer>,
    /// The value of `below` for the next page; null if there is nothing more. Until then a page may
    /// have fewer rows than asked for, even none.
    #[schema(value_type = AccessNext)]
    next: Option<u64>,
}

/// An act on keys or professionals, a login or an export.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccessRowAnswer {
    /// Number of the row.
    #[schema(value_type = AccessNumber)]
    id: u64,
    /// The moment, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    at: LocalTime,
    /// The same as an instant.
    #[schema(value_type = UtcTime)]
    at_utc: String,
    /// The author, as in the history of changes; unknown for a login that failed.
    #[schema(value_type = AccessAuthor)]
    author: String,
    /// The names of a professional of the group; null for others.
    #[schema(value_type = AccessText)]
    author_name: Option<String>,
    /// The id of the key of the request; null without one.
    #[schema(value_type = AccessText)]
    key: Option<String>,
    /// The object: key, pro, account, invitation, fiche or group, with its id.
    #[schema(value_type = AccessObject)]
    object: String,
    /// The act.
    #[schema(value_type = AccessVerb)]
    verb: &'static str,
    /// The address that a login came from; null for other acts.
    #[schema(value_type = AccessText)]
    source: Option<String>,
    /// The role that a professional got; null for other acts.
    #[schema(value_type = AccessText)]
    role: Option<String>,
}

impl AccessHistoryAnswer {
    /// The answer with a page about a group.
    pub fn new(page: AccessPage, state: &GroupState, directory: &Directory) -> Self {
        let rows = page.rows.iter();
        let rows = rows.map(|(number, row)| AccessRowAnswer::new(*number, row, state, directory));
        Self { rows: rows.collect(), next: page.next }
    }
}

impl AccessRowAnswer {
    /// The answer about one row.
    pub fn new(number: u64, row: &AccessRow, state: &GroupState, directory: &Directory) -> Self {
        let source = match &row.act {
            AccessAct::LoggedIn { source, .. } | AccessAct::LoginFailed { source, .. } => {
                Some(source.as_str().to_owned())
            }
            AccessAct::KeyAdded(_)
            | AccessAct::KeyChanged(_)
            | AccessAct::KeyRevoked(_)
            | AccessAct::ProAdded(_)
            | AccessAct::ProRemoved(_)
            | AccessAct::PasswordSet(_)
            | AccessAct::RoleSet { .. }
            | AccessAct::Invited { .. }
            | AccessAct::InvitationEnded { .. }
            | AccessAct::Exported
            | AccessAct::ClientExported(_)
            | AccessAct::FactorSet(_)
            | AccessAct::FactorRemoved(_)
            | AccessAct::LoggedOut(_) => None,
        };
        let role = if let AccessAct::RoleSet { role, .. } = &row.act {
            ProRole::NAMES.get(usize::from(*role)).map(|name| (*name).to_owned())
        } else {
            None
        };
        Self {
            id: number,
            at: LocalTime::new(state.catalogue.zone(), row.at),
            at_utc: format_rfc_3339(row.at),
            author: author_text(row.author),
            author_name: author_name(row.author, state, directory),
            key: row.author.and_then(key_of).map(|key| key.to_string()),
            object: object_text(&row.act, state),
            verb: verb_of(&row.act),
            source,
            role,
        }
    }

    /// The same as an object, for documents.
    pub fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            other => unreachable!("a row is an object: {other:?}"),
        }
    }
}

/// The text that names what an act was about.
pub(crate) fn object_text(act: &AccessAct, state: &GroupState) -> String {
    match act {
        AccessAct::KeyAdded(key) | AccessAct::KeyChanged(key) | AccessAct::KeyRevoked(key) => {
            format!("key:{key}")
        }
        AccessAct::ProAdded(pro)
        | AccessAct::ProRemoved(pro)
        | AccessAct::PasswordSet(pro)
        | AccessAct::FactorSet(pro)
        | AccessAct::FactorRemoved(pro)
        | AccessAct::RoleSet { pro, .. } => format!("pro:{pro}"),
        AccessAct::Invited { number } | AccessAct::InvitationEnded { number, .. } => {
            format!("invitation:{number}")
        }
        AccessAct::LoggedIn { person, .. }
        | AccessAct::LoginFailed { person, .. }
        | AccessAct::LoggedOut(person) => match person {
            LoginPerson::Pro(pro) => format!("pro:{pro}"),
            LoginPerson::Account(_, client) => format!("account:{client}"),
        },
        AccessAct::Exported => format!("group:{}", state.catalogue.group.id),
        AccessAct::ClientExported(client) => format!("fiche:{client}"),
    }
}

/// The name of an act.
pub(crate) const fn verb_of(act: &AccessAct) -> &'static str {
    match act {
        AccessAct::KeyAdded(_) => "made",
        AccessAct::KeyChanged(_) => "changed",
        AccessAct::KeyRevoked(_) => "removed",
        AccessAct::ProAdded(_) => "added",
        AccessAct::ProRemoved(_) => "left",
        AccessAct::PasswordSet(_) => "password",
        AccessAct::RoleSet { .. } => "role",
        AccessAct::Invited { .. } => "invited",
        AccessAct::InvitationEnded { .. } => "answered",
        AccessAct::LoggedIn { .. } => "logged_in",
        AccessAct::LoginFailed { .. } => "login_failed",
        AccessAct::Exported | AccessAct::ClientExported(_) => "exported",
        AccessAct::FactorSet(_) => "factor_set",
        AccessAct::FactorRemoved(_) => "factor_removed",
        AccessAct::LoggedOut(_) => "logged_out",
    }
}
