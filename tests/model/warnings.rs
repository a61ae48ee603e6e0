//! Warnings to the practice and mails about logins: few of each. Reference 3.3, 7.3.

use slotbook::domain::records::message::ShopWarning;
use slotbook::domain::records::text::Email;
use slotbook::domain::state::command::{Command, ConditionalCommand, WarnShop};
use slotbook::domain::state::login_notice::{LoginNotice, NotifyOfLogin};
use slotbook::domain::state::precondition::{Precondition, ShownObject};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::DAY;

use super::shop::{Draws, Shop};

/// Carries a command out after some seconds; the number of messages that it makes.
fn mails(shop: &mut Shop, seconds: i64, command: Command) -> usize {
    shop.now = shop.now.plus_seconds(seconds);
    let before = shop.group_state.outbox.messages().len();
    let draws = Draws::none(shop.now);
    shop.does(command, draws).expect("never refused");
    shop.group_state.outbox.messages().len() - before
}

#[test]
fn the_same_warning_is_given_once_in_24_hours_to_each_professional() {
    let recipients: Vec<Email> = ["ann@example.org", "bob@example.org"]
        .map(|address| Email::new(address).expect("an address"))
        .to_vec();
    let warn = |warning, recipients: &[Email]| {
        Command::WarnShop(WarnShop { warning, recipients: recipients.to_vec() })
    };
    let mut shop = Shop::open_on_tuesday();
    assert_eq!(mails(&mut shop, 0, warn(ShopWarning::CodesAsked, &[])), 0);
    assert_eq!(mails(&mut shop, 0, warn(ShopWarning::CodesAsked, &recipients)), 2);
    assert_eq!(mails(&mut shop, DAY - 1, warn(ShopWarning::CodesAsked, &recipients)), 0);
    assert_eq!(mails(&mut shop, 0, warn(ShopWarning::CodesHalfUsed, &recipients)), 2);
    assert_eq!(mails(&mut shop, 1, warn(ShopWarning::CodesAsked, &recipients)), 2);
}

#[test]
fn a_person_hears_of_three_new_devices_a_day() {
    let notify = |address: &str| {
        let email = Email::new(address).expect("an address");
        Command::NotifyOfLogin(Box::new(NotifyOfLogin { email, notice: LoginNotice::NewDevice }))
    };
    let mut shop = Shop::open_on_tuesday();
    for expected in [1, 1, 1, 0] {
        assert_eq!(mails(&mut shop, 60, notify("ann@example.org")), expected);
    }
    assert_eq!(mails(&mut shop, 0, notify("bob@example.org")), 1, "others have their own");
    // The first of the three is a day old.
    assert_eq!(mails(&mut shop, DAY - 4 * 60 + 59, notify("ann@example.org")), 0);
    assert_eq!(mails(&mut shop, 1, notify("Ann@example.org")), 1);
}

#[test]
fn a_command_about_an_object_that_has_changed_is_refused_with_its_present_form() {
    let warn = WarnShop {
        warning: ShopWarning::CodesAsked,
        recipients: vec![Email::new("ann@example.org").expect("an address")],
    };
    let shown = ShownObject { json: b"{}".to_vec(), tag: "7".to_owned() };
    for present in [Ok(()), Err(None), Err(Some(shown))] {
        let answer = present.clone();
        let precondition = Precondition::new(move |_| answer.clone());
        let command = Command::WarnShop(warn.clone());
        let command = Command::Conditional(Box::new(ConditionalCommand { command, precondition }));
        let mut shop = Shop::open_on_tuesday();
        let draws = Draws::none(shop.now);
        let done = shop.does(command, draws).map(|_| ());
        let expected = present.map_err(|shown| vec![Refusal::overtaken(shown)]);
        assert_eq!(done, expected);
        assert_eq!(shop.group_state.outbox.messages().len(), usize::from(done.is_ok()));
    }
}
