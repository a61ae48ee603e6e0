//! The events alone make the state again, bit for bit; so does a snapshot.

use proptest::prelude::*;
use slotbook::domain::bookable::Channel;
use slotbook::domain::calendar::{Calendar, Calendarset};
use slotbook::domain::command::{CancelRight, Patch, Put, RecordChange};
use slotbook::domain::event::Event;
use slotbook::domain::fiche::Fiche;
use slotbook::domain::group::Group;
use slotbook::domain::ids::{CalendarsetId, InterventionsetId, VeventId};
use slotbook::domain::intervention::{Intervention, Interventionset};
use slotbook::domain::record::Record;
use slotbook::domain::refusal::{Refusal, Refusals};
use slotbook::domain::root::Root;
use slotbook::domain::text::Name;
use slotbook::domain::vevent::Permits;
use slotbook::domain::zone_names::ZoneName;
use slotbook::store::{codec, state};

use super::shop::{Shop, booking_of, by_pro, calendar, intervention, somebody};

#[derive(Clone, Debug)]
enum Step {
    Book {
        client: u8,
        half_hour: i64,
        calendar: Option<u64>,
        pro: bool,
    },
    Cancel(prop::sample::Index),
    Move {
        which: prop::sample::Index,
        minutes: i64,
        calendar: u64,
    },
    Restore(prop::sample::Index),
    /// A client made, or the client of an appointment renamed, deleted or restored.
    Client {
        of: Option<prop::sample::Index>,
        name: u8,
        deleted: bool,
    },
    /// A calendar or a set made, changed or removed.
    Offer {
        what: u8,
        which: u64,
    },
    /// Another clock for the group.
    Zone(u8),
    Wait(i64),
}

fn a_step() -> impl Strategy<Value = Step> {
    let calendars = prop_oneof![Just(None), (1..3_u64).prop_map(Some)];
    prop_oneof![
        4 => (0..6_u8, 0..10_i64, calendars, any::<bool>())
            .prop_map(|(client, half_hour, calendar, pro)| Step::Book { client, half_hour, calendar, pro }),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        2 => (any::<prop::sample::Index>(), 0..300_i64, 1..3_u64)
            .prop_map(|(which, minutes, calendar)| Step::Move { which, minutes, calendar }),
        1 => any::<prop::sample::Index>().prop_map(Step::Restore),
        1 => (any::<Option<prop::sample::Index>>(), 0..6_u8, any::<bool>())
            .prop_map(|(of, name, deleted)| Step::Client { of, name, deleted }),
        1 => (0..8_u8, 1..4_u64).prop_map(|(what, which)| Step::Offer { what, which }),
        1 => (0..3_u8).prop_map(Step::Zone),
        // Clocks go back, too.
        1 => (-600..3_600_i64).prop_map(Step::Wait),
        1 => Just(Step::Wait(30_000)),
    ]
}

fn again(root: &Root) -> Root {
    let mut reader = state::GroupReader::default();
    state::write_group(root, |frame| reader.frame(frame)).expect("what was written is read");
    reader.root(root.sequence).expect("it has a head")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn replay_and_snapshot_give_the_live_state(steps in proptest::collection::vec(a_step(), 1..60)) {
        let mut shop = Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 14:00", "", Permits::All);
        let first = shop.root.clone();
        let mut made: Vec<VeventId> = Vec::new();
        let mut last_stamp = first.last_stamp;
        for step in steps {
            match step {
                Step::Book { client, half_hour, calendar: on, pro } => {
                    let mut command = booking_of(&format!("client{client}"), "2026-03-03 09:00");
                    command.date = command.date.plus_seconds(half_hour * 1_800);
                    command.calendar_id = on.map(calendar);
                    let command = if pro { by_pro(command, false) } else { command };
                    made.extend(shop.book(&command).unwrap_or_default());
                }
                Step::Cancel(which) if !made.is_empty() => {
                    let id = made[which.index(made.len())];
                    prop_assert!(shop.cancel(id, CancelRight::Pro).is_ok());
                }
                Step::Move { which, minutes, calendar } if !made.is_empty() => {
                    let start = format!("2026-03-03 {:02}:{:02}", 9 + minutes / 60, minutes % 60);
                    let moved = shop.moves(made[which.index(made.len())], calendar, &start);
                    prop_assert!(only_taken(&moved));
                }
                Step::Restore(which) if !made.is_empty() => {
                    let restored = shop.restores(made[which.index(made.len())]);
                    prop_assert!(only_taken(&restored));
                }
                Step::Client { of, name, deleted } => {
                    let row = of.filter(|_| !made.is_empty()).map(|which| made[which.index(made.len())]);
                    let appointment = row.and_then(|id| shop.root.rows.get(&id)).and_then(|row| row.appointment());
                    let put = Put { id: appointment.map(|appointment| appointment.fiche_id), fields: client(name, deleted) };
                    prop_assert!(shop.changes(&RecordChange::Fiche(put)).is_ok());
                }
                Step::Offer { what, which } => drop(shop.changes(&offer(what, which))),
                Step::Zone(which) => {
                    let name = ["Paris", "Lima", "Chennai"][usize::from(which)];
                    let zone = ZoneName::from_name(name).expect("a zone");
                    let mut fields = Patch::default();
                    fields.push(move |group: &mut Group| group.timezone = zone);
                    prop_assert!(shop.changes(&RecordChange::Group(fields)).is_ok(), "no clock changes that day");
                }
                Step::Cancel(_) | Step::Move { .. } | Step::Restore(_) => {}
                Step::Wait(seconds) => shop.now = shop.now.plus_seconds(seconds),
            }
            prop_assert!(shop.root.last_stamp >= last_stamp, "stamps never go back");
            last_stamp = shop.root.last_stamp;
        }
        let replayed = shop.events.iter().fold(first, |root, event| {
            let event: Event = codec::decode(&codec::encode(event)).expect("what was written is read");
            root.apply(&event)
        });
        let hash = state::hash(&shop.root);
        prop_assert_eq!(state::hash(&replayed), hash);
        let snapshot = again(&shop.root);
        prop_assert_eq!(state::hash(&snapshot), hash);
        let all_day = |root: &Root| {
            let mut shop = shop.clone();
            shop.root = root.clone();
            [1, 2].map(|on| shop.offers(on, &[1], Channel::ModuleByPro, "2026-03-03 00:00", "2026-03-04 00:00"))
        };
        prop_assert_eq!(all_day(&replayed), all_day(&shop.root));
        prop_assert_eq!(all_day(&snapshot), all_day(&shop.root));
        for (fiche, _) in &shop.root.fiches {
            prop_assert_eq!(replayed.appointments_of(*fiche), shop.root.appointments_of(*fiche));
            prop_assert_eq!(snapshot.appointments_of(*fiche), shop.root.appointments_of(*fiche));
        }
        never_overlaps(&shop.root)?;
    }
}

/// A change of what the group offers; it may be of something that is not there.
fn offer(what: u8, which: u64) -> RecordChange {
    let set = CalendarsetId::new(which).expect("an id");
    let category = InterventionsetId::new(which).expect("an id");
    match what {
        0 => RecordChange::Calendarset(named(None, |row: &mut Calendarset, name| row.name = name)),
        1 => RecordChange::RemoveCalendarset(set),
        2 => RecordChange::Calendar(named(Some(calendar(which)), move |row: &mut Calendar, name| {
            (row.calendarset_id, row.name) = (Some(set), name);
        })),
        3 => RecordChange::Calendar(named(None, |row: &mut Calendar, name| row.name = name)),
        4 => RecordChange::Interventionset(named(None, |row: &mut Interventionset, name| row.name = name)),
        5 => RecordChange::RemoveInterventionset(category),
        6 => RecordChange::Intervention(named(Some(intervention(which)), move |row: &mut Intervention, name| {
            (row.interventionset_id, row.name) = (Some(category), name);
        })),
        _ => RecordChange::Customfield(named(None, |_, _| {})),
    }
}

fn named<R: Record>(id: Option<R::Id>, change: impl Fn(&mut R, Name<255>) + Send + Sync + 'static) -> Put<R> {
    let mut fields = Patch::default();
    fields.push(move |row| change(row, Name::new("a name").expect("a name")));
    Put { id, fields }
}

/// A client's address and whether it is deleted.
fn client(name: u8, deleted: bool) -> Patch<Fiche> {
    let mut fields = somebody(&format!("client{name}")).fields;
    fields.push(move |fiche| fiche.deleted = deleted);
    fields
}

/// Whether nothing but a taken time has refused.
fn only_taken(outcome: &Result<bool, Refusals>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(refusals) => matches!(refusals[..], [Refusal::NotAvailable { .. }]),
    }
}

/// No calendar has given an hour away twice.
fn never_overlaps(root: &Root) -> Result<(), TestCaseError> {
    for view in root.calendars.values() {
        let all: Vec<_> = view.taken.iter().collect();
        prop_assert!(all.windows(2).all(|pair| pair[0].interval.end <= pair[1].interval.start));
    }
    Ok(())
}
