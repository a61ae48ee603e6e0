//! Every setting of a group that changes its page.

use slotbook::domain::records::group::Usercolors;
use slotbook::domain::records::text::{Bounded, Text};

use crate::server::TestServer;
use crate::shop::{self, CALENDAR, CUT, OTHER_CALENDAR};
use crate::visitor::{Visitor, shop_with};

#[tokio::test]
async fn a_module_that_takes_no_bookings_shows_the_phone_number_instead() {
    type Change = fn(&mut slotbook::domain::availability::catalogue::Catalogue);
    let changes: [(Change, &str); 4] = [
        (|catalogue| catalogue.group.inactive = true, "takes no online bookings"),
        (|catalogue| catalogue.group.open_data = false, "for clients who have an account"),
        (|catalogue| catalogue.interventions.clear(), "No service is offered online"),
        // A server that sends no mail cannot ask for a code.
        (|catalogue| catalogue.group.validate_email = true, "no e-mail can be sent"),
    ];
    for (change, sentence) in changes {
        let server = shop_with(change).await;
        let page = Visitor::of(&server).open("/b/cut-co").await;
        page.shows(sentence);
        page.shows("href=\"tel:0199001230\"");
        let times = Visitor::of(&server).get(&format!("/b/cut-co/time?s={CUT}")).await;
        times.hides("name=\"t\"");
    }
}

#[tokio::test]
async fn the_choice_of_a_calendar_comes_first_second_or_not_at_all() {
    for (choice, any_calendar) in [(0, true), (1, true), (2, true), (3, true), (2, false)] {
        let server = shop_with(|catalogue| {
            catalogue.group.calendar_choice = choice;
            catalogue.group.any_calendar = any_calendar;
        })
        .await;
        let visitor = Visitor::of(&server);
        let first = visitor.open("/b/cut-co").await;
        assert_eq!(first.html.contains("With whom?"), choice == 1, "{choice}");
        let times = visitor.open(&format!("/b/cut-co/time?s={CUT}")).await;
        let is_offered = times.html.contains(&format!("s={CUT}&#38;c={CALENDAR}\""));
        assert_eq!(is_offered, choice == 1 || choice == 2, "{choice}");
        let has_any = times.html.contains("No preference");
        assert_eq!(has_any, is_offered && any_calendar, "{choice} {any_calendar}");
        if choice == 1 {
            let services = visitor.open(&format!("/b/cut-co?c={OTHER_CALENDAR}")).await;
            services.shows("<bdi>Bob</bdi>");
            services.shows(&format!("href=\"/b/cut-co/time?s={CUT}&#38;c={OTHER_CALENDAR}\""));
        }
        if !any_calendar {
            times.shows("aria-current=\"true\"><span><bdi>Ann</bdi>");
        }
    }
}

#[tokio::test]
async fn without_no_preference_the_shown_calendar_takes_the_booking() {
    let server = shop_with(|catalogue| {
        catalogue.group.calendar_choice = 2;
        catalogue.group.any_calendar = false;
    })
    .await;
    let visitor = Visitor::of(&server);
    for hour in 9..12 {
        let form = visitor.form_of(CUT, &format!("2025-06-02T{hour:02}:00")).await;
        let done = visitor.post("/b/cut-co/you", &form).await;
        assert!(done.location().starts_with("/b/cut-co/done"), "{}", done.location());
    }
    let booked = server.pro_get("/groups/4/appointments").await.is(200);
    let booked = booked["records"].as_array().expect("a list");
    let of_shown = booked.iter().filter(|row| row["calendar_id"] == CALENDAR).count();
    assert_eq!((of_shown, booked.len()), (3, 3));
}

#[tokio::test]
async fn length_and_price_are_shown_as_the_settings_say() {
    let server = shop_with(|catalogue| {
        for intervention in catalogue.interventions.values_mut() {
            let price = Bounded::new(3_050).expect("a price");
            std::sync::Arc::make_mut(intervention).price = Some(price);
        }
        catalogue.group.display_intervention_length = true;
        catalogue.group.display_intervention_price = true;
    })
    .await;
    let visitor = Visitor::of(&server);
    visitor.open("/b/cut-co").await.shows("30 min · €30.50");
    visitor.open("/b/cut-co?lang=fr").await.shows("30 min · 30,50\u{a0}€");
    let bare = shop_with(|_| {}).await;
    Visitor::of(&bare).open("/b/cut-co").await.hides("30 min");
}

#[tokio::test]
async fn a_page_stands_only_where_the_group_has_one_and_the_root_leads_to_it() {
    let hidden = shop_with(|catalogue| catalogue.group.web_page = false).await;
    let visitor = Visitor::of(&hidden);
    for path in ["/b/cut-co", "/b/cut-co/time?s=21", "/b/cut-co/you?s=21", "/b/nowhere"] {
        let page = visitor.get(path).await;
        assert_eq!(page.status, 404, "{path}");
        page.shows("There is no booking page at this address.");
    }
    let four = || shop::group_four(|_| {});
    let only = TestServer::serving(vec![four()], |server| server).await;
    assert_eq!(Visitor::of(&only).get("/").await.location(), "/b/cut-co");
    let named = shop::group_four(|it| it.group.urlname = Text::new("été").expect("a text"));
    let only = TestServer::serving(vec![named], |server| server).await;
    assert_eq!(Visitor::of(&only).get("/").await.location(), "/b/%C3%A9t%C3%A9");
    let groups = || vec![four(), shop::group_five()];
    let two = TestServer::serving(groups(), |server| server).await;
    assert_eq!(Visitor::of(&two).get("/").await.location(), "/docs");
    let listed = TestServer::serving(groups(), |server| server.listing_groups(true)).await;
    let list = Visitor::of(&listed).open("/").await;
    list.shows("href=\"/b/cut-co\"");
    list.shows("Elsewhere");
}

#[tokio::test]
async fn the_colours_of_a_group_are_a_stylesheet_that_never_changes_under_its_url() {
    let server = shop_with(|catalogue| {
        let colours = r##"{"content_links":"#ffff00","main_bg":"#000000"}"##;
        catalogue.group.usercolors = Some(Usercolors::new(colours).expect("colours"));
    })
    .await;
    let visitor = Visitor::of(&server);
    let page = visitor.open("/b/cut-co").await;
    let url = page.html.split("href=\"").find(|rest| rest.contains("/colours.css"));
    let url = url.and_then(|rest| rest.split('"').next()).expect("a URL");
    let style = visitor.open(url).await;
    assert_eq!(style.headers["content-type"], "text/css; charset=utf-8");
    assert!(style.headers["cache-control"].to_str().expect("ASCII").contains("immutable"));
    style.shows("--main:#000000");
    style.shows("--link:#707000");
    style.shows("--main-text:#ffffff");
    let old = visitor.open("/b/cut-co/colours.css?v=1").await;
    assert_eq!(old.headers["cache-control"], "no-store");
    let plain = shop_with(|_| {}).await;
    Visitor::of(&plain).open("/b/cut-co").await.hides("colours.css");
}
