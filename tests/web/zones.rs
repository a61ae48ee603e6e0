//! Times in the zone of the shop, at the changes of its clocks.

use std::sync::Arc;

use slotbook::domain::records::ids::{CalendarId, VeventId};
use slotbook::domain::records::vevent::{Availability, Permits, Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Rule, Series};
use slotbook::domain::time::Civil;
use slotbook::domain::time::zone::Zone;

use crate::server::TestServer;
use crate::shop::{self, CALENDAR, CUT, clock};
use crate::visitor::Visitor;

/// A shop that opens its first calendar from midnight to six every day.
async fn night_shop() -> TestServer {
    let mut four = shop::group_four(|_| {});
    let paris = Zone::from_iana("Europe/Paris").expect("a zone");
    let at = |hour| Civil::from_ymd_hms(2025, 1, 1, hour, 0, 0).expect("a time");
    let daily = "FREQ=DAILY".parse::<Rule>().expect("a rule");
    let series = Series::new(paris, at(0), at(6), Some(daily), Exceptions::default());
    four.put_vevent(Arc::new(Vevent {
        id: VeventId::new(54).expect("an id"),
        calendar_id: CalendarId::new(CALENDAR).expect("an id"),
        kind: VeventKind::Availability(Box::new(Availability {
            series: series.expect("a series"),
            permits: Permits::All,
        })),
        deleted: false,
        created_at: clock(6, 0),
        updated_at: clock(6, 0),
        rare: None,
    }));
    TestServer::serving(vec![four], |server| server).await
}

/// The times of a day before six that the page offers, after the clock was set to the day before.
async fn offered_on(server: &TestServer, day: &str) -> Vec<String> {
    let (year, month, number) = (&day[..4], &day[5..7], &day[8..]);
    let numbers = [year, month, number].map(|text| text.parse::<u32>().expect("a number"));
    let year = i32::try_from(numbers[0]).expect("a year");
    let midnight = Civil::from_ymd_hms(year, numbers[1], numbers[2], 0, 0, 0).expect("a day");
    let paris = Zone::from_iana("Europe/Paris").expect("a zone");
    server.at(slotbook::domain::time::Instant(paris.instant_of(midnight).0 - 3_600));
    let path = format!("/b/cut-co/time?s={CUT}&c={CALENDAR}&d={day}");
    let page = Visitor::of(server).open(&path).await;
    let mut times = page.offered();
    times.retain(|time| time.starts_with(day) && time.as_str() < format!("{day}T06").as_str());
    times
}

#[tokio::test]
async fn the_hour_that_spring_skips_is_not_offered() {
    let server = night_shop().await;
    let times = offered_on(&server, "2026-03-29").await;
    assert!(times.contains(&"2026-03-29T01:00".to_owned()), "{times:?}");
    assert!(times.contains(&"2026-03-29T03:00".to_owned()), "{times:?}");
    assert!(!times.iter().any(|time| time.starts_with("2026-03-29T02")), "{times:?}");
}

#[tokio::test]
async fn the_hour_that_autumn_repeats_is_offered_and_booked_once() {
    let server = night_shop().await;
    let times = offered_on(&server, "2025-10-26").await;
    let repeated: Vec<&String> =
        times.iter().filter(|time| time.starts_with("2025-10-26T02")).collect();
    assert_eq!(repeated.len(), 4, "each quarter once: {times:?}");
    assert!(times.contains(&"2025-10-26T03:00".to_owned()), "{times:?}");
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-10-26T02:00").await;
    let done = visitor.post("/b/cut-co/you", &form).await;
    visitor.open(done.location()).await.shows("Sunday 26 October 2025 at 2:00\u{a0}am");
}
