//! The rows of the history name the fields that a change was about, and no others. Reference 16.1.

use slotbook::domain::records::customfield::{CustomName, CustomValue, Customs};
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{InterventionsetId, VeventId};
use slotbook::domain::records::intervention::{Intervention, Interventionset};
use slotbook::domain::records::text::{Colour, Email, LongText, Text};
use slotbook::domain::records::vevent::{
    Availability, OptionalFields, Permits, Vevent, VeventKind,
};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::command::{
    LinkRequest, Patch, Put, PutVevent, RecordChange, RequestLink,
};
use slotbook::domain::state::history::NumberedRow;
use slotbook::domain::state::history::row::{HistoryField, HistoryVerb, ObjectKind};
use slotbook::domain::state::history::settings::SettingsChange;
use slotbook::domain::time::Instant;

use super::shop::{Shop, booking_of, by_pro, civil, intervention, link_secret, redrawn};

fn last_row(shop: &Shop) -> NumberedRow {
    shop.group_state.history.latest_first(u64::MAX).next().expect("a row")
}

/// The fields of the last row, each with its values.
fn last_fields(shop: &Shop) -> Vec<(HistoryField, Option<i64>, Option<i64>)> {
    let fields = last_row(shop).row.fields;
    fields.iter().map(|change| (change.field, change.before, change.after)).collect()
}

/// The closure or the opening of a Tuesday morning.
fn series(shop: &Shop, rule: Option<&str>, excepted: &str) -> Series {
    let zone = shop.group_state.catalogue.zone();
    let rule = rule.map(|rule| rule.parse().expect("a rule"));
    let exceptions: Exceptions = excepted.parse().expect("dates");
    let [start, end] = ["2026-03-10 09:00", "2026-03-10 12:00"].map(civil);
    Series::new(zone, start, end, rule, exceptions).expect("legal")
}

fn rare(row: &mut Vevent) -> &mut OptionalFields {
    row.rare.get_or_insert_default()
}

#[test]
fn a_change_of_an_appointment_names_its_field_alone() {
    let mut shop = Shop::open_on_tuesday();
    let booked = shop.book(&by_pro(booking_of("Ada", "2026-03-03 09:00"), false)).expect("free");
    let text = |text: &str| LongText::new(text).expect("a text");
    let short = |text: &str| Text::new(text).expect("a text");
    let customs = || {
        let mut customs = Customs::default();
        let name = CustomName::new("bool0").expect("a name");
        customs.set(name, Some(CustomValue::Boolean(true)));
        customs
    };
    type Change = Box<dyn Fn(&mut Vevent) + Send + Sync>;
    let changes: Vec<(HistoryField, Change)> = vec![
        (HistoryField::Text, Box::new(move |row| rare(row).text = text("a"))),
        (HistoryField::Comments, Box::new(move |row| rare(row).comments = text("b"))),
        (
            HistoryField::InternalComments,
            Box::new(move |row| rare(row).internal_comments = text("c")),
        ),
        (
            HistoryField::Colorref,
            Box::new(|row| rare(row).colorref = Some(Colour::new("#ff0000").expect("a colour"))),
        ),
        (HistoryField::Taker, Box::new(move |row| rare(row).taker = short("d"))),
        (HistoryField::Websource, Box::new(move |row| rare(row).websource = short("e"))),
        (HistoryField::Customs, Box::new(move |row| rare(row).customs = customs())),
        (
            HistoryField::Smsreminder,
            Box::new(|row| {
                if let VeventKind::Appointment(appointment) = &mut row.kind {
                    appointment.smsreminder = !appointment.smsreminder;
                }
            }),
        ),
    ];
    for (field, change) in changes {
        let command = PutVevent::Change(booked[0], redrawn(move |_, row| change(row)));
        assert_eq!(shop.by_hand(&command), Ok(true), "{field:?}");
        assert_eq!(last_fields(&shop), [(field, None, None)]);
    }
}

#[test]
fn a_change_of_a_series_names_its_rule_its_exceptions_or_its_services() {
    let mut shop = Shop::open_on_tuesday();
    let permits = |ids: &[u64]| Permits::only(ids.iter().map(|id| intervention(*id)).collect());
    let opening =
        |series, permits| VeventKind::Availability(Box::new(Availability { series, permits }));
    let weekly = Some("FREQ=WEEKLY");
    let id: VeventId =
        shop.puts(None, 1, opening(series(&shop, None, ""), permits(&[1])), false).expect("legal");
    for (kind, field) in [
        (opening(series(&shop, weekly, ""), permits(&[1])), HistoryField::Rrule),
        (opening(series(&shop, weekly, "2026-03-17"), permits(&[1])), HistoryField::Exdate),
        (
            opening(series(&shop, weekly, "2026-03-17"), permits(&[1, 2])),
            HistoryField::AvailableInterventions,
        ),
    ] {
        shop.puts(Some(id), 1, kind, false).expect("legal");
        assert_eq!(last_fields(&shop), [(field, None, None)]);
    }
}

#[test]
fn flags_are_told_when_they_are_set_and_when_they_change() {
    let mut shop = Shop::open_on_tuesday();
    let closure = VeventKind::Plage(Box::new(series(&shop, None, "")));
    let flags = |shop: &Shop| -> Vec<_> {
        last_fields(shop).into_iter().filter(|(field, ..)| field.is_flag()).collect()
    };
    let id = shop.puts(None, 1, closure.clone(), false).expect("legal");
    assert_eq!(flags(&shop), [(HistoryField::Plage, None, Some(1))]);
    shop.puts(Some(id), 1, closure.clone(), true).expect("legal");
    assert_eq!(last_row(&shop).row.verb, HistoryVerb::Deleted);
    assert_eq!(flags(&shop), [(HistoryField::Deleted, Some(0), Some(1))]);
    shop.puts(Some(id), 1, closure, false).expect("legal");
    assert_eq!(last_row(&shop).row.verb, HistoryVerb::Restored);
    assert_eq!(flags(&shop), [(HistoryField::Deleted, Some(1), Some(0))]);
}

#[test]
fn a_change_of_an_account_names_its_password_or_its_address() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let number = i64::try_from(ada.number()).expect("small");
    let email = |text: &str| Email::new(text).expect("an address");
    let by_password = RequestLink {
        email: email("ada@example.org"),
        request: LinkRequest::Account { pending_rdv: None, secret: Some(link_secret()) },
    };
    let by_email = RequestLink {
        email: email("ada@example.com"),
        request: LinkRequest::Email {
            account: "ada@example.org".into(),
            put: Put { id: Some(ada), fields: Patch::default() },
        },
    };
    let all = [
        (HistoryField::FicheId, None, Some(number)),
        (HistoryField::Email, None, None),
        (HistoryField::Password, None, None),
    ];
    for (request, verb, fields) in [
        (&by_password, HistoryVerb::Made, &all[..]),
        (&by_password, HistoryVerb::Changed, &all[2..]),
        (&by_email, HistoryVerb::Changed, &all[1..2]),
    ] {
        let before = shop.group_state.history.last();
        let link = shop.asks_link(request).expect("it is asked for").expect("it is mailed");
        shop.follows_link(link).expect("it is open");
        let rows = shop.group_state.history.latest_first(u64::MAX);
        let rows = rows.take_while(|found| found.number > before);
        let mut of_account = rows.filter(|found| found.row.object.kind == ObjectKind::Account);
        let row = of_account.next().expect("it is told").row;
        let told = row.fields.iter().map(|change| (change.field, change.before, change.after));
        assert_eq!((row.verb, told.collect::<Vec<_>>()), (verb, fields.to_vec()));
    }
}

#[test]
fn a_long_text_of_the_settings_is_named_and_not_kept() {
    let text = |text: &str| LongText::new(text).expect("a text");
    let set = InterventionsetId::new(1).expect("an id");
    let mut shop = Shop::open_on_tuesday().with(|catalogue| {
        let row = Interventionset::new(set, Instant(0));
        catalogue.interventionsets.insert(set, row.into());
    });
    let mut group = Patch::default();
    group.push(move |group: &mut Group| group.privacy_text = text("a"));
    let mut service = Patch::default();
    service.push(move |row: &mut Intervention| row.description = text("b"));
    let mut services = Patch::default();
    services.push(move |row: &mut Interventionset| row.description = text("c"));
    for (change, field) in [
        (RecordChange::Group(group), HistoryField::PrivacyText),
        (
            RecordChange::Intervention(Put { id: Some(intervention(1)), fields: service }),
            HistoryField::Description,
        ),
        (
            RecordChange::Interventionset(Put { id: Some(set), fields: services }),
            HistoryField::Description,
        ),
    ] {
        shop.changes(&change).expect("legal");
        assert_eq!(last_fields(&shop), [(field, None, None)]);
        let settings = last_row(&shop).settings.expect("they are kept");
        let kept = match settings.as_ref() {
            SettingsChange::Group(row) => row.after.as_ref().map(|it| it.privacy_text.clone()),
            SettingsChange::Intervention(row) => {
                row.after.as_ref().map(|it| it.description.clone())
            }
            SettingsChange::Interventionset(row) => {
                row.after.as_ref().map(|it| it.description.clone())
            }
            SettingsChange::Calendar(_)
            | SettingsChange::Calendarset(_)
            | SettingsChange::Customfield(_) => panic!("{settings:?}"),
        };
        assert_eq!(kept, Some(LongText::default()));
    }
}
