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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::records::account::Account;
    use crate::domain::records::ids::{FicheId, ProId};
    use crate::domain::records::text::{Email, Text};

    #[test]
    fn strangers_stop_at_80_percent_accounts_at_90_and_the_practice_never() {
        let account = Caller::Account(Arc::new(Account {
            email: Email::new("ada@example.org").expect("an address"),
            fiche_id: FicheId::new(1).expect("an id"),
            password_hash: Text::default(),
            former: Vec::new(),
            last_login: None,
        }));
        let pro = Caller::Pro(ProId::new(1).expect("an id"));
        for (bytes_max, of_strangers, of_accounts) in
            [(1_000, 800, 900), (1_073_741_824, 858_993_459, 966_367_641), (99, 79, 89), (0, 0, 0)]
        {
            for bytes in [0, 1, of_strangers - of_strangers.min(1), of_strangers, of_accounts] {
                let is_full = |caller: &Caller| is_full_for(caller, bytes, Some(bytes_max));
                let case = (bytes, bytes_max);
                assert_eq!(is_full(&Caller::Application), bytes >= of_strangers, "{case:?}");
                assert_eq!(is_nearly_full(bytes, bytes_max), bytes >= of_strangers, "{case:?}");
                assert_eq!(is_full(&account), bytes >= of_accounts, "{case:?}");
                assert!(!is_full(&pro), "{case:?}");
                assert!(!is_full_for(&account, bytes, None), "no quota");
            }
        }
        assert!(is_nearly_full(u64::MAX, u64::MAX), "the share of the largest quota is computed");
    }
}
