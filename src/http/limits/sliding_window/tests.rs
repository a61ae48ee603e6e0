use proptest::prelude::*;

use super::*;

/// Window of the comparison with a plain list.
const SECONDS: i64 = 20;

/// A step of a client: events added, taken back of a moment, or the newest removed.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize),
    TakeBack(usize, i64),
    RemoveNewest,
}

fn steps() -> impl Strategy<Value = Vec<(u8, i64, Step)>> {
    let step = prop_oneof![
        (1_usize..4).prop_map(Step::Add),
        (1_usize..4, 0_i64..30).prop_map(|(number, ago)| Step::TakeBack(number, ago)),
        Just(Step::RemoveNewest),
    ];
    prop::collection::vec((0_u8..3, 0_i64..4, step), 0..60)
}

/// The times of a key's events, ascending, of which the newest `limit` are kept.
fn add_plainly(times: &mut Vec<i64>, number: usize, limit: usize, now: i64) {
    times.retain(|at| now - at < SECONDS);
    times.extend(std::iter::repeat_n(now, number));
    times.drain(..times.len().saturating_sub(limit));
}

proptest! {
    #[test]
    fn a_window_counts_as_a_plain_list_of_times_does(steps in steps()) {
        let limit = 5;
        let window = SlidingWindow::new(limit, SECONDS);
        let mut plain = [const { Vec::new() }; 3];
        let mut now = 1_000;
        for (key, passed, step) in steps {
            now += passed;
            let times = &mut plain[usize::from(key)];
            match step {
                Step::Add(number) => {
                    add_plainly(times, number, limit, now);
                    (0..number).for_each(|_| window.add(&key, Instant(now)));
                }
                Step::TakeBack(number, ago) => {
                    for _ in 0..number {
                        if let Some(found) = times.iter().position(|at| *at == now - ago) {
                            times.remove(found);
                        }
                    }
                    window.take_back(&key, number, Instant(now - ago));
                }
                Step::RemoveNewest => {
                    times.pop();
                    window.remove_newest(&key);
                }
            }
            for (key, times) in (0_u8..).zip(&plain) {
                let recent: Vec<_> = times.iter().filter(|at| now - **at < SECONDS).collect();
                prop_assert_eq!(window.count(&key, Instant(now)), recent.len());
                let last = window.last(&key, Instant(now)).map(|last| last.0);
                prop_assert_eq!(last, recent.last().map(|at| **at));
                let wait = (recent.len() == limit).then(|| SECONDS - (now - recent[0]));
                prop_assert_eq!(window.wait(&key, Instant(now)), wait);
            }
        }
    }
}

impl KeyTable {
    /// Bytes of both tables.
    fn allocation_size(&self) -> usize {
        self.singles.allocation_size() + self.several.allocation_size()
    }
}

#[test]
fn a_key_waits_until_its_oldest_event_leaves_the_window() {
    let window = SlidingWindow::new(3, 100);
    for second in [0, 10, 20] {
        assert_eq!(window.wait(&"a", Instant(second)), None);
        window.add(&"a", Instant(second));
    }
    assert_eq!((window.wait(&"a", Instant(30)), window.count(&"a", Instant(30))), (Some(70), 3));
    assert_eq!(window.wait(&"b", Instant(30)), None);
    assert_eq!((window.wait(&"a", Instant(100)), window.count(&"a", Instant(100))), (None, 2));
    window.add(&"a", Instant(100));
    assert_eq!(window.wait(&"a", Instant(100)), Some(10));
}

fn expect_one_key_and_its_memory(window: &SlidingWindow<usize>) {
    let events = window.events.lock();
    assert_eq!(events.len(), 1, "expired keys are removed");
    let bytes = events.allocation_size();
    assert!(bytes < 1_024, "{bytes} bytes for one key");
}

#[test]
fn memory_is_bounded_for_any_number_of_keys_and_given_back_when_they_expire() {
    let window = SlidingWindow::new(1, 100);
    for key in 0..2 * KEYS_MAX {
        window.add(&key, Instant(0));
        assert!(window.events.lock().len() <= KEYS_MAX + KEYS_BEYOND_MAX);
    }
    assert!(window.events.lock().len() >= KEYS_MAX);
    assert_eq!(window.wait(&(2 * KEYS_MAX - 1), Instant(0)), Some(100), "the last is tracked");
    window.add(&0, Instant(100));
    expect_one_key_and_its_memory(&window);
}

#[test]
fn memory_of_keys_with_several_moments_is_bounded_and_given_back_too() {
    let window = SlidingWindow::new(2, 100);
    for key in 0..2 * KEYS_MAX {
        window.add(&key, Instant(0));
        window.add(&key, Instant(1));
        assert!(window.events.lock().len() <= KEYS_MAX + KEYS_BEYOND_MAX);
    }
    assert_eq!(window.count(&(2 * KEYS_MAX - 1), Instant(1)), 2, "the last is tracked");
    window.add(&0, Instant(101));
    expect_one_key_and_its_memory(&window);
}

#[test]
fn expired_keys_are_removed_eight_times_in_a_window() {
    let window = SlidingWindow::new(1, 800);
    let count_after = |key: &'static str, second| {
        window.add(&key, Instant(second));
        window.events.lock().len()
    };
    assert_eq!(count_after("a", 10_000), 1);
    assert_eq!(count_after("b", 10_799), 2);
    assert_eq!(count_after("c", 10_898), 3, "the first has expired, and it is not the time yet");
    assert_eq!(count_after("d", 10_899), 3, "an eighth of the window has passed");
}

#[test]
fn keys_that_are_left_have_room_for_as_many_again_without_more_memory() {
    for moments in 1..=2_i64 {
        let window = SlidingWindow::new(2, 100);
        let add = |keys: std::ops::Range<i32>, second| {
            for key in keys {
                (0..moments).for_each(|moment| window.add(&key, Instant(second + moment)));
            }
            window.events.lock().allocation_size()
        };
        let full = add(0..4_000, 1_000);
        add(4_000..4_200, 1_050);
        // The first ones expire.
        let left = add(4_200..4_201, 1_110);
        assert_eq!(window.events.lock().len(), 201);
        assert!(left * 4 < full, "{left} bytes of {full}");
        assert_eq!(add(4_201..4_400, 1_111), left);
    }
}

#[test]
fn an_eviction_leaves_as_many_keys_as_are_promised() {
    let window = SlidingWindow::new(2, 100);
    (0..=KEYS_MAX + KEYS_BEYOND_MAX).for_each(|key| window.add(&key, Instant(0)));
    assert_eq!(window.events.lock().len(), KEYS_MAX);
}

#[test]
fn a_key_takes_40_bytes_at_most() {
    let window = SlidingWindow::new(1, 100);
    // From a table that is full to one that has just grown.
    for key in 1..=KEYS_MAX {
        window.add(&key, Instant(0));
        if key >= 1_000 {
            let bytes = window.events.lock().allocation_size();
            assert!(bytes <= key * 40, "{bytes} bytes for {key} keys");
        }
    }
}

#[test]
fn a_key_at_its_limit_is_not_forgotten_for_any_number_of_keys_with_fewer_events() {
    let window = SlidingWindow::new(2, 100);
    window.add(&0, Instant(0));
    window.add(&0, Instant(0));
    window.add(&usize::MAX, Instant(0));
    window.add(&usize::MAX, Instant(1));
    window.add(&1, Instant(1));
    (2..KEYS_MAX + KEYS_BEYOND_MAX + 10).for_each(|key| window.add(&key, Instant(2)));
    assert_eq!(window.wait(&0, Instant(2)), Some(98));
    assert_eq!(window.wait(&usize::MAX, Instant(2)), Some(98), "of two moments");
    assert_eq!(window.count(&1, Instant(2)), 0, "the first of the others is evicted");
    assert_eq!(window.count(&(KEYS_MAX + KEYS_BEYOND_MAX + 9), Instant(2)), 1);
    let tracked = (2..KEYS_MAX).filter(|key| window.count(key, Instant(2)) == 1).count();
    assert!(tracked >= KEYS_MAX - KEYS_BEYOND_MAX - 10, "{tracked}");
}

#[test]
fn as_many_keys_as_are_promised_stay_at_their_limit() {
    let window = SlidingWindow::new(2, 100);
    (0..KEYS_MAX - 1).for_each(|key| assert_eq!(window.try_add(&key, 2, Instant(0)), Ok(())));
    (KEYS_MAX..2 * KEYS_MAX).for_each(|key| window.add(&key, Instant(1)));
    assert!((0..KEYS_MAX - 1).all(|key| window.wait(&key, Instant(1)) == Some(99)));
}

#[test]
fn events_are_added_together_or_not_at_all_and_taken_back() {
    let window = SlidingWindow::new(5, 100);
    assert_eq!(window.try_add(&"a", 3, Instant(0)), Ok(()));
    assert_eq!(window.try_add(&"a", 3, Instant(10)), Err(90));
    assert_eq!(window.try_add(&"a", 2, Instant(10)), Ok(()));
    assert_eq!(window.try_add(&"a", 1, Instant(10)), Err(90));
    assert_eq!(window.try_add(&"a", 4, Instant(20)), Err(90), "both moments are too many");
    window.take_back(&"a", 3, Instant(0));
    assert_eq!(window.count(&"a", Instant(20)), 2);
    assert_eq!(window.try_add(&"a", 3, Instant(20)), Ok(()));
    window.take_back(&"a", 2, Instant(10));
    window.take_back(&"a", 3, Instant(20));
    assert_eq!(window.events.lock().len(), 0);
    assert_eq!(window.try_add(&"b", 9, Instant(0)), Ok(()), "more than the limit, alone");
    assert_eq!(window.try_add(&"b", 9, Instant(1)), Err(99));
    assert_eq!(window.count(&"b", Instant(1)), 5);
}

#[test]
fn many_moments_of_a_key_never_shorten_its_wait() {
    let window = SlidingWindow::new(1_000, 3_600);
    (0..1_000).for_each(|second| window.add(&"a", Instant(second)));
    assert_eq!(window.count(&"a", Instant(1_000)), 1_000);
    let moments = window.events.lock().get(window.hash(&"a")).expect("it is tracked").len();
    assert!(moments <= MOMENTS_MAX);
    assert!(window.wait(&"a", Instant(1_000)) >= Some(2_600));
}

#[test]
fn as_many_moments_as_are_kept_expire_one_by_one() {
    let last = i64::try_from(MOMENTS_MAX).expect("small") - 1;
    let window = SlidingWindow::new(MOMENTS_MAX, 3_600);
    (0..=last).for_each(|second| window.add(&"a", Instant(second)));
    assert_eq!(window.wait(&"a", Instant(last)), Some(3_600 - last));
    assert_eq!(window.count(&"a", Instant(3_600)), MOMENTS_MAX - 1);
}

#[test]
fn an_ipv6_network_is_one_source_and_a_mapped_ipv4_address_is_its_own() {
    let of = |address: &str| source(address.parse().expect("an address"));
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
}

#[test]
fn an_ipv4_address_within_an_ipv6_address_is_the_source() {
    let of = |address: &str| source(address.parse().expect("an address")).to_string();
    for (address, counted) in [
        ("64:ff9b::203.0.113.7", "203.0.113.7"),
        ("64:ff9b:0:0:0:1:cb00:7107", "64:ff9b::"),
        ("64:ff9b:1::203.0.113.7", "64:ff9b:1::"),
        ("2002:cb00:7107::1", "203.0.113.7"),
        ("2002:cb00:7107:ffff:1:2:3:4", "203.0.113.7"),
        ("2003:cb00:7107::1", "2003:cb00:7107::"),
    ] {
        assert_eq!(of(address), counted, "{address}");
    }
}
