//! Every field of every record, as the specification's tables say: its default, its limit at, under and over, and what
//! it does not take. Reference 12.1 to 12.6, 1, 10.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};

/// What a field takes.
#[derive(Clone, Copy)]
enum Takes {
    /// At most so many characters.
    Text(usize),
    /// Whole numbers from and to.
    Number(i64, i64),
    /// Any whole number.
    Whole,
    /// Zero, or whole numbers from and to.
    ZeroOr(i64, i64),
    Boolean,
    Colour,
    Email,
    /// An id of another record, or none.
    Reference,
    /// A datetime of no zone, or none.
    Date,
    /// Prefixes of telephone numbers, or none.
    Prefixes,
    /// Origins of sites, or none.
    Origins,
}

use Takes::{
    Boolean, Colour, Date, Email, Number, Origins, Prefixes, Reference, Text, Whole, ZeroOr,
};

struct Resource {
    section: &'static str,
    wrapper: &'static str,
    /// The least that a new one needs.
    least: fn() -> Value,
    fields: &'static [Field],
}

/// A field, what it takes, and what a new record holds where it is not given.
type Field = (&'static str, Takes, fn() -> Value);

fn none() -> Value {
    Value::Null
}

fn empty() -> Value {
    json!("")
}

fn named() -> Value {
    json!({"name": "n"})
}

const TEXT: usize = 65_535;
const LEAD: Takes = Number(0, 5_256_000);

static RESOURCES: &[Resource] = &[
    Resource {
        section: "calendars",
        wrapper: "calendar",
        least: named,
        fields: &[
            ("calendarset_id", Reference, none),
            ("name", Text(255), || json!("n")),
            ("address", Text(255), empty),
            ("zipcode", Text(16), empty),
            ("city", Text(64), empty),
            ("sort", Whole, || json!(1)),
            ("deleted", Boolean, || json!(false)),
            ("publicname", Text(255), empty),
            ("tagline", Text(255), empty),
            ("generate_interval", Number(1, 1_440), || json!(15)),
            ("mintime_rdv", LEAD, || json!(0)),
            ("maxrdv_period", LEAD, || json!(131_400)),
            ("mintime_annulation", LEAD, || json!(2_880)),
        ],
    },
    Resource {
        section: "calendarsets",
        wrapper: "calendarset",
        least: named,
        fields: &[
            ("name", Text(255), || json!("n")),
            ("preposition", Text(255), empty),
            ("address", Text(255), empty),
            ("zipcode", Text(16), empty),
            ("city", Text(64), empty),
            ("sort", Whole, || json!(1)),
            ("externid", Text(32), empty),
            ("hidden", Boolean, || json!(false)),
            ("publicname", Text(255), empty),
        ],
    },
    Resource {
        section: "interventions",
        wrapper: "intervention",
        least: named,
        fields: &[
            ("interventionset_id", Reference, none),
            ("name", Text(255), || json!("n")),
            ("abbr", Text(255), empty),
            ("length", Number(1, 1_440), || json!(15)),
            ("colorref", Colour, || json!("#dddddd")),
            ("sort", Whole, || json!(1)),
            ("price", Number(0, 1_000_000_000), none),
            ("deleted", Boolean, || json!(false)),
            ("publicname", Text(255), empty),
            ("description", Text(TEXT), empty),
            ("bring_text", Text(1_000), empty),
        ],
    },
    Resource {
        section: "interventionsets",
        wrapper: "interventionset",
        least: named,
        fields: &[
            ("name", Text(255), || json!("n")),
            ("sort", Whole, || json!(1)),
            ("publicname", Text(255), empty),
            ("description", Text(TEXT), empty),
        ],
    },
    Resource {
        section: "fiches",
        wrapper: "fiche",
        least: || json!({"lastname": "n"}),
        fields: &[
            ("lastname", Text(64), || json!("n")),
            ("firstname", Text(64), empty),
            ("firstphone", Text(25), empty),
            ("secondphone", Text(25), empty),
            ("email", Email, empty),
            ("birthdate", Date, none),
            ("comments", Text(TEXT), empty),
            ("from_web", Boolean, || json!(false)),
            ("rappel_email", Boolean, || json!(true)),
            ("rappel_sms", Boolean, || json!(true)),
            ("externid", Whole, none),
            ("deleted", Boolean, || json!(false)),
            ("str0", Text(255), none),
            ("str1", Text(255), none),
        ],
    },
    Resource {
        section: "customfields",
        wrapper: "customfield",
        least: || json!({"model": "Fiche", "name": "bool9"}),
        fields: &[
            ("model", Text(5), || json!("Fiche")),
            ("name", Text(5), || json!("bool9")),
            ("pro_label", Text(255), empty),
            ("pro_inputex", Text(TEXT), empty),
            ("pro_position", Whole, || json!(0)),
            ("pro_required", Boolean, || json!(false)),
            ("user_inputex", Text(TEXT), empty),
            ("user_label", Text(255), empty),
            ("user_position", Whole, none),
            ("user_required", Boolean, || json!(false)),
            ("user_visible", Boolean, || json!(false)),
            ("deleted", Boolean, || json!(false)),
        ],
    },
];

static GROUP: &[(&str, Takes)] = &[
    ("name", Text(255)),
    ("preposition", Text(255)),
    ("phone", Text(20)),
    ("fax", Text(20)),
    ("address", Text(255)),
    ("city", Text(64)),
    ("zipcode", Text(16)),
    ("country", Text(255)),
    ("history_days", Number(0, 3_650)),
    ("second_factor_required", Boolean),
    ("retention_appointments_months", Number(0, 600)),
    ("retention_clients_months", Number(0, 600)),
    ("retention_accounts_months", Number(0, 600)),
    ("sendmail", Boolean),
    ("notice_delay_seconds", Number(0, 600)),
    ("mailreminder", ZeroOr(60, 2_880)),
    ("country_code", Text(10)),
    ("smsreminder", ZeroOr(60, 1_440)),
    ("sms_sender_name", Text(11)),
    ("sms_countries", Prefixes),
    ("access_text", Text(1_000)),
    ("bring_text", Text(1_000)),
    ("embed_origins", Origins),
    ("check_sms", Boolean),
    ("check_sms_from_web", Boolean),
    ("inactive", Boolean),
    ("open", Boolean),
    ("openData", Boolean),
    ("anyCalendar", Boolean),
    ("display_intervention_length", Boolean),
    ("display_intervention_price", Boolean),
    ("validateEmail", Boolean),
    ("web_page", Boolean),
    ("unverified_day_percent", Number(1, 100)),
];

/// Values that a field takes, each with how it is then shown, and values that it does not.
#[expect(clippy::too_many_lines, reason = "one list of cases, read from top to bottom")]
fn values(takes: Takes) -> (Vec<(Value, Value)>, Vec<Value>) {
    let same = |values: Vec<Value>| {
        values.into_iter().map(|value| (value.clone(), value)).collect::<Vec<_>>()
    };
    match takes {
        Text(max) => (
            same(vec![json!("é".repeat(max)), json!("é".repeat(max - 1))]),
            vec![
                json!("é".repeat(max + 1)),
                json!("a\u{0}"),
                json!("a\u{7f}"),
                json!([]),
                json!({"a": 1}),
            ],
        ),
        Number(min, max) => {
            let mut good = same(vec![json!(min), json!(max), json!(min + 1)]);
            good.push((json!(max.to_string()), json!(max)));
            (
                good,
                vec![
                    json!(min - 1),
                    json!(max + 1),
                    json!("many"),
                    json!(1.5),
                    json!([]),
                    json!("9".repeat(40)),
                ],
            )
        }
        Whole => (
            same(vec![json!(-2_147_483_648_i64), json!(0), json!(2_147_483_647)]),
            vec![json!("many"), json!(1.5), json!(true), json!([]), json!("9".repeat(40))],
        ),
        ZeroOr(min, max) => (
            same(vec![json!(0), json!(min), json!(max)]),
            vec![json!(min - 1), json!(max + 1), json!(-1), json!(1)],
        ),
        Boolean => {
            let form = |given: Value, shown: bool| (given, json!(shown));
            let yes =
                [json!(true), json!(1), json!("1"), json!("true")].map(|given| form(given, true));
            let no = [json!(false), json!(0), json!("0"), json!("false")]
                .map(|given| form(given, false));
            (
                yes.into_iter().chain(no).collect(),
                vec![json!("yes"), json!(2), json!("TRUE "), json!([])],
            )
        }
        Colour => (
            same(vec![json!("#000000"), json!("#a1B2c3")]),
            vec![json!("#12345"), json!("#1234567"), json!("dddddd"), json!("#ggggg0"), json!(1)],
        ),
        Email => {
            let longest = format!(
                "{}@{}.{}.{}.fr",
                "a".repeat(60),
                "b".repeat(63),
                "c".repeat(63),
                "d".repeat(63)
            );
            assert_eq!(longest.len(), 255);
            (
                same(vec![json!("a.b+c@example.org"), json!(longest)]),
                vec![
                    json!(format!("a{longest}")),
                    json!("a@b\n.fr"),
                    json!("nobody"),
                    json!("a b@c.fr"),
                    json!("@c.fr"),
                ],
            )
        }
        Prefixes => (
            same(vec![json!(""), json!("+33"), json!("country_code"), json!("+33,+41")]),
            vec![json!("33"), json!("+33;+41"), json!("é"), json!([]), json!("x".repeat(256))],
        ),
        Origins => {
            let sites = |count: usize| {
                let sites = (0..count).map(|at| format!("https://s{at}.example.org"));
                sites.collect::<Vec<_>>()
            };
            let mut good = same(vec![
                json!(""),
                json!("https://a.example.org"),
                json!("https://*.example.org,http://localhost:3000"),
                json!(sites(20).join(",")),
            ]);
            good.push((json!([]), json!("")));
            good.push((json!(sites(2)), json!(sites(2).join(","))));
            good.push((json!(" HTTPS://A.Example.org:443 "), json!("https://a.example.org")));
            let bad = vec![
                json!("https://a.example.org/page"),
                json!("http://a.example.org"),
                json!("https://*"),
                json!("*"),
                json!(["https://a.example.org", 1]),
                json!(sites(21).join(",")),
                json!(sites(21)),
            ];
            (good, bad)
        }
        Reference => (vec![], vec![json!(9_999), json!("x"), json!(-1), json!([])]),
        Date => (
            vec![
                (json!("1800-01-01"), json!("1800-01-01 00:00:00")),
                (json!("9999-12-31 23:59:59"), json!("9999-12-31 23:59:59")),
                (json!("2025-06-01T10:00:00"), json!("2025-06-01 10:00:00")),
            ],
            vec![
                json!("1799-12-31"),
                json!("2025-02-29"),
                json!("2025-06-01T10:00:00Z"),
                json!("2025-06-01T10:00:00.5"),
                json!(5),
                json!("x"),
            ],
        ),
    }
}

async fn send(
    server: &TestServer,
    method: Method,
    path: &str,
    wrapper: &str,
    fields: &Value,
) -> Answer {
    answer(server.by_pro(method, &format!("/groups/4{path}")).json(&json!({ (wrapper): fields })))
        .await
}

#[tokio::test]
async fn a_new_record_has_every_field_of_the_specification_and_its_default() {
    for resource in RESOURCES {
        let server = TestServer::start().await;
        let path = format!("/{}", resource.section);
        let made =
            send(&server, Method::POST, &path, resource.wrapper, &(resource.least)()).await.is(201);
        for (name, _, default) in resource.fields {
            assert_eq!(made.get(name), Some(&default()), "{}.{name}", resource.wrapper);
        }
        let mut names: Vec<&str> =
            made.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut all: Vec<&str> = resource.fields.iter().map(|(name, ..)| *name).collect();
        all.extend(["id", "group_id", "created_at", "updated_at"]);
        if resource.section == "fiches" {
            // Only a merge sets it.
            assert_eq!(made["merged_into"], Value::Null);
            all.push("merged_into");
            // Only an erasure sets it.
            assert_eq!(made["erased_at"], Value::Null);
            all.push("erased_at");
        }
        // Beside each time stands its instant.
        names.retain(|name| match name.strip_suffix("_utc") {
            Some(time) => !all.contains(&time),
            None => true,
        });
        names.sort_unstable();
        all.sort_unstable();
        assert_eq!(names, all, "{}", resource.wrapper);
        let read = server.pro_get(&format!("/groups/4{path}/{}", made["id"])).await.is(200);
        assert_eq!(read, made);
    }
}

#[tokio::test]
async fn a_field_takes_what_its_limit_allows_and_names_itself_where_it_does_not() {
    let server = TestServer::start().await;
    for resource in RESOURCES {
        let path = format!("/{}", resource.section);
        let made =
            send(&server, Method::POST, &path, resource.wrapper, &(resource.least)()).await.is(201);
        let one = format!("{path}/{}", made["id"]);
        for (name, takes, _) in resource.fields {
            // What an attribute is called and what it is of stay as they are.
            if resource.section == "customfields" && ["model", "name"].contains(name) {
                continue;
            }
            check(&server, &one, resource.wrapper, name, *takes).await;
        }
    }
    for (name, takes) in GROUP {
        // Only a professional with a second factor may demand it.
        if *name == "second_factor_required" {
            continue;
        }
        check(&server, "", "group", name, *takes).await;
    }
}

/// Puts every value into one field of a record.
async fn check(server: &TestServer, path: &str, wrapper: &str, name: &str, takes: Takes) {
    let (good, bad) = values(takes);
    for (given, shown) in good {
        let put = send(server, Method::PUT, path, wrapper, &json!({ (name): given })).await;
        let object = put.is(200);
        // A deleted client is shown with a sign before the name.
        assert_eq!(object[name], shown, "{wrapper}.{name}");
    }
    let before = server.pro_get(&format!("/groups/4{path}")).await.is(200);
    for given in bad {
        let put = send(server, Method::PUT, path, wrapper, &json!({ (name): given })).await;
        assert_eq!(
            (put.status.as_u16(), put.errors()),
            (400, vec![(2, Some(name.to_owned()))]),
            "{name}: {given}"
        );
        assert!(put.text.chars().count() < 600, "{}", put.text);
    }
    assert_eq!(
        server.pro_get(&format!("/groups/4{path}")).await.is(200),
        before,
        "{wrapper}.{name}"
    );
}

#[tokio::test]
async fn an_empty_value_unsets_a_date_a_reference_and_a_number() {
    let server = TestServer::start().await;
    let fiche = json!({"lastname": "n", "birthdate": "2000-01-01", "externid": 7, "str0": "a"});
    let made = send(&server, Method::POST, "/fiches", "fiche", &fiche).await.is(201);
    for nothing in [json!(""), json!(null)] {
        let unset =
            json!({"birthdate": nothing, "externid": nothing, "email": nothing, "str0": nothing});
        let put = send(&server, Method::PUT, &format!("/fiches/{}", made["id"]), "fiche", &unset)
            .await
            .is(200);
        assert_eq!(
            (&put["birthdate"], &put["externid"], &put["email"]),
            (&json!(null), &json!(null), &json!(""))
        );
        assert_eq!(put["str0"], json!(null));
    }
    let put =
        send(&server, Method::PUT, "/calendars/11", "calendar", &json!({"calendarset_id": ""}))
            .await
            .is(200);
    assert_eq!(put["calendarset_id"], json!(null));
    let put =
        send(&server, Method::PUT, "/calendars/11", "calendar", &json!({"calendarset_id": "31"}))
            .await
            .is(200);
    assert_eq!(put["calendarset_id"], 31);
}

#[tokio::test]
async fn the_group_takes_only_what_its_tables_list() {
    let server = TestServer::start().await;
    let put = async |fields: Value| send(&server, Method::PUT, "", "group", &fields).await;
    for currency in ["CAD", "EUR", "XPF", "XAF", "GBP", "CHF", "USD"] {
        assert_eq!(
            put(json!({"currency_code": currency})).await.is(200)["currency_code"],
            currency
        );
    }
    put(json!({"currency_code": "JPY"})).await.refused(400, 2, Some("currency_code"));
    for by in ["off", "mail", "sms"] {
        assert_eq!(put(json!({"verify_bookings": by})).await.is(200)["verify_bookings"], by);
    }
    put(json!({"verify_bookings": "fax"})).await.refused(400, 2, Some("verify_bookings"));
    for (name, zone) in [("Edinburgh", "Europe/London"), ("Georgetown", "America/Guyana")] {
        assert_eq!(put(json!({"timezone": name})).await.is(200)["timezone"], name, "{zone}");
    }
    for (given, name, iana) in [
        ("Europe/Paris", "Paris", "Europe/Paris"),
        ("Europe/Zurich", "Europe/Zurich", "Europe/Zurich"),
        ("Europe/Kyiv", "Europe/Kyiv", "Europe/Kyiv"),
    ] {
        let shown = put(json!({"timezone": given})).await.is(200);
        assert_eq!((&shown["timezone"], &shown["timezone_iana"]), (&json!(name), &json!(iana)));
    }
    for (name, nearest) in [
        ("Europe/Pariss", "the nearest is Europe/Paris"),
        ("paris", "the nearest is Paris"),
        ("Zurich", "the nearest is Europe/Zurich"),
        ("Newyork", "the nearest is America/New_York"),
        ("", "or an IANA name"),
        ("12345", "or an IANA name"),
    ] {
        let refused = put(json!({"timezone": name})).await;
        assert!(refused.text.contains(&format!("{nearest}\"")), "{name}: {}", refused.text);
        refused.refused(400, 2, Some("timezone"));
    }
    let colours = r##"{"content_bg":"#ffffff","page_text":"#000000"}"##;
    let shown = put(json!({"usercolors": colours})).await.is(200)["usercolors"].clone();
    assert_eq!(
        serde_json::from_str::<Value>(shown.as_str().expect("a text")).expect("JSON")["page_text"],
        "#000000"
    );
    for wrong in [r##"{"other":"#ffffff"}"##, r#"{"content_bg":"white"}"#, "[]", "#ffffff"] {
        put(json!({"usercolors": wrong})).await.refused(400, 2, Some("usercolors"));
    }
    assert_eq!(put(json!({"usercolors": ""})).await.is(200)["usercolors"], Value::Null);
}
