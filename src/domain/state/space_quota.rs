//! The quota of space that stops web callers before a group is full. Reference 3.8.

use crate::domain::state::command::Caller;

/// Size in MiB that the records of one group may reach, without any option.
pub const GROUP_MIB: u64 = 1_024;
/// Share of the quota from which a key alone writes no more, in percent. The operator is warned.
pub const KEY_ALONE_PERCENT: u64 = 80;
/// Share of the quota from which accounts write no more, in percent.
pub const ACCOUNT_PERCENT: u64 = 90;

/// Whether a group that takes `bytes` bytes has no space for what a caller writes, by a quota of
/// `bytes_max` bytes. Without a quota it always has, and for professionals too.
///
/// ```
/// use slotbook::domain::state::command::Caller;
/// use slotbook::domain::state::space_quota::is_full_for;
/// assert!(!is_full_for(&Caller::Application, 799, Some(1_000)));
/// assert!(is_full_for(&Caller::Application, 800, Some(1_000)));
/// assert!(!is_full_for(&Caller::Application, 5_000, None));
/// ```
pub fn is_full_for(caller: &Caller, bytes: u64, bytes_max: Option<u64>) -> bool {
    let percent = match caller {
        Caller::Application => KEY_ALONE_PERCENT,
        Caller::Account(_) => ACCOUNT_PERCENT,
        Caller::Pro(_) => return false,
    };
    match bytes_max {
        Some(bytes_max) => bytes >= share(bytes_max, percent),
        None => false,
    }
}

/// Whether a group that takes `bytes` bytes is so near a quota that the operator is warned.
pub const fn is_nearly_full(bytes: u64, bytes_max: u64) -> bool {
    bytes >= share(bytes_max, KEY_ALONE_PERCENT)
}

const fn share(bytes_max: u64, percent: u64) -> u64 {
    bytes_max / 100 * percent + bytes_max % 100 * percent / 100
}
