//! Steps of the retention: past appointments lose their person, unused accounts are closed. Reference 17.5.

use slotbook::domain::decisions::retention::{RetentionMonths, find_due};
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::text::{Email, LongText};
use slotbook::domain::state::command::{
    Command, LinkRequest, Patch, Put, RecordChange, RequestLink, RetentionStep,
};
use slotbook::domain::time::{DAY, Instant};

use super::shop::{Draws, Shop, booking_of, by_pro, civil, link_secret};

/// Takes a step; whether it changed anything.
fn retain(shop: &mut Shop, step: RetentionStep) -> bool {
    let events = shop.events.len();
    let draws = Draws { fiche: shop.id(), ..Draws::none(shop.now) };
    shop.does(Command::Retain(step), draws).expect("never refused");
    shop.events.len() > events
}

#[test]
fn a_past_appointment_is_emptied_once_with_all_that_tells_of_it() {
    let mut shop = Shop::open_on_tuesday();
    shop.announces = true;
    let mut fields = Patch::default();
    fields.push(|group: &mut Group| group.sendmail = true);
    shop.changes(&RecordChange::Group(fields)).expect("it is allowed");
    let mut booking = booking_of("Ada", "2026-03-03 09:30");
    booking.comments = LongText::new("by the back door").expect("a text");
    let past: VeventId = shop.book(&booking).expect("free")[0];
    let other: VeventId = shop.book(&booking_of("Bob", "2026-03-03 10:30")).expect("free")[0];
    let ada = shop.group_state.rows[&past].fiche_id().expect("a client");
    let about = |shop: &Shop, id| shop.group_state.outbox.messages_about(id).count();
    assert_eq!((about(&shop, past), about(&shop, other)), (1, 1));
    let end = shop.group_state.catalogue.zone().instant_of(civil("2026-03-03 10:00"));
    shop.now = end.plus_minutes(5);
    shop.keeps_answer(100, &format!("[{{\"vevent_id\":{past}}}]"));
    shop.keeps_answer(101, &format!("[{{\"vevent_id\":{other}}}]"));
    let empty = |before| RetentionStep::EmptyAppointments { ids: vec![past, other], before };
    assert!(!retain(&mut shop, empty(end)), "it ends at that moment");
    assert!(retain(&mut shop, empty(end.plus_seconds(1))));
    let state = &shop.group_state;
    let row = &state.rows[&past];
    let placeholder = row.fiche_id().expect("an appointment has a client");
    assert!(placeholder != ada && state.fiches[&placeholder].erased_at.is_some());
    assert!(row.rare.is_none() && !row.deleted, "{row:?}");
    assert_eq!(
        state.rows[&other].fiche_id(),
        state.fiche_of_email("bob@example.org").map(|it| it.id)
    );
    assert_eq!((about(&shop, past), about(&shop, other)), (0, 1));
    let kept = |scope| state.idempotency_records.find(&[scope; 32], shop.now).is_some();
    assert!(!kept(100) && kept(101));
    assert!(!retain(&mut shop, empty(end.plus_seconds(1))), "it is emptied already");
    // The next one gets the same placeholder.
    let later = end.plus_seconds(DAY);
    shop.now = later;
    assert!(retain(&mut shop, empty(later)));
    assert_eq!(shop.group_state.rows[&other].fiche_id(), Some(placeholder));
}

#[test]
fn an_unused_account_is_closed_counted_from_its_last_day_or_the_beginning() {
    let mut shop = Shop::open_on_tuesday();
    let [ada, bob] = [("Ada", "ada@example.org"), ("Bob", "bob@example.org")]
        .map(|(name, email)| shop.knows(name, email));
    let joins = |shop: &mut Shop, email: &str| {
        let email = Email::new(email).expect("an address");
        let request = LinkRequest::Account { pending_rdv: None, secret: Some(link_secret()) };
        let link = shop.asks_link(&RequestLink { email, request }).expect("known");
        shop.follows_link(link.expect("it is mailed")).expect("it is open");
    };
    joins(&mut shop, "ada@example.org");
    joins(&mut shop, "bob@example.org");
    let marks = |shop: &Shop| -> Vec<_> {
        shop.group_state.accounts.values().map(|account| account.mark()).collect()
    };
    let close = |shop: &mut Shop, before: Instant| {
        let accounts = marks(shop);
        retain(shop, RetentionStep::CloseAccounts { accounts, before })
    };
    let far = shop.now.plus_seconds(1_000 * DAY);
    assert!(!close(&mut shop, far), "nothing counts yet");
    assert!(retain(&mut shop, RetentionStep::BeginCount));
    assert!(!retain(&mut shop, RetentionStep::BeginCount), "it counts already");
    // The day of a use is recorded once, and the clients of others are not concerned.
    assert!(!retain(&mut shop, RetentionStep::RecordUse(ada)), "she has joined today");
    shop.now = shop.now.plus_seconds(3 * DAY);
    assert!(retain(&mut shop, RetentionStep::RecordUse(ada)));
    assert!(!retain(&mut shop, RetentionStep::RecordUse(ada)));
    assert!(!retain(&mut shop, RetentionStep::RecordUse(FicheId::new(999).expect("an id"))));
    let zone = shop.group_state.catalogue.zone();
    let today = zone.civil_of(shop.now).day();
    let midnight = |days: i32| zone.instant_of(today.plus_days(days).midnight());
    // Bob's last day ended three midnights before that of Ada.
    assert!(!close(&mut shop, midnight(-2)));
    assert!(close(&mut shop, midnight(-2).plus_seconds(1)));
    assert_eq!(marks(&shop).len(), 1);
    assert!(shop.group_state.accounts.of_client(bob).next().is_none());
    assert!(!close(&mut shop, midnight(1)));
    assert!(close(&mut shop, midnight(1).plus_seconds(1)));
    assert!(marks(&shop).is_empty());
    // The clients stay.
    let put = Put { id: Some(ada), fields: Patch::default() };
    assert!(shop.changes(&RecordChange::Fiche(put)).is_ok());
}

#[test]
fn a_client_is_idle_since_the_end_of_its_last_appointment_or_its_last_change() {
    let mut shop = Shop::in_zone("Paris", "2025-03-03 08:00");
    shop.group_state.privacy.counts_from = Some(Instant(0));
    let ada = shop.knows("Ada", "ada@example.org");
    for start in ["2025-03-03 09:00", "2025-03-03 10:00"] {
        let mut booking = by_pro(booking_of("Ada", start), false);
        booking.client.id = Some(ada);
        booking.client.fields = Patch::default();
        shop.book(&booking).expect("free");
    }
    let mut shop = shop.at("2025-03-03 10:20");
    let bob = shop.knows("Bob", "bob@example.org");
    // One who is erased is not listed again.
    let cid = shop.knows("Cid", "cid@example.org");
    let erased = shop.group_state.fiches[&cid].erased(shop.now);
    shop.group_state.put_fiche(erased.into());
    let shop = shop.at("2026-03-03 10:20");
    let months = RetentionMonths { appointments: 0, clients: 12, accounts: 0 };
    // Ada's second appointment ended ten minutes after Bob was made.
    for (seconds, idle) in
        [(0, vec![]), (1, vec![(bob, 1)]), (600, vec![(bob, 1)]), (601, vec![(ada, 3), (bob, 1)])]
    {
        let due = find_due(&shop.group_state, months, shop.now.plus_seconds(seconds));
        assert_eq!(due.clients, idle, "{seconds}: each with the number of rows about it");
    }
}

#[test]
fn a_group_keeps_all_unless_it_has_months_for_something() {
    let none = RetentionMonths::default();
    assert!(none.keeps_all());
    for months in [
        RetentionMonths { appointments: 1, ..none },
        RetentionMonths { clients: 1, ..none },
        RetentionMonths { accounts: 1, ..none },
    ] {
        assert!(!months.keeps_all(), "{months:?}");
    }
}
