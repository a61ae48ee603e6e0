//! What any client of the API gains with the pages: the module in one answer.

use reqwest::Method;
use serde_json::json;

use crate::server::answer;
use crate::shop::{COLOUR, CUT, KEY_OF_ALL};
use crate::visitor::shop_with;

#[tokio::test]
async fn one_answer_has_everything_that_a_booking_page_needs() {
    let server = shop_with(|_| {}).await;
    let module = server.get("/modules/cut-co").await.is(200);
    assert_eq!(module["group"]["name"], "Cut & Co");
    assert!(module["group"].get("sendmail").is_none(), "what the module shows to the public");
    let ids = |list: &str| -> Vec<u64> {
        let records = module[list].as_array().expect("a list");
        records.iter().map(|record| record["id"].as_u64().expect("an id")).collect()
    };
    assert_eq!(ids("calendars"), [11, 12]);
    assert_eq!(ids("interventions"), [CUT, COLOUR]);
    assert_eq!(module["calendars"][0]["intervention_ids"], json!([CUT, COLOUR]));
    assert_eq!(ids("calendarsets"), [31]);
    assert_eq!(ids("customfields"), [61, 63], "the visible ones");
    let by_pro = server.pro_get("/modules/cut-co").await.is(200);
    assert_eq!(by_pro, module);
}

#[tokio::test]
async fn a_module_is_shown_to_keys_that_cover_its_group_only() {
    let server = shop_with(|_| {}).await;
    assert_eq!(server.get("/modules/nowhere").await.status, 404);
    let bare = answer(server.bare(Method::GET, "/api/v1/modules/cut-co")).await;
    bare.refused(403, 1, None);
    let path = format!("/api/v1/modules/cut-co.json?apikey={KEY_OF_ALL}");
    answer(server.bare(Method::GET, &path)).await.is(200);
}
