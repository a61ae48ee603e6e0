//! Accounts and the links that make and change them: whose they are, and which links stay open. Reference 3.5.

use slotbook::domain::decisions::foresee;
use slotbook::domain::records::account::Account;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::FicheId;
use slotbook::domain::records::text::{Email, Text};
use slotbook::domain::state::command::{
    Batch, Command, FollowLink, LinkRequest, Patch, Put, RequestLink,
};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::refusal::{Refusal, Refusals};
use slotbook::domain::time::DAY;

use super::shop::{Draws, Shop, link_secret};

fn email(text: &str) -> Email {
    Email::new(text).expect("an address")
}

/// A link by which the owner of an address sets a password.
fn password_link(shop: &mut Shop, address: &str) -> FollowLink {
    let request = LinkRequest::Account { pending_rdv: None, secret: Some(link_secret()) };
    let asked = shop.asks_link(&RequestLink { email: email(address), request });
    asked.expect("it is asked for").expect("it is mailed")
}

/// A link by which the account of `ada@example.org` gets another address.
fn address_link(shop: &mut Shop, ada: FicheId, address: &str) -> FollowLink {
    let put = Put { id: Some(ada), fields: Patch::default() };
    let request = LinkRequest::Email { account: "ada@example.org".into(), put };
    let asked = shop.asks_link(&RequestLink { email: email(address), request });
    asked.expect("it is asked for").expect("it is mailed")
}

fn field_of<T: std::fmt::Debug>(refused: Result<T, Refusals>) -> String {
    match &refused.expect_err("it is refused")[..] {
        [Refusal::InvalidParameter(fault)] => fault.field.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_password_leaves_an_account_its_client_while_that_is_live() {
    let mut shop = Shop::open_on_tuesday();
    let [first, second] = ["First", "Second"].map(|name| shop.knows(name, "ada@example.org"));
    let account = Account {
        email: email("ada@example.org"),
        fiche_id: second,
        password_hash: Text::default(),
        former: Vec::new(),
        last_login: None,
    };
    shop.group_state.accounts.insert(account.email.folded(), account.into());
    let client_of = |shop: &Shop| shop.group_state.accounts["ada@example.org"].fiche_id;
    let link = password_link(&mut shop, "ada@example.org");
    shop.follows_link(link).expect("it is open");
    assert_eq!(client_of(&shop), second, "though another record has the address");
    let mut fiche = Fiche::clone(&shop.group_state.fiches[&second]);
    fiche.deleted = true;
    shop.group_state.put_fiche(fiche.into());
    let link = password_link(&mut shop, "ada@example.org");
    shop.follows_link(link).expect("it is open");
    assert_eq!(client_of(&shop), first);
}

#[test]
fn a_link_is_followed_once_with_a_password_and_within_a_day() {
    let mut shop = Shop::open_on_tuesday();
    let link = password_link(&mut shop, "ada@example.org");
    let draws = || Draws { fiche: 7, ..Draws::none(shop.now) };
    let bare = Command::FollowLink(Box::new(link.clone()));
    assert_eq!(field_of(shop.clone().does(bare, draws())), "password");
    let password_hash = Some(Text::new("hash").expect("a text"));
    let follow = Command::FollowLink(Box::new(FollowLink { password_hash, ..link.clone() }));
    let in_batch = Command::Batch(Batch { commands: [follow.clone()].into(), is_atomic: false });
    // A dry run and a batch find it open as long as it is.
    for (seconds, is_open) in [(DAY - 1, true), (DAY, false)] {
        let mut shop = shop.clone();
        shop.now = shop.now.plus_seconds(seconds);
        let foreseen = foresee(&shop.group_state, &follow, shop.now);
        assert_eq!(foreseen.is_ok(), is_open, "{seconds}");
        let draws = Draws { fiche: 7, ..Draws::none(shop.now) };
        let done = shop.does(in_batch.clone(), draws).expect("a batch is answered");
        assert_eq!(done.steps[0].outcome.is_ok(), is_open, "{seconds}");
    }
    shop.follows_link(link.clone()).expect("it is open");
    assert_eq!(field_of(shop.follows_link(link)), "token");
}

#[test]
fn another_address_ends_the_other_links_to_change_it() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let link = password_link(&mut shop, "ada@example.org");
    shop.follows_link(link).expect("it is open");
    let first = address_link(&mut shop, ada, "ada@example.com");
    let second = address_link(&mut shop, ada, "ada@example.net");
    assert_eq!(shop.group_state.links.iter().count(), 2);
    shop.follows_link(first).expect("it is open");
    assert_eq!(shop.group_state.links.iter().count(), 0);
    assert_eq!(field_of(shop.follows_link(second)), "token");
    assert!(shop.group_state.accounts.contains_key("ada@example.com"));
}

#[test]
fn a_group_finds_its_clients_by_address_and_identifier_however_its_state_was_made() {
    let mut shop = Shop::open_on_tuesday();
    let [ada, bob] = [("Ada", "ada@example.org"), ("Bob", "bob@example.org")]
        .map(|(name, address)| shop.knows(name, address));
    let mut fiche = Fiche::clone(&shop.group_state.fiches[&bob]);
    fiche.externid = Some(7);
    shop.group_state.put_fiche(fiche.into());
    let state = &shop.group_state;
    let fiches = state.fiches.values().cloned().collect();
    let rows = state.rows.values().cloned().collect();
    let catalogue = (*state.catalogue).clone();
    let read = GroupState::from_records(catalogue, fiches, Vec::new(), rows);
    for state in [state, &read] {
        let of_email = |address| state.fiche_of_email(address).map(|fiche| fiche.id);
        assert_eq!(of_email("ada@example.org"), Some(ada));
        assert_eq!(of_email("bob@example.org"), Some(bob));
        assert_eq!(of_email("cid@example.org"), None);
        let ids: Vec<FicheId> = state.fiches_of_externid(7).map(|fiche| fiche.id).collect();
        assert_eq!(ids, [bob]);
    }
}
