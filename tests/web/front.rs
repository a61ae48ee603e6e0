//! The pages for clients as they meet them: time zones, desk and telephone, long lists, dates that
//! are far away.

use std::sync::Arc;

use serde_json::json;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::ids::{CalendarId, InterventionId, InterventionsetId, VeventId};
use slotbook::domain::records::intervention::{Intervention, Interventionset};
use slotbook::domain::records::text::{Bounded, Name};
use slotbook::domain::records::vevent::{Availability, Permits, Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Rule, Series};
use slotbook::domain::time::Civil;
use slotbook::domain::time::zone::Zone;

use crate::accessible::annulation_minutes;
use crate::browser::{Browser, Look, PHONE};
use crate::server::TestServer;
use crate::shop::{self, CALENDAR, CUT, clock};
use crate::visitor::Visitor;

pub(crate) const DESK: Look = Look { width: 1_280, height: 900, ..PHONE };
/// A small telephone.
const SMALL: Look = Look { width: 360, height: 640, ..PHONE };

/// A calendar that is open every day from one hour to another.
fn open_daily(id: u64, calendar: u64, from: u32, to: u32) -> Arc<Vevent> {
    let paris = Zone::from_iana("Europe/Paris").expect("a zone");
    let at = |hour| Civil::from_ymd_hms(2025, 1, 1, hour, 0, 0).expect("a time");
    let daily = "FREQ=DAILY".parse::<Rule>().expect("a rule");
    let series = Series::new(paris, at(from), at(to), Some(daily), Exceptions::default());
    Arc::new(Vevent {
        id: VeventId::new(id).expect("an id"),
        calendar_id: CalendarId::new(calendar).expect("an id"),
        kind: VeventKind::Availability(Box::new(Availability {
            series: series.expect("a series"),
            permits: Permits::All,
        })),
        deleted: false,
        created_at: clock(6, 0),
        updated_at: clock(6, 0),
        rare: None,
    })
}

/// A shop with people beside the usual ones, all open in the morning, and a free rein.
async fn shop_of(people: &[&str], change: impl FnOnce(&mut Catalogue)) -> TestServer {
    let mut four = shop::group_four(|catalogue| {
        for (at, person) in people.iter().enumerate() {
            let id = 200 + u64::try_from(at).expect("a few");
            let mut calendar = Calendar::new(CalendarId::new(id).expect("an id"), clock(6, 0));
            calendar.publicname = Name::new(person).expect("a name");
            catalogue.calendars.insert(calendar.id, Arc::new(calendar));
        }
        change(catalogue);
    });
    for at in 0..people.len() {
        let id = 200 + u64::try_from(at).expect("a few");
        four.put_vevent(open_daily(id + 800, id, 9, 12));
    }
    TestServer::serving(vec![four], |server| server).await
}

/// Names of eight people, two of them with accents.
const EIGHT: [&str; 8] =
    ["Zoé Durand", "Élodie", "Camille", "Dominique", "Éric", "Fatou", "Gaël", "Hugo"];

/// Adds services in sets of a name each.
fn add_services(catalogue: &mut Catalogue, sets: &[(&str, &[&str])]) {
    for (place, (set, services)) in sets.iter().enumerate() {
        let place = 1 + u64::try_from(place).expect("a few");
        let id = InterventionsetId::new(place).expect("an id");
        let name = Name::new(set).expect("a name");
        let set = Interventionset { publicname: name, ..Interventionset::new(id, clock(6, 0)) };
        catalogue.interventionsets.insert(id, Arc::new(set));
        for (at, service) in services.iter().enumerate() {
            let at = u64::try_from(at).expect("a few");
            let service_id = InterventionId::new(300 + 20 * place + at).expect("an id");
            let mut intervention = Intervention::new(service_id, clock(6, 0));
            intervention.publicname = Name::new(service).expect("a name");
            intervention.length = Bounded::new(30).expect("a length");
            intervention.interventionset_id = Some(id);
            catalogue.interventions.insert(service_id, Arc::new(intervention));
        }
    }
}

/// The services of a long list: 18 in three sets, beside two without a set.
fn add_many_services(catalogue: &mut Catalogue) {
    add_services(
        catalogue,
        &[
            ("Cheveux", &["Brushing", "Mèches", "Lissage", "Permanente", "Chignon", "Frange"]),
            ("Soins", &["Hydratation", "Massage crânien", "Kératine", "Gommage", "Bain", "Huile"]),
            ("Barbe", &["Taille", "Rasage", "Contour", "Coloration de barbe", "Cire", "Serviette"]),
        ],
    );
}

#[tokio::test]
async fn times_are_those_of_the_shop_with_the_visitors_own_beside_them() {
    let server = shop_of(&[], |catalogue| annulation_minutes(catalogue, 0)).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T11:00").await;
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let link = crate::manage::link_of(&visitor.open(&done).await);
    let times = format!("/b/cut-co/time?s={CUT}");
    let you = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T09:00");
    let question = format!("{link}/move?t=2025-06-02T10:00");
    for (zone, language, own) in [
        ("Asia/Tokyo", "en", Some(["4:00 pm", "5:00 pm", "6:00 pm"])),
        ("Asia/Tokyo", "fr", Some(["16:00", "17:00", "18:00"])),
        ("Pacific/Honolulu", "en", Some(["Sun 1, 9:00 pm", "Sun 1, 10:00 pm", "Sun 1, 11:00 pm"])),
        ("Europe/Paris", "en", None),
        ("Europe/Berlin", "en", None),
    ] {
        let look = Look { zone, language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        for (path, selector, at) in [
            (&times, "button[name=t]", 0),
            (&you, ".chosen .when", 0),
            (&question, ".chosen .when", 1),
            (&done, ".appointment .when", 2),
            (&link, ".appointment .when", 2),
        ] {
            browser.goto(path).await;
            let shown = format!("return document.querySelector('{selector} .own')?.textContent");
            let expected = own.map(|own| format!(" ({})", own[at]));
            assert_eq!(browser.run(&shown).await, json!(expected), "{zone} {language} {path}");
            let is_hidden = browser.run("return document.querySelector('p.zone').hidden").await;
            assert_eq!(is_hidden, json!(own.is_none()), "{zone} {path}");
            browser.picture(&format!("zone-{}-{language}", zone.replace('/', "-"))).await;
        }
        let first = "return document.querySelector('.appointment .when').firstChild.data";
        let expected = match language {
            "fr" => "lundi 2 juin 2025 à 11:00",
            _ => "Monday 2 June 2025 at 11:00\u{a0}am",
        };
        assert_eq!(browser.run(first).await, json!(expected), "{zone}: the shop's time stays");
    }
}

#[tokio::test]
async fn a_browser_without_scripts_is_told_the_zone_of_the_shop() {
    let server = shop_of(&[], |_| {}).await;
    let look = Look { zone: "Asia/Tokyo", ..PHONE };
    let Some(browser) = Browser::open(server.address(), look).await else { return };
    browser.without_scripts().await;
    for path in
        [format!("/b/cut-co/time?s={CUT}"), format!("/b/cut-co/you?s={CUT}&t=2025-06-02T09:00")]
    {
        browser.goto(&path).await;
        let named = browser.await_element("noscript p").await.text().await.expect("a text");
        assert!(named.contains("the time zone of Paris (Europe/Paris)"), "{named}");
    }
}

#[tokio::test]
async fn on_a_desk_the_month_stands_beside_the_times_and_keeps_place_and_focus() {
    let server = shop_of(&[], |_| {}).await;
    let Some(browser) = Browser::open(server.address(), DESK).await else { return };
    browser.goto(&format!("/b/cut-co/time?s={CUT}")).await;
    let beside = "const week = document.querySelector('.desk > section').getBoundingClientRect();
        const month = document.querySelector('.month').getBoundingClientRect();
        return month.left >= week.right && month.top < week.top + 40 && month.bottom < innerHeight;";
    assert_eq!(browser.run(beside).await, json!(true));
    let current = "return [...document.querySelectorAll('.month [aria-current]')]
        .map((one) => one.textContent);";
    assert_eq!(browser.run(current).await, json!(["2"]), "one day of the shown week");
    browser.click("#next-month").await;
    browser.await_element("a[href*='m=2025-06']").await;
    // The next month is one key away.
    browser.await_truth("return document.activeElement.id === 'next-month'").await;
    browser.press("\u{e007}").await;
    browser.await_element("a[href*='m=2025-07']").await;
    browser.await_truth("return document.activeElement.id === 'next-month'").await;
    let in_view = "const month = document.querySelector('.month').getBoundingClientRect();
        return month.top >= 0 && month.bottom <= innerHeight;";
    assert_eq!(browser.run(in_view).await, json!(true));
    browser.click("table.dates a[href*='d=2025-08-13']").await;
    browser.await_element("a[aria-current=date][href*='d=2025-08-13']").await;
    // The week is read next.
    browser.await_truth("return document.activeElement.id === 'week'").await;
    assert_eq!(browser.run(current).await, json!(["13"]));
    let open = "return document.querySelector('details.day[open] .name').textContent";
    assert_eq!(browser.run(open).await, json!("Wednesday 13 August"));
    browser.picture("desk").await;
}

#[tokio::test]
async fn the_evening_is_a_part_of_the_day_of_its_own() {
    let mut four = shop::group_four(|_| {});
    four.put_vevent(open_daily(54, CALENDAR, 16, 20));
    let server = TestServer::serving(vec![four], |server| server).await;
    for (language, evening) in [("en", "Evening"), ("fr", "Soir")] {
        let visitor = Visitor::of(&server).speaking(language);
        let page = visitor.open(&format!("/b/cut-co/time?s={CUT}")).await;
        let (_, shown) = page.html.split_once(&format!(", {evening}\"")).expect("an evening");
        let first = shown.split("value=\"").nth(1).expect("a time");
        assert!(first.starts_with("2025-06-02T18:00"), "{first}");
    }
}

#[tokio::test]
async fn a_far_date_offers_the_next_free_day_or_the_first_one() {
    let server = shop_of(&[], |catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            let period = Bounded::new(20 * 1_440).expect("a period");
            Arc::make_mut(calendar).maxrdv_period = period;
        }
    })
    .await;
    let visitor = Visitor::of(&server);
    for day in ["2025-08-01", "2031-05-05", "9998-12-30"] {
        let page = visitor.open(&format!("/b/cut-co/time?s={CUT}&d={day}")).await;
        page.shows("No free time this week.");
        page.shows("First free time: Monday 2 June 2025 at 9:00\u{a0}am");
        page.shows("d=2025-06-02#week\">First free time");
        assert!(!page.html.contains("aria-current=\"date\""), "{day}: no day is shown");
    }
    for query in ["d=9999-12-30", "m=9999-12", "m=9998-12", "m=1800-01"] {
        visitor.open(&format!("/b/cut-co/time?s={CUT}&{query}")).await.shows("Monday 2 June");
    }
}

#[tokio::test]
async fn above_six_people_there_is_a_search_with_and_without_a_script() {
    let server = shop_of(&EIGHT, |catalogue| catalogue.group.calendar_choice = 2).await;
    let visitor = Visitor::of(&server);
    let times = format!("/b/cut-co/time?s={CUT}");
    let all = visitor.open(&times).await;
    for name in EIGHT {
        all.shows(&format!("<bdi>{name}</bdi>"));
    }
    let found = visitor.open(&format!("{times}&w=ELODIE")).await;
    found.shows("<bdi>Élodie</bdi>");
    found.shows("<bdi>No preference</bdi>");
    found.shows("1 result");
    found.hides("<bdi>Camille</bdi>");
    visitor.open(&format!("{times}&w=nobody")).await.shows("No result: change or clear");
    // The chosen one and "no preference" stay.
    let chosen = visitor.open(&format!("{times}&c=206&w=ELODIE")).await;
    for name in ["Élodie", "Gaël", "No preference"] {
        chosen.shows(&format!("<bdi>{name}</bdi>"));
    }
    chosen.shows("1 result");
    // Ann and Bob are there, too.
    for (more, is_long) in [(4, false), (5, true)] {
        let people = &EIGHT[..more];
        let shop = shop_of(people, |catalogue| catalogue.group.calendar_choice = 2).await;
        let page = Visitor::of(&shop).open(&times).await;
        assert_eq!(page.html.contains("type=\"search\""), is_long, "{more} more people");
    }
    let first = shop_of(&EIGHT, |catalogue| catalogue.group.calendar_choice = 1).await;
    let page = Visitor::of(&first).open("/b/cut-co?w=zoe").await;
    page.shows("<bdi>Zoé Durand</bdi>");
    page.hides("<bdi>Hugo</bdi>");

    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.goto(&times).await;
    browser.click("details.whom summary").await;
    browser.type_into("#find-w", "eric").await;
    let shown = "return [...document.querySelectorAll('.whom li')]
        .filter((one) => one.offsetParent).map((one) => one.textContent);";
    assert_eq!(browser.run(shown).await, json!(["No preference", "Éric"]));
    assert_eq!(
        browser.run("return document.querySelector('[role=status]').textContent").await,
        json!("1 result")
    );
    browser.goto(&format!("{times}&c=206")).await;
    browser.click("details.whom summary").await;
    browser.type_into("#find-w", "eric").await;
    assert_eq!(browser.run(shown).await, json!(["No preference", "Éric", "Gaël"]));
    browser.without_scripts().await;
    browser.goto(&times).await;
    browser.click("details.whom summary").await;
    browser.type_into("#find-w", "gael\u{e007}").await;
    browser.await_element("details.whom[open]").await;
    browser.await_element("[role=status]:not(:empty)").await;
    browser.click(".whom li:not(.any):not(:has([aria-current])) a").await;
    browser.await_element("a[aria-current=true][href*='c=206']").await;
}

#[tokio::test]
async fn above_fifteen_services_the_groups_fold_and_a_filter_finds_one() {
    let server = shop_of(&[], add_many_services).await;
    let visitor = Visitor::of(&server);
    let all = visitor.open("/b/cut-co").await;
    all.shows("<details class=\"set\">");
    let found = visitor.open("/b/cut-co?q=kerat").await;
    found.shows("<details class=\"set\" open>");
    found.shows(">Kératine</bdi>");
    found.hides(">Rasage</bdi>");
    found.shows("1 result");
    visitor.open("/b/cut-co?q=zzz").await.shows("No result");
    // Two services are there, too.
    let names = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N"];
    for (more, is_long) in [(13, false), (14, true)] {
        let sets: [(&str, &[&str]); 2] = [("One", &names[..7]), ("Two", &names[7..more])];
        let shop = shop_of(&[], |catalogue| add_services(catalogue, &sets)).await;
        let page = Visitor::of(&shop).open("/b/cut-co").await;
        assert_eq!(page.html.contains("type=\"search\""), is_long, "{more} more services");
        assert_eq!(page.html.contains("<details class=\"set\">"), is_long, "{more} more services");
    }
    let several = shop_of(&[], |catalogue| {
        add_many_services(catalogue);
        catalogue.group.max_multirdvs = Bounded::new(3).expect("a number");
    })
    .await;
    let kept = Visitor::of(&several).open(&format!("/b/cut-co?s={CUT}&q=rasage")).await;
    kept.shows(&format!("name=\"s\" value=\"{CUT}\" checked"));
    kept.shows(">Rasage</bdi>");
    kept.hides(">Brushing</bdi>");

    let Some(browser) = Browser::open(several.address(), PHONE).await else { return };
    browser.goto("/b/cut-co").await;
    browser.type_into("#find-q", "cran").await;
    let shown = "return [...document.querySelectorAll('.list li .name')]
        .filter((one) => one.offsetParent).map((one) => one.textContent);";
    assert_eq!(browser.run(shown).await, json!(["Massage crânien"]));
    browser.click(".list li:not([hidden]) label").await;
    // The key Enter filters on the server, and what is chosen stays chosen.
    browser.type_into("#find-q", "\u{e003}\u{e003}\u{e003}\u{e003}huile\u{e007}").await;
    browser.await_element("input[value=huile]").await;
    assert_eq!(browser.run(shown).await, json!(["Massage crânien", "Huile"]));
    browser.click(".list li:not(:has(:checked)) label").await;
    browser.click(".send button").await;
    browser.arrive_at("/b/cut-co/time").await;
    let chosen =
        "return [...document.querySelectorAll('.chosen strong')].map((one) => one.textContent)";
    assert_eq!(browser.run(chosen).await, json!(["Massage crânien", "Huile"]));
}

#[tokio::test]
async fn the_first_free_time_stands_on_the_first_screen_of_a_telephone() {
    let change = |catalogue: &mut Catalogue| {
        catalogue.group.calendar_choice = 2;
        catalogue.group.display_intervention_length = true;
    };
    let two = shop_of(&[], change).await;
    let five = shop_of(&EIGHT[..3], change).await;
    let ten = shop_of(&EIGHT, change).await;
    for server in [&two, &five, &ten] {
        for (language, zone) in [
            ("en", "Europe/Paris"),
            ("fr", "Europe/Paris"),
            ("en", "Asia/Tokyo"),
            ("fr", "Asia/Tokyo"),
        ] {
            let look = Look { language, zone, ..SMALL };
            let Some(browser) = Browser::open(server.address(), look).await else { return };
            browser.goto(&format!("/b/cut-co/time?s={CUT}")).await;
            let bottom =
                "return document.querySelector('button[name=t]').getBoundingClientRect().bottom";
            let bottom = browser.run(bottom).await.as_f64().expect("a number");
            browser.picture(&format!("first-screen-{language}-{}", zone.replace('/', "-"))).await;
            assert!(bottom <= f64::from(SMALL.height), "{language} {zone}: {bottom}");
        }
    }
}

#[tokio::test]
async fn long_lists_are_accessible_and_light() {
    let server = shop_of(&EIGHT, |catalogue| {
        catalogue.group.calendar_choice = 2;
        add_many_services(catalogue);
    })
    .await;
    let times = format!("/b/cut-co/time?s={CUT}&w=zo");
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        for (name, path) in [("services-many", "/b/cut-co?q=a"), ("people-many", &*times)] {
            browser.emulate(look).await;
            browser.goto(path).await;
            crate::accessible::check_present(&browser, look, name).await;
        }
        browser.emulate(look).await;
        browser.goto("/b/cut-co").await;
        let weight = "return [...performance.getEntriesByType('navigation'),
            ...performance.getEntriesByType('resource')]
            .reduce((sum, one) => sum + one.encodedBodySize, 0);";
        let weight = browser.run(weight).await.as_u64().expect("a number");
        assert!(weight <= 20_000, "{weight} bytes");
    }
}
