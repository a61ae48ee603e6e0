//! The endpoint of a group's appointment module: everything that a booking page needs. Reference
//! 13.16.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::domain::availability::module_offer::{offers_all, shown_calendars, shown_interventions};
use crate::domain::records::ids::CustomfieldId;
use crate::domain::records::intervention::Intervention;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, Shape, handler};
use crate::http::permissions::{ANY_KEY, Resource, Verb};
use crate::http::request::{ApiRequest, find_visible_group};
use crate::http::response::{HandlerResult, json_response, to_json};
use crate::wire::calendar::{CALENDAR, SHOWN_CALENDARSET};
use crate::wire::column_value::FieldType;
use crate::wire::field::{Audience, Scope};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::schema::{named, schema_names, schema_of, shown};

/// Maximum number of records, and of calendars times interventions, of a module that is rendered on
/// a thread that serves connections: well under a millisecond.
const INLINE_RECORDS_MAX: usize = 60;

const MODULE: Answer =
    Answer::json(200, "what the module shows", Shape::Named("Module", schema_of::<Module<'_>>));

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[Endpoint::get(
    &[EndpointPath::current("/api/v1/modules/{urlname}")],
    handler!(AtLarge, show),
)
.named("ShowModule", "Get everything that a booking page of a group needs")
.right(Resource::Module, Verb::Show, ANY_KEY)
.answers(&[MODULE])];

/// Everything that a booking page of a group needs.
#[derive(Serialize, ToSchema)]
struct Module<'s> {
    /// The settings of the group.
    #[schema(value_type = ShownGroup)]
    group: Map<String, Value>,
    /// The sets of calendars that are shown.
    #[schema(value_type = Vec<ShownCalendarset>)]
    calendarsets: Vec<Map<String, Value>>,
    /// The calendars that are shown; each also has intervention_ids, which it offers.
    #[schema(value_type = Vec<ShownCalendar>)]
    calendars: Vec<Map<String, Value>>,
    /// The sets that are shown.
    #[schema(value_type = Vec<ShownInterventionset>)]
    interventionsets: Vec<Map<String, Value>>,
    /// The interventions that are shown.
    #[schema(value_type = Vec<ShownIntervention>)]
    interventions: Vec<Map<String, Value>>,
    /// The attributes that clients see.
    customfields: Vec<ShownCustomfield<'s>>,
}

/// A customised attribute that clients see.
#[derive(Serialize, ToSchema)]
struct ShownCustomfield<'s> {
    /// Id of the customfield.
    id: CustomfieldId,
    /// Fiche for a client, Vevent for an appointment.
    model: &'static str,
    /// Name of the attribute in a booking, such as str0.
    name: String,
    /// Label for clients.
    user_label: &'s str,
    /// Description of the input for clients, as JSON.
    user_inputex: &'s str,
    /// Position in a form; null if none is set.
    #[schema(value_type = Position)]
    user_position: Option<i64>,
    /// Whether a booking must give a value.
    user_required: bool,
}

schema_names! {
    ShownGroup => named("Group");
    ShownCalendarset => named("Calendarset");
    ShownCalendar => named("Calendar");
    ShownInterventionset => named("Interventionset");
    ShownIntervention => named("Intervention");
    Position => shown(
        FieldType::Integer { min: i64::from(i32::MIN), max: i64::from(i32::MAX) },
        true,
    );
}

/// GET /api/v1/modules/{urlname}, by every caller that sees the group. All see what the module
/// shows to the public.
async fn show(request: ApiRequest) -> HandlerResult {
    let urlname = request.params.value("urlname").unwrap_or_default();
    let published = request.server.engine.published();
    let group = published.group_of_urlname(urlname);
    let state = match find_visible_group(group, &request.identity, published) {
        Ok(state) => state,
        Err(error) => return Err(error.naming("module with this urlname")),
    };
    let catalogue = &state.catalogue;
    let now = request.now;
    // Each calendar is judged for each intervention.
    let records = catalogue.calendars.len() * (1 + catalogue.interventions.len())
        + catalogue.calendarsets.len()
        + catalogue.interventionsets.len()
        + catalogue.customfields.len();
    let bytes = if records <= INLINE_RECORDS_MAX {
        render_module(&state, now)
    } else {
        let render = move || render_module(&state, now);
        request.server.blocking_pool.run(render).await?
    };
    Ok(json_response(StatusCode::OK, bytes))
}

fn render_module(state: &GroupState, now: Instant) -> Vec<u8> {
    let catalogue = &state.catalogue;
    let scope = Scope::for_group(state).at_moment(now);
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
            customfields.push(ShownCustomfield {
                id: field.id,
                model: field.model.name(),
                name: field.name.to_string(),
                user_label: field.user_label.as_str(),
                user_inputex: field.user_inputex.as_str(),
                user_position: field.user_position,
                user_required: field.user_required,
            });
        }
    }
    let interventions =
        shown.iter().map(|one| INTERVENTION.render(one, &scope, audience)).collect();
    to_json(&Module {
        group: GROUP.render(&catalogue.group, &scope, audience),
        calendarsets,
        calendars,
        interventionsets,
        interventions,
        customfields,
    })
}
