//! Calendars that the tests of searches look at.

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::merged_starts::StartSearch;
use crate::domain::availability::open_time::CalendarView;
use crate::domain::availability::slot_request::{BookingMode, Chain, ChainSearch, Leg};
use crate::domain::records::calendar::Calendar;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarId, GroupId, InterventionId, VeventId};
use crate::domain::records::intervention::Intervention;
use crate::domain::records::text::{Bounded, Name};
use crate::domain::records::vevent::{Availability, Permits, Vevent, VeventKind};
use crate::domain::recurrence::Series;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::zone_names::ZoneName;
use crate::domain::time::{Civil, CivilDay, HOUR, Instant, MINUTE};

/// The first day of a chunk.
pub(crate) const TODAY: CivilDay = CivilDay(8 * 2_600);
/// Minutes of the day at which each calendar opens. It closes three hours later.
pub(crate) const OPENINGS: [i64; 2] = [9 * 60, 10 * 60];

/// Two calendars whose starts are searched.
pub(crate) struct Searched {
    pub(crate) catalogue: Catalogue,
    pub(crate) views: Vec<CalendarView>,
    pub(crate) now: Instant,
}

fn calendar_id(number: u64) -> CalendarId {
    CalendarId::new(number).expect("an id")
}

pub(crate) fn zone() -> Zone {
    Zone::from_iana("UTC").expect("a zone")
}

/// A moment of a day, which counts from the present one.
pub(crate) fn at(day: i32, minute: i64) -> Instant {
    zone().instant_of(TODAY.plus_days(day).midnight().plus_seconds(minute * MINUTE))
}

pub(crate) fn days(from: i32, to: i32) -> Interval {
    Interval { start: at(from, 0), end: at(to, 0) }
}

/// One intervention of this length.
pub(crate) fn chain_of(minutes: i64) -> Chain {
    let intervention_id = InterventionId::new(1).expect("an id");
    let leg = Leg { intervention_id, length_seconds: minutes * MINUTE };
    Chain::new(vec![leg]).expect("a leg")
}

pub(crate) fn hours(number: u64, opening: i64) -> Arc<Vevent> {
    let start = TODAY.plus_days(-10).midnight().plus_seconds(opening * MINUTE);
    daily(number, zone(), start, 3 * HOUR)
}

/// A calendar's open time of each day.
pub(crate) fn daily(number: u64, zone: Zone, start: Civil, seconds: i64) -> Arc<Vevent> {
    let rule = Some("FREQ=DAILY".parse().expect("a rule"));
    let series = Series::new(zone, start, start.plus_seconds(seconds), rule, Default::default());
    let series = series.expect("a series");
    let kind = VeventKind::Availability(Box::new(Availability { series, permits: Permits::All }));
    Arc::new(Vevent {
        id: VeventId::new(number).expect("an id"),
        calendar_id: calendar_id(number),
        kind,
        deleted: false,
        created_at: at(0, 0),
        updated_at: at(0, 0),
        rare: None,
    })
}

impl Searched {
    pub(crate) fn new() -> Self {
        Self::open_from(OPENINGS)
    }

    pub(crate) fn open_from(openings: [i64; 2]) -> Self {
        let now = at(0, 0);
        let name = Name::new("shown").expect("a name");
        let utc = ZoneName::from_name("UTC").expect("a zone");
        let mut catalogue = Catalogue::new(Group::new(GroupId::new(1).expect("an id"), utc, now));
        let mut service = Intervention::new(InterventionId::new(1).expect("an id"), now);
        service.publicname = name.clone();
        catalogue.interventions.insert(service.id, Arc::new(service));
        let mut views = Vec::new();
        for (number, opening) in (1..).zip(openings) {
            let mut calendar = Calendar::new(calendar_id(number), now);
            calendar.publicname = name.clone();
            calendar.maxrdv_period = const { Bounded::known(525_600) };
            catalogue.calendars.insert(calendar.id, Arc::new(calendar));
            let mut view = CalendarView::new(calendar_id(number));
            view.change_rules(|rules| rules.add(&hours(number, opening)));
            views.push(view);
        }
        Self { catalogue, views, now }
    }

    /// Calls `look` with a search for a chain on the calendars.
    pub(crate) fn search<T>(
        &self,
        chain: &Chain,
        mode: BookingMode,
        look: impl FnOnce(StartSearch<'_>) -> T,
    ) -> T {
        let views = self.views.iter().map(|view| (view.id, Arc::new(view.clone()))).collect();
        let calendars: Vec<_> = self.views.iter().map(|view| view.id).collect();
        look(StartSearch {
            catalogue: &self.catalogue,
            views: &views,
            search: ChainSearch::new(chain, mode),
            calendars: &calendars,
            at_least: 1,
            now: self.now,
        })
    }
}
