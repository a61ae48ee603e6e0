//! The fields of calendars and of their sets. Spec 2.2, 2.3, contract 3.

use std::sync::LazyLock;

use super::field::{Audience, Table, fields, plain};
use crate::domain::calendar::{Calendar, Calendarset};
use crate::domain::ids::{CalendarId, CalendarsetId};
use crate::domain::time::Instant;

const OPEN: (Audience, Audience) = (Audience::Application, Audience::Pro);
const PRO: (Audience, Audience) = (Audience::Pro, Audience::Pro);

/// Every field of a calendar.
pub static CALENDAR: LazyLock<Table<Calendar>> = LazyLock::new(|| Table {
    resource: "calendar",
    fields: fields!(
        Calendar,
        Audience::Application,
        [
            plain!("calendarset_id", calendarset_id, OPEN),
            plain!("name", name, PRO),
            plain!("address", address, OPEN),
            plain!("zipcode", zipcode, OPEN),
            plain!("city", city, OPEN),
            plain!("sort", sort, OPEN),
            plain!("deleted", deleted, OPEN),
            plain!("publicname", publicname, OPEN),
            plain!("generate_interval", generate_interval, OPEN),
            plain!("mintime_rdv", mintime_rdv, OPEN),
            plain!("maxrdv_period", maxrdv_period, OPEN),
            plain!("mintime_annulation", mintime_annulation, OPEN),
        ]
    ),
    required: &[&["name"]],
    customs: None,
    id: |calendar| calendar.id.number(),
    order: |a, b, _| a.sort.cmp(&b.sort),
    blank: Calendar::new(CalendarId::new(1).expect("1 is an id"), Instant(0)),
});

/// Every field of a category of calendars.
pub static CALENDARSET: LazyLock<Table<Calendarset>> = LazyLock::new(|| Table {
    resource: "calendarset",
    fields: fields!(
        Calendarset,
        Audience::Application,
        [
            plain!("name", name, PRO),
            plain!("preposition", preposition, OPEN),
            plain!("address", address, OPEN),
            plain!("zipcode", zipcode, OPEN),
            plain!("city", city, OPEN),
            plain!("sort", sort, OPEN),
            plain!("externid", externid, PRO),
            plain!("hidden", hidden, PRO),
            plain!("publicname", publicname, OPEN),
        ]
    ),
    required: &[&["name"]],
    customs: None,
    id: |set| set.id.number(),
    order: |a, b, _| a.sort.cmp(&b.sort),
    blank: Calendarset::new(CalendarsetId::new(1).expect("1 is an id"), Instant(0)),
});
