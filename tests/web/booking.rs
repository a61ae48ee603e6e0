//! Booking without JavaScript: the steps, and what happens when something is in the way.

use slotbook::domain::records::text::{LongText, Text};

use crate::shop::{COLOUR, CUT, clock};
use crate::visitor::{Visitor, live_appointments, set, shop_with};

#[tokio::test]
async fn a_visitor_without_javascript_books_by_links_and_forms() {
    let server = shop_with(|_| {}).await;
    let visitor = Visitor::of(&server);
    let services = visitor.open("/b/cut-co").await;
    services.shows("Which appointment do you need?");
    services.shows(&format!("href=\"/b/cut-co/time?s={CUT}\""));
    let times = visitor.open(&format!("/b/cut-co/time?s={CUT}")).await;
    assert_eq!(times.offered()[0], "2025-06-02T09:00");
    times.shows("Monday 2 June");
    let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    let booked = visitor.post("/b/cut-co/you", &form).await;
    let done = visitor.open(booked.location()).await;
    done.shows("Appointment confirmed");
    done.shows("Monday 2 June 2025 at 9:00\u{a0}am");
    done.shows("Coupe");
    done.shows("A confirmation is on its way by e-mail.");
    assert_eq!(live_appointments(&server.engine), 1);
    let ics = done.html.split("href=\"").find(|rest| rest.contains(".ics")).expect("a link");
    let ics = ics.split('"').next().expect("a URL").replace("&#38;", "&");
    let file = visitor.open(&ics).await;
    assert_eq!(file.headers["content-type"], "text/calendar; charset=utf-8");
    file.shows("DTSTART:20250602T070000Z");
    file.shows("METHOD:PUBLISH");
}

#[tokio::test]
async fn a_group_with_any_name_in_its_address_is_booked() {
    let server = shop_with(|catalogue| {
        catalogue.group.urlname = Text::new("salon d’été/5").expect("a text");
    })
    .await;
    let visitor = Visitor::of(&server);
    let home = "/b/salon%20d%E2%80%99%C3%A9t%C3%A9%2F5";
    let times = format!("{home}/time?s={CUT}");
    visitor.open(home).await.shows(&format!("href=\"{times}\""));
    visitor.open(&times).await.shows(&format!("action=\"{home}/you\""));
    let mut form = visitor.open(&format!("{home}/you?s={CUT}&t=2025-06-02T09:00")).await.hidden();
    set(&mut form, "fiche.lastname", "Durand");
    set(&mut form, "fiche.firstname", "Zoé");
    set(&mut form, "fiche.email", "zoe@example.org");
    let booked = visitor.post(&format!("{home}/you"), &form).await;
    visitor.open(booked.location()).await.shows("Appointment confirmed");
}

#[tokio::test]
async fn the_same_form_books_once_however_often_it_is_sent() {
    let server = shop_with(|_| {}).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    let (first, second) =
        tokio::join!(visitor.post("/b/cut-co/you", &form), visitor.post("/b/cut-co/you", &form));
    assert_eq!(first.location(), second.location(), "a double click");
    let later = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(later.location(), first.location(), "a lost answer");
    let mut edited = form.clone();
    set(&mut edited, "fiche.lastname", "Martin");
    let back = visitor.post("/b/cut-co/you", &edited).await;
    visitor.open(back.location()).await.shows("it booked nothing more");
    assert_eq!(live_appointments(&server.engine), 1);
    let mut other = form.clone();
    set(&mut other, "t", "2025-06-02T10:00");
    visitor.post("/b/cut-co/you", &other).await.location();
    assert_eq!(live_appointments(&server.engine), 2, "another time is another booking");
}

#[tokio::test]
async fn a_form_with_a_key_of_its_own_making_is_no_one_elses() {
    let server = shop_with(|_| {}).await;
    let visitor = Visitor::of(&server);
    // The last one came with a link that another visitor has made.
    let chosen = "0".repeat(32);
    for (time, key) in [
        ("2025-06-02T09:00", Some("1")),
        ("2025-06-02T10:00", Some("")),
        ("2025-06-02T11:00", None),
        ("2025-06-03T09:00", Some(&*chosen)),
    ] {
        let mut form = visitor.form_of(CUT, time).await;
        form.retain(|(name, _)| name != "k");
        form.extend(key.map(|key| ("k".to_owned(), key.to_owned())));
        let own = visitor.post("/b/cut-co/you", &form).await;
        set(&mut form, "fiche.lastname", "Martin");
        set(&mut form, "fiche.email", "martin@example.org");
        set(&mut form, "fiche.firstphone", "0612000099");
        let other = visitor.post("/b/cut-co/you", &form).await;
        let led_to = other.headers.get("location").map(|to| to.to_str().expect("a path"));
        // The shop has several chairs: it is a booking of its own, or none.
        let token = |location: &str| location.split(['=', '&']).nth(1).map(str::to_owned);
        assert_ne!(led_to.and_then(token), token(own.location()), "{key:?}");
    }
}

#[tokio::test]
async fn a_time_taken_meanwhile_is_answered_with_the_nearest_and_keeps_what_was_typed() {
    let server = shop_with(|catalogue| {
        let id = slotbook::domain::records::ids::CalendarId::new(12).expect("an id");
        catalogue.calendars.remove(&id);
        let id = slotbook::domain::records::ids::CalendarId::new(12).expect("an id");
        let mut hidden = slotbook::domain::records::calendar::Calendar::new(id, clock(6, 0));
        hidden.deleted = true;
        catalogue.calendars.insert(id, hidden.into());
    })
    .await;
    let visitor = Visitor::of(&server);
    let mut slow = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let fast = visitor.form_of(CUT, "2025-06-02T10:00").await;
    visitor.post("/b/cut-co/you", &fast).await.location();
    set(&mut slow, "fiche.email", "other@example.org");
    set(&mut slow, "comments", "à l’étage <b>");
    let taken = visitor.post("/b/cut-co/you", &slow).await;
    assert_eq!(taken.status, 400);
    taken.shows("This time is no longer free");
    taken.shows("value=\"other@example.org\"");
    taken.shows("à l’étage &#60;b&#62;");
    let others = taken.values("other");
    assert_eq!(others, ["2025-06-02T09:15", "2025-06-02T09:30", "2025-06-02T10:30"]);
    set(&mut slow, "other", &others[1]);
    let booked = visitor.post("/b/cut-co/you", &slow).await;
    visitor.open(booked.location()).await.shows("at 9:30\u{a0}am");
    let late = visitor.get(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
    late.shows("This time is no longer free");
}

#[tokio::test]
async fn a_form_of_another_site_is_refused() {
    let server = shop_with(|_| {}).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let request = visitor.form("/b/cut-co/you", &form).header(name, value);
        let page = visitor.send(request).await;
        assert_eq!(page.status, 403, "{name}");
        page.shows("This form comes from another site");
    }
    assert_eq!(live_appointments(&server.engine), 0);
    let request = visitor.form("/b/cut-co/you", &form).header("sec-fetch-site", "same-origin");
    visitor.send(request).await.location();
}

#[tokio::test]
async fn pages_run_nothing_inline_and_personal_ones_are_not_kept() {
    let server = shop_with(|_| {}).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let you = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00");
    for (path, caching, referrer) in [
        ("/b/cut-co", "no-cache", "same-origin"),
        (you.as_str(), "no-store", "same-origin"),
        (done.as_str(), "no-store", "no-referrer"),
    ] {
        let page = visitor.open(path).await;
        let policy = page.headers["content-security-policy"].to_str().expect("ASCII");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers["cache-control"], caching, "{path}");
        assert_eq!(page.headers["referrer-policy"], referrer, "{path}");
        page.hides("style=\"");
        page.hides("<style");
        page.hides("apikey");
        for inline in page.html.split("<script").skip(1) {
            assert!(inline.starts_with(" type=\"module\" src=\"/assets/script-"), "{inline}");
        }
    }
}

#[tokio::test]
async fn several_services_are_booked_in_a_row_up_to_the_limit_of_the_group() {
    let server = shop_with(|catalogue| {
        catalogue.group.max_multirdvs =
            slotbook::domain::records::text::Bounded::new(2).expect("a limit");
    })
    .await;
    let visitor = Visitor::of(&server);
    let services = visitor.open("/b/cut-co").await;
    services.shows("type=\"checkbox\" name=\"s\"");
    let none = visitor.get("/b/cut-co/time").await;
    assert_eq!(none.status, 400);
    none.shows("Choose a service.");
    let many = visitor.get(&format!("/b/cut-co/time?s={CUT}&s={COLOUR}&s={CUT}")).await;
    many.shows("Choose at most 2 services.");
    let query = format!("s={CUT}&s={COLOUR}");
    let times = visitor.open(&format!("/b/cut-co/time?{query}")).await;
    assert_eq!(times.offered().iter().filter(|t| t.starts_with("2025-06-02")).count(), 7);
    let page = visitor.open(&format!("/b/cut-co/you?{query}&t=2025-06-02T10:30")).await;
    let mut form = page.hidden();
    set(&mut form, "fiche.lastname", "Durand");
    let booked = visitor.post("/b/cut-co/you", &form).await;
    let done = visitor.open(booked.location()).await;
    done.shows("Appointments confirmed");
    done.shows("at 10:30\u{a0}am");
    done.shows("at 11:00\u{a0}am");
    assert_eq!(live_appointments(&server.engine), 2);
}

#[tokio::test]
async fn a_page_names_its_privacy_text_and_takes_a_booking_for_somebody_else() {
    let server = shop_with(|catalogue| {
        catalogue.group.privacy_text = LongText::new("Kept for a year.").expect("a text");
    })
    .await;
    let visitor = Visitor::of(&server);
    let page = visitor.open(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T09:00")).await;
    page.shows("Kept for a year.");
    page.shows("you agree that Cut &#38; Co uses these details");
    let mut form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    set(&mut form, "relative.name", "Léo Durand");
    set(&mut form, "relative.birthdate", "2019-03-03");
    set(&mut form, "comments", "first visit");
    visitor.post("/b/cut-co/you", &form).await.location();
    let rows = server.pro_get("/groups/4/appointments").await.is(200);
    assert_eq!(
        rows["records"][0]["comments"],
        "Pour un proche : Léo Durand, 2019-03-03\nfirst visit"
    );
    assert_eq!(rows["records"][0]["websource"], "web");
}

#[tokio::test]
async fn the_limits_on_the_public_hold_for_the_pages() {
    let server = shop_with(|catalogue| catalogue.group.open = false).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    for _ in 0..10 {
        let refused = visitor.post("/b/cut-co/you", &form).await;
        assert_eq!(refused.status, 400);
        refused.shows("this e-mail address is unknown");
    }
    let limited = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(limited.status, 429);
    limited.shows("Too many requests");
    assert!(limited.headers.contains_key("retry-after"));
    assert_eq!(live_appointments(&server.engine), 0);
}
