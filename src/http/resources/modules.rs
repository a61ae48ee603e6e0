//! The endpoint of a group's appointment module: everything that a booking page needs. Reference
//! 13.16.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::domain::availability::module_offer::{offers_all, shown_calendars, shown_interventions};
use crate::domain::records::intervention::Intervention;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, Shape, handler};
use crate::http::openapi::answers;
use crate::http::permissions::{ANY_KEY, Resource, Verb};
use crate::http::request::{ApiRequest, find_visible_group};
use crate::http::response::{HandlerResult, json_response};
use crate::wire::calendar::{CALENDAR, SHOWN_CALENDARSET};
use crate::wire::field::{Audience, Scope};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};

/// Maximum number of records, and of calendars times interventions, of a module that is rendered on
/// a thread that serves connections: well under a millisecond.
const INLINE_RECORDS_MAX: usize = 60;

const MODULE: Answer =
    Answer::json(200, "what the module shows", Shape::Named("Module", answers::module));

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[Endpoint::get(
    &[EndpointPath::current("/api/v1/modules/{urlname}")],
    handler!(AtLarge, show),
)
.named("ShowModule", "Get everything that a booking page of a group needs")
.right(Resource::Module, Verb::Show, ANY_KEY)
.answers(&[MODULE])];

/// GET /api/v1/modules/{urlname}, by every caller that sees the group. All see what the module
/// shows to the public.
async fn show(request: ApiRequest) -> HandlerResult {
    let urlname = request.params.value("urlname").unwrap_or_default();
    let published = request.server.engine.published();
    let group = published.group_of_urlname(urlname);
    let state = find_visible_group(group, &request.identity, published)?;
    let (catalogue, now) = (&state.catalogue, request.now);
    // Each calendar is judged for each intervention.
    let records = catalogue.calendars.len() * (1 + catalogue.interventions.len())
        + catalogue.calendarsets.len()
        + catalogue.interventionsets.len()
        + catalogue.customfields.len();
    let bytes = if records <= INLINE_RECORDS_MAX {
        render_module(&state, now).to_string()
    } else {
        let render = move || render_module(&state, now).to_string();
        request.server.blocking_pool.run(render).await?
    };
    Ok(json_response(StatusCode::OK, bytes.into_bytes()))
}

fn render_module(state: &GroupState, now: Instant) -> Value {
    let (catalogue, scope) = (&state.catalogue, Scope::for_group(state).at_moment(now));
    let audience = Audience::Application;
    let shown = shown_interventions(catalogue);
    let mut calendars = Vec::new();
    for calendar in shown_calendars(catalogue) {
        let mut record = CALENDAR.render(calendar, &scope, audience);
        let offered = |one: &&&Intervention| {
            offers_all(&state.catalogue, &state.calendars, calendar.id, &[one.id], now)
        };
        let ids: Vec<u64> = shown.iter().filter(offered).map(|one| one.id.number()).collect();
        record.insert("intervention_ids".to_owned(), json!(ids));
        calendars.push(record);
    }
    let mut calendarsets = Vec::new();
    for set in catalogue.calendarsets.values() {
        if !set.hidden {
            calendarsets.push(SHOWN_CALENDARSET.render(set, &scope, audience));
        }
    }
    let mut interventionsets = Vec::new();
    for set in catalogue.interventionsets.values() {
        if !set.publicname.is_blank() {
            interventionsets.push(INTERVENTIONSET.render(set, &scope, audience));
        }
    }
    let mut customfields = Vec::new();
    for field in catalogue.customfields.values() {
        if field.user_visible && !field.deleted {
            customfields.push(json!({
                "id": field.id.number(),
                "model": field.model.name(),
                "name": field.name.to_string(),
                "user_label": field.user_label.as_str(),
                "user_inputex": field.user_inputex.as_str(),
                "user_position": field.user_position,
                "user_required": field.user_required,
            }));
        }
    }
    let interventions: Vec<_> =
        shown.iter().map(|one| INTERVENTION.render(one, &scope, audience)).collect();
    json!({
        "group": GROUP.render(&catalogue.group, &scope, audience),
        "calendarsets": calendarsets,
        "calendars": calendars,
        "interventionsets": interventionsets,
        "interventions": interventions,
        "customfields": customfields,
    })
}
