//! Limits on the memory of bodies under way. Reference 1.1.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::response::Response;

use crate::http::error::ApiError;
use crate::http::limits::source_shares::{SourceShare, SourceShares};
use crate::http::response::{HandlerResult, hold_until_sent};

/// Bytes of a body that are read for any request. The number of connections bounds their memory.
pub(crate) const SMALL_BYTES: usize = 8 * 1_024;
/// Maximum memory of all larger bodies, in bytes.
pub(crate) const LARGE_BYTES_MAX: usize = 32 * 1_024 * 1_024;
/// Maximum memory of the larger bodies of one source, in bytes.
pub(crate) const LARGE_BYTES_PER_SOURCE_MAX: usize = LARGE_BYTES_MAX / 4;
/// Maximum number of larger bodies that are read before the key is known, because it may stand in
/// them.
pub(crate) const UNIDENTIFIED_MAX: usize = 64;
/// Maximum number of these bodies from one source.
pub(crate) const UNIDENTIFIED_PER_SOURCE_MAX: usize = UNIDENTIFIED_MAX / 4;

/// Size of an answer up to which it needs no share, in bytes. The number of connections bounds the
/// memory of such answers.
pub(crate) const LONG_ANSWER_BYTES: u64 = 256 * 1_024;
/// Maximum memory of all longer answers, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1_024 * 1_024;
/// Maximum memory of the longer answers to one source, in bytes.
pub(crate) const ANSWER_BYTES_PER_SOURCE_MAX: usize = ANSWER_BYTES_MAX / 4;

/// The shares of all bodies under way.
#[derive(Debug)]
pub(crate) struct BodyLimits {
    /// Bytes of memory.
    large: Arc<SourceShares>,
    /// Bodies.
    unidentified: Arc<SourceShares>,
    /// Bytes of long answers that are not sent yet.
    answers: Arc<SourceShares>,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            large: SourceShares::new(LARGE_BYTES_MAX, LARGE_BYTES_PER_SOURCE_MAX),
            unidentified: SourceShares::new(UNIDENTIFIED_MAX, UNIDENTIFIED_PER_SOURCE_MAX),
            answers: SourceShares::new(ANSWER_BYTES_MAX, ANSWER_BYTES_PER_SOURCE_MAX),
        }
    }
}

impl BodyLimits {
    /// The default limits with another one on the bytes of long answers.
    pub(crate) fn with_answers(bytes_max: usize) -> Self {
        Self { answers: SourceShares::new(bytes_max, bytes_max), ..Self::default() }
    }

    /// Holds the memory of a long answer until it is sent: its reader may take its time.
    ///
    /// # Errors
    /// 503 if the answers under way leave no memory for it.
    pub(crate) fn hold_answer(&self, answer: Response, from: IpAddr) -> HandlerResult {
        let bytes = answer.body().size_hint().exact().unwrap_or_default();
        self.hold_bytes(answer, bytes, from)
    }

    /// Does the same with an answer that is written part by part, from this many bytes of memory.
    ///
    /// # Errors
    /// As [`BodyLimits::hold_answer`].
    pub(crate) fn hold_bytes(&self, answer: Response, bytes: u64, from: IpAddr) -> HandlerResult {
        if bytes <= LONG_ANSWER_BYTES {
            return Ok(answer);
        }
        // One answer of any size fits where no other is under way.
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.answers.per_source_max());
        match self.answers.take(from, bytes) {
            Some(share) => Ok(hold_until_sent(answer, share)),
            None => Err(ApiError::overloaded()),
        }
    }
}

/// The memory of one body, which belongs to the request until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct BodyBytes {
    pub(crate) bytes: Vec<u8>,
    /// The share of the capacity above [`SMALL_BYTES`].
    large: Option<SourceShare>,
    /// The place among the bodies whose caller is unknown.
    unidentified: Option<SourceShare>,
}

impl BodyBytes {
    /// Appends bytes, and takes the memory for them before it allocates. Returns whether there was
    /// room. `is_identified` says whether the key of the request is known.
    pub(crate) fn append(
        &mut self,
        data: &[u8],
        limits: &BodyLimits,
        from: IpAddr,
        is_identified: bool,
    ) -> bool {
        let length = self.bytes.len() + data.len();
        let capacity = self.bytes.capacity();
        if length > capacity {
            let wanted =
                if length <= SMALL_BYTES { SMALL_BYTES } else { length.next_power_of_two() };
            if wanted > SMALL_BYTES && !self.take_share(wanted, limits, from, is_identified) {
                return false;
            }
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(data);
        true
    }

    /// Takes the share of a body that needs `wanted` bytes.
    fn take_share(
        &mut self,
        wanted: usize,
        limits: &BodyLimits,
        from: IpAddr,
        is_identified: bool,
    ) -> bool {
        if !is_identified && self.unidentified.is_none() {
            self.unidentified = limits.unidentified.take(from, 1);
            if self.unidentified.is_none() {
                return false;
            }
        }
        let more = wanted - self.bytes.capacity().max(SMALL_BYTES);
        match &mut self.large {
            Some(share) => share.grow(more),
            None => {
                self.large = limits.large.take(from, more);
                self.large.is_some()
            }
        }
    }

    /// Ends the reading: the place among the unidentified bodies is free again. The memory stays
    /// the request's, as that of the values parsed from it does.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.unidentified = None;
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_share_a_budget_until_they_are_sent() {
        let limits = BodyLimits::with_answers(1_024 * 1_024);
        let answer = |kib: usize| Response::new(vec![b'x'; kib * 1_024].into());
        let hold = |kib, last| limits.hold_answer(answer(kib), address(last));
        let long = hold(5_000, 1).expect("one of any size fits");
        assert!(hold(257, 1).is_err() && hold(257, 2).is_err(), "it is under way");
        assert!(hold(256, 1).is_ok(), "a short one needs no share");
        drop(long);
        let half = hold(600, 1).expect("the first was sent");
        assert!(hold(600, 2).is_err() && hold(400, 2).is_ok());
        drop(half);
    }

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// The number of bodies of a source, of 200 KiB each, until one is refused.
    fn count_large(limits: &BodyLimits, from: IpAddr, kept: &mut Vec<BodyBytes>) -> usize {
        let data = vec![b' '; 200 * 1_024];
        for count in 0.. {
            let mut body = BodyBytes::default();
            if !body.append(&data, limits, from, true) {
                return count;
            }
            kept.push(body);
        }
        unreachable!("the loop ends at a refusal")
    }

    #[test]
    fn larger_bodies_share_a_budget_and_small_ones_need_none() {
        let limits = BodyLimits::default();
        let mut kept = Vec::new();
        let counts: Vec<usize> =
            (1..=6).map(|last| count_large(&limits, address(last), &mut kept)).collect();
        assert_eq!(counts, [33, 33, 33, 33, 0, 0], "8 MiB each, 32 MiB in all");
        let mut small = BodyBytes::default();
        assert!(small.append(&[b' '; SMALL_BYTES], &limits, address(1), false));
        assert!(!small.append(&[b' '; 2 * SMALL_BYTES], &limits, address(1), true));
        kept.clear();
        assert!(small.append(b" ", &limits, address(1), true));
    }

    /// Begins one body without a key more than a source may have of larger ones. Returns the
    /// bodies, and which of them had room.
    fn begin_without_key(limits: &BodyLimits, bytes: usize) -> Vec<(BodyBytes, bool)> {
        let begin = |_| {
            let mut body = BodyBytes::default();
            let has_room = body.append(&vec![b' '; bytes], limits, address(1), false);
            (body, has_room)
        };
        (0..=UNIDENTIFIED_PER_SOURCE_MAX).map(begin).collect()
    }

    #[test]
    fn a_small_body_takes_no_place_of_those_without_a_key() {
        let bodies = begin_without_key(&BodyLimits::default(), SMALL_BYTES);
        assert!(bodies.iter().all(|(_, has_room)| *has_room));
    }

    #[test]
    fn a_body_has_no_more_memory_than_it_has_taken() {
        let limits = BodyLimits::default();
        let mut body = BodyBytes::default();
        for (bytes, memory) in
            [(0, 0), (5_000, SMALL_BYTES), (5_000, 2 * SMALL_BYTES), (10_000, 4 * SMALL_BYTES)]
        {
            assert!(body.append(&vec![b' '; bytes], &limits, address(1), true));
            assert_eq!(body.bytes.capacity(), memory, "{} bytes", body.bytes.len());
        }
    }

    #[test]
    fn few_larger_bodies_are_read_before_the_key_is_known() {
        let limits = BodyLimits::default();
        let mut bodies = begin_without_key(&limits, SMALL_BYTES + 1);
        for (nth, (_, has_room)) in bodies.iter().enumerate() {
            assert_eq!(*has_room, nth < UNIDENTIFIED_PER_SOURCE_MAX, "{nth}");
        }
        let mut waiting = BodyBytes::default();
        assert!(waiting.append(&[b' '; SMALL_BYTES + 1], &limits, address(1), true));
        assert_eq!(bodies[0].0.finish().len(), SMALL_BYTES + 1);
        assert!(BodyBytes::default().append(&[b' '; 9_000], &limits, address(1), false));
    }
}
