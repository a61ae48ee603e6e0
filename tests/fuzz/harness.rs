//! The checks of every input: no panic, few bytes allocated, an end in time.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::time::Duration;

use parking_lot::Mutex;

use crate::corpus;
use crate::mutation::Mutator;

/// Longest time for an input. Most take a millisecond, but the machine may be busy.
const INPUT_TIME_MAX: Duration = Duration::from_secs(120);
/// Mutated inputs of a run under `cargo test`.
const SHORT_RUN: u64 = 2_000;

/// Bytes that an input may allocate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocationBound {
    pub(crate) bytes: u64,
    pub(crate) per_input_byte: u64,
}

/// Panics that may come, each caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaughtPanics {
    Never,
    /// A recorded event that cannot be applied panics, and its group is set aside.
    OfReplay,
}

/// Checks an input, and panics if it fails.
type Check = Box<dyn FnMut(&[u8])>;

/// A target: a check of inputs, and their bounds.
pub(crate) struct Target {
    check: Check,
    allocations: AllocationBound,
    caught_panics: CaughtPanics,
    watchdog: Watchdog,
    /// The most that an input has allocated beyond its share, for the choice of bounds.
    allocated_max: u64,
}

thread_local! {
    /// Panics on this thread, if it checks inputs.
    static OWN_PANICS: Cell<Option<u64>> = const { Cell::new(None) };
    /// Whether an input is being checked whose panics the replay catches.
    static CATCHES_PANICS: Cell<bool> = const { Cell::new(false) };
    /// The last panic that was not printed, since it may have been caught.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}
/// Panics on threads that check no inputs.
static OTHER_PANICS: AtomicU64 = AtomicU64::new(0);

/// Counts all panics from now on, the caught ones too.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            match OWN_PANICS.get() {
                Some(number) => OWN_PANICS.set(Some(number + 1)),
                None => drop(OTHER_PANICS.fetch_add(1, Ordering::Relaxed)),
            }
            if CATCHES_PANICS.get() {
                allocation_counter::opt_out(|| LAST_PANIC.set(panic.to_string()));
            } else {
                hook(panic);
            }
        }));
    });
}

impl Target {
    pub(crate) fn new(
        allocations: AllocationBound,
        caught_panics: CaughtPanics,
        check: impl FnMut(&[u8]) + 'static,
    ) -> Self {
        count_panics();
        OWN_PANICS.set(Some(0));
        let check = Box::new(check);
        Self { check, allocations, caught_panics, watchdog: Watchdog::start(), allocated_max: 0 }
    }

    /// Checks an input.
    ///
    /// # Panics
    /// Panics if the input fails.
    pub(crate) fn check(&mut self, input: &[u8]) {
        let panics = (OWN_PANICS.get(), OTHER_PANICS.load(Ordering::Relaxed));
        self.watchdog.begin(input);
        CATCHES_PANICS.set(self.caught_panics == CaughtPanics::OfReplay);
        let used = allocation_counter::measure(|| (self.check)(input));
        CATCHES_PANICS.set(false);
        self.watchdog.end();
        if self.caught_panics == CaughtPanics::Never {
            let now = (OWN_PANICS.get(), OTHER_PANICS.load(Ordering::Relaxed));
            assert_eq!(now, panics, "a panic was caught");
        }
        let length = u64::try_from(input.len()).expect("it is short");
        let share = self.allocations.per_input_byte * length;
        self.allocated_max = self.allocated_max.max(used.bytes_total.saturating_sub(share));
        assert!(
            used.bytes_total <= self.allocations.bytes + share,
            "{} bytes were allocated for an input of {length}: at most {} and {} for each byte",
            used.bytes_total,
            self.allocations.bytes,
            self.allocations.per_input_byte,
        );
    }

    /// Checks the corpus of a target and some thousand mutations of it. Returns the figures.
    ///
    /// SLOTBOOK_LONG=1 stands for a million, without any guide; SLOTBOOK_FUZZ_SEED for others.
    pub(crate) fn run_short(&mut self, name: &str) -> String {
        let seeds = corpus::seeds(name);
        for seed in &seeds {
            let name = format!("{name}/{}", seed.name);
            let _shown = ShownInput { name: &name, input: &seed.bytes };
            self.check(&seed.bytes);
        }
        let first =
            std::env::var("SLOTBOOK_FUZZ_SEED").map_or(0, |text| text.parse().expect("a number"));
        let count = if std::env::var_os("SLOTBOOK_LONG").is_some() { 1_000_000 } else { SHORT_RUN };
        let mut mutator = Mutator::new(seeds, corpus::words(), first);
        for number in 0..count {
            let input = mutator.next_input();
            let name = format!("{name}, mutation {number} of {first}");
            let _shown = ShownInput { name: &name, input: &input };
            self.check(&input);
        }
        format!("{count} mutations, at most {} bytes beyond the share", self.allocated_max)
    }
}

/// Prints an input if its check panics.
struct ShownInput<'i> {
    name: &'i str,
    input: &'i [u8],
}

impl Drop for ShownInput<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let panic = LAST_PANIC.take();
            eprintln!("input {}: {panic}\n{}", self.name, self.input.escape_ascii());
        }
    }
}

/// Ends the process if an input takes too long.
struct Watchdog {
    events: Sender<()>,
    input: Arc<Mutex<Vec<u8>>>,
}

impl Watchdog {
    fn start() -> Self {
        let (events, received) = channel();
        let input = Arc::new(Mutex::new(Vec::new()));
        let watched = Arc::clone(&input);
        std::thread::spawn(move || {
            while received.recv().is_ok() {
                if received.recv_timeout(INPUT_TIME_MAX) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("an input takes too long:\n{}", watched.lock().escape_ascii());
                    std::process::abort();
                }
            }
        });
        Self { events, input }
    }

    fn begin(&self, input: &[u8]) {
        let mut watched = self.input.lock();
        watched.clear();
        watched.extend_from_slice(input);
        drop(watched);
        self.events.send(()).expect("the watchdog lives");
    }

    fn end(&self) {
        self.events.send(()).expect("the watchdog lives");
    }
}
