//! A limit on guessing which e-mail addresses belong to clients. Reference 3.6.
//!
//! Where a key alone books, some refusals reveal that an address belongs to a client. Those are
//! counted by e-mail address and by source address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::domain::time::Instant;
use crate::http::auth::sliding_window::{SlidingWindow, source};
use crate::http::error::ApiError;

/// Seconds for which a refusal counts.
const WINDOW_SECONDS: i64 = 3_600;
/// Maximum number of refusals of one e-mail address within the window.
const REFUSALS_PER_EMAIL_MAX: usize = 10;
/// Maximum number of refusals to one source address within the window.
const REFUSALS_PER_SOURCE_MAX: usize = 20;
/// Longest time that a booking waits for others of the same address.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The refusals of the last hour, and the bookings under way.
#[derive(Debug)]
pub(crate) struct EnumerationLimit {
    emails: RefusalCount<Box<str>>,
    sources: RefusalCount<IpAddr>,
}

impl Default for EnumerationLimit {
    fn default() -> Self {
        Self {
            emails: RefusalCount::new(REFUSALS_PER_EMAIL_MAX),
            sources: RefusalCount::new(REFUSALS_PER_SOURCE_MAX),
        }
    }
}

/// The refusals of the last hour and the bookings under way, by one kind of key.
#[derive(Debug)]
struct RefusalCount<K: Ord> {
    max: usize,
    refusals: SlidingWindow<K>,
    /// The bookings under way. Each may become a refusal, so together with the counted refusals
    /// they stay within the limit: a burst reveals no more than a sequence. A key without bookings
    /// under way has no entry.
    under_way: Mutex<BTreeMap<K, UnderWay>>,
}

/// The bookings of one key that are under way, at least one.
#[derive(Debug)]
struct UnderWay {
    count: usize,
    /// Notified when one of them is no longer under way.
    left: Arc<Notify>,
}

/// The result of an attempt to put a booking under way.
enum Admission {
    Entered,
    /// The bookings under way could use up the refusals. One of them ends with the notification.
    Wait(OwnedNotified),
    /// The refusals are used up. Holds the seconds until there is one more.
    Exhausted(i64),
}

/// One booking under way, until this is dropped.
#[derive(Debug)]
struct Turn<'g, K: Ord> {
    count: &'g RefusalCount<K>,
    key: K,
}

/// Permission for one booking, which is under way until this is dropped.
#[derive(Debug)]
pub(crate) struct BookingPermit<'g> {
    email: Option<Turn<'g, Box<str>>>,
    source: Option<Turn<'g, IpAddr>>,
}

impl EnumerationLimit {
    /// Permits a booking for a folded e-mail address, if it has one, from a source. One behind the
    /// key of a server has none, since that stands for many clients. Waits while the bookings of
    /// the address or of the source that are under way could use up the refusals.
    ///
    /// # Errors
    /// 429 after too many refusals; 503 after five seconds of waiting.
    pub(crate) async fn admit(
        &self,
        email: Option<Box<str>>,
        from: Option<IpAddr>,
        now: Instant,
    ) -> Result<BookingPermit<'_>, ApiError> {
        let admitted = async {
            let email = match email {
                Some(email) => Some(self.emails.enter(email, now).await?),
                None => None,
            };
            let source = match from {
                Some(from) => Some(self.sources.enter(source(from), now).await?),
                None => None,
            };
            Ok(BookingPermit { email, source })
        };
        match tokio::time::timeout(WAIT_MAX, admitted).await {
            Ok(admitted) => admitted,
            Err(_) => Err(ApiError::overloaded()),
        }
    }
}

impl BookingPermit<'_> {
    /// Counts the booking as a refusal that reveals something about a client.
    pub(crate) fn count_refusal(&self, now: Instant) {
        if let Some(email) = &self.email {
            email.count.refusals.add(email.key.clone(), now);
        }
        if let Some(source) = &self.source {
            source.count.refusals.add(source.key, now);
        }
    }
}

impl<K: Ord + Clone> RefusalCount<K> {
    fn new(max: usize) -> Self {
        let refusals = SlidingWindow::new(max, WINDOW_SECONDS);
        Self { max, refusals, under_way: Mutex::default() }
    }

    /// Puts a booking under way once it could be refused without exceeding the limit.
    async fn enter(&self, key: K, now: Instant) -> Result<Turn<'_, K>, ApiError> {
        loop {
            match self.try_enter(&key, now) {
                Admission::Entered => return Ok(Turn { count: self, key }),
                Admission::Wait(left) => left.await,
                Admission::Exhausted(seconds) => {
                    let what = "bookings were refused for reasons that tell of a client";
                    return Err(ApiError::too_many(what, seconds));
                }
            }
        }
    }

    fn try_enter(&self, key: &K, now: Instant) -> Admission {
        let mut under_way = self.under_way();
        if let Some(seconds) = self.refusals.wait(key, now) {
            return Admission::Exhausted(seconds);
        }
        let refused = self.refusals.count(key, now);
        match under_way.get_mut(key) {
            Some(others) if others.count + refused >= self.max => {
                // Created under the lock, so that no booking that leaves is missed.
                Admission::Wait(Arc::clone(&others.left).notified_owned())
            }
            Some(others) => {
                others.count += 1;
                Admission::Entered
            }
            None => {
                under_way.insert(key.clone(), UnderWay { count: 1, left: Arc::default() });
                Admission::Entered
            }
        }
    }

    fn under_way(&self) -> MutexGuard<'_, BTreeMap<K, UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        let mut under_way = self.count.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(others) = under_way.get_mut(&self.key) else { return };
        others.count -= 1;
        others.left.notify_waiters();
        if others.count == 0 {
            under_way.remove(&self.key);
        }
    }
}
