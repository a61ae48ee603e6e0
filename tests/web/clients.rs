//! The screens of clients: search, add, correct.

use slotbook::domain::records::ids::{FicheId, GroupId};
use slotbook::domain::state::group_state::GroupState;

use crate::login::Professional;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CUT, EVE, KNOWN_FICHE};
use crate::visitor::{Page, set};

const CLIENTS: &str = "/p/cut-co/clients";

/// The newest state of group 4.
pub(crate) fn state(server: &TestServer) -> std::sync::Arc<GroupState> {
    let four = GroupId::new(4).expect("an id");
    server.engine.published().group_state(four).expect("group 4")
}

fn fiche(server: &TestServer, id: u64) -> slotbook::domain::records::fiche::Fiche {
    let id = FicheId::new(id).expect("an id");
    state(server).fiches[&id].as_ref().clone()
}

/// The first form of a record as a browser sends it, with all that it shows.
fn form_of(page: &Page) -> Vec<(String, String)> {
    form_to(page, "")
}

/// The form that a page sends to an address with this end, as a browser sends it.
pub(crate) fn form_to(page: &Page, action: &str) -> Vec<(String, String)> {
    let mut forms = page.html.split("<form method=\"post\" action=\"/p/").skip(1);
    let is_sent_there =
        |form: &&str| form.split('"').next().is_some_and(|address| address.ends_with(action));
    let form = forms.find(is_sent_there).expect("a form");
    let form = form.split("</form>").next().expect("its end");
    let mut pairs = Vec::new();
    for input in form.split("<input ").skip(1) {
        let input = input.split('>').next().expect("its end");
        let part = |name: &str| {
            let mark = format!("{name}=\"");
            input.split(&mark).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default()
        };
        if !matches!(part("type"), "checkbox" | "radio") || input.contains(" checked") {
            pairs.push((part("name").to_owned(), part("value").to_owned()));
        }
    }
    for select in form.split("<select ").skip(1) {
        let name = select.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
        let chosen = select.split("<option value=\"").find(|option| option.contains(" selected"));
        let value = chosen.and_then(|option| option.split('"').next());
        pairs.push((name.expect("a name").to_owned(), value.unwrap_or_default().to_owned()));
    }
    for area in form.split("<textarea ").skip(1) {
        let name = area.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
        let text = area.split('>').nth(1).and_then(|rest| rest.split('<').next());
        pairs.push((name.expect("a name").to_owned(), text.expect("a text").to_owned()));
    }
    pairs
}

pub(crate) fn as_str(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Adds a client through the API.
pub(crate) async fn add(server: &TestServer, fields: serde_json::Value) -> u64 {
    let body = serde_json::json!({"fiche": fields});
    let made = answer(server.by_pro(reqwest::Method::POST, "/groups/4/fiches").json(&body)).await;
    made.is(201)["id"].as_u64().expect("an id")
}

#[tokio::test]
async fn clients_are_found_by_name_phone_and_address_page_by_page() {
    let server = TestServer::start().await;
    add(&server, serde_json::json!({"lastname": "Lefèvre", "firstphone": "06 12 34 56 78"})).await;
    let gone = serde_json::json!({"lastname": "Gone", "deleted": true});
    add(&server, gone).await;
    for nth in 0..60 {
        add(&server, serde_json::json!({"lastname": format!("Row {nth:02}")})).await;
    }
    let ann = Professional::logged_in(&server, ANN).await;
    for search in ["lefev", "34%2056", "known@EXAMPLE.org"] {
        let page = ann.open(&format!("{CLIENTS}?search={search}")).await;
        page.shows("Records 1 to 1 of 1");
        page.hides("Row 07");
    }
    ann.open(&format!("{CLIENTS}?search=nobody")).await.shows("No record was found.");
    ann.open(&format!("{CLIENTS}?search=gone")).await.shows("No record was found.");
    let page = ann.open(&format!("{CLIENTS}?search=gone&deleted=1")).await;
    page.shows("<bdi>$Gone</bdi>");
    let first = ann.open(CLIENTS).await;
    first.shows("Records 1 to 50 of 62");
    first.hides("Previous page");
    let next = ann.open(&format!("{CLIENTS}?search=&from=50")).await;
    next.shows("Records 51 to 62 of 62");
    next.shows("Row 59");
    next.hides("Next page");
    let long = ann.get(&format!("{CLIENTS}?search={}", "a".repeat(256))).await;
    assert_eq!(long.status, 400);
    long.shows("more than 255 characters");
    long.shows(&"a".repeat(256));
    ann.open(&format!("{CLIENTS}?from=99999999999999999999999")).await;
    ann.open(&format!("{CLIENTS}?from=18446744073709551615")).await;
}

#[tokio::test]
async fn a_client_is_added_and_corrected_and_faults_stand_beside_their_fields() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let new = format!("{CLIENTS}/new");
    let mut form = form_of(&ann.open(&new).await);
    let empty = ann.post(&new, &as_str(&form)).await;
    assert_eq!(empty.status, 400);
    empty.shows("Enter a last or a first name.");
    set(&mut form, "lastname", "Müller");
    set(&mut form, "email", "no address");
    set(&mut form, "birthdate", "1990-02-30");
    let refused = ann.post(&new, &as_str(&form)).await;
    assert_eq!(refused.status, 400);
    for kept in
        ["Müller", "no address", "1990-02-30", "id=\"email-fault\"", "id=\"birthdate-fault\""]
    {
        refused.shows(kept);
    }
    set(&mut form, "email", "anna@example.org");
    set(&mut form, "birthdate", "1990-02-28");
    set(&mut form, "str1", "VIP");
    let made = ann.post(&new, &as_str(&form)).await.location().to_owned();
    let page = ann.open(&made).await;
    page.shows("Saved.");
    page.shows("mailto:anna@example.org");
    page.shows("28 February 1990");
    page.shows("VIP");
    page.shows("/p/cut-co/events/new?client=");
    let path = made.split('?').next().expect("a path").to_owned();
    let before = state(&server).sequence;
    let unchanged = form_of(&page);
    assert_eq!(ann.post(&path, &as_str(&unchanged)).await.status, 303);
    assert_eq!(state(&server).sequence, before, "what was not changed is not written");
    let mut changed = unchanged.clone();
    set(&mut changed, "firstphone", "06 1");
    changed.retain(|(name, _)| name != "rappel_email");
    ann.post(&path, &as_str(&changed)).await.location();
    let id = path.rsplit('/').next().and_then(|id| id.parse().ok()).expect("an id");
    let now = fiche(&server, id);
    assert_eq!((now.firstphone.as_str(), now.rappel_email), ("06 1", false));
    assert_eq!(now.lastname.as_str(), "Müller");
    set(&mut changed, "externid", "many");
    let refused = ann.post(&path, &as_str(&changed)).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"externid-fault\"");
    refused.shows("many");
}

#[tokio::test]
async fn a_record_that_was_changed_meanwhile_is_shown_in_both_versions() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let path = format!("{CLIENTS}/{KNOWN_FICHE}");
    let mut form = form_of(&ann.open(&path).await);
    let body = serde_json::json!({"fiche": {"firstname": "Theirs"}});
    let api = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(reqwest::Method::PUT, &api).json(&body)).await.is(200);
    set(&mut form, "firstname", "Mine");
    let overtaken = ann.post(&path, &as_str(&form)).await;
    assert_eq!(overtaken.status, 412);
    overtaken.shows("Changed meanwhile");
    overtaken.shows("<bdi>Theirs</bdi>");
    overtaken.shows("<bdi>Mine</bdi>");
    assert_eq!(fiche(&server, KNOWN_FICHE).firstname.as_str(), "Theirs");
    // The form has the newest revision now, so that it can be sent again.
    let again = form_of(&overtaken);
    ann.post(&path, &as_str(&again)).await.location();
    assert_eq!(fiche(&server, KNOWN_FICHE).firstname.as_str(), "Mine");
    for revision in ["", "*", "W/\"x\""] {
        set(&mut form, "revision", revision);
        set(&mut form, "firstname", "Never");
        assert_eq!(ann.post(&path, &as_str(&form)).await.status, 412, "{revision}");
    }
}

#[tokio::test]
async fn the_appointments_of_a_client_are_listed_next_first() {
    let server = TestServer::start().await;
    for (hour, day) in [(9, 3), (10, 2), (9, 4), (9, 2)] {
        let start = format!("2025-06-{day:02} {hour:02}:00:00");
        book(&server, &start, &format!("2025-06-{day:02} {hour:02}:30:00")).await;
    }
    server.at(crate::shop::clock(12, 0));
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(&format!("{CLIENTS}/{KNOWN_FICHE}")).await;
    let place = |text: &str| page.html.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("3 June 2025, 09:00") < place("4 June 2025, 09:00"));
    assert!(place("4 June 2025, 09:00") < place("Past appointments"));
    assert!(place("Past appointments") < place("2 June 2025, 10:00"));
    assert!(place("2 June 2025, 10:00") < place("2 June 2025, 09:00"));
    let details = &page.html[place("<dl")..place("</dl>")];
    assert!(!details.contains("elete"), "a live client is not said to be kept: {details}");
}

/// Makes an appointment of the known client.
pub(crate) async fn book(server: &TestServer, start: &str, end: &str) -> u64 {
    let body = serde_json::json!({"vevent": {
        "calendar_id": crate::shop::CALENDAR, "fiche_id": KNOWN_FICHE, "intervention_id": CUT,
        "start": start, "end": end,
    }});
    let made = answer(server.by_pro(reqwest::Method::POST, "/groups/4/vevents").json(&body)).await;
    made.is(201)["id"].as_u64().expect("an id")
}

#[tokio::test]
async fn a_client_of_another_group_has_no_screen() {
    let server = TestServer::start().await;
    let mut eve = Professional::logged_in(&server, EVE).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    for path in [CLIENTS, "/p/cut-co/clients/new", &format!("{CLIENTS}/{KNOWN_FICHE}")] {
        assert_eq!(eve.get(path).await.status, 404, "{path}");
        assert_eq!(
            eve.post(path, &[("lastname", "x")]).await.status,
            if path == CLIENTS { 405 } else { 404 }
        );
    }
    for id in ["0", "999", "x", "9007199254740992", "-1"] {
        let path = format!("{CLIENTS}/{id}");
        assert_eq!(ann.get(&path).await.status, 404, "{path}");
        assert_eq!(ann.post(&path, &[("lastname", "x")]).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn names_of_clients_are_text_with_a_direction_of_their_own() {
    let server = TestServer::start().await;
    let hostile = "<script>alert(1)</script>\"'>";
    let fields = serde_json::json!({"lastname": hostile, "comments": hostile, "str0": hostile});
    let id = add(&server, fields).await;
    let ann = Professional::logged_in(&server, ANN).await;
    for path in [CLIENTS, &format!("{CLIENTS}/{id}"), &format!("{CLIENTS}?search=%3Cscript%3E")] {
        let page = ann.open(path).await;
        page.hides("<script>");
        page.shows("<bdi>&#60;script&#62;alert(1)");
    }
}

#[tokio::test]
async fn two_records_of_a_person_are_merged_with_the_values_that_were_picked() {
    let server = TestServer::start().await;
    let fields = serde_json::json!({"lastname": "Other", "firstname": "Ada", "firstphone": "06 1",
        "email": "other@example.org", "comments": "second"});
    let other = add(&server, fields).await;
    book(&server, "2025-06-04 09:00:00", "2025-06-04 09:30:00").await;
    let body = serde_json::json!({"fiche": {"comments": "first"}});
    let api = format!("/groups/4/fiches/{KNOWN_FICHE}");
    answer(server.by_pro(reqwest::Method::PUT, &api).json(&body)).await.is(200);
    let mut ann = Professional::logged_in(&server, ANN).await;
    let to = format!("{CLIENTS}/{KNOWN_FICHE}/merge");
    ann.open(&format!("{CLIENTS}/{KNOWN_FICHE}")).await.shows(&to);
    ann.open(&to).await.hides("Ada");
    let found = ann.open(&format!("{to}?search=ada")).await;
    found.shows(&format!("{to}?other={other}"));
    ann.open(&format!("{to}?search=known")).await.shows("No other record was found.");
    let both = ann.open(&format!("{to}?other={other}")).await;
    both.shows("other@example.org");
    let picked = |page: &Page, name: &str| -> Vec<String> {
        let inputs = page.html.split("<input type=\"radio\" ").skip(1);
        let of = inputs.filter(|input| input.starts_with(&format!("name=\"pick_{name}\"")));
        let checked = of.filter(|input| input.split('>').next().unwrap().contains(" checked"));
        checked.map(|input| input.split('"').nth(3).expect("a value").to_owned()).collect()
    };
    assert_eq!(picked(&both, "lastname"), ["kept"]);
    assert_eq!(picked(&both, "firstphone"), ["other"]);
    assert_eq!(picked(&both, "comments"), ["both"]);
    let form: Vec<(String, String)> = both.hidden();
    let mut stale = form.clone();
    set(&mut stale, "other_revision", "0");
    set(&mut stale, "pick_lastname", "other");
    let overtaken = ann.post(&to, &as_str(&stale)).await;
    assert_eq!(overtaken.status, 412);
    assert_eq!(picked(&overtaken, "lastname"), ["other"], "the choice is kept");
    let mut form = form;
    for (name, side) in [("lastname", "other"), ("firstname", "kept"), ("firstphone", "other")] {
        set(&mut form, &format!("pick_{name}"), side);
    }
    let done = ann.post(&to, &as_str(&form)).await.location().to_owned();
    assert_eq!(done, format!("{CLIENTS}/{KNOWN_FICHE}?saved=1"));
    let kept = fiche(&server, KNOWN_FICHE);
    assert_eq!((kept.lastname.as_str(), kept.firstname.as_str()), ("Other", ""));
    assert_eq!((kept.firstphone.as_str(), kept.comments.as_str()), ("06 1", "first\nsecond"));
    assert_eq!(kept.email.expect("an address").as_str(), "known@example.org");
    let address = format!("{CLIENTS}/{other}");
    assert_eq!(ann.get(&address).await.location(), format!("{CLIENTS}/{KNOWN_FICHE}"));
    let list = ann.open(&format!("{CLIENTS}?deleted=1")).await;
    list.shows("Records 1 to 1 of 1");
    // A form of the merged record shows what was typed beside the record that is kept.
    let late = ann.post(&address, &[("revision", "x"), ("firstname", "Late")]).await;
    assert_eq!(late.status, 412);
    late.shows("<bdi>Late</bdi>");
    assert_eq!(ann.post(&to, &as_str(&form)).await.status, 412, "the form is of before");
}

#[tokio::test]
async fn a_merge_with_a_record_that_is_not_there_is_404() {
    let server = TestServer::start().await;
    let other = add(&server, serde_json::json!({"lastname": "Other"})).await;
    let gone = add(&server, serde_json::json!({"lastname": "Gone", "deleted": true})).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let mut eve = Professional::logged_in(&server, EVE).await;
    let before = state(&server).sequence;
    let merge = |id: u64| format!("{CLIENTS}/{id}/merge");
    for (kept, with) in [
        (KNOWN_FICHE, "x".to_owned()),
        (KNOWN_FICHE, "999".to_owned()),
        (KNOWN_FICHE, KNOWN_FICHE.to_string()),
        (999, other.to_string()),
        (gone, other.to_string()),
    ] {
        let path = merge(kept);
        assert_eq!(ann.get(&format!("{path}?other={with}")).await.status, 404, "{kept} {with}");
        assert_eq!(ann.post(&path, &[("other", &with)]).await.status, 404, "{kept} {with}");
    }
    let path = merge(KNOWN_FICHE);
    let other = other.to_string();
    assert_eq!(eve.get(&format!("{path}?other={other}")).await.status, 404);
    assert_eq!(eve.post(&path, &[("other", &other)]).await.status, 404);
    assert_eq!(state(&server).sequence, before);
}
