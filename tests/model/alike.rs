//! Web bookings of one network or of some time, with the holds of the same callers, against a plain list.

use proptest::prelude::*;
use slotbook::domain::decisions::alike::{AlikeBookings, AlikeSearch, find_alike};
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof, NetworkWidth};
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::hold::HoldId;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::HoldTime;
use slotbook::domain::time::{Instant, MINUTE};

use super::shop::{Shop, booking_of, calendar, civil, intervention};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Booking(ClientProof),
    Waiting,
    Hold { is_by_key: bool, is_limited: bool },
}

/// Something that a caller did.
#[derive(Clone, Copy, Debug)]
struct Deed {
    kind: Kind,
    source: u8,
    apikey: u8,
    minute: i64,
}

fn a_deed() -> impl Strategy<Value = Deed> {
    let kind = prop_oneof![
        Just(Kind::Booking(ClientProof::KeyAlone)),
        Just(Kind::Booking(ClientProof::Account)),
        Just(Kind::Booking(ClientProof::MailedCode)),
        Just(Kind::Waiting),
        (any::<bool>(), any::<bool>())
            .prop_map(|(is_by_key, is_limited)| Kind::Hold { is_by_key, is_limited }),
    ];
    (kind, 0..8_u8, 0..2_u8, 0..3_i64).prop_map(|(kind, source, apikey, minute)| Deed {
        kind,
        source,
        apikey,
        minute,
    })
}

/// The hash of a source: two of each /56, and four of each /48.
fn hash_of(source: u8) -> [u8; 16] {
    let mut hash = [source; 16];
    hash[..4].fill(source / 4);
    hash[4..8].fill(100 + source / 2);
    hash
}

#[derive(Clone, Copy, Debug)]
enum Made {
    Appointment(VeventId),
    Chosen(HoldId),
    Unconfirmed(HoldId),
}

/// Does it in a slot of its own.
fn carry_out(shop: &mut Shop, slot: i64, deed: Deed) -> Made {
    let Deed { kind, source, apikey, .. } = deed;
    let date = civil("2026-03-03 08:00").plus_seconds(slot * 30 * MINUTE);
    let mut booking = booking_of(&format!("c{slot}"), "2026-03-03 08:00");
    booking.date = date;
    let origin = |proof| {
        Some(Box::new(BookingOrigin { source: hash_of(source), apikey: [apikey; 16], proof }))
    };
    match kind {
        Kind::Booking(proof) => {
            booking.booking_origin = origin(proof);
            Made::Appointment(shop.book(&booking).expect("free")[0])
        }
        Kind::Waiting => {
            booking.booking_origin = origin(ClientProof::KeyAlone);
            let mut asking =
                shop.clone().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
            let id = asking.book_until_code(&booking).expect("free");
            *shop = asking.with_group(|group| group.verify_bookings = VerifyBookings::Off);
            Made::Unconfirmed(id)
        }
        Kind::Hold { is_by_key, is_limited } => {
            let wish = HoldTime {
                date,
                intervention_ids: vec![intervention(1)],
                calendar_id: Some(calendar(1)),
                hold: None,
                source: None,
                is_by_key,
            };
            let id = shop.holds(&wish).expect("free");
            // The bounds of holds are not the matter here.
            let mut hold = (**shop.group_state.holds().get(id).expect("made")).clone();
            hold.source = is_limited.then(|| hash_of(source));
            shop.group_state.put_hold(hold.into());
            Made::Chosen(id)
        }
    }
}

fn is_meant(deed: Deed, like: Option<Deed>, search: &AlikeSearch, began: Instant) -> bool {
    let made_at = began.plus_minutes(deed.minute);
    let is_in_time = search.since <= made_at && search.until.is_none_or(|until| made_at < until);
    let (is_proven, keeps_key, keeps_source) = match deed.kind {
        Kind::Booking(proof) => (proof != ClientProof::KeyAlone, true, true),
        Kind::Waiting => (false, true, true),
        Kind::Hold { is_by_key, is_limited } => (!is_by_key, false, is_limited),
    };
    let is_near = like.is_none_or(|like| {
        let per_network = match search.width {
            NetworkWidth::Source => 1,
            NetworkWidth::Middle => 2,
            NetworkWidth::Widest => 4,
        };
        keeps_source
            && like.source / per_network == deed.source / per_network
            && (!keeps_key || like.apikey == deed.apikey)
    });
    is_in_time && is_near && !(is_proven && search.is_unverified)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_search_finds_what_the_same_callers_did(
        mut deeds in proptest::collection::vec(a_deed(), 1..19),
        like in any::<Option<prop::sample::Index>>(),
        width in prop_oneof![
            Just(NetworkWidth::Source), Just(NetworkWidth::Middle), Just(NetworkWidth::Widest)
        ],
        times in (0..3_i64, proptest::option::of(1..4_i64)),
        is_unverified in any::<bool>(),
    ) {
        deeds.sort_by_key(|deed| deed.minute);
        let shop = Shop::in_zone("Paris", "2026-03-02 08:00");
        let mut shop = shop.opened(1, "2026-03-03 08:00", "2026-03-03 18:00", "", Permits::All);
        let began = shop.now;
        let mut made = Vec::new();
        for (slot, deed) in (0..).zip(&deeds) {
            shop.now = began.plus_minutes(deed.minute);
            made.push(carry_out(&mut shop, slot, *deed));
        }
        let like = like.map(|which| which.index(deeds.len()));
        let like = like.and_then(|at| match made[at] {
            Made::Appointment(id) => Some((deeds[at], id)),
            Made::Chosen(_) | Made::Unconfirmed(_) => None,
        });
        let search = AlikeSearch {
            like: like.map(|(_, id)| id),
            width,
            since: began.plus_minutes(times.0),
            until: times.1.map(|minute| began.plus_minutes(minute)),
            is_unverified,
        };
        let mut expected = AlikeBookings::default();
        for (deed, made) in deeds.iter().zip(made) {
            if !is_meant(*deed, like.map(|(deed, _)| deed), &search, began) {
                continue;
            }
            match made {
                Made::Appointment(id) => expected.appointments.push(id),
                Made::Chosen(id) => expected.chosen.push(id),
                Made::Unconfirmed(id) => expected.unconfirmed.push(id),
            }
        }
        expected.appointments.sort();
        expected.chosen.sort();
        expected.unconfirmed.sort();
        let found = find_alike(&shop.group_state, &search, shop.now);
        prop_assert_eq!(found, Ok(expected));
    }
}
