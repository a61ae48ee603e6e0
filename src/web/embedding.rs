//! Booking pages in a frame of another site, which the group has to list. Reference 14.8.
//!
//! All other pages refuse every frame: the pages behind mailed links, the login and the screens.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{RawPathParams, Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::json;

use crate::domain::records::group::Group;
use crate::domain::records::vevent::Vevent;
use crate::web::page::policy_with_ancestors;
use crate::web::pages::Pages;
use crate::web::preset::{PRESET, Preset};
use crate::wire::params::Params;

/// The parameter with the origin of the page that shows this one in a frame.
pub(crate) const EMBEDDER: &str = "o";

/// Lets the sites that the group of a path lists show its page in a frame, and this server the
/// preview of a link. Without any, the page stays as it was made: in no frame.
pub(crate) async fn allow_frames(
    State(pages): State<Arc<Pages>>,
    path: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let published = pages.server.engine.published();
    let urlname = path.iter().find(|(name, _)| *name == "urlname").map(|(_, value)| value);
    let group = urlname.and_then(|urlname| published.group_of_urlname(urlname));
    let state = group.and_then(|group| published.group_state(group));
    let query = request.uri().query().unwrap_or_default().to_owned();
    let mut response = next.run(request).await;
    let Some(state) = state else { return response };
    // What is no page, such as a style, has no policy.
    if !response.headers().contains_key(CONTENT_SECURITY_POLICY) {
        return response;
    }
    let group = &state.catalogue.group;
    let mut ancestors: Vec<&str> = group.embed_origins.iter().collect();
    let has_sites = !ancestors.is_empty();
    if is_preview(&pages, group, &query) {
        ancestors.push("'self'");
    }
    if ancestors.is_empty() {
        return response;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy_with_ancestors(&ancestors.join(" ")));
    if has_sites {
        headers.remove(X_FRAME_OPTIONS);
    } else {
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    }
    response
}

/// Whether a query has the seal of a preview of this group.
fn is_preview(pages: &Pages, group: &Group, query: &str) -> bool {
    let params = Params::from_query(query);
    let Some(sealed) = params.value(PRESET) else { return false };
    let now = pages.server.engine.clock().now();
    let preset = Preset::open(sealed, group.id, now, &pages.server.link_secret());
    preset.is_some_and(|preset| preset.is_preview)
}

/// Returns the origin of the page that shows a booking page in a frame, as the query names it;
/// `None` if the group does not list it, and for all other pages.
pub(crate) fn find_embedder(group: &Group, path: &str, params: &Params) -> Option<String> {
    let origin = params.value(EMBEDDER)?;
    let is_listed = path.starts_with("/b/") && group.embed_origins.allow(origin);
    is_listed.then(|| origin.to_owned())
}

/// Returns the message about a booking for the page around the frame, in JSON: ids and the label of
/// its origin, and nothing of the client or of the time.
pub(crate) fn booked_message(appointments: &[&Arc<Vevent>]) -> String {
    let mut calendars = BTreeSet::new();
    let mut interventions = Vec::new();
    for row in appointments {
        calendars.insert(row.calendar_id.number());
        interventions.extend(row.appointment().map(|it| it.intervention_id.number()));
    }
    let labels = appointments.iter().filter_map(|row| row.rare.as_deref());
    let websource = labels.map(|rare| rare.websource.as_str()).next().unwrap_or_default();
    json!({
        "type": "booked",
        "intervention_ids": interventions,
        "calendar_ids": calendars,
        "websource": websource,
    })
    .to_string()
}
