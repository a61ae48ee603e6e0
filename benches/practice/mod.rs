//! A practice for benchmarks: calendars open all week, some with appointments.

use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId, VeventId};
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::text::{Bounded, Name};
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Availability, Permits, Reminders, State, Vevent, VeventKind,
};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, DAY, HOUR, Instant, MINUTE};

/// Monday 5 January 2026, midnight in Paris.
pub(crate) const MONDAY: Civil = Civil(1_767_571_200);

pub(crate) fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

pub(crate) fn calendar(id: u64) -> CalendarId {
    CalendarId::new(id).expect("an id")
}

/// The only intervention: 30 minutes.
pub(crate) fn intervention() -> InterventionId {
    InterventionId::new(1).expect("an id")
}

/// Half past seven on that Monday.
pub(crate) fn morning() -> Instant {
    ZoneName::from_name("Paris")
        .expect("a zone")
        .zone()
        .instant_of(MONDAY.plus_seconds(7 * HOUR + 30 * MINUTE))
}

/// A practice whose calendars are open from 8 to 20 o'clock, every day, and have `a_day` appointments of half an hour
/// an hour apart on each of `days` days, of one client each calendar.
pub(crate) fn practice(calendars: u64, days: i64, a_day: i64) -> GroupState {
    let zone = ZoneName::from_name("Paris").expect("a zone");
    let shown = Name::new("shown").expect("a name");
    let mut group = Group::new(group(), zone, Instant(0));
    group.validate_email = false;
    let mut catalogue = Catalogue::new(group);
    let mut treatment = Intervention::new(intervention(), Instant(0));
    (treatment.publicname, treatment.length) = (shown.clone(), Bounded::known(30));
    catalogue.interventions.insert(treatment.id, treatment.into());
    let (mut fiches, mut rows) = (Vec::new(), Vec::new());
    for number in 1..=calendars {
        let mut row = Calendar::new(calendar(number), Instant(0));
        row.publicname = shown.clone();
        row.maxrdv_period = Bounded::known(5_256_000);
        catalogue.calendars.insert(row.id, row.into());
        let client = FicheId::new(number).expect("an id");
        fiches.push(Fiche::new(client, Instant(0)).into());
        let open = MONDAY.plus_seconds(8 * HOUR - 30 * DAY);
        let rule = Some("FREQ=DAILY".parse().expect("a rule"));
        let series = Series::new(
            zone.zone(),
            open,
            open.plus_seconds(12 * HOUR),
            rule,
            Exceptions::default(),
        );
        let series = series.expect("a series");
        let mut put = |kind| {
            let id = VeventId::new(rows.len() as u64 + 1).expect("an id");
            let (created_at, updated_at, rare) = (Instant(0), Instant(0), None);
            let row = Vevent {
                id,
                calendar_id: calendar(number),
                kind,
                deleted: false,
                created_at,
                updated_at,
                rare,
            };
            rows.push(row.into());
        };
        put(VeventKind::Availability(Box::new(Availability { series, permits: Permits::All })));
        for at in 0..days * a_day {
            let start = MONDAY.plus_seconds(at / a_day * DAY + (8 + at % a_day) * HOUR);
            put(VeventKind::Appointment(Appointment {
                civil_start: start,
                start: zone.zone().instant_of(start),
                length_seconds: 1_800,
                intervention_id: intervention(),
                fiche_id: client,
                key: AppointmentKey::new("abcdefghijklmnopqrst").expect("20 letters"),
                state: State::default(),
                smsreminder: false,
                from_web: true,
                reminders: Reminders::since(Instant(0)),
                booking_origin: None,
            }));
        }
    }
    GroupState::from_records(catalogue, fiches, Vec::new(), rows)
}
