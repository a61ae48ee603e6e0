//! The image of the codes that were not given, which the servers of a cluster pass on. Reference
//! 8.11.

use std::ops::Bound::{Excluded, Unbounded};
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::GroupId;
use crate::domain::time::{DAY, Instant};
use crate::engine::{PassedError, decode_passed, encode_passed};
use crate::http::limits::code_budget::{CodeBudget, GroupCodes, OpenCode, SHARERS_MAX};
use crate::http::limits::hash_secret::HashSecret;
use crate::http::limits::saved_counts::{CountsImage, SavedCounts};

/// Maximum number of codes in an image, at most 105 bytes each. Of more codes the oldest are left
/// out.
const CODES_SAVED_MAX: usize = 38_000;
/// Number of codes that are copied under one lock.
const CODES_COPIED: usize = 4_096;

/// A code that was asked for and not given.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CodeImage {
    group: GroupId,
    at: Instant,
    /// Hashes.
    sharers: Vec<u64>,
    hold: Option<HoldId>,
}

impl SavedCounts for CodeBudget {
    fn hash_under(&self, secret: HashSecret) {
        self.secret.set(secret).expect("no sharer was hashed before");
    }

    fn changes(&self, now: Instant) -> u64 {
        let mut groups = self.groups.lock();
        let removed: usize = groups.values_mut().map(|codes| codes.remove_expired(now)).sum();
        if removed > 0 {
            self.total.fetch_sub(removed, Ordering::Relaxed);
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        self.changes.load(Ordering::Relaxed)
    }

    fn image(&self) -> CountsImage {
        let changes = self.changes.load(Ordering::Relaxed);
        let groups: Vec<GroupId> = self.groups.lock().keys().copied().collect();
        let mut codes = Vec::new();
        for group in groups {
            let mut last = 0;
            while let Some(next) = self.copy_after(group, last, &mut codes) {
                last = next;
            }
        }
        CountsImage { changes, bytes: encode_passed(&newest(codes)) }
    }

    fn restore(&self, image: &[u8], now: Instant) -> Result<(), PassedError> {
        let codes: Vec<CodeImage> = decode_passed(image)?;
        if codes.len() > CODES_SAVED_MAX {
            let what = format!("{} codes, at most {CODES_SAVED_MAX} are saved", codes.len());
            return Err(PassedError::Malformed(what));
        }
        if codes.iter().any(|code| code.sharers.len() > SHARERS_MAX) {
            return Err(PassedError::Malformed("a code has too many sharers".to_owned()));
        }
        let mut groups = self.groups.lock();
        for CodeImage { group, at, sharers, hold } in codes {
            let at = at.min(now);
            if at.0 <= now.0 - DAY {
                // The next image is to be without it.
                self.changes.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let known = groups.entry(group).or_insert_with(|| GroupCodes::new(self.secret()));
            let number = known.put(OpenCode { at, sharers: sharers.into(), hold: None });
            if let Some(hold) = hold {
                known.name(number, hold);
            }
            self.total.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl CodeBudget {
    /// Copies some codes of a group after one number. Returns the number of the last of them;
    /// `None` if there is none.
    fn copy_after(&self, group: GroupId, last: u64, copied: &mut Vec<CodeImage>) -> Option<u64> {
        let groups = self.groups.lock();
        let later = groups.get(&group)?.open.range((Excluded(last), Unbounded));
        let mut last = None;
        for (number, code) in later.take(CODES_COPIED) {
            let OpenCode { at, sharers, hold } = code;
            copied.push(CodeImage { group, at: *at, sharers: sharers.to_vec(), hold: *hold });
            last = Some(*number);
        }
        last
    }
}

/// Returns the newest codes that an image may hold, in the order of groups and numbers.
fn newest(mut codes: Vec<CodeImage>) -> Vec<CodeImage> {
    let Some(excess) = codes.len().checked_sub(CODES_SAVED_MAX).filter(|excess| *excess > 0) else {
        return codes;
    };
    let mut times: Vec<_> = codes.iter().map(|code| code.at).enumerate().collect();
    let (older, _, _) = times.select_nth_unstable_by_key(excess, |(nth, at)| (*at, *nth));
    let mut is_left_out = vec![false; codes.len()];
    for (nth, _) in older {
        is_left_out[*nth] = true;
    }
    let mut left_out = is_left_out.into_iter();
    codes.retain(|_| left_out.next() == Some(false));
    codes
}

#[cfg(test)]
mod tests;
