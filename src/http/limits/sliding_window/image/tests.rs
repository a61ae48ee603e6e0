use proptest::prelude::*;

use super::*;
use crate::http::limits::sliding_window::{KEYS_BEYOND_MAX, KEYS_MAX, MOMENTS_MAX};

const SECONDS: i64 = 100;
const NOW: Instant = Instant(1_700_000_000);

fn window(limit: usize) -> SlidingWindow<u32> {
    let window = SlidingWindow::new(limit, SECONDS);
    window.hash_under(HashSecret::draw());
    window
}

/// Another window with the counts of one, at a time.
fn restored(window: &SlidingWindow<u32>, now: Instant) -> SlidingWindow<u32> {
    let other = SlidingWindow::new(window.limit, window.seconds);
    other.hash_under(*window.secret.get().expect("it was set"));
    other.restore(&window.image().bytes, now).expect("it was just made");
    other
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Add,
    TryAdd(usize),
    TakeBack(usize, i64),
    RemoveNewest,
}

fn steps() -> impl Strategy<Value = Vec<(u32, i64, Step)>> {
    let step = prop_oneof![
        3 => Just(Step::Add),
        2 => (1_usize..4).prop_map(Step::TryAdd),
        1 => (1_usize..4, 0_i64..30).prop_map(|(number, ago)| Step::TakeBack(number, ago)),
        1 => Just(Step::RemoveNewest),
    ];
    prop::collection::vec((0_u32..4, 0_i64..30, step), 0..80)
}

/// Does a step, and returns all that the window says of the key.
fn observe(window: &SlidingWindow<u32>, key: u32, step: Step, now: Instant) -> impl Eq + use<> {
    let tried = match step {
        Step::Add => {
            window.add(&key, now);
            Ok(())
        }
        Step::TryAdd(number) => window.try_add(&key, number, now),
        Step::TakeBack(number, ago) => {
            window.take_back(&key, number, now.plus_seconds(-ago));
            Ok(())
        }
        Step::RemoveNewest => {
            window.remove_newest(&key);
            Ok(())
        }
    };
    (tried, window.wait(&key, now), window.count(&key, now), window.last(&key, now))
}

proptest! {
    #[test]
    fn a_restored_window_decides_as_the_one_before(before in steps(), after in steps()) {
        let window = window(5);
        let mut now = NOW;
        for (key, passed, step) in before {
            now = now.plus_seconds(passed);
            observe(&window, key, step, now);
        }
        let restored = restored(&window, now);
        for (key, passed, step) in after {
            now = now.plus_seconds(passed);
            let is_same = observe(&window, key, step, now) == observe(&restored, key, step, now);
            prop_assert!(is_same, "{key} {step:?}");
        }
    }

    #[test]
    fn bytes_of_a_stranger_are_refused_or_bounded(value in prop::collection::vec(any::<u8>(), 0..300)) {
        let window = window(5);
        let mut image = encode_passed(&());
        // As if they were an image, with its format and a right checksum.
        image.truncate(2);
        image.extend(value);
        image.extend(crc32fast::hash(&image).to_be_bytes());
        let used = allocation_counter::measure(|| {
            let _ = window.restore(&image, NOW);
        });
        prop_assert!(used.bytes_total < 4 << 20, "{}", used.bytes_total);
        let events = window.events.lock();
        prop_assert!(events.iter().all(|(_, moments)| moments.len() <= MOMENTS_MAX));
    }
}

#[test]
fn damaged_images_and_those_of_other_releases_change_nothing() {
    let window = window(5);
    window.add(&1, NOW);
    window.add(&1, NOW.plus_seconds(1));
    let image = window.image().bytes;
    for at in 0..image.len() {
        let mut damaged = image.clone();
        damaged[at] ^= 1;
        let other = SlidingWindow::<u32>::new(5, SECONDS);
        other.restore(&damaged, NOW).expect_err("a flipped bit");
        other.restore(&image[..at], NOW).expect_err("a torn tail");
        assert_eq!(other.events.lock().len(), 0);
    }
    let mut later = image[..image.len() - 4].to_vec();
    later[1] += 1;
    later.extend(crc32fast::hash(&later).to_be_bytes());
    assert!(matches!(window.restore(&later, NOW), Err(PassedError::Format(2))));
    let missing = WindowImage { keys: vec![KeyImage { key: 1, moments: 2 }], moments: Vec::new() };
    let missing = window.restore(&encode_passed(&missing), NOW);
    assert!(matches!(missing, Err(PassedError::Malformed(_))));
}

#[test]
fn a_key_that_is_named_twice_or_known_already_keeps_its_first_counts() {
    let moment = Moment::new(NOW, 1);
    let key = KeyImage { key: 7, moments: 1 };
    let twice = WindowImage { keys: vec![key, key], moments: vec![moment, moment] };
    let window = window(5);
    for _ in 0..2 {
        window.restore(&encode_passed(&twice), NOW).expect("it can be read");
        assert_eq!(window.events.lock().iter().count(), 1);
    }
    assert_eq!(window.events.lock().get(7), Some(&[moment][..]));
}

#[test]
fn times_of_a_clock_that_is_ahead_become_now_and_old_keys_are_left_out() {
    let window = window(2);
    window.add(&1, NOW.plus_seconds(15));
    window.add(&1, NOW.plus_seconds(20));
    window.add(&2, NOW.plus_seconds(-SECONDS));
    let restored = restored(&window, NOW);
    assert_eq!(restored.wait(&1, NOW), Some(SECONDS), "at once, not in 15 seconds");
    assert_eq!(restored.events.lock().len(), 1);
    assert!(restored.changes(NOW) > 0, "the next image is without the old key");
}

#[test]
fn an_image_of_many_keys_holds_those_with_the_most_events_within_its_bytes() {
    let window = window(4);
    let keys = u32::try_from(KEYS_MAX + KEYS_BEYOND_MAX).expect("small");
    for key in 0..keys {
        window.add(&key, NOW);
    }
    let of_singles = window.image().bytes;
    for key in (0..keys).step_by(50) {
        (1..4).for_each(|second| window.add(&key, NOW.plus_seconds(second)));
    }
    for _ in 0..4 {
        window.add(&keys, NOW.plus_seconds(4));
    }
    let now = NOW.plus_seconds(4);
    let image = window.image().bytes;
    println!("{keys} keys: {} bytes, then {}", of_singles.len(), image.len());
    for image in [&of_singles, &image] {
        assert!((BYTES_MAX / 2..=BYTES_MAX).contains(&image.len()), "{}", image.len());
    }
    let restored = restored(&window, now);
    for key in (0..keys).step_by(50) {
        assert_eq!(restored.wait(&key, now), Some(SECONDS - 4), "{key}");
    }
    assert_eq!(restored.wait(&keys, now), Some(SECONDS));
    let kept = restored.events.lock().len();
    assert!(kept > 15_000 && kept < KEYS_MAX, "{kept}");
}

#[test]
fn only_changes_make_another_image() {
    let window = window(5);
    assert_eq!(window.changes(NOW), 0);
    window.add(&1, NOW);
    let changes = window.image().changes;
    assert_eq!(window.wait(&1, NOW), None);
    assert_eq!(window.changes(NOW), changes);
    window.remove_newest(&1);
    assert_ne!(window.changes(NOW), changes);
    window.add(&1, NOW);
    let changes = window.image().changes;
    assert_ne!(window.changes(NOW.plus_seconds(SECONDS)), changes, "the last key has expired");
    assert!(window.image().bytes.len() < 16);
}
