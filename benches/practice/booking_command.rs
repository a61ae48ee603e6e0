//! The bookings of a benchmark, one free start after another.

use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::text::{LongText, Name, Text};
use slotbook::domain::state::command::{BookAppointment, Caller, Client, Patch};
use slotbook::domain::time::{DAY, HOUR};

use crate::practice::{MONDAY, calendar, intervention};

/// The `nth` free start of a practice whose appointments begin at full hours: half past, on one calendar after another.
pub(crate) fn booking(nth: u64, calendars: u64) -> BookAppointment {
    let round = i64::try_from(nth / calendars).expect("small");
    let mut fields = Patch::default();
    let name = Name::new("Somebody").expect("a name");
    fields.push(move |fiche: &mut Fiche| fiche.lastname = name.clone());
    BookAppointment {
        permission: None,
        calendarset_ids: Vec::new(),
        is_by_page: false,
        is_code_demanded: false,
        needs_contact: false,
        booking_origin: None,
        hold: None,
        caller: Caller::Application,
        from_web: true,
        date: MONDAY.plus_seconds(round / 12 * DAY + (8 + round % 12) * HOUR + 1_800),
        intervention_ids: vec![intervention()],
        calendar_id: Some(calendar(nth % calendars + 1)),
        client: Client { id: None, email: None, fields, customs: Vec::new() },
        comments: LongText::default(),
        internal_comments: Text::default(),
        taker: Text::default(),
        websource: Text::default(),
        smsreminder: None,
        customs: Vec::new(),
    }
}
