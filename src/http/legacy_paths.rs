//! Older paths without the group segment: which group they mean. Reference 1, 13.2, 13.8.
//!
//! There, and only there, the apikey may stand in the body next to the wrapped object.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::identity::directory::{BLOCK, Block, IdKind};
use crate::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId, VeventId};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::engine::published::Published;
use crate::http::auth::Identity;
use crate::http::body::Incoming;
use crate::http::error::ApiError;
use crate::http::pipeline::visible;
use crate::wire::params::Params;
use crate::wire::value;

/// What a caller is told who has named no group and has none of its own.
const NOTHING_NAMED: &str =
    "is required: the path names no group, and neither the credentials nor the key mean only one";

/// What the objects of an older path are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Calendar,
    Fiche,
    Vevent,
    Appointment,
    Intervention,
}

impl Sort {
    /// The name under which a body wraps one.
    fn resource(self) -> &'static str {
        match self {
            Self::Calendar => "calendar",
            Self::Fiche => "fiche",
            Self::Vevent => "vevent",
            Self::Appointment => "appointment",
            Self::Intervention => "intervention",
        }
    }

    /// Whose ids its ids are: an appointment's is its event's.
    fn ids(self) -> IdKind {
        match self {
            Self::Calendar => IdKind::Calendar,
            Self::Fiche => IdKind::Fiche,
            Self::Vevent | Self::Appointment => IdKind::Vevent,
            Self::Intervention => IdKind::Intervention,
        }
    }

    /// Whether a group has the object of that number.
    fn is_in(self, state: &GroupState, number: u64) -> bool {
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

/// Takes the apikey from the body, where the query has none.
pub(crate) async fn take_key(params: &mut Params, body: &mut Incoming<'_>) {
    if params.value("apikey").is_none()
        && let Some(key) =
            body.peek().await.and_then(|body| body.get("apikey")).and_then(Value::as_str)
    {
        params.push("apikey", key);
    }
}

/// The group that has the object of the path.
///
/// # Errors
/// 404, the same for an object that is not there and for one that the caller may not see.
pub(crate) fn root_of(
    sort: Sort,
    id: Option<u64>,
    identity: &Identity,
    published: &Published,
) -> Result<Arc<GroupState>, ApiError> {
    let state = holder(sort, id, published, |group| identity.sees(group));
    state.ok_or_else(ApiError::no_result)
}

/// The group that has the object of the path, whoever asks.
pub(crate) fn owner(sort: Sort, id: Option<u64>, published: &Published) -> Option<GroupId> {
    holder(sort, id, published, |_| true).map(|state| state.catalogue.group.id)
}

/// The state, among those of groups that are wanted, that has the object of that number.
fn holder(
    sort: Sort,
    id: Option<u64>,
    published: &Published,
    wanted: impl Fn(GroupId) -> bool,
) -> Option<Arc<GroupState>> {
    let number = id?;
    // Whoever has been answered with an id finds its block: the grant is older than what was written with it.
    let directory = published.directory();
    let owners: &[GroupId] = match directory.blocks.get(&(sort.ids(), number / BLOCK)) {
        Some(Block::Granted(group)) => std::slice::from_ref(group),
        Some(Block::Imported(groups)) => groups,
        None => &[],
    };
    let mut states = owners
        .iter()
        .filter(|group| wanted(**group))
        .filter_map(|group| published.group_state(*group));
    states.find(|state| sort.is_in(state, number))
}

/// The group that a query or a body names, whoever asks.
pub(crate) async fn named(sort: Sort, params: &Params, body: &mut Incoming<'_>) -> Option<GroupId> {
    GroupId::new(value::parse_id(&group_id(sort, params, body).await?).ok()??)
}

/// The group_id of the query, of the body, of the object that the body wraps.
async fn group_id(sort: Sort, params: &Params, body: &mut Incoming<'_>) -> Option<Value> {
    if let Some(text) = params.value("group_id") {
        return Some(Value::from(text));
    }
    let body = body.peek().await?;
    let wrapped = || body.get(sort.resource()).and_then(|object| object.get("group_id"));
    let given = |value: &&Value| !value::is_empty(value);
    body.get("group_id").filter(given).or_else(wrapped).filter(given).cloned()
}

/// The group of a list, or of an object to be made: the group_id of the query, of the body, of the object that the body
/// wraps; else the caller's own. Where none of them says which, the fault that is told once parameters have their turn.
///
/// # Errors
/// 404 for a group that the caller does not see.
pub(crate) async fn root_named(
    sort: Sort,
    params: &Params,
    body: &mut Incoming<'_>,
    identity: &Identity,
    published: &Published,
) -> Result<Result<Arc<GroupState>, Fault>, ApiError> {
    let group = match group_id(sort, params, body).await.as_ref().map(value::parse_id) {
        Some(Ok(number)) => number.and_then(GroupId::new),
        Some(Err(illegal)) => return Ok(Err(Fault::new("group_id", illegal.0))),
        None => match identity.home() {
            Some(home) => Some(home),
            None => return Ok(Err(Fault::new("group_id", NOTHING_NAMED))),
        },
    };
    visible(group, identity, published).map(Ok)
}
