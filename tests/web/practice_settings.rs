//! The settings on the screens of the practice.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::wire::calendar::{CALENDAR as CALENDAR_FIELDS, CALENDARSET};
use slotbook::wire::customfield::CUSTOMFIELD;
use slotbook::wire::field::{Audience, Field, FieldType, Table};
use slotbook::wire::group::GROUP;
use slotbook::wire::intervention::{INTERVENTION, INTERVENTIONSET};

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, EVE, KNOWN_FICHE, OTHER_CALENDAR};
use crate::visitor::{Page, shop_with};

/// The parts of the group's own fields.
const GROUP_PARTS: [&str; 5] = ["shop", "booking", "messages", "texts", "privacy"];
/// A text that HTML and forms have to escape.
const TEXT: &str = "Zoé <b>&";

/// A form of the settings with the record that it changes.
struct Form {
    page: String,
    /// The record in the API.
    api: String,
}

fn form(part: &str, record: &str) -> Form {
    let page = format!("/p/cut-co/settings/{part}{record}");
    let api = if GROUP_PARTS.contains(&part) {
        "/groups/4".to_owned()
    } else {
        format!("/groups/4/{part}{record}")
    };
    Form { page, api }
}

/// The fields of a table that a professional sets by a form.
fn settable<R: 'static>(table: &Table<R>) -> Vec<&Field<R>> {
    let is_set = |field: &&Field<R>| {
        field.name != "deleted" && field.writers.is_some_and(|least| least <= Audience::Pro)
    };
    table.fields.iter().filter(is_set).collect()
}

/// The names of the fields that a form asks for.
fn asked(page: &Page) -> Vec<&str> {
    let hints = page.html.split("<p class=\"hint\" id=\"").skip(1);
    let names = hints.map(|rest| rest.split("-effect\"").next().expect("an id"));
    names.collect()
}

fn revision(page: &Page) -> String {
    page.values("revision").first().expect("a revision").replace("&#34;", "\"")
}

/// A legal value of a field other than the present one: as a form gives it, and as it is stored.
fn other_value(name: &str, field_type: FieldType, present: &Value) -> (String, Value) {
    match (name, field_type) {
        ("timezone", _) => ("Europe/Zurich".into(), json!("Europe/Zurich")),
        ("sms_countries", _) => ("+33,+41".into(), json!("+33,+41")),
        ("embed_origins", _) => ("https://a.example.org".into(), json!("https://a.example.org")),
        ("usercolors", _) => ("1".into(), json!(r##"{"main_bg":"#000000"}"##)),
        ("price", _) => ("30,50".into(), json!(3_050)),
        ("calendarset_id" | "interventionset_id", _) => ("31".into(), json!(31)),
        (_, FieldType::Integer { min, max }) => {
            let number = match (min, *present == json!(max)) {
                (i64::MIN, _) => 1,
                (_, true) => min,
                (_, false) => max,
            };
            (number.to_string(), number.into())
        }
        (_, FieldType::Text { .. } | FieldType::Name { .. }) => (TEXT.into(), TEXT.into()),
        (_, FieldType::Colour) => ("#123456".into(), json!("#123456")),
        (_, FieldType::Boolean) => {
            let flag = *present == json!(false);
            (String::from(if flag { "1" } else { "0" }), flag.into())
        }
        (_, FieldType::Choice(choices)) => {
            let other = choices().into_iter().find(|choice| *present != json!(choice));
            (other.expect("two choices").into(), other.into())
        }
        (name, _) => panic!("no value for {name}"),
    }
}

/// A value that is wrong for a field; `None` if its widget cannot give one.
fn wrong_value(name: &str, field_type: FieldType) -> Option<String> {
    match field_type {
        _ if name == "usercolors" => None,
        FieldType::Text { max } | FieldType::Name { max } => Some("a".repeat(max + 1)),
        FieldType::Integer { .. } | FieldType::Reference => Some("x<7".into()),
        FieldType::Colour => Some("red".into()),
        FieldType::Choice(_) => Some("NOPE".into()),
        _ => None,
    }
}

/// Sets every field of a table by its forms, and reads each back by the API.
async fn set_all<R: 'static>(
    server: &TestServer,
    table: &Table<R>,
    forms: Vec<Form>,
    kept: &[&str],
) {
    let mut ann = Professional::logged_in(server, ANN).await;
    let mut set = Vec::new();
    for Form { page, api } in forms {
        let shown = ann.open(&page).await;
        let before = server.pro_get(&api).await.is(200);
        let mut pairs = vec![("revision".to_owned(), revision(&shown))];
        let mut expected = Vec::new();
        for name in asked(&shown).into_iter().filter(|name| !kept.contains(name)) {
            let field = table.field(name).expect("a field of the table");
            let (given, stored) = other_value(name, field.field_type, &before[name]);
            assert_ne!(before[name], stored, "{name}");
            pairs.push((name.to_owned(), given));
            expected.push((name.to_owned(), stored));
            if name == "usercolors" {
                pairs.push(("usercolors.main_bg.on".into(), "1".into()));
                pairs.push(("usercolors.main_bg".into(), "#000000".into()));
            }
        }
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        let saved = ann.post(&page, &pairs).await;
        assert!(saved.location().ends_with("?saved=1"));
        ann.open(saved.location()).await.shows("role=\"status\"");
        let after = server.pro_get(&api).await.is(200);
        for (name, stored) in expected {
            assert_eq!(after[&name], stored, "{page} {name}");
            set.push(name);
        }
        if pairs.iter().any(|(_, value)| *value == TEXT) {
            ann.open(&page).await.shows("Zoé &#60;b&#62;&#38;");
        }
    }
    let mut all: Vec<&str> = settable(table).iter().map(|field| field.name).collect();
    all.retain(|name| !kept.contains(name));
    all.sort_unstable();
    set.sort_unstable();
    assert_eq!(set, all, "{}", table.resource);
}

/// A shop with a set of services whose id is that of the set of calendars.
async fn shop() -> TestServer {
    shop_with(|catalogue| {
        use slotbook::domain::records::ids::InterventionsetId;
        use slotbook::domain::records::intervention::Interventionset;
        let id = InterventionsetId::new(31).expect("an id");
        let set = Interventionset::new(id, crate::shop::clock(6, 0));
        catalogue.interventionsets.insert(id, std::sync::Arc::new(set));
    })
    .await
}

#[tokio::test]
async fn every_field_is_set_by_its_form_and_reads_back_by_the_api() {
    let server = shop().await;
    let group = GROUP_PARTS.map(|part| form(part, "")).into();
    // Only a professional with a second factor may demand it.
    set_all(&server, &GROUP, group, &["second_factor_required"]).await;
    let other = form("calendars", &format!("/{OTHER_CALENDAR}"));
    set_all(&server, &CALENDAR_FIELDS, vec![other], &[]).await;
    set_all(&server, &CALENDARSET, vec![form("calendarsets", "/31")], &[]).await;
    let cut = form("interventions", &format!("/{CUT}"));
    set_all(&server, &INTERVENTION, vec![cut], &[]).await;
    set_all(&server, &INTERVENTIONSET, vec![form("interventionsets", "/31")], &[]).await;
    let attribute = vec![form("customfields", "/61")];
    set_all(&server, &CUSTOMFIELD, attribute, &["model", "name"]).await;
}

#[tokio::test]
async fn each_kind_of_record_is_made_by_its_form() {
    let server = shop().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    for part in ["calendars", "calendarsets", "interventions", "interventionsets"] {
        let new = format!("/p/cut-co/settings/{part}/new");
        let refused = ann.post(&new, &[("name", " "), ("sort", "")]).await;
        assert_eq!(refused.status, 400);
        refused.shows("id=\"name-fault\">This field is required.");
        let made = ann.post(&new, &[("name", TEXT), ("sort", "")]).await;
        assert_eq!(made.location(), format!("/p/cut-co/settings/{part}?saved=1"));
        ann.open(made.location()).await.shows("<bdi>Zoé &#60;b&#62;&#38;</bdi>");
        let list = server.pro_get(&format!("/groups/4/{part}")).await.is(200);
        let rows = list["records"].as_array().expect("a list");
        assert!(rows.iter().any(|row| row["name"] == TEXT), "{list}");
    }
    let new = "/p/cut-co/settings/customfields/new";
    ann.open(new).await.shows("<option value=\"txt2\">txt2 – long text</option>");
    let given = [("model", "Vevent"), ("name", "txt2"), ("user_label", "Allergies")];
    assert_eq!(ann.post(new, &given).await.status, 303);
    let again = ann.post(new, &given).await;
    assert_eq!(again.status, 400);
    again.shows("id=\"name-fault\">This attribute exists already.");
    again.shows("value=\"Allergies\"");
}

/// Gives each field a wrong value, one at a time.
async fn refuse_all<R: 'static>(
    server: &TestServer,
    table: &Table<R>,
    forms: &[Form],
    language: &str,
) {
    let mut ann = Professional::logged_in(server, ANN).await;
    for Form { page, api } in forms {
        let shown = ann.open(page).await;
        let before = server.pro_get(api).await.is(200);
        for name in asked(&shown) {
            let field = table.field(name).expect("a field of the table");
            let Some(wrong) = wrong_value(name, field.field_type) else { continue };
            let mut pairs = vec![("revision", revision(&shown)), (name, wrong.clone())];
            let neighbour = if name == "name" { "address" } else { "name" };
            pairs.push((neighbour, "typed and kept".to_owned()));
            let pairs: Vec<_> = pairs.iter().map(|(name, value)| (*name, &**value)).collect();
            let refused = ann.post(&format!("{page}?lang={language}"), &pairs).await;
            assert_eq!(refused.status, 400, "{page} {name}");
            refused.shows(&format!("id=\"{name}-fault\">"));
            refused.shows(&format!("href=\"#{name}\""));
            refused.shows(&wrong.replace('<', "&#60;"));
            if asked(&shown).contains(&neighbour) {
                refused.shows("typed and kept");
            }
            if language == "fr" {
                refused.hides("must be");
                refused.hides("Must be");
            }
        }
        assert_eq!(server.pro_get(api).await.is(200), before, "{page}");
    }
}

#[tokio::test]
async fn a_wrong_value_is_shown_beside_its_field_with_the_rule() {
    let server = shop().await;
    for language in ["en", "fr"] {
        let group = GROUP_PARTS.map(|part| form(part, ""));
        refuse_all(&server, &GROUP, &group, language).await;
        let calendar = form("calendars", &format!("/{CALENDAR}"));
        refuse_all(&server, &CALENDAR_FIELDS, &[calendar], language).await;
        let cut = form("interventions", &format!("/{CUT}"));
        refuse_all(&server, &INTERVENTION, &[cut], language).await;
        refuse_all(&server, &CUSTOMFIELD, &[form("customfields", "/61")], language).await;
    }
    let mut ann = Professional::logged_in(&server, ANN).await;
    let long = "x".repeat(1_030 * 1_024);
    let too_long = ann.post("/p/cut-co/settings/texts", &[("privacy_text", &*long)]).await;
    assert_eq!(too_long.status, 413);
    too_long.shows("nothing was saved");
    let path = "/p/cut-co/settings/messages?lang=fr";
    let page = ann.open(path).await;
    let given = [("revision", &*revision(&page)), ("mailreminder", "30")];
    ann.post(path, &given).await.shows("0, ou de 60 à 2880 minutes.");
}

#[tokio::test]
async fn settings_are_for_the_groups_own_professionals() {
    let server = shop().await;
    let stranger = Professional::stranger(&server);
    let mut eve = Professional::logged_in(&server, EVE).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    for path in ["", "/shop", "/calendars", "/calendars/new", "/calendars/11"] {
        let path = format!("/p/cut-co/settings{path}");
        assert!(stranger.get(&path).await.location().starts_with("/login?next="));
        assert_eq!(eve.get(&path).await.status, 404, "{path}");
    }
    for part in ["calendars", "calendarsets", "interventions", "interventionsets", "customfields"] {
        for path in ["/999", "/0", "/x", "/999/delete"] {
            let path = format!("/p/cut-co/settings/{part}{path}");
            assert_eq!(ann.get(&path).await.status, 404, "{path}");
            assert_eq!(ann.post(&path, &[("name", "mine")]).await.status, 404, "{path}");
        }
        for act in ["move", "restore"] {
            let path = format!("/p/cut-co/settings/{part}/999/{act}");
            assert_eq!(ann.post(&path, &[]).await.status, 404, "{path}");
        }
    }
    assert_eq!(ann.get("/p/cut-co/settings/nowhere").await.status, 404);
    assert_eq!(eve.post("/p/cut-co/settings/shop", &[("name", "Eve's")]).await.status, 404);
    let before = server.pro_get("/groups/4").await.is(200);
    for path in ["/shop", "/calendars/new", "/calendars/11", "/calendars/11/delete"] {
        let foreign = server
            .bare(Method::POST, &format!("/p/cut-co/settings{path}"))
            .header("cookie", &ann.cookies)
            .header("origin", "https://evil.example")
            .header("content-type", "application/x-www-form-urlencoded")
            .body("name=evil");
        assert_eq!(answer(foreign).await.status, 403, "{path}");
    }
    assert_eq!(server.pro_get("/groups/4").await.is(200), before);
}

#[tokio::test]
async fn of_two_editors_the_later_sees_both_versions_and_chooses() {
    let server = shop().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let mut other = Professional::logged_in(&server, ANN).await;
    for (path, api) in [
        ("/p/cut-co/settings/shop".to_owned(), "/groups/4".to_owned()),
        (
            format!("/p/cut-co/settings/calendars/{CALENDAR}"),
            format!("/groups/4/calendars/{CALENDAR}"),
        ),
    ] {
        let old = revision(&ann.open(&path).await);
        other.post(&path, &[("revision", &*old), ("city", "Lyon")]).await.location();
        let given = [("revision", &*old), ("city", "Nice"), ("address", "1 Quai")];
        let late = ann.post(&path, &given).await;
        assert_eq!(late.status, 412);
        late.shows("Saved at present: Lyon");
        late.shows("href=\"#city\"");
        late.shows("value=\"Nice\"");
        late.shows("value=\"1 Quai\"");
        late.shows("Save my version");
        assert_eq!(server.pro_get(&api).await.is(200)["city"], "Lyon");
        for rubbish in ["", "x", "\u{e9}"] {
            let given = [("revision", rubbish), ("city", "Nice")];
            assert_eq!(ann.post(&path, &given).await.status, 412, "{rubbish}");
        }
        let given = [("revision", &*revision(&late)), ("city", "Nice")];
        ann.post(&path, &given).await.location();
        assert_eq!(server.pro_get(&api).await.is(200)["city"], "Nice");
    }
}

/// Books a service on a calendar for the known client.
async fn book(server: &TestServer, service: u64, calendar: u64, date: &str) {
    let appointment = json!({"appointment": {"date": date, "intervention_ids": [service],
        "calendar_id": calendar, "fiche": {"id": KNOWN_FICHE}, "from_web": false}});
    answer(server.by_pro(Method::POST, "/groups/4/appointments").json(&appointment)).await.is(201);
}

#[tokio::test]
async fn a_deletion_names_the_appointments_to_come_and_is_what_was_said() {
    let server = shop().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    book(&server, CUT, CALENDAR, "2025-06-03 09:00:00").await;
    book(&server, COLOUR, CALENDAR, "2025-06-03 10:00:00").await;
    book(&server, CUT, OTHER_CALENDAR, "2025-06-03 11:00:00").await;
    let one = (COLOUR, "2025-06-04 09:00:00");
    let other = (CUT, "2025-06-05 09:00:00");
    for (record, named, hidden, meanwhile) in [
        (format!("calendars/{CALENDAR}"), ["09:00", "10:00"], "11:00", one),
        (format!("interventions/{CUT}"), ["09:00", "11:00"], "10:00", other),
    ] {
        let path = format!("/p/cut-co/settings/{record}/delete");
        let question = ann.open(&path).await;
        question.shows("Upcoming appointments: 2.");
        for time in named {
            question.shows(&format!("Tuesday 3 June 2025 at {time}, Known"));
        }
        question.hides(hidden);
        let digest = question.values("expected")[0].clone();
        let agreed = [("revision", &*revision(&question)), ("expected", &*digest)];
        let (service, date) = meanwhile;
        book(&server, service, CALENDAR, date).await;
        let late = ann.post(&path, &agreed).await;
        assert_eq!(late.status, 412);
        late.shows("Nothing was deleted.");
        let deleted = |json: Value| json["deleted"] == json!(true);
        let api = format!("/groups/4/{record}");
        assert!(!deleted(server.pro_get(&api).await.is(200)));
        let digest = late.values("expected")[0].clone();
        let agreed = [("revision", &*revision(&late)), ("expected", &*digest)];
        let list = ann.post(&path, &agreed).await.location().to_owned();
        assert!(deleted(server.pro_get(&api).await.is(200)));
        ann.open(&list).await.shows("Restore ");
        assert_eq!(ann.get(&path).await.status, 404);
        ann.post(&format!("/p/cut-co/settings/{record}/restore"), &[]).await.location();
        assert!(!deleted(server.pro_get(&api).await.is(200)));
    }
    let set = "/p/cut-co/settings/calendarsets/31/delete";
    let question = ann.open(set).await;
    let digest = question.values("expected")[0].clone();
    let agreed = [("revision", &*revision(&question)), ("expected", &*digest)];
    ann.post(set, &agreed).await.location();
    assert_eq!(server.pro_get("/groups/4/calendarsets/31").await.status, 404);
}

#[tokio::test]
async fn a_rule_of_the_group_is_a_sentence_that_names_what_it_is_about() {
    let server = shop_with(|catalogue| {
        let utc = slotbook::domain::time::zone_names::ZoneName::from_name("UTC");
        catalogue.group.timezone = utc.expect("a listed name");
    })
    .await;
    // In Paris the clocks go from two to three in that night.
    book(&server, CUT, CALENDAR, "2026-03-29 02:15:00").await;
    book(&server, CUT, CALENDAR, "2026-03-29 03:15:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let path = "/p/cut-co/settings/shop";
    let page = ann.open(path).await;
    let given = [("revision", &*revision(&page)), ("timezone", "Paris"), ("city", "Nice")];
    let refused = ann.post(path, &given).await;
    assert_eq!(refused.status, 400);
    refused.shows("two appointments would overlap: Sunday 29 March 2026 at 02:15, Known and");
    refused.shows("value=\"Nice\"");
    refused.shows("<option value=\"Paris\" selected>");
    let path = "/p/cut-co/settings/customfields/61";
    let question = ann.open(&format!("{path}/delete")).await;
    let digest = question.values("expected")[0].clone();
    let agreed = [("revision", &*revision(&question)), ("expected", &*digest)];
    ann.post(&format!("{path}/delete"), &agreed).await.location();
    let same = [("model", "Fiche"), ("name", "str0")];
    ann.post("/p/cut-co/settings/customfields/new", &same).await.location();
    let refused = ann.post(&format!("{path}/restore"), &[]).await;
    assert_eq!(refused.status, 400);
    refused.shows("This change is not possible.");
}

#[tokio::test]
async fn buttons_order_a_list_and_a_deleted_record_is_not_in_it() {
    let server = shop().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let order = async || {
        let list = server.pro_get("/groups/4/calendars").await.is(200);
        let list = list["records"].as_array().expect("a list").clone();
        list.iter().map(|one| one["id"].as_u64().expect("an id")).collect::<Vec<_>>()
    };
    assert_eq!(order().await, [11, 12, 13]);
    let list = ann.open("/p/cut-co/settings/calendars").await;
    assert_eq!(list.values("way"), ["down", "up", "down", "up"]);
    for (id, way, expected) in [
        (13, "up", [11, 13, 12]),
        (11, "down", [13, 11, 12]),
        (13, "up", [13, 11, 12]),
        (12, "down", [13, 11, 12]),
    ] {
        let path = format!("/p/cut-co/settings/calendars/{id}/move");
        ann.post(&path, &[("way", way)]).await.location();
        assert_eq!(order().await, expected, "{id} {way}");
    }
    let no_order = ann.post("/p/cut-co/settings/customfields/61/move", &[("way", "up")]).await;
    assert_eq!(no_order.status, 404);
}

#[tokio::test]
async fn colours_say_how_the_page_corrects_them() {
    let server = shop().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let path = "/p/cut-co/settings/texts";
    let page = ann.open(path).await;
    let given = [
        ("revision", &*revision(&page)),
        ("usercolors", "1"),
        ("usercolors.content_links.on", "1"),
        ("usercolors.content_links", "#ffff00"),
        ("usercolors.main_bg", "#222222"),
    ];
    ann.post(path, &given).await.location();
    let page = ann.open(path).await;
    page.shows("Contrast too low: the page shows #707000.");
    let stored = server.pro_get("/groups/4").await.is(200)["usercolors"].clone();
    assert_eq!(stored, json!(r##"{"content_links":"#ffff00"}"##));
    ann.post(path, &[("revision", &*revision(&page)), ("usercolors", "1")]).await.location();
    assert_eq!(server.pro_get("/groups/4").await.is(200)["usercolors"], Value::Null);
}

/// Logs a browser in.
async fn log_in(browser: &Browser, next: &str) {
    browser.goto(&format!("/login?next={next}")).await;
    browser.type_into("#email", ANN.0).await;
    browser.type_into("#password", &format!("{}\u{e007}", ANN.1)).await;
    browser.arrive_at(next).await;
}

#[tokio::test]
async fn each_part_is_accessible() {
    let server = shop().await;
    book(&server, CUT, CALENDAR, "2025-06-03 09:00:00").await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let calendar = format!("/calendars/{CALENDAR}");
    let deletion = format!("{calendar}/delete");
    let gone = ann.open("/p/cut-co/settings/calendars/13/delete").await;
    let digest = gone.values("expected")[0].clone();
    let agreed = [("revision", &*revision(&gone)), ("expected", &*digest)];
    ann.post("/p/cut-co/settings/calendars/13/delete", &agreed).await.location();
    let screens = [
        ("index", ""),
        ("shop", "/shop"),
        ("booking", "/booking?saved=1"),
        ("messages", "/messages"),
        ("texts", "/texts"),
        ("calendars", "/calendars?saved=1"),
        ("calendar", &calendar),
        ("calendar-delete", &deletion),
        ("calendarset", "/calendarsets/31"),
        ("interventions", "/interventions"),
        ("intervention-new", "/interventions/new"),
        ("interventionset", "/interventionsets/31"),
        ("customfield", "/customfields/61"),
        ("customfield-new", "/customfields/new"),
    ];
    for language in ["en", "fr"] {
        let look = Look { width: 320, language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser, "/p/cut-co/settings").await;
        for (name, path) in screens {
            browser.goto(&format!("/p/cut-co/settings{path}")).await;
            check(&browser, look, name).await;
        }
        // The states after a refusal, and after another editor.
        browser.goto("/p/cut-co/settings/messages").await;
        browser.run("document.querySelector('#mailreminder').value = '7'").await;
        browser.click(".end button").await;
        browser.await_element("[aria-invalid]").await;
        browser.await_element(".alert:focus").await;
        check(&browser, look, "refused").await;
        browser.goto("/p/cut-co/settings/shop").await;
        let shown = ann.open("/p/cut-co/settings/shop").await;
        ann.post(
            "/p/cut-co/settings/shop",
            &[("revision", &*revision(&shown)), ("city", language)],
        )
        .await
        .location();
        browser.type_into("#city", "x").await;
        browser.click(".end button").await;
        browser.await_element("#city-meanwhile").await;
        check(&browser, look, "overtaken").await;
        assert!(!browser.console().await.contains("Content Security Policy"));
    }
}

/// Checks the present screen on a small phone and on a desktop, light and dark.
async fn check(browser: &Browser, look: Look, name: &str) {
    for (width, is_dark) in [(320, false), (320, true), (1_280, false), (1_280, true)] {
        let height = if width == 320 { 740 } else { 900 };
        browser.emulate(Look { width, height, is_dark, ..look }).await;
        let what = format!("{name} {} {width} dark={is_dark}", look.language);
        browser.assert_accessible(&what).await;
        browser.assert_fits(&what).await;
        browser.assert_targets(&what).await;
        browser.picture(&format!("settings-{name}-{}-{width}-{is_dark}", look.language)).await;
    }
}

#[tokio::test]
async fn settings_are_changed_by_the_keyboard_alone() {
    let server = shop().await;
    let look = Look { width: 1_280, height: 900, ..PHONE };
    let Some(browser) = Browser::open(server.address(), look).await else { return };
    log_in(&browser, "/p/cut-co/agenda").await;
    browser.tab_to("nav a[href$='/settings']").await;
    browser.press("\u{e007}").await;
    browser.arrive_at("/p/cut-co/settings").await;
    browser.tab_to("a[href$='/settings/booking']").await;
    browser.press("\u{e007}").await;
    browser.arrive_at("/p/cut-co/settings/booking").await;
    browser.tab_to("#inactive").await;
    browser.press(" ").await;
    browser.tab_to("#verify_bookings").await;
    browser.press("\u{e015}").await;
    browser.tab_to("#max_multirdvs").await;
    browser.press("3\u{e007}").await;
    browser.await_element("[role=status]:not(#said)").await;
    let group = server.pro_get("/groups/4").await.is(200);
    assert_eq!(group["inactive"], true);
    assert_eq!(group["verify_bookings"], "mail");
    assert_eq!(group["max_multirdvs"], 3);
    browser.goto("/p/cut-co/settings/calendars").await;
    browser.tab_to("button[value=down]").await;
    browser.press("\u{e007}").await;
    browser.await_element("[role=status]:not(#said)").await;
    let calendar = server.pro_get(&format!("/groups/4/calendars/{CALENDAR}")).await.is(200);
    assert_eq!(calendar["sort"], 2);
    browser.tab_to("a.button").await;
    browser.press("\u{e007}").await;
    browser.arrive_at("/p/cut-co/settings/calendars/new").await;
    browser.tab_to("#name").await;
    browser.press("Chloé\u{e007}").await;
    browser.await_element("[role=status]:not(#said)").await;
    let list = server.pro_get("/groups/4/calendars").await.is(200);
    assert!(list.to_string().contains("Chloé"), "{list}");
}
