//! Every route, by everybody, about what is their own, another's, absent and deleted: held against the table of rights.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::http::permissions::{Extent, Resource, Right, Role, Verb};
use slotbook::http::{Route, routes};

use crate::server::{TestServer, answer};
use crate::shop::{
    ANN, CALENDAR, CLEO, CUT, EVE, KEY, KEY_OF_ALL, OTHER_CALENDAR, OWN_FICHE, PAUL, RITA,
};

/// Whose an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    /// The client's own, and on the own calendar of the professional with one.
    Own,
    /// On the calendar of another professional, or a client with no appointment.
    Colleagues,
    Deleted,
    Foreign,
    Absent,
}

const ABSENT: u64 = 999_999;

/// The segment of a path under which a resource stands.
fn segments() -> [(&'static str, Value); 8] {
    [
        ("calendarsets", json!({"calendarset": {"name": "s", "publicname": "s"}})),
        ("calendars", json!({"calendar": {"name": "c", "publicname": "c"}})),
        ("interventionsets", json!({"interventionset": {"name": "s", "publicname": "s"}})),
        ("interventions", json!({"intervention": {"name": "i", "publicname": "i"}})),
        ("customfields", json!({"customfield": {"model": "Fiche", "name": "?"}})),
        ("fiches", json!({"fiche": {"lastname": "f"}})),
        (
            "vevents",
            json!({"vevent": {"calendar_id": CALENDAR, "start": "2025-07-01 09:00:00", "end": "2025-07-01 10:00:00"}}),
        ),
        ("appointments", Value::Null),
    ]
}

/// A server, and what its tests have used up.
struct Walk {
    server: TestServer,
    /// Objects made so far, so that appointments have times of their own.
    made: u32,
    /// Attributes made so far, so that they have names of their own.
    attributes: u32,
    ids: BTreeMap<(&'static str, Whose), u64>,
}

impl Walk {
    async fn begin() -> Self {
        let mut walk = Self {
            server: TestServer::with_team(|_| {}).await,
            made: 0,
            attributes: 0,
            ids: BTreeMap::new(),
        };
        for (segment, _) in segments() {
            for whose in [Whose::Own, Whose::Colleagues, Whose::Deleted, Whose::Foreign] {
                let id = walk.object(segment, whose).await;
                walk.ids.insert((segment, whose), id);
            }
            walk.ids.insert((segment, Whose::Absent), ABSENT);
        }
        for (whose, id) in [(Whose::Own, 1), (Whose::Foreign, 2), (Whose::Absent, ABSENT)] {
            walk.ids.insert(("pros", whose), id);
        }
        // Those of another group have the same numbers.
        let told = walk.server.pro_get("/groups/4/messages").await.is(200);
        walk.ids.insert(
            ("messages", Whose::Own),
            told["records"][0]["id"].as_u64().expect("a booking is confirmed"),
        );
        walk.ids.insert(("messages", Whose::Absent), ABSENT);
        for whose in [Whose::Own, Whose::Colleagues] {
            let id = walk.object("calendarfeeds", whose).await;
            walk.ids.insert(("calendarfeeds", whose), id);
        }
        walk.ids.insert(("calendarfeeds", Whose::Absent), ABSENT);
        walk
    }

    /// A new object of group 4, or of group 5 where it is to be foreign. Of clients and appointments, Cleo's are her own.
    async fn object(&mut self, segment: &'static str, whose: Whose) -> u64 {
        if (segment, whose) == ("fiches", Whose::Own) {
            return OWN_FICHE;
        }
        let (group, pro) = if whose == Whose::Foreign { (5, EVE) } else { (4, ANN) };
        let path = format!("/api/v1/groups/{group}/{segment}?apikey={KEY_OF_ALL}");
        let body = match (segment, whose) {
            ("appointments", Whose::Foreign) => return self.ids[&("vevents", Whose::Foreign)],
            ("vevents", Whose::Foreign) => {
                let calendar = self.ids[&("calendars", Whose::Foreign)];
                json!({"vevent": {"calendar_id": calendar, "start": "2025-07-01 09:00:00", "end": "2025-07-01 10:00:00"}})
            }
            _ => self.new_body(segment, Role::Administrator),
        };
        let body = if whose == Whose::Colleagues { on_other_calendar(body) } else { body };
        let by_pro =
            |method, path: &str| self.server.bare(method, path).basic_auth(pro.0, Some(pro.1));
        let made = answer(by_pro(Method::POST, &path).json(&body)).await.is(201);
        let made = match segment {
            "appointments" => made["records"][0].clone(),
            "calendarfeeds" => made["calendarfeed"].clone(),
            _ => made,
        };
        let id = made["id"].as_u64().expect("an id");
        if whose == Whose::Deleted {
            let path = format!("/api/v1/groups/4/{segment}/{id}?apikey={KEY}");
            let request = match segment {
                "fiches" => by_pro(Method::PUT, &path).json(&json!({"fiche": {"deleted": true}})),
                _ => by_pro(Method::DELETE, &path),
            };
            answer(request).await.is(200);
        }
        id
    }

    /// The request of a route by a role, as it would be done about `id`.
    fn request(&mut self, route: &Route, role: Role, path: &str) -> RequestBuilder {
        let request =
            self.server.by_key(route.method(), path.strip_prefix("/api/v1").expect("of the API"));
        let request = match role {
            Role::Application => request,
            Role::Account => request.basic_auth(CLEO.0, Some(CLEO.1)),
            Role::Professional => request.basic_auth(PAUL.0, Some(PAUL.1)),
            Role::Reception => request.basic_auth(RITA.0, Some(RITA.1)),
            Role::Administrator => request.basic_auth(ANN.0, Some(ANN.1)),
        };
        match self.body_of(route, role) {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    fn body_of(&mut self, route: &Route, role: Role) -> Option<Value> {
        let right = route.right().expect("it needs a key");
        let segment = route
            .path()
            .rsplit('/')
            .find(|part| !part.starts_with('{'))
            .expect("a path has a name");
        match right.verb {
            Verb::Make => Some(self.new_body(segment, role)),
            // A move gives a new start.
            Verb::Change if right.resource == Resource::Appointment => {
                let date = self.new_body("appointments", role)["appointment"]["date"].clone();
                Some(json!({"appointment": {"date": date}}))
            }
            Verb::Change if right.resource == Resource::Hours => Some(json!({"rows": []})),
            Verb::Change => Some(json!({ segment.trim_end_matches('s'): {} })),
            Verb::List | Verb::Show | Verb::Delete | Verb::DeleteMany => None,
        }
    }

    /// A body that makes an object.
    fn new_body(&mut self, segment: &str, role: Role) -> Value {
        if segment == "customfields" {
            self.attributes += 1;
            let name = match self.attributes {
                texts @ ..15 => format!("str{}", texts - 1),
                flags => format!("bool{}", flags - 15),
            };
            return json!({"customfield": {"model": "Vevent", "name": name, "user_visible": true}});
        }
        if segment == "batch" {
            self.made += 1;
            let path = format!("/api/v1/groups/4/fiches?externid={}", 10_000 + self.made);
            let row = json!({"method": "PUT", "path": path});
            return json!({"requests": [row]});
        }
        if segment == "dry-runs" {
            let own = self.ids[&("vevents", Whose::Own)];
            let row =
                json!({"method": "DELETE", "path": format!("/api/v1/groups/4/vevents/{own}")});
            return json!({"requests": [row]});
        }
        if segment == "bulk" {
            let day = json!({"calendar_id": CALENDAR, "start": "2025-07-01", "end": "2025-07-02"});
            return json!({"vevents": [day]});
        }
        if segment == "calendarfeeds" {
            return json!({"calendarfeed": {"calendar_id": CALENDAR}});
        }
        if segment == "groups" {
            return json!({"group": {"name": "g", "timezone": "UTC"}});
        }
        if segment == "appointments" {
            self.made += 1;
            let (day, hour) = (self.made / 3, 9 + self.made % 3);
            let date =
                format!("2025-{:02}-{:02} {hour:02}:00:00", 6 + (day + 4) / 28, 1 + (day + 4) % 28);
            let fiche = match role {
                Role::Application => json!({"lastname": "Somebody"}),
                Role::Account => json!({}),
                Role::Professional | Role::Reception | Role::Administrator => {
                    json!({"id": OWN_FICHE})
                }
            };
            return json!({"appointment": {"date": date, "calendar_id": CALENDAR, "intervention_ids": [CUT], "fiche": fiche}});
        }
        segments()
            .into_iter()
            .find(|(other, _)| *other == segment)
            .map(|(_, body)| body)
            .unwrap_or_default()
    }
}

/// The same object on the calendar of another professional.
fn on_other_calendar(mut body: Value) -> Value {
    for member in ["vevent", "appointment", "calendarfeed"] {
        if body[member].is_object() {
            body[member]["calendar_id"] = OTHER_CALENDAR.into();
            // The client is one of that calendar alone.
            body[member]["fiche"] = json!({"lastname": "Theirs"});
        }
    }
    body
}

/// What the table says is answered.
fn expected(route: &Route, right: Right, role: Role, whose: Option<Whose>) -> u16 {
    let older = !route.path().contains("{group_id}") && route.path() != "/api/v1/groups";
    let extent = right.extent(role);
    // On an older path the object leads to its group, which is looked for before rights are.
    let sought_first = older && matches!(whose, Some(Whose::Foreign | Whose::Absent));
    let removed = matches!(right.resource, Resource::Calendarset | Resource::Interventionset)
        || of_set(route);
    let hidden = match (role, right.resource) {
        (Role::Professional | Role::Reception | Role::Administrator, _) => removed,
        (Role::Account, Resource::Appointment) => false,
        (Role::Application | Role::Account, _) => true,
    };
    let is_elsewhere = match right.resource {
        // A professional sees itself alone, and these are of the administrator.
        Resource::Pro => true,
        // These calendars are nobody's own.
        Resource::Hours => role == Role::Professional,
        Resource::Fiche => role == Role::Professional && whose != Some(Whose::Own),
        _ => role == Role::Professional && whose == Some(Whose::Colleagues),
    };
    let is_elsewhere = is_elsewhere && whose.is_some();
    match whose {
        _ if sought_first => 404,
        // A test of its own gives a key of the operator.
        _ if matches!(extent, Extent::Nothing | Extent::BySecret | Extent::Operator) => 403,
        Some(Whose::Foreign | Whose::Absent) => 404,
        _ if is_elsewhere && extent == Extent::Own && role >= Role::Professional => 404,
        Some(Whose::Colleagues) if extent == Extent::Own => 404,
        Some(Whose::Deleted) if hidden => 404,
        // What is cancelled does not move.
        Some(Whose::Deleted)
            if (right.resource, right.verb) == (Resource::Appointment, Verb::Change) =>
        {
            400
        }
        Some(Whose::Own | Whose::Colleagues | Whose::Deleted) | None => {
            let answers_200 = matches!(right.resource, Resource::Batch | Resource::DryRun);
            if right.verb == Verb::Make && !answers_200 { 201 } else { 200 }
        }
    }
}

fn of_set(route: &Route) -> bool {
    route.path().contains("calendarsets/{id}/")
}

fn keyed() -> impl Iterator<Item = (Route, Right)> {
    // A group has few webhooks: tests/api/webhooks.rs asks for them by each role.
    let asked = |right: &Right| {
        !matches!(right.resource, Resource::Account | Resource::Session | Resource::Webhook)
    };
    routes()
        .filter_map(|route| route.right().map(|right| (route, right)))
        .filter(move |(_, right)| asked(right))
}

/// The segment before the id of a path's object.
fn segment_of(path: &'static str) -> Option<&'static str> {
    let mut parts =
        path.split('/').collect::<Vec<_>>().into_iter().rev().skip_while(|part| *part != "{id}");
    parts.next()?;
    parts.next()
}

/// The requests of a route that differ by whose object it is about.
fn cases(walk: &Walk, path: &'static str) -> Vec<(Option<Whose>, String)> {
    let path_of = path.replace("{group_id}", "4");
    let path_of = path_of.replace("{urlname}", "cut-co");
    let query = if path.ends_with("/explanation") {
        format!("?intervention_ids[]={CUT}&start=2025-06-02 09:00:00")
    } else if path.ends_with("availabletimeslots") {
        format!("?intervention_ids[]={CUT}")
    } else if path.ends_with("/agenda") {
        "?from=2025-06-02&to=2025-06-03".to_owned()
    } else if path.ends_with("/{group_id}/fiches") {
        "?externid=77".to_owned()
    } else {
        String::new()
    };
    let Some(segment) = segment_of(path) else { return vec![(None, path_of + &query)] };
    let ids = walk.ids.iter().filter(|((other, _), _)| *other == segment);
    ids.map(|((_, whose), id)| (Some(*whose), path_of.replace("{id}", &id.to_string()))).collect()
}

#[tokio::test]
async fn everybody_may_what_the_table_says_and_no_more() {
    let mut walk = Walk::begin().await;
    let mut wrong = Vec::new();
    let mut asked = 0;
    // Holds and codes need a token, a change of a professional a password, an invitation an address,
    // a bulk cancellation the origin of a booking, a merge two clients, an image a file, and an
    // erasure a client whom no other request needs. They have tests of their own.
    let has_own_test = |route: &Route, right: &Right| {
        route.path().ends_with("/holds")
            || route.path().ends_with("/appointments/confirm")
            || route.path().ends_with("/merge")
            || route.path().ends_with("/erase")
            || route.path().ends_with("/{slot}")
            || right.verb == Verb::DeleteMany
            || (matches!(right.resource, Resource::Pro | Resource::Invitation)
                && route.method() != Method::GET)
    };
    for (route, right) in keyed().filter(|(route, right)| !has_own_test(route, right)) {
        let segment = segment_of(route.path());
        for role in Role::ALL {
            if let (Verb::Delete, Some(segment)) = (right.verb, segment) {
                for whose in [Whose::Own, Whose::Colleagues] {
                    let fresh = walk.object(segment, whose).await;
                    walk.ids.insert((segment, whose), fresh);
                }
            }
            let mut nothing_there: Vec<String> = Vec::new();
            for (whose, path) in cases(&walk, route.path()) {
                let path = path.replace("externid=77", &format!("externid={asked}"));
                let answer = answer(walk.request(&route, role, &path)).await;
                asked += 1;
                let status = expected(&route, right, role, whose);
                if answer.status != status {
                    wrong.push(format!(
                        "{role:?} {} {path} ({whose:?}): {} not {status}: {}",
                        route.method(),
                        answer.status,
                        answer.text
                    ));
                }
                if matches!(whose, Some(Whose::Foreign | Whose::Absent)) {
                    nothing_there.push(answer.text_without_numbers());
                }
            }
            if nothing_there.windows(2).any(|pair| pair[0] != pair[1]) {
                wrong.push(format!(
                    "{role:?} {} {}: foreign and absent differ",
                    route.method(),
                    route.path()
                ));
            }
        }
        // What the last role has deleted is somebody's own no more.
        if let (Verb::Delete, Some(segment)) = (right.verb, segment) {
            for whose in [Whose::Own, Whose::Colleagues] {
                let fresh = walk.object(segment, whose).await;
                walk.ids.insert((segment, whose), fresh);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked > 300, "only {asked} requests");
}

#[tokio::test]
async fn a_professional_of_another_group_sees_nothing_of_this_one() {
    let walk = Walk::begin().await;
    let absent = {
        let path = format!("/api/v1/groups/{ABSENT}?apikey={KEY_OF_ALL}");
        answer(walk.server.bare(Method::GET, &path).basic_auth(EVE.0, Some(EVE.1))).await
    };
    absent.refused(404, 3, None);
    for (route, _) in keyed().filter(|(route, _)| route.path().contains('{')) {
        for (whose, path) in cases(&walk, route.path()) {
            if whose == Some(Whose::Foreign) && !route.path().contains("{group_id}") {
                // Her own, by its older path.
                continue;
            }
            let separator = if path.contains('?') { '&' } else { '?' };
            let request =
                walk.server.bare(route.method(), &format!("{path}{separator}apikey={KEY_OF_ALL}"));
            let request = request.basic_auth(EVE.0, Some(EVE.1)).json(&json!({}));
            let answer = answer(request).await;
            answer.refused(404, 3, None);
            if route.path().contains("{group_id}") {
                let same = absent.text_without_numbers();
                assert_eq!(answer.text_without_numbers(), same, "{} {path}", route.method());
            }
        }
    }
}

#[tokio::test]
async fn without_a_key_nobody_may_anything_that_needs_one() {
    let walk = Walk::begin().await;
    for route in routes() {
        let path = route.path().replace("{group_id}", "4").replace("{id}", "1");
        let answer =
            answer(walk.server.bare(route.method(), &path).basic_auth(ANN.0, Some(ANN.1))).await;
        match route.right() {
            Some(_) => answer.refused(403, 1, None),
            None => assert_eq!(answer.status, 200, "{path}"),
        }
    }
}

#[tokio::test]
async fn the_secret_of_an_appointment_opens_it_to_everybody() {
    let mut walk = Walk::begin().await;
    for role in Role::ALL {
        let id = walk.object("appointments", Whose::Own).await;
        let secret =
            walk.server.pro_get(&format!("/groups/4/appointments/{id}")).await.is(200)["key"]
                .clone();
        let secret = secret.as_str().expect("a secret");
        for (route, _) in keyed().filter(|(_, right)| right.application == Extent::BySecret) {
            let path = route.path().replace("{group_id}", "4").replace("{id}", &id.to_string());
            answer(walk.request(&route, role, &format!("{path}?key={secret}"))).await.is(200);
            let wrong =
                answer(walk.request(&route, Role::Application, &format!("{path}?key={secret}x")))
                    .await;
            wrong.refused(404, 3, None);
        }
    }
}
