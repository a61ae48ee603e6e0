//! Forms of other sites that a professional's browser sends to the practice's own screens.

use reqwest::header::{COOKIE, SET_COOKIE};

use crate::fixture::{ANNA, Practice, Visitor};

const SHOP: &str = "/p/cabinet-de-sante-des-tilleuls";
const EVIL: &str = "https://evil.example";

/// The cookies of a browser in which the professional has logged in.
async fn log_in(visitor: &Visitor) -> String {
    let (email, password) = ANNA;
    let form = visitor.form("/login", &[("email", email), ("password", password)]);
    let answer = form.send().await.expect("an answer");
    assert_eq!(answer.status(), 303);
    let cookies = answer.headers().get_all(SET_COOKIE).iter();
    let pairs = cookies.map(|cookie| cookie.to_str().expect("ASCII").split(';').next());
    pairs.map(|pair| pair.expect("a pair").to_owned()).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn a_form_of_another_site_changes_no_client_and_no_appointment() {
    let practice = Practice::open().await;
    let visitor = practice.visitor("127.0.0.2");
    let cookies = log_in(&visitor).await;
    let state = practice.state();
    let appointment = state.rows.values().find(|row| row.appointment().is_some());
    let appointment = appointment.expect("the demonstration has appointments").id;
    let before = practice.state().sequence;
    for path in [
        "/clients/new".to_owned(),
        "/clients/1".to_owned(),
        "/clients/1/merge".to_owned(),
        "/events/new".to_owned(),
        "/password".to_owned(),
        format!("/events/{appointment}"),
        format!("/events/{appointment}/state"),
        format!("/events/{appointment}/cancel"),
        format!("/events/{appointment}/restore"),
        format!("/events/{appointment}/move"),
        format!("/events/{appointment}/series"),
        format!("/events/{appointment}/booked"),
        "/absences/new".to_owned(),
        "/hours/1".to_owned(),
        "/hours/closure".to_owned(),
        "/hours/opening".to_owned(),
        "/hours/holidays".to_owned(),
        "/hours/delete".to_owned(),
    ] {
        let fields = [("lastname", "Evil"), ("other", "2"), ("state", "1"), ("deleted", "1")];
        for headers in [
            &[("origin", EVIL), ("sec-fetch-site", "cross-site")][..],
            &[("origin", "null")],
            &[("sec-fetch-site", "same-site")],
        ] {
            let mut form = visitor.form(&format!("{SHOP}{path}"), &fields);
            for (name, value) in headers {
                form = form.header(*name, *value);
            }
            let answer = form.header(COOKIE, &cookies).send().await.expect("an answer");
            assert_eq!(answer.status(), 403, "{path} {headers:?}");
        }
        let form = visitor.form(&format!("{SHOP}{path}"), &fields);
        let answer = form.send().await.expect("an answer");
        assert_eq!(answer.status(), 401, "{path}, without the login");
    }
    assert_eq!(practice.state().sequence, before, "nothing changed");
    // The same form of the screen itself is read.
    let form = visitor.form(&format!("{SHOP}/clients/new"), &[("lastname", "Own")]);
    let answer = form.header(COOKIE, &cookies).send().await.expect("an answer");
    assert_eq!(answer.status(), 303);
    assert_eq!(practice.state().sequence, before + 1);
}
