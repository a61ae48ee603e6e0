//! What a professional with a role may change, and what is refused for want of a right. Reference 3.9.

use slotbook::domain::directory::roles::{GroupRight, OwnCalendars, ProRole};
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::text::Name;
use slotbook::domain::records::vevent::{Permits, Vevent, VeventKind};
use slotbook::domain::state::command::{
    BookAppointment, CancelAppointment, CancelRight, Client, Command, CommandWithin, HoldTime,
    MergeFiches, Patch, Put, PutVevent, RecordChange,
};
use slotbook::domain::state::put_vevent::VeventDraft;
use slotbook::domain::state::refusal::{Refusal, Refusals};

use super::shop::{
    Draws, Shop, booking_of, by_pro, calendar, civil, intervention, redrawn, somebody,
};

/// Two open calendars. Ada has an appointment on the first one at 9, Bob one on the second at 10.
struct Practice {
    shop: Shop,
    ada: FicheId,
    bob: FicheId,
    of_ada: VeventId,
    of_bob: VeventId,
}

impl Practice {
    fn new() -> Self {
        let from = "2026-03-03 09:00";
        let to = "2026-03-03 12:00";
        let mut shop = Shop::open_on_tuesday().opened(2, from, to, "", Permits::All);
        let ada = shop.knows("Ada", "ada@example.org");
        let bob = shop.knows("Bob", "bob@example.org");
        let of_ada = shop.book(&booking(1, "Ada", Some(ada), "09:00")).expect("it is free")[0];
        let of_bob = shop.book(&booking(2, "Bob", Some(bob), "10:00")).expect("it is free")[0];
        Self { shop, ada, bob, of_ada, of_bob }
    }

    /// Tries a command in a role on a copy of the practice.
    fn tries(&self, role: &ProRole, command: Command) -> Result<(), Refusals> {
        let mut shop = self.shop.clone();
        let first = shop.id();
        let draws = Draws { fiche: first, first, token: first, ..Draws::none(shop.now) };
        let within = CommandWithin { command, role: role.clone() };
        shop.does(Command::Within(Box::new(within)), draws).map(|_| ())
    }
}

fn booking(on: u64, name: &str, id: Option<FicheId>, time: &str) -> BookAppointment {
    let mut booking = by_pro(booking_of(name, &format!("2026-03-03 {time}")), false);
    booking.calendar_id = Some(calendar(on));
    booking.client = Client { id, ..somebody(name) };
    booking
}

fn books(on: u64, name: &str, id: Option<FicheId>) -> Command {
    Command::BookAppointment(Box::new(booking(on, name, id, "11:00")))
}

fn renames(id: FicheId, name: &str) -> Command {
    let name = Name::new(name).expect("a name");
    let mut fields = Patch::default();
    fields.push(move |fiche: &mut Fiche| fiche.lastname = name.clone());
    Command::ChangeRecord(RecordChange::Fiche(Put { id: Some(id), fields }))
}

fn professional(reads_all: bool) -> ProRole {
    ProRole::Professional(OwnCalendars { calendars: [calendar(1)].into(), reads_all })
}

fn lacks(right: GroupRight) -> Result<(), Refusals> {
    Err(Refusal::lacking(right).into())
}

#[test]
fn a_professional_writes_on_own_calendars_only() {
    let practice = Practice::new();
    let of_ada = practice.of_ada;
    let of_bob = practice.of_bob;
    let cancels =
        |id| Command::CancelAppointment(CancelAppointment { id, right: CancelRight::Pro });
    let moves = |id, on| {
        let draft = redrawn(move |_, row| row.calendar_id = calendar(on));
        Command::PutVevent(PutVevent::Change(id, draft))
    };
    let holds = |on| {
        Command::HoldTime(Box::new(HoldTime {
            date: civil("2026-03-03 11:30"),
            intervention_ids: vec![intervention(1)],
            calendar_id: Some(calendar(on)),
            hold: None,
            source: None,
            is_by_key: false,
        }))
    };
    // A new absence, at the times of the opening hours.
    let rows = practice.shop.group_state.rows.values();
    let series = rows.filter_map(|row| row.series().cloned()).next().expect("the hours");
    let absent = |on| {
        let kind = VeventKind::Plage(Box::new(series.clone()));
        let draft = VeventDraft::new(move |_, _, draws, at| {
            Ok(Vevent {
                id: draws.id,
                calendar_id: calendar(on),
                kind: kind.clone(),
                deleted: false,
                created_at: at,
                updated_at: at,
                rare: None,
            })
        });
        Command::PutVevent(PutVevent::Make(draft))
    };
    for (command, is_own) in [
        (absent(1), true),
        (absent(2), false),
        (cancels(of_ada), true),
        (cancels(of_bob), false),
        (moves(of_ada, 2), false),
        (moves(of_bob, 1), false),
        (holds(1), true),
        (holds(2), false),
        (books(1, "Ada", Some(practice.ada)), true),
        (books(2, "Ada", Some(practice.ada)), false),
        (books(1, "Bob", Some(practice.bob)), true),
        (books(1, "New", None), true),
        (books(2, "New", None), false),
    ] {
        for role in [professional(false), professional(true)] {
            let expected = if is_own { Ok(()) } else { lacks(GroupRight::Agenda) };
            assert_eq!(practice.tries(&role, command.clone()), expected, "{command:?}");
        }
        assert_eq!(practice.tries(&ProRole::Reception, command.clone()), Ok(()), "{command:?}");
        assert_eq!(practice.tries(&ProRole::Administrator, command), Ok(()));
    }
}

#[test]
fn a_professional_writes_the_records_of_clients_with_an_appointment_on_own_calendars() {
    let mut practice = Practice::new();
    let ada = practice.ada;
    let bob = practice.bob;
    let roles = [professional(false), professional(true)];
    // `Bob` is his name already: a change of nothing would show the record too.
    for (command, is_own) in [
        (renames(ada, "Byron"), true),
        (renames(ada, "Ada"), true),
        (renames(bob, "Robert"), false),
        (renames(bob, "Bob"), false),
    ] {
        for role in &roles {
            let expected = if is_own { Ok(()) } else { lacks(GroupRight::Clients) };
            assert_eq!(practice.tries(role, command.clone()), expected, "{command:?}");
        }
        assert_eq!(practice.tries(&ProRole::Reception, command), Ok(()));
    }
    let state = &practice.shop.group_state;
    let shown = |role: &ProRole, client| state.shows_client(&role.sight(), client);
    assert!(shown(&roles[0], ada) && !shown(&roles[0], bob) && shown(&roles[1], bob));
    assert!(shown(&ProRole::Reception, bob) && shown(&ProRole::Administrator, bob));
    // A new client is no one's yet; merging and closing accounts are of the front desk.
    let new = RecordChange::Fiche(Put { id: None, fields: somebody("Cleo").fields });
    // Even if both are the professional's own.
    let ann = practice.shop.knows("Ann", "ann@example.org");
    practice.shop.book(&booking(1, "Ann", Some(ann), "10:00")).expect("it is free");
    let merge = MergeFiches { kept: ada, merged: ann, fields: Patch::default() };
    let merge = Command::ChangeRecord(RecordChange::MergeFiches(merge));
    let close = Command::CloseAccounts(ada);
    for role in &roles {
        assert_eq!(practice.tries(role, Command::ChangeRecord(new.clone())), Ok(()));
        assert_eq!(practice.tries(role, merge.clone()), lacks(GroupRight::Clients));
        assert_eq!(practice.tries(role, close.clone()), lacks(GroupRight::Keys));
    }
    assert_eq!(practice.tries(&ProRole::Reception, merge), Ok(()));
    // With the last appointment there goes the right.
    practice.shop.cancel(practice.of_ada, CancelRight::Pro).expect("it is there");
    let refused = practice.tries(&roles[0], renames(ada, "Byron"));
    assert_eq!(refused, lacks(GroupRight::Clients));
    assert!(!practice.shop.group_state.shows_client(&roles[0].sight(), ada));
}

#[test]
fn a_booking_by_name_finds_no_client_whom_the_professional_does_not_read() {
    let practice = Practice::new();
    // By the rules of the module, an address finds its client.
    let books = |on, name, id| {
        let mut booking = booking(on, name, id, "11:00");
        booking.from_web = true;
        Command::BookAppointment(Box::new(booking))
    };
    let refused = practice.tries(&professional(false), books(1, "Bob", None));
    let refused = refused.expect_err("Bob is not shown");
    assert!(
        matches!(&refused[..], [Refusal::InvalidParameter(fault)] if fault.field == "fiche"),
        "{refused:?}"
    );
    assert_eq!(practice.tries(&professional(false), books(1, "Ada", None)), Ok(()));
    assert_eq!(practice.tries(&professional(true), books(1, "Bob", None)), Ok(()));
    // Who gives the id has seen it elsewhere, as in a mail.
    assert_eq!(practice.tries(&professional(false), books(1, "Bob", Some(practice.bob))), Ok(()));
}

#[test]
fn only_an_administrator_changes_settings() {
    let practice = Practice::new();
    let mut fields = Patch::default();
    fields.push(|row: &mut Calendar| row.name = Name::new("Left room").expect("a name"));
    let command =
        Command::ChangeRecord(RecordChange::Calendar(Put { id: Some(calendar(1)), fields }));
    for role in [professional(true), ProRole::Reception] {
        assert_eq!(practice.tries(&role, command.clone()), lacks(GroupRight::Settings));
    }
    assert_eq!(practice.tries(&ProRole::Administrator, command), Ok(()));
}

#[test]
fn a_booking_without_a_choice_of_calendar_goes_to_an_own_one() {
    let practice = Practice::new();
    for order in 0..12 {
        for (role, own) in [(professional(false), Some(1)), (ProRole::Reception, None)] {
            let mut shop = practice.shop.clone();
            let first = shop.id();
            let mut wanted = booking(1, "Ada", Some(practice.ada), "11:00");
            wanted.calendar_id = None;
            let command = Command::BookAppointment(Box::new(wanted));
            let within = Command::Within(Box::new(CommandWithin { command, role }));
            let draws = Draws { fiche: first, first, order, ..Draws::none(shop.now) };
            let made = shop.does(within, draws).expect("both are free").appointments;
            let on = shop.group_state.rows.get(&made[0]).expect("it is there").calendar_id.number();
            assert!(own.is_none_or(|own| own == on), "{order}");
        }
    }
    // One without a calendar here has none to book on.
    let calendars = [calendar(3)].into();
    let role = ProRole::Professional(OwnCalendars { calendars, reads_all: true });
    let mut wanted = booking(1, "Ada", Some(practice.ada), "11:00");
    wanted.calendar_id = None;
    let command = Command::BookAppointment(Box::new(wanted));
    assert_eq!(practice.tries(&role, command), lacks(GroupRight::Agenda));
}
