//! Links of sites to the booking pages, by the names that the older module understood.

use std::sync::Arc;

use serde_json::{Value, json};
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::customfield::{CustomName, Customfield, Model};
use slotbook::domain::records::ids::{
    CalendarId, CustomfieldId, InterventionId, InterventionsetId,
};
use slotbook::domain::records::intervention::Interventionset;
use slotbook::domain::records::text::{Bounded, Name};

use crate::browser::{Browser, PHONE};
use crate::server::TestServer;
use crate::shop::{CALENDAR, COLOUR, CUT, HIDDEN_CALENDAR, OTHER_CALENDAR, clock};
use crate::visitor::{Page, Visitor, set, shop_with};

/// A set of services with the colour alone.
const SET: u64 = 51;
const TIME: &str = "t=2025-06-02T09:00";

/// The shop with a set of services, an attribute for clients, and two services in a booking.
fn furnish(catalogue: &mut Catalogue) {
    catalogue.group.max_multirdvs = Bounded::new(2).expect("within its bounds");
    let set = InterventionsetId::new(SET).expect("an id");
    let mut colours = Interventionset::new(set, clock(6, 0));
    colours.publicname = Name::new("Couleurs").expect("a name");
    catalogue.interventionsets.insert(set, Arc::new(colours));
    let colour = InterventionId::new(COLOUR).expect("an id");
    let colour = catalogue.interventions.get_mut(&colour).expect("it is there");
    Arc::make_mut(colour).interventionset_id = Some(set);
    for (id, name, model) in [(61, "str7", Model::Fiche), (62, "str8", Model::Vevent)] {
        let id = CustomfieldId::new(id).expect("an id");
        let name = CustomName::new(name).expect("a name");
        let mut field = Customfield::new(id, model, name, clock(6, 0));
        field.user_visible = true;
        catalogue.customfields.insert(id, Arc::new(field));
    }
}

async fn shop() -> TestServer {
    shop_with(furnish).await
}

/// The query of an address.
fn query(address: &str) -> &str {
    address.split_once('?').map_or("", |(_, query)| query)
}

/// The values of a name in the query of an address.
fn values(address: &str, name: &str) -> Vec<String> {
    let pairs = form_urlencoded::parse(query(address).as_bytes());
    pairs.filter(|(given, _)| given == name).map(|(_, value)| value.into_owned()).collect()
}

/// A visitor who has followed a link.
struct Follower {
    visitor: Visitor,
    /// The address that the link led to.
    address: String,
}

impl Follower {
    async fn of(server: &TestServer, link: &str) -> Self {
        let visitor = Visitor::of(server);
        let answered = visitor.get(&format!("/b/cut-co?{link}")).await;
        let address = answered.location().to_owned();
        assert_eq!(answered.headers["referrer-policy"], "no-referrer", "{link}");
        Self { visitor, address }
    }

    /// The page that the link led to.
    async fn page(&self) -> Page {
        self.visitor.open(&self.address).await
    }

    /// The form of a time, with the first service if the link chose none.
    async fn form(&self) -> Page {
        let service = if values(&self.address, "s").is_empty() { "&s=21" } else { "" };
        let query = query(&self.address);
        let page = self.visitor.open(&format!("/b/cut-co/you?{query}{service}&{TIME}")).await;
        page.shows("name=\"fiche.lastname\"");
        page
    }

    /// Books with the form as the link filled it in, and reads the appointment.
    async fn book(&self, server: &TestServer) -> Value {
        let form = self.form().await;
        let mut pairs = form.hidden();
        for name in ["fiche.lastname", "fiche.firstname", "fiche.email", "comments"] {
            if let [value] = &form.inputs(name)[..] {
                set(&mut pairs, name, value);
            }
        }
        if pairs.iter().all(|(name, value)| name != "fiche.lastname" || value.is_empty()) {
            set(&mut pairs, "fiche.lastname", "Durand");
        }
        let action = form.html.split("<form action=\"").nth(1).expect("a form");
        let action = action.split('"').next().expect("its address").replace("&#38;", "&");
        let done = self.visitor.post(&action, &pairs).await;
        assert!(done.location().starts_with("/b/cut-co/done"), "{}", done.location());
        let rows = server.pro_get("/groups/4/appointments").await.is(200);
        rows["records"].as_array().expect("a list").last().expect("one").clone()
    }
}

impl Page {
    /// The values of the inputs of a name, decoded.
    fn inputs(&self, name: &str) -> Vec<String> {
        let mark = format!("name=\"{name}\" ");
        let parts = self.html.split(&mark).skip(1);
        let tags = parts.map(|rest| rest.split('>').next().expect("an end"));
        let values = tags.filter_map(|tag| tag.split("value=\"").nth(1));
        values.map(|rest| rest.split('"').next().expect("a value").replace("&#38;", "&")).collect()
    }
}

/// A name of a link with a value, and a check of what it did.
struct Named {
    query: &'static str,
    check: fn(&Follower, &Page) -> bool,
}

/// Each name alone. Values are percent-encoded as sites do it.
const NAMED: &[Named] = &[
    Named {
        query: "calendar_id=11",
        check: |it, form| {
            values(&it.address, "c") == ["11"] && form.hidden().contains(&pair("c", "11"))
        },
    },
    Named {
        query: "intervention_ids[]=21",
        check: |it, form| {
            it.address.starts_with("/b/cut-co/time?") && form.hidden().contains(&pair("s", "21"))
        },
    },
    Named {
        query: "calendarset_ids%5B%5D=31",
        check: |it, form| {
            values(&it.address, "of") == ["31"] && form.hidden().contains(&pair("of", "31"))
        },
    },
    Named { query: "freeze=1", check: |it, _| !it.address.contains("freeze") },
    Named {
        query: "fiche[lastname]=L%C3%A9ger",
        check: |_, form| filled(form, "fiche.lastname", "Léger"),
    },
    Named {
        query: "fiche%5Bfirstname%5D=Zo%C3%A9",
        check: |_, form| filled(form, "fiche.firstname", "Zoé"),
    },
    Named {
        query: "fiche[email]=zoe%40example.org",
        check: |_, form| filled(form, "fiche.email", "zoe@example.org"),
    },
    Named {
        query: "fiche[firstphone]=06+39+98+10+01",
        check: |_, form| filled(form, "fiche.firstphone", "06 39 98 10 01"),
    },
    Named {
        query: "fiche[secondphone]=%2B33199001230",
        check: |_, form| filled(form, "fiche.secondphone", "+33199001230"),
    },
    Named {
        query: "fiche[birthdate]=1980-05-12",
        check: |_, form| form.html.contains("1980") && form.html.contains("birthdate-prefilled"),
    },
    Named { query: "fiche[str7]=blue", check: |_, form| filled(form, "fiche.str7", "blue") },
    Named { query: "str8=red", check: |_, form| filled(form, "str8", "red") },
    Named {
        query: "comments=au+2e+%C3%A9tage",
        check: |_, form| form.html.contains(">au 2e étage</textarea>"),
    },
    Named {
        query: "colors[content_links]=%23336699",
        check: |it, form| {
            let stylesheet = "/b/cut-co/colours.css?v=";
            !it.address.contains("336699") && form.html.contains(stylesheet)
        },
    },
    Named { query: "nologo=1", check: |it, _| !values(&it.address, "p").is_empty() },
    Named { query: "nofooter=1", check: |_, form| !form.html.contains("<footer>") },
    Named {
        query: "websource=https%3A%2F%2Fshop.example.org%2Fcontact",
        check: |it, _| !it.address.contains("shop.example") && !values(&it.address, "p").is_empty(),
    },
    Named { query: "s=21&c=12", check: |it, _| values(&it.address, "s") == ["21"] },
    Named {
        query: "unknown[a]=1&styles=transparent",
        check: |it, _| !it.address.contains("unknown"),
    },
];

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Whether a form has a value that is marked as the link's.
fn filled(form: &Page, name: &str, value: &str) -> bool {
    let mark = format!("id=\"{}-prefilled\"", name.replace('.', "-"));
    form.inputs(name) == [value] && form.html.contains(&mark)
}

#[tokio::test]
async fn each_name_does_its_work_alone_and_beside_each_other() {
    let server = shop().await;
    for (at, one) in NAMED.iter().enumerate() {
        for other in &NAMED[at..] {
            let link = match std::ptr::eq(one, other) {
                // A link with unknown names alone, or with nothing to do, is an ordinary address.
                true if one.query.starts_with("unknown") => continue,
                true => one.query.to_owned(),
                false => format!("{}&{}", one.query, other.query),
            };
            let follower = Follower::of(&server, &link).await;
            // The sealed text is random.
            let sealed = values(&follower.address, "p").concat();
            let clear = follower.address.replace(&sealed, "");
            for secret in ["ger", "Zo%", "zoe", "199001230", "1980", "etage", "tage"] {
                assert!(!clear.contains(secret), "{link}: {clear}");
            }
            let form = follower.form().await;
            let is_conflict = link.contains("31") && link.contains("c=12");
            for named in [one, other] {
                let holds = (named.check)(&follower, &form);
                assert!(holds || is_conflict, "{} in {link}: {}", named.query, follower.address);
            }
        }
    }
}

#[tokio::test]
async fn addresses_as_sites_write_them_choose_fill_and_freeze() {
    let server = shop().await;
    let vectors = std::fs::read("data/vectors/deep_links.json").expect("the vectors");
    let vectors: Value = serde_json::from_slice(&vectors).expect("JSON");
    let own = |text: &str| match text {
        "15" => CALENDAR.to_string(),
        "9" => SET.to_string(),
        same => same.to_owned(),
    };
    let links = vectors["links"].as_array().expect("a list");
    assert!(links.len() >= 7);
    for link in links {
        let query = link["query"].as_str().expect("a query");
        let query = query.replace("calendar_id=15", "calendar_id=11").replace("[]=9", "[]=51");
        let follower = Follower::of(&server, &query).await;
        let ids = |value: &Value| match value {
            Value::Array(list) => list.iter().map(|id| own(&id.to_string())).collect(),
            Value::Null => Vec::new(),
            one => vec![own(&one.to_string())],
        };
        let chooses = &link["chooses"];
        assert_eq!(values(&follower.address, "c"), ids(&chooses["calendar"]), "{query}");
        assert_eq!(values(&follower.address, "s"), ids(&chooses["interventions"]), "{query}");
        assert_eq!(values(&follower.address, "in"), ids(&chooses["sets"]), "{query}");
        follower.page().await;
        for (name, value) in link["fills"].as_object().into_iter().flatten() {
            let value = value.as_str().expect("a text");
            assert!(filled(&follower.form().await, &format!("fiche.{name}"), value), "{query}");
        }
        if let Some(websource) = link.get("websource") {
            assert_eq!(&follower.book(&server).await["websource"], websource);
        }
        for ignored in link["ignored"].as_array().into_iter().flatten() {
            assert!(!follower.address.contains(ignored.as_str().expect("a name")), "{query}");
        }
    }
}

#[tokio::test]
async fn a_frozen_choice_falls_back_and_without_the_seal_it_is_free() {
    let server = shop().await;
    let visitor = Visitor::of(&server);
    let link =
        format!("calendar_id={CALENDAR}&intervention_ids[]={CUT}&freeze=calendars,interventions");
    let follower = Follower::of(&server, &link).await;
    let sealed = values(&follower.address, "p").remove(0);
    let time = follower.page().await;
    time.hides("edit=1");
    time.hides("Sans préférence");
    // Another service and another calendar in the address, and in the form that is sent.
    let changed = format!("/b/cut-co/you?s={COLOUR}&c={OTHER_CALENDAR}&p={sealed}&{TIME}");
    let form = visitor.open(&changed).await;
    assert!(form.hidden().contains(&pair("s", "21")) && form.hidden().contains(&pair("c", "11")));
    let mut pairs = form.hidden();
    set(&mut pairs, "s", &COLOUR.to_string());
    set(&mut pairs, "c", &OTHER_CALENDAR.to_string());
    set(&mut pairs, "fiche.lastname", "Durand");
    let done = visitor.post(&format!("/b/cut-co/you?p={sealed}"), &pairs).await;
    assert!(done.location().starts_with("/b/cut-co/done"));
    let rows = server.pro_get("/groups/4/appointments").await.is(200);
    let row = &rows["records"][0];
    assert_eq!((&row["intervention_id"], &row["calendar_id"]), (&json!(CUT), &json!(CALENDAR)));
    // Step 1 is decided, also for whoever goes back to it.
    let back = visitor.get(&format!("/b/cut-co?edit=1&p={sealed}")).await;
    assert!(back.location().starts_with("/b/cut-co/time?"), "{}", back.location());
    // Without the seal, with a foreign one or after its hour, the page is the ordinary one.
    let other = format!("s={COLOUR}&c={OTHER_CALENDAR}&{TIME}");
    for dropped in [String::new(), format!("&p={}x", &sealed[1..])] {
        let form = visitor.open(&format!("/b/cut-co/you?{other}{dropped}")).await;
        assert!(form.hidden().contains(&pair("s", "22")), "{dropped}");
        form.hides("p=x");
        form.hides(&sealed[1..]);
    }
    server.at(clock(9, 30));
    let late = format!("s={COLOUR}&c={OTHER_CALENDAR}&t=2025-06-03T09:00&p={sealed}");
    let form = visitor.open(&format!("/b/cut-co/you?{late}")).await;
    assert!(form.hidden().contains(&pair("s", "22")));
}

#[tokio::test]
async fn a_frozen_set_offers_its_services_alone() {
    let server = shop().await;
    let link = format!("interventionset_ids[]={SET}&freeze=interventionsets");
    let follower = Follower::of(&server, &link).await;
    let page = follower.page().await;
    page.shows("Couleur");
    page.hides(&format!("name=\"s\" value=\"{CUT}\""));
    page.hides("All services");
    // A service outside it is no choice.
    let sealed = values(&follower.address, "p").remove(0);
    let refused = follower.visitor.get(&format!("/b/cut-co/time?s={CUT}&p={sealed}")).await;
    assert_eq!(refused.status, 400);
    refused.shows("Choose a service.");
    // Without `freeze` there is a way to all services.
    let free = Follower::of(&server, &format!("interventionset_ids[]={SET}")).await.page().await;
    free.hides(&format!("name=\"s\" value=\"{CUT}\""));
    free.shows("All services");
}

/// Books 09:00 by a link as often as it is offered, and returns the calendars.
async fn calendars_of_bookings(server: &TestServer, link: &str) -> Vec<u64> {
    let mut calendars = Vec::new();
    for nth in 0..4 {
        let follower = Follower::of(server, &format!("{link}&fiche[lastname]=Durand{nth}")).await;
        follower.page().await.shows("No preference");
        let form = format!("/b/cut-co/you?{}&{TIME}", query(&follower.address));
        let form = follower.visitor.get(&form).await;
        if form.status != 200 {
            form.shows("This time is no longer free");
            break;
        }
        let booked = follower.book(server).await;
        calendars.push(booked["calendar_id"].as_u64().expect("an id"));
    }
    calendars.sort_unstable();
    calendars
}

#[tokio::test]
async fn without_preference_a_calendar_of_the_sets_takes_a_booking() {
    let link = format!("calendarset_ids[]=31&intervention_ids[]={CUT}");
    let server = shop_with(|catalogue| {
        furnish(catalogue);
        catalogue.group.calendar_choice = 2;
    })
    .await;
    assert_eq!(calendars_of_bookings(&server, &link).await, [CALENDAR]);
    let server = shop_with(|catalogue| {
        furnish(catalogue);
        catalogue.group.calendar_choice = 2;
        let set = catalogue.calendarsets.keys().next().copied();
        let other = CalendarId::new(OTHER_CALENDAR).expect("an id");
        let other = catalogue.calendars.get_mut(&other).expect("it is there");
        Arc::make_mut(other).calendarset_id = set;
    })
    .await;
    assert_eq!(calendars_of_bookings(&server, &link).await, [CALENDAR, OTHER_CALENDAR]);
}

#[tokio::test]
async fn what_is_not_offered_gets_a_sentence_and_if_frozen_the_telephone() {
    let server = shop().await;
    let gone = "What the link offered is not offered here.";
    for (link, step) in [
        (format!("calendar_id={HIDDEN_CALENDAR}"), "/b/cut-co?"),
        ("calendar_id=99999".to_owned(), "/b/cut-co?"),
        ("calendar_id=x".to_owned(), "/b/cut-co?"),
        ("intervention_ids[]=99999999999999999999999".to_owned(), "/b/cut-co?"),
        ("interventionset_ids[]=1".to_owned(), "/b/cut-co?"),
        ("calendarset_ids[]=-1".to_owned(), "/b/cut-co?"),
        (format!("intervention_ids[]={CUT}&calendar_id=51"), "/b/cut-co/time?"),
    ] {
        let follower = Follower::of(&server, &link).await;
        assert!(follower.address.starts_with(step), "{link}: {}", follower.address);
        follower.page().await.shows(gone);
        let frozen = Follower::of(&server, &format!("{link}&freeze=1")).await.page().await;
        frozen.shows("What the link offered is not offered online.");
        frozen.shows("01 99 00 12 30");
        frozen.hides("name=\"s\"");
    }
}

#[tokio::test]
async fn as_many_ids_as_fit_a_head_are_an_ordinary_page() {
    let server = shop().await;
    let ids = "intervention_ids[]=21&".repeat(500);
    let follower = Follower::of(&server, &ids).await;
    assert!(follower.address.len() < 200, "{}", follower.address);
    follower.page().await;
    let foreign: String = (1_000..1_700).map(|id| format!("intervention_ids[]={id}&")).collect();
    let follower = Follower::of(&server, &foreign).await;
    follower.page().await.shows("What the link offered is not offered here.");
    let details = format!("fiche[lastname]=Durand&comments={}", "x".repeat(12_000));
    let follower = Follower::of(&server, &details).await;
    assert!(values(&follower.address, "p")[0].len() <= 2_048);
    let form = follower.form().await;
    assert!(filled(&form, "fiche.lastname", "Durand"));
    form.hides("xxxx");
}

#[tokio::test]
async fn values_of_a_wrong_form_are_as_if_absent() {
    let server = shop().await;
    let link = "fiche[email]=nobody&fiche[birthdate]=12%2F05%2F1980&fiche[firstphone]=none\
        &fiche[lastname]=a%00b&fiche[firstname]=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
        aaaaaaaaa&colors[content_links]=red&colors[even_timeslot_col_bg]=%23ffffff&nofooter=no&fiche=1";
    let follower = Follower::of(&server, link).await;
    assert_eq!(values(&follower.address, "p"), [""; 0]);
    let form = follower.form().await;
    form.hides("-prefilled");
    form.shows("<footer>");
}

#[tokio::test]
async fn colours_of_a_link_are_corrected_for_contrast() {
    let server = shop().await;
    let link = "colors[content_links]=ffff00&colors[content_bg]=%23FFFFFF";
    let follower = Follower::of(&server, link).await;
    let page = follower.page().await;
    let style = page.html.split("href=\"/b/cut-co/colours.css?").nth(1).expect("a stylesheet");
    let style = style.split('"').next().expect("its end").replace("&#38;", "&");
    let style = follower.visitor.open(&format!("/b/cut-co/colours.css?{style}")).await;
    assert!(style.headers["cache-control"].to_str().expect("ASCII").contains("immutable"));
    let (light, dark) = style.html.split_once("color-scheme:dark").expect("two schemes");
    assert!(light.contains("--card:#ffffff") && !light.contains("#ffff00"), "{light}");
    assert!(dark.contains("--link:#ffff00"), "{dark}");
}

#[tokio::test]
async fn a_browser_books_by_a_link_and_no_address_names_the_client() {
    let server = shop().await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    let link = "/b/cut-co?intervention_ids%5B%5D=21&fiche%5Blastname%5D=Beno%C3%AEt&fiche[email]=ben%40example.org\
        &websource=poster";
    browser.goto(link).await;
    let nameless = "return !/Beno|ben%40|ben@/.test(location.href + document.referrer)";
    browser.arrive_at("/b/cut-co/time").await;
    assert_eq!(browser.run(nameless).await, json!(true));
    browser.click("button[name=t]").await;
    browser.arrive_at("/b/cut-co/you").await;
    assert_eq!(browser.run(nameless).await, json!(true));
    browser.assert_accessible("the form that a link filled in").await;
    browser.assert_fits("the form that a link filled in").await;
    browser.click(".send button:not(.quiet)").await;
    browser.arrive_at("/b/cut-co/done").await;
    assert_eq!(browser.run(nameless).await, json!(true));
    let rows = server.pro_get("/groups/4/appointments").await.is(200);
    assert_eq!(rows["records"][0]["websource"], "poster");
}
