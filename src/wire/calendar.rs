//! Fields of calendars and calendarsets. Reference 12.2, 12.3.

use std::sync::LazyLock;

use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::ids::{CalendarId, CalendarsetId};
use crate::domain::records::text::Name;
use crate::domain::time::Instant;
use crate::wire::field::{Audience, ColumnValue, Field, OPEN, PRO, Table, fields, plain};
use crate::wire::field_codec::FieldCodec as _;

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
            plain!("tagline", tagline, OPEN),
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

/// Every field of a calendarset, with the raw public name.
pub static CALENDARSET: LazyLock<Table<Calendarset>> =
    LazyLock::new(|| make_calendarset_table(plain!("publicname", publicname, OPEN)));

/// Every field of a calendarset, as applications and accounts see it.
///
/// An empty public name falls back to the name, also in search and sort. Reference 12.3.
pub static SHOWN_CALENDARSET: LazyLock<Table<Calendarset>> = LazyLock::new(|| {
    make_calendarset_table(Field::derived(
        "publicname",
        Name::<255>::FIELD_TYPE,
        Audience::Application,
        |set: &Calendarset, _| ColumnValue::Text(set.shown_name().into()),
    ))
});

fn make_calendarset_table(publicname: Field<Calendarset>) -> Table<Calendarset> {
    Table {
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
                publicname,
            ]
        ),
        required: &[&["name"]],
        customs: None,
        id: |set| set.id.number(),
        order: |a, b, _| a.sort.cmp(&b.sort),
        blank: Calendarset::new(CalendarsetId::new(1).expect("1 is an id"), Instant(0)),
    }
}
