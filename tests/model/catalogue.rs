//! What a group offers: who sees which calendar and service, and what stays when a set goes. Reference 4.6, 9, 12.

use std::sync::Arc;

use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::availability::module_offer::{
    offers_all, shown_calendars, shown_interventions,
};
use slotbook::domain::records::calendar::{Calendar, Calendarset};
use slotbook::domain::records::customfield::{CustomName, Customfield, Model};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{CalendarsetId, CustomfieldId, InterventionsetId};
use slotbook::domain::records::intervention::{Intervention, Interventionset};
use slotbook::domain::records::text::{Bounded, Name};
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::{Patch, Put, RecordChange};
use slotbook::domain::state::editable_record::EditableRecord;
use slotbook::domain::state::history::row::{HistoryObject, ObjectKind};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::Instant;

use super::shop::{Shop, calendar, civil, intervention};

fn shown() -> Name<255> {
    Name::new("shown").expect("a name")
}

/// A shop whose calendars and services have these ids: 4 and 5 swapped by their order, 6 deleted, 7 without a public
/// name, and a service 8 in a hidden set. Those of every shop, 1 to 3, are shown.
fn shop() -> Shop {
    Shop::in_zone("Paris", "2026-03-02 08:00").with(|catalogue| {
        let hidden = InterventionsetId::new(1).expect("an id");
        for id in 4..=8 {
            let mut row = Calendar::new(calendar(id), Instant(0));
            row.sort = Bounded::known(if id == 5 { 1 } else { 2 });
            row.deleted = id == 6;
            row.publicname = if id == 7 { Name::default() } else { shown() };
            catalogue.calendars.insert(row.id, row.into());
            let mut row = Intervention::new(intervention(id), Instant(0));
            row.sort = Bounded::known(if id == 5 { 1 } else { 2 });
            row.deleted = id == 6;
            row.publicname = if id == 7 { Name::default() } else { shown() };
            row.interventionset_id = (id == 8).then_some(hidden);
            catalogue.interventions.insert(row.id, row.into());
        }
        let set = Interventionset::new(hidden, Instant(0));
        catalogue.interventionsets.insert(set.id, set.into());
    })
}

#[test]
fn clients_are_shown_what_is_live_and_has_a_public_name_in_its_order() {
    let shop = shop();
    let catalogue = &shop.group_state.catalogue;
    let calendars: Vec<u64> =
        shown_calendars(catalogue).iter().map(|row| row.id.number()).collect();
    assert_eq!(calendars, [1, 2, 5, 4, 8]);
    let services: Vec<u64> =
        shown_interventions(catalogue).iter().map(|row| row.id.number()).collect();
    assert_eq!(services, [1, 2, 3, 5, 4], "8 lies in a set that is not shown");
    let live: Vec<u64> = catalogue.live_calendars().map(|row| row.id.number()).collect();
    assert_eq!(live, [1, 2, 5, 4, 7, 8], "the practice sees those without a public name too");
}

#[test]
fn a_calendar_offers_services_that_it_has_or_will_have_open_time_for() {
    let only = Permits::only(vec![intervention(1), intervention(3)]);
    let shop = Shop::in_zone("Paris", "2026-03-02 08:00").opened(
        1,
        "2026-03-03 09:00",
        "2026-03-03 12:00",
        "",
        only,
    );
    let state = &shop.group_state;
    let offers = |on: u64, services: &[u64], now: &str| {
        let now = state.catalogue.zone().instant_of(civil(now));
        let services: Vec<_> = services.iter().map(|id| intervention(*id)).collect();
        offers_all(&state.catalogue, &state.calendars, calendar(on), &services, now)
    };
    let monday = "2026-03-02 08:00";
    assert!(offers(1, &[1], monday) && offers(1, &[1, 3], monday));
    assert!(!offers(1, &[2], monday) && !offers(1, &[1, 2], monday), "2 is not permitted");
    assert!(!offers(2, &[1], monday), "it never opens");
    assert!(offers(1, &[1], "2026-03-03 11:59") && !offers(1, &[1], "2026-03-03 12:00"));
    assert!(!offers(9, &[], monday), "there is no such calendar");
}

#[test]
fn what_lay_in_a_removed_set_stays_and_is_shown_to_no_more_people() {
    let mut shop = shop().with(|catalogue| {
        let set = |id| CalendarsetId::new(id).expect("an id");
        for id in [1, 2] {
            let row = Calendarset::new(set(id), Instant(0));
            catalogue.calendarsets.insert(row.id, row.into());
            let row = catalogue.calendars.get_mut(&calendar(id)).expect("a calendar");
            Arc::make_mut(row).calendarset_id = Some(set(id));
        }
        let shown_set = InterventionsetId::new(2).expect("an id");
        let mut row = Interventionset::new(shown_set, Instant(0));
        row.publicname = shown();
        catalogue.interventionsets.insert(row.id, row.into());
        let row = catalogue.interventions.get_mut(&intervention(4)).expect("a service");
        Arc::make_mut(row).interventionset_id = Some(shown_set);
    });
    shop.now = shop.now.plus_seconds(60);
    let set_of_calendars = CalendarsetId::new(1).expect("an id");
    shop.changes(&RecordChange::RemoveCalendarset(set_of_calendars)).expect("it is there");
    for id in [1, 2] {
        let set = InterventionsetId::new(id).expect("an id");
        shop.changes(&RecordChange::RemoveInterventionset(set)).expect("it is there");
    }
    let catalogue = &shop.group_state.catalogue;
    let set_of = |id| catalogue.calendars[&calendar(id)].calendarset_id.map(|set| set.number());
    assert_eq!((set_of(1), set_of(2)), (None, Some(2)));
    assert!(catalogue.interventionsets.is_empty());
    assert!(catalogue.interventions.values().all(|row| row.interventionset_id.is_none()));
    let services: Vec<u64> =
        shown_interventions(catalogue).iter().map(|row| row.id.number()).collect();
    assert_eq!(services, [1, 2, 3, 5, 4], "8 was hidden by its set");
    for id in [1, 4, 8] {
        let row = &catalogue.interventions[&intervention(id)];
        assert_eq!(row.updated_at == shop.now, id != 1, "{id} changed with its set");
    }
    // The history tells of the sets and of all that lay in them.
    for (kind, id, rows) in [
        (ObjectKind::Calendarset, 1, 1),
        (ObjectKind::Calendarset, 2, 0),
        (ObjectKind::Calendar, 1, 1),
        (ObjectKind::Calendar, 2, 0),
        (ObjectKind::Interventionset, 1, 1),
        (ObjectKind::Interventionset, 2, 1),
        (ObjectKind::Intervention, 1, 0),
        (ObjectKind::Intervention, 4, 1),
        (ObjectKind::Intervention, 8, 1),
    ] {
        let history = &shop.group_state.history;
        let found = history.of_object(HistoryObject { kind, id }, u64::MAX).count();
        assert_eq!(found, rows, "{kind:?} {id}");
    }
}

#[test]
fn a_record_must_have_the_live_attributes_of_its_model_that_its_author_sees() {
    let shop = shop().with(|catalogue| {
        for (id, model, by_pro, by_client, visible, deleted) in [
            (1, Model::Fiche, true, true, true, false),
            (2, Model::Fiche, true, false, true, false),
            (3, Model::Fiche, false, true, true, false),
            (4, Model::Fiche, false, true, false, false),
            (5, Model::Fiche, true, true, true, true),
            (6, Model::Vevent, true, true, true, false),
        ] {
            let name = CustomName::new(&format!("str{id}")).expect("a name");
            let id = CustomfieldId::new(id).expect("an id");
            let mut field = Customfield::new(id, model, name, Instant(0));
            (field.pro_required, field.user_required) = (by_pro, by_client);
            (field.user_visible, field.deleted) = (visible, deleted);
            catalogue.customfields.insert(id, field.into());
        }
    });
    let catalogue: &Catalogue = &shop.group_state.catalogue;
    let required = |model, by_pro| {
        let names = catalogue.required_customfields(model, by_pro);
        names.map(|name| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(required(Model::Fiche, true), ["str1", "str2"]);
    assert_eq!(required(Model::Fiche, false), ["str1", "str3"]);
    assert_eq!(required(Model::Vevent, true), ["str6"]);
    assert_eq!(required(Model::Vevent, false), ["str6"]);
    let name = CustomName::new("str5").expect("a name");
    assert!(catalogue.customfield(Model::Fiche, name).is_none(), "it is deleted");
    let name = CustomName::new("str6").expect("a name");
    assert!(catalogue.customfield(Model::Vevent, name).is_some());
    assert!(catalogue.customfield(Model::Fiche, name).is_none(), "it is of the other model");
}

/// The field of the one fault of a change, or an empty text.
fn fault_of(shop: &mut Shop, change: &RecordChange) -> String {
    match shop.changes(change) {
        Ok(_) => String::new(),
        Err(refusals) => match &refusals[..] {
            [Refusal::InvalidParameter(fault)] => fault.field.clone(),
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn an_attribute_keeps_its_model_and_its_name_and_is_defined_once() {
    let name = |text: &str| CustomName::new(text).expect("a name");
    let id = |id| CustomfieldId::new(id).expect("an id");
    let mut shop = shop().with(|catalogue| {
        for (number, text) in [(1, "str1"), (2, "str2")] {
            let field = Customfield::new(id(number), Model::Fiche, name(text), Instant(0));
            catalogue.customfields.insert(field.id, field.into());
        }
    });
    let put = |id, change: fn(&mut Customfield)| {
        let mut fields = Patch::default();
        fields.push(change);
        RecordChange::Customfield(Put { id, fields })
    };
    let of_events = put(Some(id(1)), |field| field.model = Model::Vevent);
    assert_eq!(fault_of(&mut shop, &of_events), "model");
    let renamed = put(Some(id(1)), |field| field.name = CustomName::new("str9").expect("a name"));
    assert_eq!(fault_of(&mut shop, &renamed), "name");
    let again = put(None, |field| field.name = CustomName::new("str2").expect("a name"));
    assert_eq!(fault_of(&mut shop, &again), "name");
    let required = put(Some(id(1)), |field| field.pro_required = true);
    assert_eq!(fault_of(&mut shop, &required), "");
    assert!(shop.group_state.catalogue.customfields[&id(1)].pro_required);
}

#[test]
fn a_client_has_a_name_and_keeps_one() {
    let mut shop = Shop::open_on_tuesday();
    let put = |id, lastname: &'static str, firstname: &'static str| {
        let mut fields = Patch::default();
        fields.push(move |fiche: &mut Fiche| {
            fiche.lastname = Name::new(lastname).expect("a name");
            fiche.firstname = Name::new(firstname).expect("a name");
        });
        RecordChange::Fiche(Put { id, fields })
    };
    assert_eq!(fault_of(&mut shop, &put(None, "", "")), "lastname");
    assert_eq!(fault_of(&mut shop, &put(None, "", "Ada")), "");
    assert_eq!(fault_of(&mut shop, &put(None, "Lovelace", "")), "");
    let known = shop.knows("Ada", "ada@example.org");
    assert_eq!(fault_of(&mut shop, &put(Some(known), "", "")), "lastname");
    // A record that came without a name, by an import, may go on without one.
    let mut nameless = Fiche::clone(&shop.group_state.fiches[&known]);
    nameless.lastname = Name::default();
    shop.group_state.put_fiche(nameless.into());
    assert_eq!(fault_of(&mut shop, &put(Some(known), "", "")), "");
}

#[test]
fn what_a_shop_offers_has_a_name_and_keeps_one() {
    fn named<R: EditableRecord>(
        id: Option<R::Id>,
        set: fn(&mut R, Name<255>),
        name: &str,
    ) -> Put<R> {
        let name = Name::new(name).expect("a name");
        let mut fields = Patch::default();
        fields.push(move |row: &mut R| set(row, name.clone()));
        Put { id, fields }
    }
    let mut shop = shop();
    // New rows get other ids than those that there are.
    for _ in 0..20 {
        shop.id();
    }
    type Change = fn(bool, &str) -> RecordChange;
    let kinds: [(&str, Change); 4] = [
        ("calendar", |is_new, name| {
            let id = (!is_new).then(|| calendar(4));
            RecordChange::Calendar(named(id, |row, name| row.name = name, name))
        }),
        ("intervention", |is_new, name| {
            let id = (!is_new).then(|| intervention(4));
            RecordChange::Intervention(named(id, |row, name| row.name = name, name))
        }),
        ("calendarset", |is_new, name| {
            let id = (!is_new).then(|| CalendarsetId::new(1).expect("an id"));
            RecordChange::Calendarset(named(id, |row, name| row.name = name, name))
        }),
        ("interventionset", |is_new, name| {
            let id = (!is_new).then(|| InterventionsetId::new(1).expect("an id"));
            RecordChange::Interventionset(named(id, |row, name| row.name = name, name))
        }),
    ];
    for (kind, change) in kinds {
        if kind == "calendarset" {
            shop = shop.with(|catalogue| {
                let row = Calendarset::new(CalendarsetId::new(1).expect("an id"), Instant(0));
                catalogue.calendarsets.insert(row.id, row.into());
            });
        }
        assert_eq!(fault_of(&mut shop, &change(true, " ")), "name", "{kind}");
        assert_eq!(fault_of(&mut shop, &change(true, "Named")), "", "{kind}");
        // One that came without a name, by an import, may go on without one until it has one.
        assert_eq!(fault_of(&mut shop, &change(false, "")), "", "{kind}");
        assert_eq!(fault_of(&mut shop, &change(false, "Named")), "", "{kind}");
        assert_eq!(fault_of(&mut shop, &change(false, "")), "name", "{kind}");
    }
}

#[test]
fn a_calendar_and_a_service_lie_in_sets_that_there_are() {
    let mut shop = shop();
    let mut fields = Patch::default();
    fields.push(|row: &mut Calendar| row.calendarset_id = CalendarsetId::new(99));
    let change = RecordChange::Calendar(Put { id: Some(calendar(1)), fields });
    assert_eq!(fault_of(&mut shop, &change), "calendarset_id");
    for (set, field) in [(99, "interventionset_id"), (1, "")] {
        let mut fields = Patch::default();
        fields.push(move |row: &mut Intervention| {
            row.interventionset_id = InterventionsetId::new(set);
        });
        let change = RecordChange::Intervention(Put { id: Some(intervention(1)), fields });
        assert_eq!(fault_of(&mut shop, &change), field);
    }
}
