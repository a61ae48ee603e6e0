//! Every GET of the API that a stranger may send, and pages, with parameters that ask for much.

use reqwest::Method;
use serde_json::Value;
use slotbook::http::permissions::{Extent, Role};
use slotbook::http::{Route, routes};

use crate::fixture::{KEY, Practice, answer};

/// The booking page of the demonstration.
const PAGE: &str = "cabinet-de-sante-des-tilleuls";

/// Returns the path and query of each GET without a right or by a key alone, of the longest
/// search, of the pages of a booking and of its mailed link, of the login, and of their assets.
pub(crate) async fn public_paths(practice: &Practice) -> Vec<String> {
    let mut starts = practice.free_starts().await;
    let start = starts.pop_front().expect("a free start");
    let (later, _) = starts.pop_back().expect("another one");
    let stranger = practice.visitor("127.0.0.2");
    let booked = stranger.book(&start, "ada@example.org").await.is(201);
    let mut paths = Vec::new();
    for route in routes() {
        if route.method() == Method::GET && is_public(&route) {
            paths.push(filled(&route, &booked["records"][0], &start.0));
        }
    }
    let search = "/api/v1/groups/1/availabletimeslots";
    for instants in ["", "&instants=1"] {
        paths.push(format!("{search}?apikey={KEY}&intervention_ids[]=1&nDays=366{instants}"));
    }
    for page in ["/", "/embed.js", "/login", "/login/forgotten", "/robots.txt"] {
        paths.push(page.to_owned());
    }
    for page in ["", "/time?s=1", "/colours.css"] {
        paths.push(format!("/b/{PAGE}{page}"));
    }
    paths.push(format!("/b/{PAGE}/you?s=1&t={}", later[..16].replace(' ', "T")));
    let holder = format!("a={}.{}", booked["records"][0]["id"], secret(&booked["records"][0]));
    for page in ["done", "appointment.ics"] {
        paths.push(format!("/b/{PAGE}/{page}?{holder}"));
    }
    for page in [&format!("/b/{PAGE}"), "/login"] {
        let page = answer(stranger.at_root(Method::GET, page)).await.text;
        let assets = page.split('"').filter(|text| text.starts_with("/assets/"));
        paths.extend(assets.map(str::to_owned));
    }
    let link = format!("/m/c.1.{}.{}", booked["records"][0]["id"], secret(&booked["records"][0]));
    paths.extend([format!("{link}/move"), link]);
    paths
}

fn is_public(route: &Route) -> bool {
    match route.right() {
        Some(right) => {
            !matches!(right.extent(Role::Application), Extent::Nothing | Extent::Operator)
        }
        None => true,
    }
}

fn secret(appointment: &Value) -> &str {
    appointment["key"].as_str().expect("a secret")
}

/// Returns the path of a route with the ids of the demonstration, and with a query.
fn filled(route: &Route, appointment: &Value, start: &str) -> String {
    let id = if route.path().contains("/appointments/") {
        appointment["id"].to_string()
    } else {
        "1".to_owned()
    };
    let path = route.path().replace("{group_id}", "1").replace("{urlname}", PAGE);
    let path = path.replace("{id}", &id);
    if route.right().is_none() {
        return path;
    }
    let query = match path.rsplit('/').next() {
        Some("availabletimeslots") => "intervention_ids[]=1&nDays=30".to_owned(),
        Some("explanation") => {
            format!("intervention_ids[]=1&calendar_id=1&start={}", start.replace(' ', "%20"))
        }
        _ if path.contains("/appointments/") => format!("key={}", secret(appointment)),
        _ => "results=all".to_owned(),
    };
    format!("{path}?apikey={KEY}&{query}")
}
