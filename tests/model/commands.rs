//! What a command says of itself before it is decided: who caused it, and how many ids it may use.

use std::sync::Arc;

use slotbook::domain::directory::roles::ProRole;
use slotbook::domain::records::account::Account;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::text::{Email, Text};
use slotbook::domain::state::command::{
    Batch, BookAppointment, Caller, CancelAppointment, CancelRight, Command, ConfirmBooking,
    IDS_MAX, MoveAppointment, PutVevent, PutVevents,
};

use super::shop::{SECRET, booking_of, by_pro, civil, intervention, redrawn, token};

fn account() -> Arc<Account> {
    let email = Email::new("ada@example.org").expect("an address");
    let fiche_id = FicheId::new(1).expect("an id");
    let password_hash = Text::default();
    Account { email, fiche_id, password_hash, former: Vec::new(), last_login: None }.into()
}

fn book(booking: BookAppointment) -> Command {
    Command::BookAppointment(Box::new(booking))
}

fn booking(interventions: usize) -> BookAppointment {
    let intervention_ids = vec![intervention(1); interventions];
    BookAppointment { intervention_ids, ..booking_of("Ada", "2026-03-03 09:00") }
}

fn batch(commands: Vec<Command>) -> Command {
    Command::Batch(Batch { commands: commands.into(), is_atomic: false })
}

/// The command in each of the forms that leave what it does as it is.
fn wrapped(command: &Command) -> Vec<Command> {
    let within = command.clone().within(&ProRole::Reception);
    vec![command.clone(), Command::Quietly(Box::new(command.clone())), within]
}

#[test]
fn a_key_alone_causes_what_no_login_proves() {
    let id = VeventId::new(1).expect("an id");
    let secret = || CancelRight::Secret(SECRET.to_owned());
    let cancel = |right| Command::CancelAppointment(CancelAppointment { id, right });
    let change = |right| {
        let date = civil("2026-03-03 09:00");
        Command::MoveAppointment(MoveAppointment { id, right, date, hold: None })
    };
    let by_account = BookAppointment { caller: Caller::Account(account()), ..booking(1) };
    let confirm = ConfirmBooking { hold: token(1).id(), code: None, guess: "1".into() };
    for (command, is_by_key) in [
        (book(booking(1)), true),
        (book(by_account), false),
        (book(by_pro(booking(1), true)), false),
        (cancel(secret()), true),
        (cancel(CancelRight::Pro), false),
        (cancel(CancelRight::Account(account())), false),
        (change(secret()), true),
        (change(CancelRight::Pro), false),
        (change(CancelRight::Account(account())), false),
        (Command::ConfirmBooking(Box::new(confirm)), true),
        (Command::PutVevent(PutVevent::Delete(id)), false),
        (book(booking(1)).within(&ProRole::Reception), true),
    ] {
        assert_eq!(command.is_by_key(), is_by_key, "{command:?}");
    }
}

#[test]
fn a_command_may_use_an_id_for_each_record_that_it_makes() {
    let drafts = vec![redrawn(|_, _| {}); 5];
    let make = || Command::PutVevents(Box::new(PutVevents::Make(drafts.clone())));
    let delete = Command::PutVevent(PutVevent::Delete(VeventId::new(1).expect("an id")));
    let confirm = ConfirmBooking { hold: token(1).id(), code: None, guess: "1".into() };
    for (command, ids) in [
        (book(booking(1)), 1),
        (book(booking(3)), 3),
        (delete.clone(), 1),
        (make(), 5),
        (Command::ConfirmBooking(Box::new(confirm)), IDS_MAX),
        (batch(vec![book(booking(3)), delete, make()]), 9),
        (batch(Vec::new()), 0),
    ] {
        for command in wrapped(&command) {
            assert_eq!(command.ids_max(), ids, "{command:?}");
        }
    }
}
