//! All endpoints of the API, from the lists of the resource files. Reference 13.

use axum::http::Method;

use crate::http::endpoint::{Endpoint, OperatorEndpoint, Route};
use crate::http::resources::operator::{erasures, first_run, keys, pros as operator_pros, store};
use crate::http::resources::{
    accounts, agenda, alike, appointments, batch, bulk_vevents, calendarfeeds, calendars, changes,
    client_accounts, customfields, docs, dry_runs, exports, fiches, groups, health, history, holds,
    hours, images, interventions, invitations, messages, modules, pros, retention, sessions, sets,
    slots, vevents, webhooks,
};

/// The endpoint lists of all files.
static ENDPOINT_LISTS: [&[Endpoint]; 32] = [
    health::ENDPOINTS,
    docs::ENDPOINTS,
    sessions::ENDPOINTS,
    accounts::ENDPOINTS,
    client_accounts::ENDPOINTS,
    groups::ENDPOINTS,
    calendars::ENDPOINTS,
    hours::ENDPOINTS,
    sets::ENDPOINTS,
    interventions::ENDPOINTS,
    invitations::ENDPOINTS,
    customfields::ENDPOINTS,
    images::ENDPOINTS,
    calendarfeeds::ENDPOINTS,
    fiches::ENDPOINTS,
    messages::ENDPOINTS,
    pros::ENDPOINTS,
    vevents::ENDPOINTS,
    agenda::ENDPOINTS,
    bulk_vevents::ENDPOINTS,
    slots::ENDPOINTS,
    appointments::ENDPOINTS,
    alike::ENDPOINTS,
    modules::ENDPOINTS,
    holds::ENDPOINTS,
    batch::ENDPOINTS,
    dry_runs::ENDPOINTS,
    history::ENDPOINTS,
    changes::ENDPOINTS,
    exports::ENDPOINTS,
    retention::ENDPOINTS,
    webhooks::ENDPOINTS,
];

/// The endpoint lists for the operator's socket.
static OPERATOR_ENDPOINT_LISTS: [&[OperatorEndpoint]; 5] = [
    keys::ENDPOINTS,
    operator_pros::ENDPOINTS,
    store::ENDPOINTS,
    erasures::ENDPOINTS,
    first_run::ENDPOINTS,
];

/// Returns the endpoints for the operator's socket.
pub(crate) fn operator_endpoints() -> impl Iterator<Item = &'static OperatorEndpoint> {
    OPERATOR_ENDPOINT_LISTS.into_iter().flatten()
}

/// Returns method and path of each endpoint for the operator's socket.
pub fn operator_routes() -> impl Iterator<Item = (Method, &'static str)> {
    operator_endpoints().map(|endpoint| (endpoint.method.to_http(), endpoint.path))
}

/// Returns all endpoints.
pub(crate) fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    ENDPOINT_LISTS.into_iter().flatten()
}

/// Returns all routes: each endpoint on each of its paths.
pub fn routes() -> impl Iterator<Item = Route> {
    endpoints().flat_map(|endpoint| endpoint.paths.iter().map(move |path| Route { endpoint, path }))
}
