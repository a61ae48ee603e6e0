//! A batch does what its commands do one after another, in one event; an atomic one all of it or nothing.

use proptest::prelude::*;
use slotbook::domain::decisions::announcement::apply_with_messages;
use slotbook::domain::directory::id_blocks::IdKind;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::text::Name;
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::changed_records::ChangedRecords;
use slotbook::domain::state::command::{
    Batch, CancelAppointment, CancelRight, Command, FicheByExternid, MoveAppointment, Patch,
    PutVevents, RecordChange, VeventDraft,
};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::history::History;
use slotbook::domain::state::history::row::HistoryRow;
use slotbook::domain::time::CivilDay;
use slotbook::store::codec;
use slotbook::store::state;

use super::shop::{Draws, Shop, booking_of, by_pro, calendar, civil, decide_at_once};

/// A command of a batch, on one open morning of calendar 1.
#[derive(Clone, Debug)]
enum Wish {
    Book { client: u8, half_hour: u32 },
    Cancel { nth: u64 },
    Move { nth: u64, half_hour: u32 },
    Client { externid: i64, name: u8 },
}

fn a_wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        4 => (0..4_u8, 0..7_u32).prop_map(|(client, half_hour)| Wish::Book { client, half_hour }),
        1 => (0..6_u64).prop_map(|nth| Wish::Cancel { nth }),
        1 => (0..6_u64, 0..7_u32).prop_map(|(nth, half_hour)| Wish::Move { nth, half_hour }),
        2 => (0..3_i64, 0..3_u8).prop_map(|(externid, name)| Wish::Client { externid, name }),
    ]
}

fn start(half_hour: u32) -> String {
    format!("2026-03-03 {:02}:{:02}", 9 + half_hour / 2, half_hour % 2 * 30)
}

impl Wish {
    /// The command, in a shop whose next event has the id `first`.
    fn command(&self, first: u64) -> Command {
        let nth = |nth: u64| VeventId::new(first + nth).expect("an id");
        match *self {
            Self::Book { client, half_hour } => {
                let booking = booking_of(&format!("client{client}"), &start(half_hour));
                Command::BookAppointment(Box::new(by_pro(booking, false)))
            }
            Self::Cancel { nth: which } => Command::CancelAppointment(CancelAppointment {
                id: nth(which),
                right: CancelRight::Pro,
            }),
            Self::Move { nth: which, half_hour } => Command::MoveAppointment(MoveAppointment {
                id: nth(which),
                right: CancelRight::Pro,
                date: civil(&start(half_hour)),
                hold: None,
            }),
            Self::Client { externid, name } => {
                let name = Name::new(&format!("Name {name}")).expect("a name");
                let mut fields = Patch::default();
                fields.push(move |fiche: &mut slotbook::domain::records::fiche::Fiche| {
                    fiche.lastname = name.clone();
                    fiche.externid = Some(externid);
                });
                let change = FicheByExternid { externid, fields };
                Command::ChangeRecord(RecordChange::FicheByExternid(change))
            }
        }
    }
}

/// Decides a command, and returns its event with its messages, and the state after both.
fn carry_out(
    state: &GroupState,
    command: &Command,
    shop: &Shop,
) -> Result<(Option<Event>, GroupState, Vec<bool>), ()> {
    let next = |kind| state.highest_id(kind) + 1;
    let mut draws =
        Draws { fiche: next(IdKind::Fiche), first: next(IdKind::Vevent), ..Draws::none(shop.now) };
    let (event, outcome) = decide_at_once(state, command, &mut draws, shop.now).map_err(drop)?;
    let done = outcome.steps.iter().map(|step| step.outcome.is_ok()).collect();
    match event {
        Some(event) => {
            let (event, after) = apply_with_messages(state, None, command, event, shop.now);
            Ok((Some(event), after, done))
        }
        None => Ok((None, state.clone(), done)),
    }
}

fn without_history(state: &GroupState) -> GroupState {
    let mut state = state.clone();
    state.history = History::default();
    state
}

/// The rows of the history without the numbers of their events.
fn unnumbered(state: &GroupState) -> Vec<HistoryRow> {
    let rows = state.history.latest_first(u64::MAX);
    rows.map(|found| HistoryRow { sequence: 0, ..found.row }).collect()
}

/// Everything that a snapshot keeps of a group.
fn kept(state: &GroupState) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let write = |frame: &[u8]| {
        frames.push(frame.to_vec());
        Ok::<(), std::convert::Infallible>(())
    };
    state::write_group(state, write).expect("nothing fails");
    frames
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_does_what_its_commands_do_one_after_another(
        wishes in proptest::collection::vec(a_wish(), 1..20),
        is_atomic in any::<bool>(),
    ) {
        let shop = Shop::open_on_tuesday();
        let before = shop.group_state.clone();
        let first = before.highest_id(IdKind::Vevent) + 1;
        let commands: Vec<Command> = wishes.iter().map(|wish| wish.command(first)).collect();

        let mut one_by_one = before.clone();
        let mut expected = Vec::new();
        for command in &commands {
            let carried_out = carry_out(&one_by_one, command, &shop);
            expected.push(carried_out.is_ok());
            if let Ok((_, after, _)) = carried_out {
                one_by_one = after;
            }
        }
        if is_atomic && expected.contains(&false) {
            one_by_one = before.clone();
            expected.truncate(expected.iter().position(|done| !done).expect("one is refused") + 1);
        }

        let batch = Command::Batch(Batch { commands: commands.into(), is_atomic });
        let (event, after, done) = carry_out(&before, &batch, &shop).expect("a batch is answered");
        prop_assert_eq!(done, expected);
        // All rows of the history of a batch have its one number.
        prop_assert_eq!(kept(&without_history(&after)), kept(&without_history(&one_by_one)));
        prop_assert_eq!(unnumbered(&after), unnumbered(&one_by_one));
        prop_assert_eq!(after.sequence, before.sequence + u64::from(event.is_some()));
        if let Some(event) = event {
            let read: Event = codec::decode(&codec::encode(&event)).expect("what was written is read");
            prop_assert_eq!(kept(&before.apply(&read)), kept(&after), "replay");
            let named = ChangedRecords::by_event(&event);
            let changed = ChangedRecords::between(&before, &after);
            prop_assert!(changed.vevents.iter().all(|id| named.vevents.contains(id)), "{:?}", event);
            prop_assert!(changed.fiches.iter().all(|id| named.fiches.contains(id)), "{:?}", event);
            prop_assert!(changed.messages.iter().all(|id| named.messages.contains(id)), "{:?}", event);
        }
    }
}

/// The steps of a batch that were carried out, and those that were refused.
fn steps_of(shop: &mut Shop, commands: Vec<Command>, draws: Draws) -> Vec<bool> {
    let batch = Command::Batch(Batch { commands: commands.into(), is_atomic: false });
    let outcome = shop.does(batch, draws).expect("a batch is answered");
    outcome.steps.iter().map(|step| step.outcome.is_ok()).collect()
}

#[test]
fn a_start_that_a_batch_frees_is_free_to_its_next_commands_alone() {
    let mut shop = Shop::open_on_tuesday();
    let booked = shop.book(&booking_of("Ada", "2026-03-03 09:00")).expect("free")[0];
    let cancel = CancelAppointment { id: booked, right: CancelRight::Pro };
    let book = |name| {
        let booking = by_pro(booking_of(name, "2026-03-03 09:00"), false);
        Command::BookAppointment(Box::new(booking))
    };
    let commands = vec![book("Bob"), Command::CancelAppointment(cancel), book("Cid"), book("Dan")];
    let first = shop.id();
    let draws = Draws { fiche: first, first: first + 1, ..Draws::none(shop.now) };
    assert_eq!(steps_of(&mut shop, commands, draws), [false, true, true, false]);
    assert!(shop.group_state.fiche_of_email("cid@example.org").is_some());
}

#[test]
fn a_batch_writes_2000_records_and_no_more() {
    let shop = Shop::open_on_tuesday();
    let draft = VeventDraft::new(|state, _, draws, at| {
        let zone = state.catalogue.zone();
        let note = Series::new_note(zone, CivilDay(1), None, Exceptions::default());
        Ok(Vevent {
            id: draws.id,
            calendar_id: calendar(1),
            kind: VeventKind::Note(Box::new(note.expect("legal"))),
            deleted: false,
            created_at: at,
            updated_at: at,
            rare: None,
        })
    });
    let make =
        |count: usize| Command::PutVevents(Box::new(PutVevents::Make(vec![draft.clone(); count])));
    for (counts, expected) in [
        ([1_000, 1_000], [true, true]),
        ([1_000, 1_001], [true, false]),
        ([2_000, 1], [true, false]),
    ] {
        let mut shop = shop.clone();
        let draws = Draws { first: 10, ..Draws::none(shop.now) };
        assert_eq!(steps_of(&mut shop, counts.map(make).to_vec(), draws), expected);
    }
}
