use proptest::prelude::*;

use super::*;
use crate::http::limits::code_budget::{CodePlace, CodeRequest};
use crate::http::limits::source_networks::SourceNetworks;

const NOW: Instant = Instant(1_700_000_000);

fn budget(daily_max: usize, secret: HashSecret) -> CodeBudget {
    let budget = CodeBudget::new(daily_max);
    budget.hash_under(secret);
    budget
}

fn group(number: u64) -> GroupId {
    GroupId::new(number).expect("an id")
}

fn hold(nth: u8) -> HoldId {
    HoldId([nth; 32])
}

/// Asks for a code from one of some sources, for one of some recipients, in one of two groups.
fn ask(budget: &CodeBudget, from: u8, to: u8, now: Instant) -> Result<CodePlace, i64> {
    let networks = Some(SourceNetworks::around([10, 0, 0, from].into()));
    let recipient = format!("{to}@one.example");
    let group = group(1 + u64::from(to % 2));
    budget.take(CodeRequest { group, networks, recipient: &recipient }, now)
}

proptest! {
    #[test]
    fn a_restored_budget_decides_as_the_one_before(
        before in prop::collection::vec((0_u8..4, 0_u8..6, 0_i64..3_000, any::<bool>()), 0..60),
        after in prop::collection::vec((0_u8..4, 0_u8..6, 0_i64..3_000, any::<bool>()), 0..60),
    ) {
        let secret = HashSecret::draw();
        let first = budget(20, secret);
        let mut now = NOW;
        for (nth, (from, to, passed, is_given)) in (0..).zip(before) {
            now = now.plus_seconds(passed);
            if let Ok(place) = ask(&first, from, to, now) {
                first.name(&place, hold(nth));
                if is_given {
                    first.settle(group(1 + u64::from(to % 2)), hold(nth));
                }
            }
        }
        let second = budget(20, secret);
        second.restore(&first.image().bytes, now).expect("it was just made");
        for (nth, (from, to, passed, is_given)) in (0..).zip(after) {
            now = now.plus_seconds(passed);
            let asked = [&first, &second].map(|budget| ask(budget, from, to, now));
            let waits = asked.each_ref().map(|asked| asked.as_ref().err());
            prop_assert_eq!(waits[0], waits[1], "{} {}", from, to);
            if is_given {
                for budget in [&first, &second] {
                    budget.settle(group(1 + nth % 2), hold(u8::try_from(nth).expect("few")));
                }
            }
        }
    }

    #[test]
    fn bytes_of_a_stranger_are_refused_or_bounded(value in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut image = encode_passed(&());
        // As if they were an image, with its format and a right checksum.
        image.truncate(2);
        image.extend(value);
        image.extend(crc32fast::hash(&image).to_be_bytes());
        let budget = CodeBudget::new(20);
        let used = allocation_counter::measure(|| {
            let _ = budget.restore(&image, NOW);
        });
        prop_assert!(used.bytes_total < 4 << 20, "{}", used.bytes_total);
    }
}

#[test]
fn images_that_no_server_makes_are_refused_and_odd_times_do_no_harm() {
    let budget = CodeBudget::new(20);
    let code = CodeImage { group: group(1), at: NOW, sharers: vec![1; 7], hold: None };
    let refused = budget.restore(&encode_passed(&vec![code.clone()]), NOW);
    assert!(matches!(refused, Err(PassedError::Malformed(_))), "{refused:?}");
    let many = vec![CodeImage { sharers: Vec::new(), ..code.clone() }; CODES_SAVED_MAX + 1];
    let refused = budget.restore(&encode_passed(&many), NOW);
    assert!(matches!(refused, Err(PassedError::Malformed(_))), "{refused:?}");
    assert_eq!(budget.count(), 0);
    let times = [i64::MIN, NOW.0 - DAY, NOW.0 - DAY + 1, NOW.0, i64::MAX].map(Instant);
    let odd = times.map(|at| CodeImage { at, sharers: vec![7, 7], hold: Some(hold(1)), ..code });
    budget.restore(&encode_passed(&odd.to_vec()), NOW).expect("it can be read");
    assert_eq!(budget.count(), 3, "of the last day, and the one that is ahead");
    budget.settle(group(1), hold(1));
    ask(&budget, 1, 2, NOW.plus_seconds(DAY)).expect("all others are a day old");
    assert_eq!(budget.count(), 1);
}

#[test]
fn an_image_holds_the_newest_codes() {
    let code = |nth: usize| {
        let at = NOW.plus_seconds(i64::try_from(nth * 7 % 1_000).expect("small"));
        let group = group(u64::MAX >> 16);
        CodeImage { group, at, sharers: vec![u64::MAX; SHARERS_MAX], hold: Some(hold(255)) }
    };
    let codes: Vec<_> = (0..CODES_SAVED_MAX + 100).map(code).collect();
    let kept = newest(codes.clone());
    assert_eq!(kept.len(), CODES_SAVED_MAX);
    let mut times: Vec<_> = codes.iter().map(|code| code.at).collect();
    times.sort_unstable();
    assert!(kept.iter().all(|code| code.at >= times[100]));
    let bytes = encode_passed(&kept).len();
    println!("{CODES_SAVED_MAX} codes: {bytes} bytes");
    assert!(bytes <= 4 << 20, "{bytes}");
}

#[test]
fn codes_of_a_day_ago_leave_the_image() {
    let budget = budget(20, HashSecret::draw());
    ask(&budget, 1, 2, NOW).expect("the first");
    let changes = budget.image().changes;
    assert_eq!(budget.changes(NOW.plus_seconds(DAY - 1)), changes);
    assert_ne!(budget.changes(NOW.plus_seconds(DAY)), changes);
    assert_eq!(budget.count(), 0);
    assert!(budget.image().bytes.len() < 16);
}
