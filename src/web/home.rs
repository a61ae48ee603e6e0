//! The page `/`: the only booking page, the list of them if the operator wants one, or /docs.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;

use crate::domain::records::group::Group;
use crate::domain::state::group_state::GroupState;
use crate::web::bare_page::frame_without_group;
use crate::web::group_path::booking_path;
use crate::web::language_choice::LanguageChoice;
use crate::web::page::{Frame, Privacy, redirect, render, respond};
use crate::web::pages::Pages;
use crate::web::text::texts;
use crate::wire::params::Params;

/// Maximum number of groups that the page looks at.
const GROUPS_MAX: usize = 1_000;

#[derive(Template)]
#[template(path = "web/home.html")]
struct HomePage {
    frame: Frame<'static>,
    title: &'static str,
    groups: Vec<GroupLink>,
}

/// A group with a booking page.
struct GroupLink {
    name: String,
    town: String,
    url: String,
}

/// GET /.
pub(crate) async fn show(
    State(pages): State<Arc<Pages>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let shown = find_groups(&pages);
    if let [only] = &shown[..] {
        return redirect(&booking_path(&only.catalogue.group, ""));
    }
    if !pages.server.lists_groups || shown.is_empty() {
        return redirect("/docs");
    }
    let params = Params::from_query(uri.query().unwrap_or_default());
    let lang = LanguageChoice::new(params.value("lang"), &headers, "");
    let title = texts(lang.language).list_title;
    let mut groups: Vec<GroupLink> =
        shown.iter().map(|state| link(&state.catalogue.group)).collect();
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    let page = HomePage { frame: frame_without_group(&pages, lang.language, title), title, groups };
    respond(StatusCode::OK, Privacy::Public, render(&page))
}

/// Returns the states of the groups with a booking page, among the first groups of the server.
fn find_groups(pages: &Pages) -> Vec<Arc<GroupState>> {
    let published = pages.server.engine.published();
    let groups = published.groups().take(GROUPS_MAX);
    let states = groups.filter_map(|id| published.group_state(id));
    states.filter(|state| state.catalogue.group.web_page).collect()
}

fn link(group: &Group) -> GroupLink {
    GroupLink {
        name: group.name.as_str().to_owned(),
        town: group.city.as_str().to_owned(),
        url: booking_path(group, ""),
    }
}
