//! The lease of the server of a cluster that decides, and the time when another may take over.
//!
//! A server that decides holds its lease for a time from the moment at which it sent its last good
//! beat. Another takes only when it has seen no beat for longer than that, and PostgreSQL compares
//! the beats once more under a lock. So no two hold a lease, whatever their clocks say of the hour.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;

use crate::store::record::BatchNumber;

/// Time between two beats.
pub(crate) const BEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Longest time that a lease is held after the last good beat was sent.
pub(crate) const LEASE_TIME: Duration = Duration::from_millis(2_500);
/// Time without a beat after which another server may take over.
pub(crate) const SILENCE_TIME: Duration = Duration::from_millis(3_500);

/// Returns the time since this machine has started, with the time for which it slept.
pub(crate) fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

/// The server that decides, as a beat has reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HolderReport {
    /// Number of its beats, which each change of the server raises too.
    pub(crate) beat: i64,
    /// Whether it is this server.
    pub(crate) is_self: bool,
    /// Whether it has left, so that no other server need wait, except for its successor.
    pub(crate) released: bool,
    /// The server to which it is to hand over.
    pub(crate) successor: NamedSuccessor,
    /// Address at which others reach it; empty before the first.
    pub(crate) url: String,
}

/// The server to which the one that decides is to hand over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NamedSuccessor {
    /// No hand-over was asked for.
    #[default]
    None,
    /// This server.
    This,
    /// Another one.
    Other,
}

/// The condition on which a server that follows takes over. PostgreSQL checks it under a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakeoverCondition {
    /// The server that decides has not beaten since this beat.
    NoBeatSince(i64),
    /// The server that decides has left, and has named this one its successor.
    LeftToThis,
}

/// The lease of this server, and its view of the server that decides. Times are those of
/// [`uptime`].
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// End of the lease, in milliseconds; 0 without one.
    until_ms: AtomicU64,
    /// Number of the last row of the journal that this server has applied.
    applied: AtomicU64,
    /// The last time at which it had applied all rows, in milliseconds; 0 before.
    current_ms: AtomicU64,
    /// Rows that it had not applied at its last beat.
    rows_behind: AtomicU64,
    view: Mutex<View>,
    /// Address of the server that decides, as `view` has it.
    holder_url: watch::Sender<Option<String>>,
}

#[derive(Debug, Default)]
struct View {
    report: Option<HolderReport>,
    /// Since when this server, whose writes PostgreSQL takes, has seen this beat.
    unchanged_since: Option<Duration>,
    /// Whether this server has taken over.
    has_decided: bool,
    /// Whether this server has ended its lease for good.
    has_ended: bool,
    /// Address at which others reach this server; empty until it has joined.
    own_url: String,
    /// Whether this server, which has taken over, takes requests.
    takes_requests: bool,
}

impl View {
    /// The address of the server that decides; `None` if none is known, or takes requests.
    fn holder_url(&self) -> Option<&str> {
        if self.has_decided && !self.has_ended {
            return self.takes_requests.then_some(&self.own_url);
        }
        let report = self.report.as_ref()?;
        // At its own address an earlier start of it may have decided.
        let is_own = report.is_self || report.url == self.own_url;
        let is_known = !report.released && !is_own && !report.url.is_empty();
        is_known.then_some(&report.url)
    }
}

impl Lease {
    /// Whether the lease is held at `now`.
    pub(crate) fn is_held_at(&self, now: Duration) -> bool {
        as_millis(now) < self.until_ms.load(Ordering::Acquire)
    }

    /// Whether the lease is held now: no other server can have decided anything.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held_at(uptime())
    }

    /// Time since the last good beat was sent, of a server that has decided; `None` before.
    pub(crate) fn age(&self) -> Option<Duration> {
        let until = Duration::from_millis(match self.until_ms.load(Ordering::Acquire) {
            0 => return None,
            until => until,
        });
        Some((uptime() + LEASE_TIME).saturating_sub(until))
    }

    /// Notes what a good beat, which was sent at `sent`, has said at `now`.
    pub(crate) fn note_beat(&self, sent: Duration, now: Duration, report: HolderReport) {
        let mut view = self.view.lock();
        let is_same = view.report.as_ref().is_some_and(|seen| seen.beat == report.beat);
        if !is_same || view.unchanged_since.is_none() {
            view.unchanged_since = Some(now);
        }
        if report.is_self && !report.released && !view.has_ended {
            self.extend(sent);
        }
        view.report = Some(report);
        self.publish_holder(&view);
    }

    /// Notes that a beat has failed: the silence of others is counted anew.
    pub(crate) fn note_failure(&self) {
        self.view.lock().unchanged_since = None;
    }

    /// Notes that this server has taken over by a call that was sent at `sent`.
    pub(crate) fn note_takeover(&self, sent: Duration) {
        let mut view = self.view.lock();
        view.has_decided = true;
        if !view.has_ended {
            self.extend(sent);
        }
        self.publish_holder(&view);
    }

    /// Notes the address at which others reach this server.
    pub(crate) fn note_own_url(&self, own_url: &str) {
        own_url.clone_into(&mut self.view.lock().own_url);
    }

    /// Notes that this server, which has taken over, takes requests.
    pub(crate) fn note_serving(&self) {
        let mut view = self.view.lock();
        view.takes_requests = true;
        self.publish_holder(&view);
    }

    /// Whether this server has taken over.
    pub(crate) fn has_decided(&self) -> bool {
        self.view.lock().has_decided
    }

    /// Ends the lease for good: no later beat extends it.
    pub(crate) fn end(&self) {
        let mut view = self.view.lock();
        view.has_ended = true;
        self.until_ms.store(0, Ordering::Release);
        self.publish_holder(&view);
    }

    /// Whether this server has ended its lease, and the last beat has said that it decides.
    pub(crate) fn is_unreleased(&self) -> bool {
        let view = self.view.lock();
        let is_named = |report: &HolderReport| report.is_self && !report.released;
        view.has_ended && view.report.as_ref().is_some_and(is_named)
    }

    fn extend(&self, sent: Duration) {
        self.until_ms.fetch_max(as_millis(sent + LEASE_TIME), Ordering::AcqRel);
    }

    /// Returns the condition on which this server, which follows, takes over at `now`; `None` while
    /// another decides, or may decide. A server that follows and is named itself has taken before,
    /// and never learnt of it: no other may then decide, and it takes once more. A successor does
    /// not wait until a beat says that the other has left.
    pub(crate) fn may_take_at(&self, now: Duration) -> Option<TakeoverCondition> {
        let view = self.view.lock();
        let report = view.report.as_ref()?;
        let since = view.unchanged_since?;
        let is_silent = now.saturating_sub(since) >= SILENCE_TIME;
        let is_left_to_it = report.released && report.successor != NamedSuccessor::Other;
        if is_left_to_it || report.is_self || is_silent {
            return Some(TakeoverCondition::NoBeatSince(report.beat));
        }
        (report.successor == NamedSuccessor::This).then_some(TakeoverCondition::LeftToThis)
    }

    /// Whether this server decides and is asked to hand over to another one.
    pub(crate) fn is_to_hand_over(&self) -> bool {
        let view = self.view.lock();
        let asked =
            |report: &HolderReport| report.is_self && report.successor == NamedSuccessor::Other;
        !view.has_ended && view.report.as_ref().is_some_and(asked)
    }

    /// Whether the server that decides is about to hand over to this one, which looks often then,
    /// so that requests wait for short only.
    pub(crate) fn is_successor(&self) -> bool {
        let view = self.view.lock();
        let is_named =
            |report: &HolderReport| report.successor == NamedSuccessor::This && !report.is_self;
        // Not while its beats fail: what fails would be tried often.
        view.unchanged_since.is_some() && view.report.as_ref().is_some_and(is_named)
    }

    /// Whether the server that decided has left a moment before `now`, and this one does not know
    /// who decides after it. It beats often then, so that requests wait for short only.
    pub(crate) fn awaits_holder_at(&self, now: Duration) -> bool {
        let view = self.view.lock();
        let (Some(report), Some(since)) = (&view.report, view.unchanged_since) else {
            return false;
        };
        let has_left = report.released || (report.is_self && view.has_ended);
        has_left && now.saturating_sub(since) < SILENCE_TIME
    }

    /// Notes the last row of the journal at `now`, which this server has applied.
    pub(crate) fn note_applied(&self, number: BatchNumber, now: Duration) {
        self.applied.store(number.0, Ordering::Relaxed);
        self.current_ms.store(as_millis(now), Ordering::Relaxed);
    }

    /// Notes the last row of the journal, as a beat has reported it.
    pub(crate) fn note_last_row(&self, number: BatchNumber) {
        self.rows_behind.store(number.0.saturating_sub(self.applied().0), Ordering::Relaxed);
    }

    /// Number of rows that this server had not applied at its last beat; 0 once it has taken over.
    pub(crate) fn rows_behind(&self) -> u64 {
        if self.has_decided() { 0 } else { self.rows_behind.load(Ordering::Relaxed) }
    }

    /// Time since this server had applied all rows; since `began` if it never had. None passes once
    /// it has taken over.
    pub(crate) fn time_behind(&self, began: Duration, now: Duration) -> Duration {
        if self.has_decided() {
            return Duration::ZERO;
        }
        let current = Duration::from_millis(self.current_ms.load(Ordering::Relaxed));
        now.saturating_sub(current.max(began))
    }

    /// Number of the last row of the journal that this server has applied.
    pub(crate) fn applied(&self) -> BatchNumber {
        BatchNumber(self.applied.load(Ordering::Relaxed))
    }

    /// Returns the address of the server that decides, as far as this one knows, and each later
    /// one. It is `None` while none is known, or takes requests.
    pub(crate) fn watch_holder(&self) -> watch::Receiver<Option<String>> {
        self.holder_url.subscribe()
    }

    fn publish_holder(&self, view: &View) {
        let url = view.holder_url();
        self.holder_url.send_if_modified(|published| {
            let is_other = published.as_deref() != url;
            if is_other {
                *published = url.map(str::to_owned);
            }
            is_other
        });
    }

    /// Whether another server has taken over from this one, which has not left, as the last beat
    /// has said.
    pub(crate) fn was_taken(&self) -> bool {
        let view = self.view.lock();
        !view.has_ended && view.report.as_ref().is_some_and(|report| !report.is_self)
    }
}

fn as_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::TakeoverCondition::{LeftToThis, NoBeatSince};
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn report(beat: i64, is_self: bool) -> HolderReport {
        HolderReport {
            beat,
            is_self,
            released: false,
            successor: NamedSuccessor::None,
            url: "http://a:8080".to_owned(),
        }
    }

    #[test]
    fn a_lease_is_counted_from_the_sending_of_the_beat() {
        let lease = Lease::default();
        assert!(!lease.is_held_at(ms(10_000)));
        lease.note_beat(ms(10_000), ms(11_900), report(1, true));
        assert!(lease.is_held_at(ms(12_499)));
        assert!(!lease.is_held_at(ms(12_500)));
        lease.note_beat(ms(12_000), ms(12_100), report(2, true));
        lease.note_failure();
        assert!(lease.is_held_at(ms(14_499)), "a failed beat takes nothing back");
        lease.end();
        assert!(!lease.is_held_at(ms(12_100)));
        lease.note_beat(ms(12_200), ms(12_300), report(3, true));
        lease.note_takeover(ms(12_300));
        assert!(!lease.is_held_at(ms(12_400)), "what was ended does not come back");
    }

    #[test]
    fn a_server_that_has_left_is_unreleased_until_a_beat_says_so() {
        let lease = Lease::default();
        lease.note_beat(ms(10_000), ms(10_001), report(1, true));
        assert!(!lease.is_unreleased(), "it decides");
        lease.end();
        assert!(lease.is_unreleased());
        lease.note_beat(ms(10_500), ms(10_501), HolderReport { released: true, ..report(2, true) });
        assert!(!lease.is_unreleased());
        lease.note_beat(ms(11_000), ms(11_001), report(3, false));
        assert!(!lease.is_unreleased(), "another one decides");
    }

    #[test]
    fn silence_is_counted_from_the_first_sight_of_a_beat_and_anew_after_a_failure() {
        let lease = Lease::default();
        assert_eq!(lease.may_take_at(ms(100_000)), None, "it knows nothing yet");
        lease.note_beat(ms(10_000), ms(10_010), report(7, false));
        lease.note_beat(ms(12_000), ms(12_010), report(7, false));
        assert_eq!(lease.may_take_at(ms(13_509)), None);
        assert_eq!(lease.may_take_at(ms(13_510)), Some(NoBeatSince(7)));
        lease.note_beat(ms(13_400), ms(13_420), report(8, false));
        assert_eq!(lease.may_take_at(ms(13_510)), None, "it was heard");
        lease.note_failure();
        assert_eq!(lease.may_take_at(ms(60_000)), None, "PostgreSQL takes no writes");
        lease.note_beat(ms(60_000), ms(60_001), report(8, false));
        assert_eq!(lease.may_take_at(ms(63_500)), None);
        assert_eq!(lease.may_take_at(ms(63_501)), Some(NoBeatSince(8)));
        assert!(!lease.is_held_at(ms(60_002)), "the beats of others give no lease");
    }

    #[test]
    fn a_server_that_has_taken_without_learning_of_it_takes_once_more() {
        let lease = Lease::default();
        // Its own beats raise the number, so that it is never silent.
        for beat in 1..20_u32 {
            let now = ms(10_000) + BEAT_INTERVAL * beat;
            lease.note_beat(now, now, report(i64::from(beat), true));
            assert_eq!(lease.may_take_at(now), Some(NoBeatSince(i64::from(beat))));
        }
    }

    #[test]
    fn a_server_that_has_left_is_followed_at_once() {
        let lease = Lease::default();
        let released = HolderReport { released: true, ..report(3, false) };
        lease.note_beat(ms(10_000), ms(10_010), released);
        assert_eq!(lease.may_take_at(ms(10_011)), Some(NoBeatSince(3)));
        assert_eq!(*lease.watch_holder().borrow(), None);
        let own = HolderReport { released: true, ..report(4, true) };
        lease.note_beat(ms(11_000), ms(11_010), own);
        assert!(!lease.is_held_at(ms(11_011)), "what was released is not held");
    }

    #[test]
    fn the_address_of_the_server_that_decides_is_known_from_when_it_takes_requests() {
        let lease = Lease::default();
        let mut holder = lease.watch_holder();
        lease.note_own_url("http://b:8080");
        let own = |is_self| HolderReport { url: "http://b:8080".to_owned(), ..report(3, is_self) };
        lease.note_beat(ms(9_500), ms(9_510), own(false));
        assert!(!holder.has_changed().expect("it is there"), "an earlier start of it decided");
        lease.note_beat(ms(10_000), ms(10_010), report(1, false));
        assert_eq!(holder.borrow_and_update().as_deref(), Some("http://a:8080"));
        lease.note_beat(ms(10_500), ms(10_510), report(2, false));
        assert!(!holder.has_changed().expect("it is there"), "who waits is not woken in vain");
        lease.note_takeover(ms(11_000));
        assert_eq!(holder.borrow_and_update().as_deref(), None, "it takes no requests yet");
        lease.note_serving();
        assert_eq!(holder.borrow_and_update().as_deref(), Some("http://b:8080"));
        lease.note_beat(ms(11_500), ms(11_510), own(true));
        assert!(!holder.has_changed().expect("it is there"));
        lease.end();
        lease.note_beat(ms(12_000), ms(12_010), own(true));
        assert_eq!(holder.borrow_and_update().as_deref(), None, "its own is over");
        lease.note_beat(ms(12_500), ms(12_510), report(4, false));
        assert_eq!(holder.borrow_and_update().as_deref(), Some("http://a:8080"));
    }

    #[test]
    fn a_follower_is_behind_by_rows_and_by_the_time_since_it_had_them_all() {
        let lease = Lease::default();
        lease.note_last_row(BatchNumber(7));
        assert_eq!(lease.rows_behind(), 7);
        assert_eq!(lease.time_behind(ms(10_000), ms(14_000)), ms(4_000), "it has read nothing yet");
        lease.note_applied(BatchNumber(7), ms(14_000));
        lease.note_last_row(BatchNumber(9));
        assert_eq!(lease.rows_behind(), 2);
        assert_eq!(lease.time_behind(ms(10_000), ms(14_300)), ms(300));
        lease.note_takeover(ms(14_400));
        assert_eq!(lease.rows_behind(), 0);
        assert_eq!(lease.time_behind(ms(10_000), ms(20_000)), ms(0));
    }

    #[test]
    fn a_successor_alone_need_not_wait_for_a_server_that_has_handed_over() {
        let handed = |successor| HolderReport { released: true, successor, ..report(3, false) };
        let lease = Lease::default();
        let named = HolderReport { released: false, ..handed(NamedSuccessor::This) };
        lease.note_beat(ms(9_500), ms(9_510), named);
        assert_eq!(lease.may_take_at(ms(9_511)), Some(LeftToThis));
        assert!(lease.is_successor());
        lease.note_failure();
        assert!(!lease.is_successor());
        lease.note_beat(ms(10_000), ms(10_010), handed(NamedSuccessor::This));
        assert_eq!(lease.may_take_at(ms(10_011)), Some(NoBeatSince(3)));
        let other = Lease::default();
        other.note_beat(ms(10_000), ms(10_010), handed(NamedSuccessor::Other));
        assert!(!other.is_successor());
        assert_eq!(other.may_take_at(ms(13_509)), None);
        let silent = other.may_take_at(ms(13_510));
        assert_eq!(silent, Some(NoBeatSince(3)), "the successor is dead as well");
    }

    #[test]
    fn a_server_that_has_handed_over_looks_often_until_another_decides() {
        let lease = Lease::default();
        let awaits = |now| lease.awaits_holder_at(ms(now));
        lease.note_takeover(ms(10_000));
        assert!(!lease.is_to_hand_over() && !awaits(10_000));
        let asked = HolderReport { successor: NamedSuccessor::Other, ..report(3, true) };
        lease.note_beat(ms(10_000), ms(10_010), asked.clone());
        assert!(lease.is_to_hand_over() && !awaits(10_020));
        lease.end();
        assert!(awaits(10_030), "it knows that itself");
        lease.note_beat(ms(10_100), ms(10_110), HolderReport { released: true, ..asked });
        assert!(!lease.is_to_hand_over(), "it is done once");
        assert!(awaits(10_120));
        let other = Lease::default();
        other.note_beat(
            ms(10_100),
            ms(10_110),
            HolderReport { released: true, ..report(3, false) },
        );
        assert!(other.awaits_holder_at(ms(13_609)));
        assert!(!other.awaits_holder_at(ms(13_610)), "none takes over");
        lease.note_beat(ms(10_200), ms(10_210), report(4, false));
        assert!(!awaits(10_220) && !lease.was_taken(), "it has left it to that one");
        assert_eq!(lease.watch_holder().borrow().as_deref(), Some("http://a:8080"));
    }
}
