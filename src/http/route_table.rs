//! All endpoints of the API, from the lists of the resource files. Reference 13.

use crate::http::endpoint::{Endpoint, Route};
use crate::http::resources::{
    accounts, alike, appointments, calendars, customfields, docs, fiches, groups, health, holds,
    interventions, messages, modules, pros, sessions, sets, slots, vevents,
};

/// The endpoint lists of all files.
static ENDPOINT_LISTS: [&[Endpoint]; 18] = [
    health::ENDPOINTS,
    docs::ENDPOINTS,
    sessions::ENDPOINTS,
    accounts::ENDPOINTS,
    groups::ENDPOINTS,
    calendars::ENDPOINTS,
    sets::ENDPOINTS,
    interventions::ENDPOINTS,
    customfields::ENDPOINTS,
    fiches::ENDPOINTS,
    messages::ENDPOINTS,
    pros::ENDPOINTS,
    vevents::ENDPOINTS,
    slots::ENDPOINTS,
    appointments::ENDPOINTS,
    alike::ENDPOINTS,
    modules::ENDPOINTS,
    holds::ENDPOINTS,
];

/// Returns all endpoints.
pub(crate) fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    ENDPOINT_LISTS.into_iter().flatten()
}

/// Returns all routes: each endpoint on each of its paths.
pub fn routes() -> impl Iterator<Item = Route> {
    endpoints().flat_map(|endpoint| endpoint.paths.iter().map(move |path| Route { endpoint, path }))
}
