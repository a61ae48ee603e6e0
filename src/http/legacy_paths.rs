//! Older paths without a group segment, and the group that they mean. Reference 1.6.
//!
//! Only there may the apikey stand in the body, beside the wrapped object.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::directory::Directory;
use crate::domain::directory::id_blocks::{Block, IdKind};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId, VeventId};
use crate::domain::state::group_state::GroupState;
use crate::engine::published::Published;
use crate::http::auth::Identity;
use crate::http::body::Incoming;
use crate::http::error::ApiError;
use crate::http::request::{find_visible_group, name_group};
use crate::wire::params::Params;
use crate::wire::value;

/// The rule for a request that names no group, by a caller without a group of its own.
const NO_GROUP_NAMED: &str =
    "is required: the path names no group, and neither the credentials nor the key imply one";

/// The record type that `{id}` identifies on an older path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegacyRecord {
    Calendar,
    Fiche,
    Vevent,
    Appointment,
    Intervention,
}

impl LegacyRecord {
    /// The name under which a body wraps such a record.
    fn resource(self) -> &'static str {
        match self {
            Self::Calendar => "calendar",
            Self::Fiche => "fiche",
            Self::Vevent => "vevent",
            Self::Appointment => "appointment",
            Self::Intervention => "intervention",
        }
    }

    /// The id space of such records. Appointments are vevents.
    fn id_kind(self) -> IdKind {
        match self {
            Self::Calendar => IdKind::Calendar,
            Self::Fiche => IdKind::Fiche,
            Self::Vevent | Self::Appointment => IdKind::Vevent,
            Self::Intervention => IdKind::Intervention,
        }
    }

    /// Whether a group has the record with that id.
    fn exists_in(self, state: &GroupState, number: u64) -> bool {
        let catalogue = &state.catalogue;
        match self {
            Self::Calendar => {
                CalendarId::new(number).is_some_and(|id| catalogue.calendars.contains_key(&id))
            }
            Self::Fiche => FicheId::new(number).is_some_and(|id| state.fiches.contains_key(&id)),
            Self::Vevent | Self::Appointment => {
                VeventId::new(number).is_some_and(|id| state.rows.contains_key(&id))
            }
            Self::Intervention => InterventionId::new(number)
                .is_some_and(|id| catalogue.interventions.contains_key(&id)),
        }
    }
}

/// Copies the apikey from the body to the parameters, if the query has none.
///
/// # Errors
/// As [`Incoming::peek`].
pub(crate) async fn take_key(params: &mut Params, body: &mut Incoming<'_>) -> Result<(), ApiError> {
    if params.value("apikey").is_some() {
        return Ok(());
    }
    let Some(object) = body.peek(false).await? else { return Ok(()) };
    if let Some(Value::String(key)) = object.get("apikey") {
        params.push("apikey", key);
    }
    Ok(())
}

/// Returns the state of the group that has the record of the path.
///
/// # Errors
/// 404, both for a record that does not exist and for one in a group that the caller does not see.
pub(crate) fn find_visible_owner(
    record: LegacyRecord,
    id: Option<u64>,
    identity: &Identity,
    published: &Published,
) -> Result<Arc<GroupState>, ApiError> {
    match find_state(record, id, published, |group| identity.sees(group)) {
        Some(state) => Ok(state),
        None => Err(ApiError::no_result()),
    }
}

/// Returns the group that has the record of the path, whether or not the caller sees it.
pub(crate) fn find_owner(
    record: LegacyRecord,
    id: Option<u64>,
    published: &Published,
) -> Option<GroupId> {
    let state = find_state(record, id, published, |_| true)?;
    Some(state.catalogue.group.id)
}

/// Returns the state of the group that has the record, among the groups that `wanted` accepts.
fn find_state(
    record: LegacyRecord,
    id: Option<u64>,
    published: &Published,
    wanted: impl Fn(GroupId) -> bool,
) -> Option<Arc<GroupState>> {
    let number = id?;
    // The directory is read after the request arrived, and a block is granted before any of its
    // ids is used. So a client that has seen an id finds its block here.
    let directory = published.directory();
    for group in find_owners(&directory, record, number) {
        if wanted(*group)
            && let Some(state) = published.group_state(*group)
            && record.exists_in(&state, number)
        {
            return Some(state);
        }
    }
    None
}

/// Returns the groups that may have the record.
fn find_owners(directory: &Directory, record: LegacyRecord, number: u64) -> &[GroupId] {
    match directory.blocks.find(record.id_kind(), number) {
        Some(Block::Granted(group)) => std::slice::from_ref(group),
        Some(Block::Imported(groups)) => groups,
        None => &[],
    }
}

/// Returns the group that the query or the body names, whether or not the caller sees it.
///
/// # Errors
/// As [`Incoming::peek`].
pub(crate) async fn named_group(
    record: LegacyRecord,
    params: &Params,
    body: &mut Incoming<'_>,
) -> Result<Option<GroupId>, ApiError> {
    let Some(given) = given_group_id(record, params, body).await? else { return Ok(None) };
    Ok(value::parse_id(&given).ok().flatten().and_then(GroupId::new))
}

/// Returns the first non-empty `group_id` of the query, the body and the object in the body.
async fn given_group_id(
    record: LegacyRecord,
    params: &Params,
    body: &mut Incoming<'_>,
) -> Result<Option<Value>, ApiError> {
    if let Some(text) = params.value("group_id") {
        return Ok(Some(Value::from(text)));
    }
    let is_identified = params.value("apikey").is_some();
    let Some(body) = body.peek(is_identified).await? else { return Ok(None) };
    if let Some(given) = body.get("group_id")
        && !value::is_empty(given)
    {
        return Ok(Some(given.clone()));
    }
    match body.get(record.resource()).and_then(|object| object.get("group_id")) {
        Some(given) if !value::is_empty(given) => Ok(Some(given.clone())),
        _ => Ok(None),
    }
}

/// The group of a request on an older path.
pub(crate) enum NamedGroup {
    /// A group that the caller sees.
    Found(Arc<GroupState>),
    /// None is named. Missing rights are reported before this fault.
    Missing(Fault),
}

impl NamedGroup {
    /// Returns the group that was found.
    pub(crate) fn found(&self) -> Option<&GroupState> {
        match self {
            Self::Found(state) => Some(state),
            Self::Missing(_) => None,
        }
    }
}

/// Returns the only group that the caller sees which has the calendar and the interventions of a
/// booking, and is that of its fiche.
fn find_group_of_booking(
    booking: &Map<String, Value>,
    identity: &Identity,
    published: &Published,
) -> NamedGroup {
    let missing = |rule: &str| NamedGroup::Missing(Fault::new("group_id", rule));
    // Ids that are malformed are faults of their own once the group is known.
    let number = |given: Option<&Value>| value::parse_id(given?).ok().flatten();
    let mut ids = Vec::new();
    if let Some(calendar) = number(booking.get("calendar_id")) {
        ids.push((LegacyRecord::Calendar, calendar));
    }
    let interventions = booking.get("intervention_ids").map(value::parse_ids);
    for intervention in interventions.and_then(Result::ok).unwrap_or_default() {
        ids.push((LegacyRecord::Intervention, intervention));
    }
    let directory = published.directory();
    let of_fiche = number(booking.get("fiche").and_then(|fiche| fiche.get("group_id")));
    let of_fiche = of_fiche.and_then(GroupId::new);
    let owners: &[GroupId] = match (&of_fiche, ids.first()) {
        (Some(group), _) => std::slice::from_ref(group),
        (None, Some((record, number))) => find_owners(&directory, *record, *number),
        (None, None) => return missing(NO_GROUP_NAMED),
    };
    let mut found = None;
    for group in owners {
        if identity.sees(*group)
            && let Some(state) = published.group_state(*group)
            && ids.iter().all(|(record, number)| record.exists_in(&state, *number))
        {
            if found.is_some() {
                return missing("is required: several groups have the ids of this booking");
            }
            found = Some(state);
        }
    }
    match found {
        Some(state) => NamedGroup::Found(state),
        None => missing("is required: the ids of this booking are not all of one group"),
    }
}

/// Returns the group that the query or the body names, else the caller's own group, else that of
/// the ids of a booking.
///
/// # Errors
/// 404 for a group that the caller does not see; otherwise as [`Incoming::peek`].
pub(crate) async fn find_named_group(
    record: LegacyRecord,
    params: &Params,
    body: &mut Incoming<'_>,
    identity: &Identity,
    published: &Published,
) -> Result<NamedGroup, ApiError> {
    let group = match given_group_id(record, params, body).await? {
        Some(given) => match value::parse_id(&given) {
            Ok(number) => number.and_then(GroupId::new),
            Err(illegal) => {
                return Ok(NamedGroup::Missing(Fault::new("group_id", illegal.0)));
            }
        },
        None => match identity.home() {
            Some(home) => Some(home),
            None => {
                let body = body.peek(params.value("apikey").is_some()).await?;
                let booking = body.and_then(|body| body.get(record.resource()));
                return Ok(match (record, booking) {
                    (LegacyRecord::Appointment, Some(Value::Object(booking))) => {
                        find_group_of_booking(booking, identity, published)
                    }
                    _ => NamedGroup::Missing(Fault::new("group_id", NO_GROUP_NAMED)),
                });
            }
        },
    };
    match find_visible_group(group, identity, published) {
        Ok(state) => Ok(NamedGroup::Found(state)),
        Err(error) => Err(error.naming(&name_group(group))),
    }
}
