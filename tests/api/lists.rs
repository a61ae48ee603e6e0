//! Groups, calendars and interventions, as lists and one by one.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, HIDDEN_CALENDAR, KEY_OF_ALL, OTHER_CALENDAR};

fn ids(list: &Value) -> Vec<u64> {
    list["records"].as_array().expect("records").iter().map(|record| record["id"].as_u64().expect("an id")).collect()
}

#[tokio::test]
async fn a_key_lists_the_groups_it_names_and_a_professional_its_own() {
    let server = TestServer::start().await;
    let list = server.get("/groups").await.is(200);
    assert_eq!((ids(&list), &list["totalRecords"], &list["pageSize"]), (vec![4], &json!(1), &json!(25)));
    assert!(list["records"][0].get("sendmail").is_none());
    let path = format!("/api/v1/groups?apikey={KEY_OF_ALL}");
    answer(server.bare(Method::GET, &path)).await.refused(403, 1, None);
    let own = answer(server.bare(Method::GET, &path).basic_auth(ANN.0, Some(ANN.1))).await.is(200);
    assert_eq!((ids(&own), &own["records"][0]["sendmail"]), (vec![4], &json!(true)));
}

#[tokio::test]
async fn a_key_alone_sees_what_the_module_shows() {
    let server = TestServer::start().await;
    let list = server.get("/groups/4/calendars").await.is(200);
    assert_eq!(ids(&list), [CALENDAR, OTHER_CALENDAR]);
    assert!(list["records"][0].get("name").is_none() && list["records"][0]["publicname"] == "Ann");
    let all = server.pro_get("/groups/4/calendars?sort=name&dir=desc&results=2").await.is(200);
    assert_eq!((ids(&all), &all["totalRecords"]), (vec![CALENDAR, OTHER_CALENDAR], &json!(3)));
    let hidden = format!("/groups/4/calendars/{HIDDEN_CALENDAR}");
    server.get(&hidden).await.refused(404, 3, None);
    assert_eq!(server.pro_get(&hidden).await.is(200)["name"], "agenda");
    assert_eq!(server.get("/groups/4/interventions/21").await.is(200)["length"], 30);
    server.get("/groups/4/interventions/99").await.refused(404, 3, None);
}

#[tokio::test]
async fn lists_are_narrowed_by_what_is_offered_and_by_sets() {
    let server = TestServer::start().await;
    let calendars = async |query: &str| ids(&server.get(&format!("/groups/4/calendars?{query}")).await.is(200));
    assert_eq!(calendars("intervention_ids[]=21&intervention_ids[]=22").await, [CALENDAR, OTHER_CALENDAR]);
    assert_eq!(calendars("calendarset_ids%5B%5D=31").await, [CALENDAR]);
    let interventions = async |query: &str| ids(&server.get(&format!("/groups/4/interventions?{query}")).await.is(200));
    assert_eq!(interventions("calendar_ids[]=11").await, [CUT, COLOUR]);
    assert_eq!(interventions("calendar_ids[]=13").await, [0_u64; 0], "the module does not show the calendar");
    server.get("/groups/4/calendars?intervention_ids[]=99").await.refused(400, 2, Some("intervention_ids"));
    server.get("/groups/4/interventions?interventionset_id=99").await.refused(400, 2, Some("interventionset_id"));
    let several = server.get("/groups/4/calendars?calendarset_ids=x&results=0&sort=nothing").await;
    assert_eq!(several.errors().len(), 3, "{}", several.text);
}

#[tokio::test]
async fn professionals_list_events_by_calendar_client_and_start() {
    let server = TestServer::start().await;
    let vevents = async |query: &str| ids(&server.pro_get(&format!("/groups/4/vevents?{query}")).await.is(200));
    assert_eq!(vevents("").await, [51, 52, 53]);
    assert_eq!(vevents("calendar_id=12").await, [52]);
    assert_eq!(vevents("fiche_id=41").await, [0_u64; 0]);
    assert_eq!(vevents("start_from=2025-06-01+09:00:00&start_to=2025-06-01+09:00:01").await, [51, 52, 53]);
    assert_eq!(vevents("start_to=2025-06-01+09:00:00").await, [0_u64; 0]);
    let several = server.pro_get("/groups/4/vevents?calendar_id=99&fiche_id=99&start_from=x&sort=x").await;
    assert_eq!(several.errors().len(), 4, "{}", several.text);
    let one = server.pro_get("/groups/4/vevents/51").await.is(200);
    assert_eq!((&one["type"], &one["start"]), (&json!("VfreebusyEvent"), &json!("2025-06-01 09:00:00")));
    server.pro_get("/groups/4/vevents/99").await.refused(404, 3, None);
}
