//! A limit on guessing which e-mail addresses belong to clients. Reference 3.6.
//!
//! Some refusals of a booking by a key alone reveal that an address belongs to a client, or the
//! times of that client's appointments. So do refusals of a move by an appointment's secret. They
//! are counted by e-mail address, by address and source, by source, and by the networks of an IPv6
//! source.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::domain::time::{HOUR, Instant};
use crate::engine::AcceptanceHook;
use crate::http::error::ApiError;
use crate::http::limits::saved_counts::NamedCounts;
use crate::http::limits::sliding_window::SlidingWindow;
use crate::http::limits::source_networks::SourceNetworks;

/// Seconds for which a refusal counts.
const WINDOW_SECONDS: i64 = HOUR;
/// Maximum number of refusals of one e-mail address within the window, to one source. Beyond as
/// many of all sources a booking is asked for a code, so that no stranger keeps the owner out.
pub(crate) const REFUSALS_PER_EMAIL_MAX: usize = 10;
/// Maximum number of refusals to one source within the window.
pub(crate) const REFUSALS_PER_SOURCE_MAX: usize = 20;
/// Maximum number of refusals to a /56 within the window; twice that to a /48. The addresses of an
/// IPv4 /24 may have many holders, and count by themselves.
pub(crate) const REFUSALS_PER_SITE_MAX: usize = 2 * REFUSALS_PER_SOURCE_MAX;
/// Longest time that a booking waits for others of the same address and of the same source.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(5);

/// The refusals of the last hour, and the bookings under way.
#[derive(Debug)]
pub(crate) struct EnumerationLimit {
    emails: Arc<RefusalCount>,
    /// By address and source.
    pairs: Arc<RefusalCount>,
    sources: Arc<RefusalCount>,
    sites: Arc<RefusalCount>,
    widest: Arc<RefusalCount>,
}

impl Default for EnumerationLimit {
    fn default() -> Self {
        Self {
            emails: Arc::new(RefusalCount::new(REFUSALS_PER_EMAIL_MAX)),
            pairs: Arc::new(RefusalCount::new(REFUSALS_PER_EMAIL_MAX)),
            sources: Arc::new(RefusalCount::new(REFUSALS_PER_SOURCE_MAX)),
            sites: Arc::new(RefusalCount::new(REFUSALS_PER_SITE_MAX)),
            widest: Arc::new(RefusalCount::new(2 * REFUSALS_PER_SITE_MAX)),
        }
    }
}

/// Something that refusals and bookings under way are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum RefusalKey {
    /// A folded e-mail address.
    Email(Arc<str>),
    /// A folded e-mail address at a source.
    Pair(Arc<str>, IpNet),
    /// A source or a network around it.
    Network(IpNet),
}

/// The refusals of the last hour and the bookings under way, by one kind of key.
#[derive(Debug)]
struct RefusalCount {
    max: usize,
    refusals: SlidingWindow<RefusalKey>,
    /// The bookings under way. Each may become a refusal, so together with the counted refusals
    /// they stay within the limit: a burst reveals no more than a sequence. A key without bookings
    /// under way or waiting has no entry.
    under_way: Mutex<BTreeMap<RefusalKey, UnderWay>>,
}

/// The bookings of one key that are under way or wait for that.
#[derive(Debug, Default)]
struct UnderWay {
    /// Number of bookings under way.
    count: usize,
    /// Number of bookings that wait.
    waiting: usize,
    /// Wakes one that waits, in order of arrival, for each that leaves; `None` until one waits.
    left: Option<Arc<Notify>>,
}

/// The result of an attempt to put a booking under way.
enum Admission {
    Entered,
    /// The bookings under way could use up the refusals. One of them ends with the notification.
    Wait(OwnedNotified),
    /// The refusals are used up. Holds the seconds until there is one more.
    Exhausted(i64),
}

/// One booking under way, until it leaves or this is dropped.
#[derive(Debug)]
struct Turn {
    count: Arc<RefusalCount>,
    key: RefusalKey,
    is_under_way: AtomicBool,
}

/// A booking that waits to be under way, until this is dropped.
struct Waiting<'c> {
    count: &'c RefusalCount,
    key: &'c RefusalKey,
}

/// Permission for one booking, which is under way until it is accepted or this is dropped.
#[derive(Debug)]
pub(crate) struct BookingPermit {
    turns: Arc<Vec<Turn>>,
    /// Whether the refusals of the address are used up, of all sources together.
    pub(crate) is_email_exhausted: bool,
}

impl EnumerationLimit {
    /// The counts of refusals, for other servers of a cluster. Bookings under way end with this
    /// one.
    pub(crate) fn counts(&self) -> [NamedCounts<'_>; 5] {
        [
            NamedCounts::new("refusals.emails", &self.emails.refusals),
            NamedCounts::new("refusals.pairs", &self.pairs.refusals),
            NamedCounts::new("refusals.sources", &self.sources.refusals),
            NamedCounts::new("refusals.sites", &self.sites.refusals),
            NamedCounts::new("refusals.widest", &self.widest.refusals),
        ]
    }

    /// Permits a booking or a move for a folded e-mail address, if it has one, from a source. One
    /// behind the key of a server has none, since that stands for many clients. Waits while the
    /// bookings of the address or of a network that are under way could use up the refusals. Where
    /// a code may be asked for instead, the address counts at the source alone.
    ///
    /// # Errors
    /// 429 after too many refusals; 503 after five seconds of waiting.
    pub(crate) async fn admit(
        &self,
        email: Option<Arc<str>>,
        from: Option<IpAddr>,
        may_ask_code: bool,
        now: Instant,
    ) -> Result<BookingPermit, ApiError> {
        let deadline = tokio::time::Instant::now() + WAIT_MAX;
        let mut counted = Vec::new();
        let counts_alone = may_ask_code && from.is_some();
        if let Some(email) = &email
            && !counts_alone
        {
            counted.push((&self.emails, RefusalKey::Email(email.clone())));
        }
        if let Some(from) = from {
            let SourceNetworks { own, site, widest } = SourceNetworks::around(from);
            if let Some(email) = &email
                && counts_alone
            {
                counted.push((&self.pairs, RefusalKey::Pair(email.clone(), own)));
            }
            counted.push((&self.sources, RefusalKey::Network(own)));
            if let Some(site) = site {
                counted.push((&self.sites, RefusalKey::Network(site)));
                counted.push((&self.widest, RefusalKey::Network(widest)));
            }
        }
        // All enter in this order, so that none waits for another that waits for it.
        let mut turns = Vec::with_capacity(counted.len());
        for (count, key) in counted {
            turns.push(enter(count, key, now, deadline).await?);
        }
        let mut is_email_exhausted = false;
        if let Some(email) = email
            && counts_alone
        {
            let turn = enter_at_once(&self.emails, RefusalKey::Email(email), now);
            is_email_exhausted = turn.is_none();
            turns.extend(turn);
        }
        Ok(BookingPermit { turns: Arc::new(turns), is_email_exhausted })
    }
}

impl BookingPermit {
    /// Counts the booking as a refusal that reveals something about a client.
    pub(crate) fn count_refusal(&self, now: Instant) {
        for turn in &*self.turns {
            turn.count.refusals.add(&turn.key, now);
        }
    }

    /// Returns the hook that ends the turn once the booking is accepted. It cannot be refused any
    /// more, so others need not wait until it is durable.
    pub(crate) fn acceptance_hook(&self) -> AcceptanceHook {
        let turns = Arc::clone(&self.turns);
        AcceptanceHook::new(move || {
            for turn in &*turns {
                turn.leave();
            }
        })
    }
}

/// Puts a booking under way once it could be refused without exceeding the limit.
async fn enter(
    count: &Arc<RefusalCount>,
    key: RefusalKey,
    now: Instant,
    deadline: tokio::time::Instant,
) -> Result<Turn, ApiError> {
    let entered = match count.try_enter(&key, now) {
        Admission::Entered => Ok(()),
        Admission::Exhausted(seconds) => Err(seconds),
        Admission::Wait(left) => {
            let waited = tokio::time::timeout_at(deadline, count.wait_in_line(&key, left, now));
            // On the heap: most bookings need not wait.
            Box::pin(waited).await.map_err(|_| ApiError::overloaded())?
        }
    };
    match entered {
        Ok(()) => Ok(Turn::new(count, key)),
        Err(seconds) => {
            let what = "bookings or moves were refused for reasons that tell of a client";
            Err(ApiError::too_many(what, seconds))
        }
    }
}

/// Puts a booking under way, unless the refusals are used up or could be by those under way.
fn enter_at_once(count: &Arc<RefusalCount>, key: RefusalKey, now: Instant) -> Option<Turn> {
    if count.enter_if_room(&key, now) { Some(Turn::new(count, key)) } else { None }
}

impl RefusalCount {
    fn new(max: usize) -> Self {
        let refusals = SlidingWindow::new(max, WINDOW_SECONDS);
        Self { max, refusals, under_way: Mutex::default() }
    }

    /// Waits until a booking that waits, with its first notification, is under way.
    ///
    /// # Errors
    /// The refusals are used up. Holds the seconds until there is one more.
    async fn wait_in_line(
        &self,
        key: &RefusalKey,
        mut left: OwnedNotified,
        now: Instant,
    ) -> Result<(), i64> {
        loop {
            let waiting = Waiting { count: self, key };
            left.await;
            drop(waiting);
            match self.try_enter(key, now) {
                Admission::Entered => return Ok(()),
                Admission::Wait(next) => left = next,
                Admission::Exhausted(seconds) => {
                    // The next one that waits is to be refused too.
                    self.change(key, |others| others.wake_one());
                    return Err(seconds);
                }
            }
        }
    }

    fn try_enter(&self, key: &RefusalKey, now: Instant) -> Admission {
        let mut under_way = self.under_way.lock();
        if let Some(seconds) = self.refusals.wait(key, now) {
            return Admission::Exhausted(seconds);
        }
        let refused = self.refusals.count(key, now);
        let others = under_way.entry(key.clone()).or_default();
        if others.count + refused >= self.max {
            others.waiting += 1;
            // Created under the lock, so that no booking that leaves is missed.
            let left = others.left.get_or_insert_default();
            return Admission::Wait(Arc::clone(left).notified_owned());
        }
        others.count += 1;
        if others.count + refused < self.max {
            // Several left before one that waits listened. That is one notification, not several.
            others.wake_one();
        }
        Admission::Entered
    }

    /// Counts one more booking under way, if the refusals last for it. Returns whether they do.
    fn enter_if_room(&self, key: &RefusalKey, now: Instant) -> bool {
        let mut under_way = self.under_way.lock();
        let refused = self.refusals.count(key, now);
        let others = under_way.get(key).map_or(0, |others| others.count);
        let has_room = others + refused < self.max;
        if has_room {
            under_way.entry(key.clone()).or_default().count += 1;
        }
        has_room
    }

    /// Changes the entry of a key, and removes it if no booking is left in it.
    fn change(&self, key: &RefusalKey, change: impl FnOnce(&mut UnderWay)) {
        let mut under_way = self.under_way.lock();
        let Some(others) = under_way.get_mut(key) else { return };
        change(others);
        if others.count == 0 && others.waiting == 0 {
            under_way.remove(key);
        }
    }
}

impl UnderWay {
    /// Wakes the first booking that waits, if any does.
    fn wake_one(&self) {
        if let Some(left) = &self.left
            && self.waiting > 0
        {
            left.notify_one();
        }
    }
}

impl Turn {
    /// The turn of a booking that is counted as under way.
    fn new(count: &Arc<RefusalCount>, key: RefusalKey) -> Self {
        Self { count: Arc::clone(count), key, is_under_way: AtomicBool::new(true) }
    }

    /// Ends the turn, if it has not ended yet, and wakes one booking that waits.
    fn leave(&self) {
        if !self.is_under_way.swap(false, Ordering::Relaxed) {
            return;
        }
        self.count.change(&self.key, |others| {
            others.count -= 1;
            others.wake_one();
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.change(self.key, |others| others.waiting -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const NOW: Instant = Instant(1_000);

    type Booking<'l> = Pin<Box<dyn Future<Output = Result<BookingPermit, ApiError>> + 'l>>;

    fn from_one_source(limit: &EnumerationLimit) -> Booking<'_> {
        Box::pin(limit.admit(None, Some([10, 0, 0, 1].into()), true, NOW))
    }

    /// A booking for one address; without a source, behind the key of a server.
    fn for_ann(limit: &EnumerationLimit, source: Option<usize>, may_ask_code: bool) -> Booking<'_> {
        let from = source.map(|last| IpAddr::from([10, 0, 0, u8::try_from(last).expect("small")]));
        Box::pin(limit.admit(Some("ann@x.org".into()), from, may_ask_code, NOW))
    }

    fn poll(booking: &mut Booking<'_>) -> Poll<Result<BookingPermit, ApiError>> {
        booking.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    fn permit(booking: &mut Booking<'_>) -> BookingPermit {
        let Poll::Ready(Ok(permit)) = poll(booking) else { panic!("is permitted") };
        permit
    }

    /// Permits as many bookings from one source as may be under way.
    fn fill(limit: &EnumerationLimit) -> Vec<BookingPermit> {
        (0..REFUSALS_PER_SOURCE_MAX).map(|_| permit(&mut from_one_source(limit))).collect()
    }

    /// Three more bookings from that source, in the order in which they wait.
    fn three_that_wait(limit: &EnumerationLimit) -> Vec<Booking<'_>> {
        let mut waiting: Vec<_> = (0..3).map(|_| from_one_source(limit)).collect();
        assert!(waiting.iter_mut().all(|booking| poll(booking).is_pending()));
        waiting
    }

    #[tokio::test]
    async fn an_accepted_booking_keeps_no_other_waiting() {
        let limit = EnumerationLimit::default();
        let permits = fill(&limit);
        let mut next = from_one_source(&limit);
        assert!(poll(&mut next).is_pending());
        permits[0].acceptance_hook().call();
        let next = permit(&mut next);
        drop(permits);
        drop(next);
        assert!(limit.sources.under_way.lock().is_empty(), "each turn ended once");
    }

    #[tokio::test]
    async fn bookings_that_wait_come_in_order_and_one_by_one() {
        let limit = EnumerationLimit::default();
        let mut permits = fill(&limit);
        let mut waiting = three_that_wait(&limit);
        // Its notification goes to the next one.
        drop(permits.pop());
        drop(waiting.remove(0));
        assert!(poll(&mut waiting[1]).is_pending(), "not its turn");
        permits.push(permit(&mut waiting[0]));
        assert!(poll(&mut waiting[1]).is_pending(), "one left, one came");
        drop(permits.pop());
        permits.push(permit(&mut waiting[1]));
        drop((permits, waiting));
        assert!(limit.sources.under_way.lock().is_empty());
    }

    #[tokio::test]
    async fn a_booking_that_comes_by_the_last_place_changes_no_order_of_those_that_wait() {
        let limit = EnumerationLimit::default();
        let mut permits = fill(&limit);
        let mut waiting = three_that_wait(&limit);
        drop(permits.pop());
        permits.push(permit(&mut waiting[0]));
        assert!(waiting[1..].iter_mut().all(|booking| poll(booking).is_pending()));
        drop(permits.pop());
        assert!(poll(&mut waiting[2]).is_pending(), "not its turn");
        permit(&mut waiting[1]);
    }

    #[tokio::test]
    async fn refusals_of_all_sources_count_for_an_address_and_a_code_goes_beyond_them() {
        let limit = EnumerationLimit::default();
        for source in 0..REFUSALS_PER_EMAIL_MAX {
            permit(&mut for_ann(&limit, Some(source), false)).count_refusal(NOW);
        }
        for source in [None, Some(99)] {
            let refused = poll(&mut for_ann(&limit, source, false));
            assert!(matches!(refused, Poll::Ready(Err(_))), "without a code");
        }
        let refused = poll(&mut for_ann(&limit, None, true));
        assert!(matches!(refused, Poll::Ready(Err(_))), "a server's clients have no source");
        assert!(permit(&mut for_ann(&limit, Some(99), true)).is_email_exhausted);
    }

    #[tokio::test]
    async fn an_address_asks_for_codes_once_its_refusals_and_bookings_under_way_reach_the_limit() {
        let limit = EnumerationLimit::default();
        permit(&mut for_ann(&limit, Some(0), true)).count_refusal(NOW);
        let mut permits = Vec::new();
        for source in 1..REFUSALS_PER_EMAIL_MAX {
            permits.push(permit(&mut for_ann(&limit, Some(source), true)));
        }
        assert!(permits.iter().all(|permit| !permit.is_email_exhausted));
        assert!(permit(&mut for_ann(&limit, Some(99), true)).is_email_exhausted);
        drop(permits.pop());
        assert!(!permit(&mut for_ann(&limit, Some(99), true)).is_email_exhausted, "one has left");
    }

    #[tokio::test]
    async fn places_that_are_left_before_others_wait_for_them_are_all_taken() {
        let limit = EnumerationLimit::default();
        let mut permits = fill(&limit);
        let key = RefusalKey::Network(SourceNetworks::around([10, 0, 0, 1].into()).own);
        let mut lines = Vec::new();
        for _ in 0..3 {
            let Admission::Wait(left) = limit.sources.try_enter(&key, NOW) else {
                panic!("no place is left")
            };
            lines.push(Box::pin(limit.sources.wait_in_line(&key, left, NOW)));
        }
        permits.truncate(REFUSALS_PER_SOURCE_MAX - 2);
        let mut entered = Vec::new();
        for line in &mut lines {
            let poll = line.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            entered.push(poll.is_ready());
        }
        assert_eq!(entered, [true, true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_booking_waits_no_longer_for_its_source_after_its_address() {
        let limit = EnumerationLimit::default();
        let _permits = fill(&limit);
        let admit = |source: u8| -> Booking<'_> {
            Box::pin(limit.admit(
                Some("ann@x.org".into()),
                Some([10, 0, 0, source].into()),
                false,
                NOW,
            ))
        };
        let mut others: Vec<_> =
            (0..REFUSALS_PER_EMAIL_MAX).map(|_| permit(&mut admit(2))).collect();
        let mut booking = admit(1);
        assert!(poll(&mut booking).is_pending(), "it waits for its address");
        tokio::time::advance(WAIT_MAX * 3 / 4).await;
        drop(others.pop());
        assert!(poll(&mut booking).is_pending(), "it waits for its source");
        tokio::time::advance(WAIT_MAX * 3 / 4).await;
        assert!(matches!(poll(&mut booking), Poll::Ready(Err(_))), "the time is over");
    }

    #[tokio::test]
    async fn bookings_that_wait_are_refused_with_the_last_refusal() {
        let limit = EnumerationLimit::default();
        let permits = fill(&limit);
        let mut waiting = three_that_wait(&limit);
        for permit in permits {
            permit.count_refusal(NOW);
        }
        for booking in &mut waiting {
            assert!(matches!(poll(booking), Poll::Ready(Err(_))));
        }
        drop(waiting);
        assert!(limit.sources.under_way.lock().is_empty());
    }
}
