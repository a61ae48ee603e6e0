//! Two records of one client become one: the appointments of both are those of the kept one, and no calendar's time
//! changes. Reference 6.20.

use std::collections::BTreeSet;

use proptest::prelude::*;
use slotbook::domain::records::account::Account;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::text::{Bounded, Email, LongText, Name, Text};
use slotbook::domain::state::changed_records::ChangedRecords;
use slotbook::domain::state::command::{CancelRight, MergeFiches, Patch, Put, RecordChange};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::invariants::find_broken;
use slotbook::domain::state::refusal::Refusal;
use slotbook::store::codec::SNAPSHOT_FORMAT;
use slotbook::store::state;

use super::shop::{Shop, booking_of};

fn merge(kept: FicheId, merged: FicheId) -> RecordChange {
    RecordChange::MergeFiches(MergeFiches { kept, merged, fields: Patch::default() })
}

/// The events of a client, deleted ones included.
fn events_of(state: &GroupState, client: FicheId) -> BTreeSet<VeventId> {
    let rows = state.rows.values().filter(|row| row.fiche_id() == Some(client));
    rows.map(|row| row.id).collect()
}

/// The live appointments of a client, by the index.
fn live_of(state: &GroupState, client: FicheId) -> BTreeSet<VeventId> {
    state.appointments_of(client).iter().map(|taken| taken.id).collect()
}

fn two_calendars() -> Shop {
    let shop = Shop::open_on_tuesday();
    shop.opened(
        2,
        "2026-03-03 09:00",
        "2026-03-03 12:00",
        "",
        slotbook::domain::records::vevent::Permits::All,
    )
}

/// A state that was written to a snapshot and read again.
fn again(state: &GroupState) -> GroupState {
    let mut reader = state::GroupReader::default();
    state::write_group(state, |frame| reader.add_frame(frame, SNAPSHOT_FORMAT))
        .expect("what was written is read");
    reader.group_state(state.sequence).expect("it has a head")
}

/// What happens to clients 0 to 3.
#[derive(Clone, Debug)]
enum Wish {
    Book { client: u8, half_hour: u32 },
    Cancel(prop::sample::Index),
    Merge { kept: u8, merged: u8 },
}

fn a_wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        4 => (0..4_u8, 0..6_u32).prop_map(|(client, half_hour)| Wish::Book { client, half_hour }),
        1 => any::<prop::sample::Index>().prop_map(Wish::Cancel),
        2 => (0..4_u8, 0..4_u8).prop_map(|(kept, merged)| Wish::Merge { kept, merged }),
    ]
}

proptest! {
    #[test]
    fn the_appointments_of_both_are_those_of_the_kept_one(wishes in prop::collection::vec(a_wish(), 1..40)) {
        let mut shop = two_calendars();
        let known: Vec<FicheId> = (0..4)
            .map(|nth| shop.knows(&format!("client{nth}"), &format!("client{nth}@example.org")))
            .collect();
        let mut made: Vec<VeventId> = Vec::new();
        for wish in wishes {
            match wish {
                Wish::Book { client, half_hour } => {
                    let start = format!("2026-03-03 {:02}:{:02}", 9 + half_hour / 2, half_hour % 2 * 30);
                    let booking = booking_of(&format!("client{client}"), &start);
                    made.extend(shop.book(&booking).unwrap_or_default());
                }
                Wish::Cancel(which) if !made.is_empty() => {
                    let id = made[which.index(made.len())];
                    prop_assert!(shop.cancel(id, CancelRight::Pro).is_ok());
                }
                Wish::Cancel(_) => {}
                Wish::Merge { kept, merged } => {
                    merges_well(&mut shop, known[usize::from(kept)], known[usize::from(merged)])?;
                }
            }
        }
        prop_assert_eq!(find_broken(&shop.group_state), vec![]);
        let restored = again(&shop.group_state);
        prop_assert_eq!(restored.fiches.iter().collect::<Vec<_>>(), shop.group_state.fiches.iter().collect::<Vec<_>>());
        for id in known {
            prop_assert_eq!(live_of(&restored, id), live_of(&shop.group_state, id));
        }
    }
}

/// Merges two clients, and compares the state after it with a naive one.
fn merges_well(shop: &mut Shop, kept: FicheId, merged: FicheId) -> Result<(), TestCaseError> {
    let before = shop.group_state.clone();
    let (is_kept, is_merged) =
        (before.kept_client(kept) == kept, before.kept_client(merged) == merged);
    let done = shop.changes(&merge(kept, merged));
    if kept == merged || !is_kept || !is_merged {
        let again = before.kept_client(merged) == kept && kept != merged;
        prop_assert_eq!(done.is_ok(), again && is_kept, "one that was done may be repeated");
        prop_assert_eq!(shop.group_state.sequence, before.sequence);
        return Ok(());
    }
    prop_assert_eq!(done, Ok(true));
    let after = &shop.group_state;
    let both = |of: fn(&GroupState, FicheId) -> BTreeSet<VeventId>| -> BTreeSet<VeventId> {
        of(&before, kept).union(&of(&before, merged)).copied().collect()
    };
    prop_assert_eq!(events_of(after, kept), both(events_of));
    prop_assert_eq!(live_of(after, kept), both(live_of));
    prop_assert!(events_of(after, merged).is_empty() && live_of(after, merged).is_empty());
    for (id, view) in &before.calendars {
        let taken: Vec<_> = after.calendars[id].taken().iter().collect();
        prop_assert_eq!(view.taken().iter().collect::<Vec<_>>(), taken, "no time changes");
    }
    for (id, fiche) in &before.fiches {
        let expected =
            if before.kept_client(*id) == merged { kept } else { before.kept_client(*id) };
        prop_assert_eq!(after.kept_client(*id), expected);
        prop_assert!(after.fiches[id].updated_at >= fiche.updated_at);
    }
    let at = after.last_stamp;
    for id in events_of(&before, merged) {
        let (was, is) = (&before.rows[&id], &after.rows[&id]);
        let expected = if was.deleted { was.updated_at } else { at };
        prop_assert_eq!(is.updated_at, expected, "a deleted event keeps its stamp");
    }
    let gone = &after.fiches[&merged];
    prop_assert!(gone.deleted && gone.email.is_none() && gone.lastname.is_blank());
    let event = shop.events.last().expect("an event");
    let changed = ChangedRecords::by_event(event);
    let differing = ChangedRecords::between(&before, after);
    prop_assert!(differing.fiches.iter().all(|id| changed.fiches.contains(id)));
    prop_assert!(differing.vevents.iter().all(|id| changed.vevents.contains(id)));
    Ok(())
}

#[test]
fn what_the_kept_one_lacks_comes_from_the_other_and_given_fields_win() {
    let mut shop = Shop::open_on_tuesday();
    let kept = shop.knows("Kept", "kept@example.org");
    let other = shop.knows("Other", "other@example.org");
    let mut fields = Patch::default();
    fields.push(|fiche: &mut Fiche| {
        fiche.firstphone = Text::new("06 1").expect("a number");
        fiche.externid = Some(7);
        fiche.comments = LongText::new("second").expect("a text");
    });
    shop.changes(&RecordChange::Fiche(Put { id: Some(other), fields })).expect("legal");
    let mut fields = Patch::default();
    fields.push(|fiche: &mut Fiche| fiche.comments = LongText::new("first").expect("a text"));
    shop.changes(&RecordChange::Fiche(Put { id: Some(kept), fields })).expect("legal");
    let mut fields = Patch::default();
    fields.push(|fiche: &mut Fiche| fiche.lastname = Name::new("Given").expect("a name"));
    let command = MergeFiches { kept, merged: other, fields };
    shop.changes(&RecordChange::MergeFiches(command)).expect("legal");
    let fiche = &shop.group_state.fiches[&kept];
    assert_eq!(fiche.lastname.as_str(), "Given");
    assert_eq!(fiche.firstphone.as_str(), "06 1");
    assert_eq!(fiche.email.as_ref().map(Email::as_str), Some("kept@example.org"));
    assert_eq!(fiche.externid, Some(7));
    assert_eq!(fiche.comments.as_str(), "first\nsecond");
    assert_eq!(shop.group_state.fiches[&other].externid, Some(7), "its system still finds it");
}

#[test]
fn comments_of_both_records_stay_once() {
    for (own, others, expected) in [
        ("first", "second", "first\nsecond"),
        ("same", "same", "same"),
        ("first", "", "first"),
        ("", "second", "second"),
        ("", "", ""),
    ] {
        let mut shop = Shop::open_on_tuesday();
        let [kept, merged] = [("Kept", own), ("Other", others)].map(|(name, comments)| {
            let id = shop.knows(name, "ada@example.org");
            let mut fiche = Fiche::clone(&shop.group_state.fiches[&id]);
            fiche.comments = LongText::new(comments).expect("a text");
            shop.group_state.put_fiche(fiche.into());
            id
        });
        shop.changes(&merge(kept, merged)).expect("legal");
        assert_eq!(shop.group_state.fiches[&kept].comments.as_str(), expected);
    }
}

#[test]
fn an_event_of_the_merged_record_that_is_live_has_changed_and_a_deleted_one_has_not() {
    let mut shop = two_calendars();
    let kept = shop.knows("kept", "kept@example.org");
    let other = shop.knows("other", "other@example.org");
    let mut book = |time: &str| shop.book(&booking_of("other", time)).expect("free")[0];
    let [live, cancelled] = ["2026-03-03 09:00", "2026-03-03 10:00"].map(&mut book);
    shop.cancel(cancelled, CancelRight::Pro).expect("it is live");
    let before = shop.now;
    shop.now = shop.now.plus_minutes(5);
    shop.changes(&merge(kept, other)).expect("legal");
    let stamp = |id| shop.group_state.rows[&id].updated_at;
    assert_eq!((stamp(live), stamp(cancelled)), (shop.now, before));
}

#[test]
fn the_rules_about_appointments_count_those_of_both() {
    let mut shop = two_calendars().with_group(|group| group.maxrdv_number = Bounded::known(2));
    let kept = shop.knows("kept", "kept@example.org");
    let other = shop.knows("other", "other@example.org");
    shop.book(&booking_of("kept", "2026-03-03 09:00")).expect("free");
    shop.book(&booking_of("other", "2026-03-03 10:00")).expect("free");
    shop.changes(&merge(kept, other)).expect("legal");
    let refused = shop.refusal_of(&booking_of("kept", "2026-03-03 11:00"));
    assert_eq!(refused, Refusal::MaxRdvNumber { most: 2 });
}

#[test]
fn an_account_of_the_merged_one_owns_the_kept_one_too() {
    let mut shop = Shop::open_on_tuesday();
    let kept = shop.knows("kept", "kept@example.org");
    let other = shop.knows("other", "other@example.org");
    let email = Email::new("other@example.org").expect("an address");
    let account = Account {
        email,
        fiche_id: other,
        password_hash: Text::default(),
        former: Vec::new(),
        last_login: None,
    };
    shop.group_state.accounts.insert(account.email.folded(), account.into());
    shop.changes(&merge(kept, other)).expect("legal");
    let account = &shop.group_state.accounts["other@example.org"];
    assert_eq!((account.fiche_id, account.former.clone()), (kept, vec![other]));
}

#[test]
fn a_merged_record_does_not_change_and_takes_no_booking() {
    let mut shop = Shop::open_on_tuesday();
    let kept = shop.knows("kept", "kept@example.org");
    let other = shop.knows("other", "other@example.org");
    let third = shop.knows("third", "third@example.org");
    shop.changes(&merge(kept, other)).expect("legal");
    let mut fields = Patch::default();
    fields.push(|fiche: &mut Fiche| fiche.deleted = false);
    let put = RecordChange::Fiche(Put { id: Some(other), fields });
    for refused in [
        shop.changes(&put),
        shop.changes(&merge(other, third)),
        shop.changes(&merge(third, other)),
        shop.changes(&merge(kept, kept)),
    ] {
        let refusals = refused.expect_err("it is refused");
        assert!(matches!(&refusals[..], [Refusal::InvalidParameter(_)]), "{refusals:?}");
    }
    let mut booking = booking_of("other", "2026-03-03 09:00");
    booking.client.id = Some(other);
    let booking = super::shop::by_pro(booking, false);
    let refused = shop.refusal_of(&booking);
    let Refusal::InvalidParameter(fault) = refused else { panic!("{refused:?}") };
    assert!(fault.rule.contains("was merged into"), "{}", fault.rule);
}

#[test]
fn an_account_of_the_merged_client_owns_the_kept_one_too() {
    let mut shop = two_calendars();
    let kept = shop.knows("Ada", "ada@example.org");
    let merged = shop.knows("Byron", "byron@example.org");
    let other = shop.knows("Cid", "cid@example.org");
    let email = Email::new("login@example.org").expect("an address");
    // The client that the account books for and the others that it owns, before and after.
    for (before, after) in [
        ((merged, vec![]), (kept, vec![merged])),
        ((merged, vec![kept]), (kept, vec![merged])),
        ((merged, vec![other, kept]), (kept, vec![other, merged])),
        ((other, vec![merged]), (other, vec![merged, kept])),
        ((other, vec![merged, kept]), (other, vec![merged, kept])),
        ((other, vec![]), (other, vec![])),
        ((kept, vec![]), (kept, vec![])),
    ] {
        let mut shop = shop.clone();
        let (fiche_id, former) = before.clone();
        let password_hash = Text::default();
        let account =
            Account { email: email.clone(), fiche_id, password_hash, former, last_login: None };
        shop.group_state.accounts.insert(email.folded(), account.into());
        assert_eq!(shop.changes(&merge(kept, merged)), Ok(true));
        let account = shop.group_state.accounts.get(&email.folded()).expect("it is kept");
        assert_eq!((account.fiche_id, account.former.clone()), after, "{before:?}");
    }
}
