//! Wrong values on the screens of opening hours: each is refused beside its field, and all is kept.

use crate::login::Professional;
use crate::practice_hours::{CLOSURE, OPENING, form, path, send, sequence};
use crate::server::TestServer;
use crate::shop::{ANN, CALENDAR};

/// A form with a wrong value.
struct WrongForm<'a> {
    changes: Vec<(&'static str, &'a str)>,
    /// The element with the fault; empty for a fault of the whole form.
    place: &'static str,
    sentence: &'static str,
}

/// Sends each form, in both languages.
async fn refuse_all(server: &TestServer, path: &str, wrong: Vec<WrongForm<'_>>) {
    let mut ann = Professional::logged_in(server, ANN).await;
    let before = sequence(server);
    for WrongForm { changes, place, sentence } in wrong {
        let refused = send(&mut ann, path, &changes).await;
        assert_eq!(refused.status, 400, "{path} {sentence}");
        refused.shows(sentence);
        if !place.is_empty() {
            refused.shows(&format!("id=\"{place}\""));
        }
        for (name, value) in &changes {
            if !["calendar", "service", "weeks"].contains(name) {
                let value = value.replace('<', "&#60;");
                refused.shows(&format!("name=\"{name}\" value=\"{value}\""));
            }
        }
        let page = ann.open(path).await;
        let french = form(&page, path, &changes);
        let french = ann.post(&format!("{path}?lang=fr"), &crate::clients::as_str(&french)).await;
        assert_eq!(french.status, 400, "{path} {sentence}");
        french.hides(sentence);
        assert_eq!(sequence(server), before, "{path} {sentence}");
    }
}

#[tokio::test]
async fn wrong_weekly_hours_are_refused_beside_their_field_and_kept() {
    let server = TestServer::start().await;
    let wrong = |changes: &[(&'static str, &'static str)], place, sentence| WrongForm {
        changes: changes.to_vec(),
        place,
        sentence,
    };
    let weekly = path(CALENDAR);
    let too_early = "the end must be after the start";
    let bad_choice = "Choose among the services";
    let overlapping = [("d3.1.from", "11:59"), ("d3.1.to", "13:00")];
    let forms = vec![
        wrong(&[("d0.0.from", "13:00")], "d0-fault", too_early),
        wrong(&[("d0.0.to", "09:00")], "d0-fault", too_early),
        wrong(&[("d1.0.to", "25:00")], "d1-fault", "enter times such as"),
        wrong(&[("d1.0.to", "nine<")], "d1-fault", "enter times such as"),
        wrong(&[("d2.1.from", "13:00")], "d2-fault", "enter both the start and the end"),
        wrong(&overlapping, "d3-fault", "overlaps 09:00–12:00"),
        wrong(&[("from", "2025-02-30")], "from-fault", "Enter a date that exists"),
        wrong(&[("from", "9999-01-01")], "from-fault", "Enter a date that exists"),
        wrong(&[("service", "999")], "", bad_choice),
        wrong(&[("weeks", "never")], "", bad_choice),
    ];
    refuse_all(&server, &weekly, forms).await;
    // Weekly rows may lie in an hour that one day of spring leaves out.
    let mut ann = Professional::logged_in(&server, ANN).await;
    let night = [("d6.0.from", "02:00"), ("d6.0.to", "03:00")];
    send(&mut ann, &weekly, &night).await.location();
    for wrong in ["x", "every.x", "every.0", ""] {
        let page = ann.open(&weekly).await;
        let form = form(&page, &weekly, &[("timetable", wrong)]);
        let answered = ann.post(&weekly, &crate::clients::as_str(&form)).await;
        assert_eq!(answered.status, 404, "{wrong}");
    }
}

#[tokio::test]
async fn wrong_exceptions_are_refused_beside_their_field_and_kept() {
    let server = TestServer::start().await;
    let long = "a".repeat(70_000);
    let on = ("calendar", "11");
    let day = ("first", "2025-06-05");
    let closures = vec![
        WrongForm {
            changes: vec![day, ("last", "2025-06-04"), on],
            place: "last-fault",
            sentence: "before the first",
        },
        WrongForm {
            changes: vec![("first", ""), on],
            place: "first-fault",
            sentence: "Enter a date that exists",
        },
        WrongForm {
            changes: vec![day],
            place: "calendars-fault",
            sentence: "Choose one calendar at least",
        },
        WrongForm {
            changes: vec![day, on, ("text", &long)],
            place: "text-fault",
            sentence: "too long",
        },
    ];
    refuse_all(&server, CLOSURE, closures).await;
    let left_out = ("day", "2026-03-29");
    let openings = vec![
        WrongForm {
            changes: vec![("day", "2025-06-05"), on],
            place: "times-fault",
            sentence: "Enter one range at least",
        },
        WrongForm {
            changes: vec![left_out, ("times.0.from", "02:30"), ("times.0.to", "04:00"), on],
            place: "times-fault",
            sentence: "the clocks go forward",
        },
    ];
    refuse_all(&server, OPENING, openings).await;
}
