//! Every time that the page offers can be booked, and each bookable one is offered.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::availability::slot_request::{BookingMode, OwnTime, SlotRequest};
use slotbook::domain::records::ids::{CalendarId, GroupId, InterventionId, VeventId};
use slotbook::domain::records::text::Bounded;
use slotbook::domain::time::{Civil, Instant};

use crate::server::TestServer;
use crate::shop::{CALENDAR, COLOUR, CUT, OTHER_CALENDAR, clock};
use crate::visitor::{Visitor, shop_with};

/// The bookable starts from Monday to Sunday on some calendars, as in URLs, by asking for each
/// minute.
fn bookable_starts(
    server: &TestServer,
    service: u64,
    calendars: &[u64],
    own: OwnTime,
) -> BTreeSet<String> {
    let group = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(group).expect("group 4");
    let ids = [InterventionId::new(service).expect("an id")];
    let chain = state.catalogue.chain(&ids, BookingMode::Module).expect("a chain");
    let zone = state.catalogue.zone();
    let mut starts = BTreeSet::new();
    let mut at = clock(0, 0);
    while at < Instant(clock(0, 0).0 + 7 * 86_400) {
        let mode = BookingMode::Module;
        let request = SlotRequest { chain: chain.clone(), start: at, mode, own };
        for id in calendars {
            let view = state.calendars.get(&CalendarId::new(*id).expect("an id")).expect("a view");
            if bookable(&state.catalogue, view, &request, clock(8, 0)).is_ok() {
                starts.insert(in_url(zone.civil_of(at)));
            }
        }
        at = at.plus_minutes(1);
    }
    starts
}

/// The appointment of a link, and its calendar.
fn only_held(server: &TestServer, link: &str) -> (VeventId, u64) {
    let group = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(group).expect("group 4");
    let id = link.split('.').nth(2).and_then(|id| id.parse().ok()).and_then(VeventId::new);
    let id = id.expect("an id");
    (id, state.rows[&id].calendar_id.number())
}

fn in_url(at: Civil) -> String {
    let (year, month, day) = at.day().ymd();
    let minutes = at.second_of_day() / 60;
    format!("{year}-{month:02}-{day:02}T{:02}:{:02}", minutes / 60, minutes % 60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn the_page_offers_exactly_the_bookable_starts(
        interval in 5_i64..50,
        lead in 0_i64..3_000,
        period in 3_000_i64..9_000,
        length in 5_i64..100,
        booked in proptest::collection::vec(0_usize..40, 0..6),
        named in prop_oneof![Just(None), Just(Some(CALENDAR)), Just(Some(OTHER_CALENDAR))],
    ) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let server = shop_with(|catalogue| {
                for calendar in catalogue.calendars.values_mut() {
                    let calendar = Arc::make_mut(calendar);
                    calendar.generate_interval = Bounded::new(interval).expect("an interval");
                    calendar.mintime_annulation = Bounded::new(0).expect("a lead");
                    calendar.mintime_rdv = Bounded::new(lead).expect("a lead");
                    calendar.maxrdv_period = Bounded::new(period).expect("a lead");
                }
                let id = InterventionId::new(COLOUR).expect("an id");
                let colour = catalogue.interventions.get_mut(&id).expect("it is there");
                Arc::make_mut(colour).length = Bounded::new(length).expect("a length");
            })
            .await;
            let visitor = Visitor::of(&server);
            for place in booked {
                let times = visitor.get(&format!("/b/cut-co/time?s={CUT}&d=2025-06-02")).await;
                let offered = times.offered();
                let Some(time) = offered.get(place % offered.len().max(1)) else { continue };
                let form = visitor.form_of(CUT, time).await;
                let form: Vec<_> =
                    form.into_iter().filter(|(name, _)| name != "fiche.email").collect();
                visitor.post("/b/cut-co/you", &form).await.location();
            }
            let (query, calendars) = match named {
                Some(id) => (format!("&c={id}"), vec![id]),
                None => (String::new(), vec![CALENDAR, OTHER_CALENDAR]),
            };
            let path = format!("/b/cut-co/time?s={COLOUR}{query}&d=2025-06-02");
            let offered: BTreeSet<String> =
                visitor.open(&path).await.offered().into_iter().collect();
            let none = OwnTime::default();
            assert_eq!(offered, bookable_starts(&server, COLOUR, &calendars, none));
            let Some(time) = offered.first() else { return };
            let mut form = visitor.form_of(COLOUR, time).await;
            form.retain(|(name, _)| name != "fiche.email");
            let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
            let link = crate::manage::link_of(&visitor.open(&done).await);
            let (id, calendar) = only_held(&server, &link);
            let own = OwnTime { hold: None, appointment: Some(id) };
            let mut movable = bookable_starts(&server, COLOUR, &[calendar], own);
            assert!(movable.remove(time), "its own time is free for it");
            let path = format!("{link}/move?d=2025-06-02");
            let offered: BTreeSet<String> =
                visitor.open(&path).await.offered().into_iter().collect();
            assert_eq!(offered, movable);
        });
    }
}
