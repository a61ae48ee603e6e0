//! The targets, by their names. Each is a folder of the corpus.

use std::cell::RefCell;

use crate::harness::Target;
use crate::{bodies, dates, documents, heads, pages, queries, records, rules};

/// The names of all targets.
const NAMES: [&str; 8] =
    ["bodies", "dates", "documents", "heads", "pages", "queries", "records", "rules"];

/// Returns the target of a name.
///
/// # Panics
/// Panics if there is none.
pub(crate) fn find(name: &str) -> Target {
    match name {
        "bodies" => bodies::target(),
        "dates" => dates::target(),
        "documents" => documents::target(),
        "heads" => heads::target(),
        "pages" => pages::target(),
        "queries" => queries::target(),
        "records" => records::target(),
        "rules" => rules::target(),
        _ => panic!("no target {name}: those are {}", NAMES.join(", ")),
    }
}

thread_local! {
    /// The target that the environment names, for a long run.
    static CHOSEN: RefCell<Option<Target>> = const { RefCell::new(None) };
}

/// Checks an input of the target that SLOTBOOK_FUZZ_TARGET names.
#[cfg_attr(not(libfuzzer), expect(dead_code, reason = "libFuzzer calls it"))]
pub(crate) fn check_chosen(input: &[u8]) {
    CHOSEN.with_borrow_mut(|chosen| {
        let target = chosen.get_or_insert_with(|| {
            find(&std::env::var("SLOTBOOK_FUZZ_TARGET").expect("tests/fuzz/run names a target"))
        });
        target.check(input);
    });
}

macro_rules! short_runs {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                println!("{name}: {}", find(name).run_short(name));
            }
        )*
    };
}

short_runs!(bodies dates documents heads pages queries records rules);

#[test]
fn each_target_has_a_corpus_and_each_corpus_a_target() {
    let mut folders = crate::corpus::folders();
    folders.sort();
    assert_eq!(folders, NAMES);
}
