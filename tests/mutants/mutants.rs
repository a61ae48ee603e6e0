//! The switch of planted mutants. `plant.py` puts this file into the copy of the sources.
//!
//! `SLOTBOOK_MUTANT` names the mutant of a process. Without it, `SLOTBOOK_MUTANTS_REACHED` names a
//! file to which the number of each mutant that is passed is appended once, as 4 bytes.

use std::fs::OpenOptions;
use std::intrinsics::const_eval_select;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The iterator of a mutant, or the original one.
pub use itertools::Either;

const UNKNOWN: u32 = u32::MAX;
const RECORDING: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
static REACHED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

/// Whether a mutant is the one of this process. While constants are computed, none is.
#[inline(always)]
pub const fn is(mutant: u32) -> bool {
    const_eval_select((mutant,), is_in_constant, is_at_run_time)
}

const fn is_in_constant(_: u32) -> bool {
    false
}

#[inline(always)]
fn is_at_run_time(mutant: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    active == mutant || (active >= RECORDING && look_up(mutant))
}

#[cold]
#[inline(never)]
fn look_up(mutant: u32) -> bool {
    if REACHED[mutant as usize].load(Relaxed) {
        return false;
    }
    let path = std::env::var_os("SLOTBOOK_MUTANTS_REACHED");
    if ACTIVE.load(Relaxed) == UNKNOWN {
        let named = std::env::var("SLOTBOOK_MUTANT").ok().map(|id| id.parse().expect("a number"));
        let otherwise = if path.is_some() { RECORDING } else { NONE };
        ACTIVE.store(named.unwrap_or(otherwise), Relaxed);
        return is_at_run_time(mutant);
    }
    // Another thread may have looked up the switch since this one asked.
    let active = ACTIVE.load(Relaxed);
    if active != RECORDING {
        return active == mutant;
    }
    if !REACHED[mutant as usize].swap(true, Relaxed) {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(path.expect("set")).expect("opens");
        file.write_all(&mutant.to_le_bytes()).expect("is written");
    }
    false
}
