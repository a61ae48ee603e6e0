//! The accounts of a client are closed by the practice: the client, its appointments and the accounts of others stay.
//! Reference 3.12.

use slotbook::domain::directory::roles::{GroupRight, ProRole};
use slotbook::domain::records::account::Account;
use slotbook::domain::records::account_link::{AccountLink, LINK_SECONDS, LinkAction};
use slotbook::domain::records::ids::FicheId;
use slotbook::domain::records::text::{Email, Text};
use slotbook::domain::state::closed_addresses::ClosedAddress;
use slotbook::domain::state::command::{Command, EraseClients};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::refusal::Refusal;
use slotbook::store::codec::SNAPSHOT_FORMAT;
use slotbook::store::state;

use super::shop::{Draws, Shop, booking_of, by_pro};

/// Gives a client an account.
fn open_account(shop: &mut Shop, client: FicheId, email: &str) {
    let email = Email::new(email).expect("an address");
    let password_hash = Text::default();
    let account =
        Account { email, fiche_id: client, password_hash, former: Vec::new(), last_login: None };
    shop.group_state.accounts.insert(account.email.folded(), account.into());
}

/// A link that gives the account of an address another one was mailed.
fn mail_link(shop: &mut Shop, number: u8, account: &str, fiche_id: FicheId) {
    let at = shop.now;
    let link = AccountLink {
        hash: [number; 32],
        email: Email::new("another@example.org").expect("an address"),
        action: LinkAction::Email { account: account.into(), fiche_id },
        requested_at: at,
        expires: at.plus_seconds(LINK_SECONDS),
    };
    let content = slotbook::domain::records::message::MessageContent::AccountLink {
        purpose: slotbook::domain::records::message::LinkPurpose::NewEmail,
        token: Text::new("token").expect("a text"),
        expires: link.expires,
    };
    let message = shop.group_state.outbox.draft(0, at, content, "another@example.org");
    shop.carry_out(Event::AccountLinkRequested {
        at,
        change: None,
        link: Box::new(link),
        message: Box::new(message),
    });
}

fn close(shop: &mut Shop, client: FicheId) -> Result<bool, Refusal> {
    let events = shop.events.len();
    let draws = Draws::none(shop.now);
    match shop.does(Command::CloseAccounts(client), draws) {
        Ok(outcome) => {
            assert_eq!(outcome.object, shop.group_state.kept_client(client).number());
            Ok(shop.events.len() > events)
        }
        Err(refusals) => Err(refusals.into_iter().next().expect("a refusal")),
    }
}

/// A state that was written to a snapshot and read again.
fn again(group_state: &GroupState) -> GroupState {
    let mut reader = state::GroupReader::default();
    state::write_group(group_state, |frame| reader.add_frame(frame, SNAPSHOT_FORMAT))
        .expect("what was written is read");
    reader.group_state(group_state.sequence).expect("it has a head")
}

#[test]
fn all_accounts_of_the_client_go_with_their_links_and_nothing_else() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let bob = shop.knows("Bob", "bob@example.org");
    open_account(&mut shop, ada, "Ada@example.org");
    open_account(&mut shop, ada, "her-other@example.org");
    open_account(&mut shop, bob, "bob@example.org");
    mail_link(&mut shop, 1, "ada@example.org", ada);
    mail_link(&mut shop, 2, "bob@example.org", bob);
    let mut booking = by_pro(booking_of("Ada", "2026-03-03 09:30"), false);
    booking.client.id = Some(ada);
    let booked = shop.book(&booking).expect("free");
    assert_eq!(close(&mut shop, ada), Ok(true));
    let state = &shop.group_state;
    assert_eq!(
        state.accounts.keys().map(AsRef::as_ref).collect::<Vec<&str>>(),
        ["bob@example.org"]
    );
    assert_eq!(state.links.iter().map(|link| link.hash[0]).collect::<Vec<u8>>(), [2]);
    assert_eq!(state.appointments_of(ada).len(), booked.len());
    assert!(!state.fiches[&ada].deleted && state.fiches[&ada].email.is_some());
    assert_eq!(close(&mut shop, ada), Ok(false), "nothing is left to close");
    assert_eq!(close(&mut shop, FicheId::new(999).expect("an id")), Err(Refusal::NoResult));
}

#[test]
fn a_role_below_administrator_closes_nothing() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    open_account(&mut shop, ada, "ada@example.org");
    let draws = Draws::none(shop.now);
    let command = Command::CloseAccounts(ada);
    let refused = shop.does(command.clone().within(&ProRole::Reception), draws);
    assert_eq!(refused.expect_err("refused"), [Refusal::lacking(GroupRight::Keys)]);
    let draws = Draws::none(shop.now);
    shop.does(command.within(&ProRole::Administrator), draws).expect("legal");
    assert!(shop.group_state.accounts.is_empty());
}

#[test]
fn a_closed_address_is_in_snapshots_until_its_time_is_over_or_it_is_erased() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let bob = shop.knows("Bob", "bob@example.org");
    open_account(&mut shop, ada, "ada@example.org");
    open_account(&mut shop, bob, "bob@example.org");
    for client in [ada, bob] {
        assert_eq!(close(&mut shop, client), Ok(true));
    }
    let closed: Vec<ClosedAddress> = shop.group_state.closed_addresses.iter().collect();
    assert_eq!(closed.len(), 2);
    assert!(again(&shop.group_state).closed_addresses.iter().eq(closed.iter().copied()));
    let erase = Command::EraseClients(EraseClients {
        ids: vec![ada],
        idle_since: None,
        records: vec![ada],
        cancels_upcoming: true,
    });
    let draws = Draws::none(shop.now);
    shop.does(erase, draws).expect("legal");
    let bobs = Account::hash_address(&Email::new("bob@example.org").expect("an address"));
    let left: Vec<[u8; 32]> =
        shop.group_state.closed_addresses.iter().map(|closed| closed.address_hash).collect();
    assert_eq!(left, [bobs]);
    let mut shop = shop.at("2026-06-09 09:00");
    shop.knows("Cid", "cid@example.org");
    let at = shop.now;
    shop.carry_out(Event::nothing(at));
    assert_eq!(shop.group_state.closed_addresses.iter().count(), 0);
}
