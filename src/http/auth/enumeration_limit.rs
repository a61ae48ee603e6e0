//! A limit on guessing which e-mail addresses belong to clients. Reference 3.6.
//!
//! Where a key alone books, some refusals reveal that an address belongs to a client. Those are
//! counted by e-mail address and by source address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::domain::time::Instant;
use crate::http::auth::sliding_window::{SlidingWindow, source};
use crate::http::error::ApiError;

/// Seconds for which a refusal counts.
const WINDOW_SECONDS: i64 = 3_600;
/// Maximum number of refusals of one e-mail address within the window.
const REFUSALS_PER_EMAIL_MAX: usize = 20;
/// Maximum number of refusals to one source address within the window.
const REFUSALS_PER_SOURCE_MAX: usize = 200;
/// Longest time that a booking waits for others of the same address.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The refusals of the last hour, and the bookings under way.
#[derive(Debug)]
pub(crate) struct EnumerationLimit {
    emails: SlidingWindow<Box<str>>,
    sources: SlidingWindow<IpAddr>,
    /// Number of bookings under way, by e-mail address. Each may become a refusal, so together with
    /// the counted refusals they stay within the limit: a burst reveals no more than a sequence.
    under_way: Mutex<BTreeMap<Box<str>, usize>>,
    /// Notified when a booking is no longer under way.
    permit_dropped: Notify,
}

impl Default for EnumerationLimit {
    fn default() -> Self {
        Self {
            emails: SlidingWindow::new(REFUSALS_PER_EMAIL_MAX, WINDOW_SECONDS),
            sources: SlidingWindow::new(REFUSALS_PER_SOURCE_MAX, WINDOW_SECONDS),
            under_way: Mutex::default(),
            permit_dropped: Notify::new(),
        }
    }
}

/// Permission for one booking, which is under way until this is dropped.
#[derive(Debug)]
pub(crate) struct BookingPermit<'g> {
    limit: &'g EnumerationLimit,
    email: Option<Box<str>>,
    from: IpAddr,
}

impl EnumerationLimit {
    /// Permits a booking for a folded e-mail address, if it has one. Waits while the bookings of
    /// the address that are under way could use up its refusals.
    ///
    /// # Errors
    /// 429 after too many refusals; 503 after five seconds of waiting.
    pub(crate) async fn admit(
        &self,
        email: Option<Box<str>>,
        from: IpAddr,
        now: Instant,
    ) -> Result<BookingPermit<'_>, ApiError> {
        let from = source(from);
        let admitted = async {
            loop {
                // Created before the look, so that no permit dropped in between is missed.
                let permit_dropped = self.permit_dropped.notified();
                let email_wait = match &email {
                    Some(email) => self.emails.wait(email, now),
                    None => None,
                };
                if let Some(seconds) = email_wait.max(self.sources.wait(&from, now)) {
                    return Err(ApiError::too_many(
                        "bookings were refused for reasons that tell of a client",
                        seconds,
                    ));
                }
                if self.enter(email.as_deref(), now) {
                    return Ok(BookingPermit { limit: self, email: email.clone(), from });
                }
                permit_dropped.await;
            }
        };
        match tokio::time::timeout(WAIT_MAX, admitted).await {
            Ok(admitted) => admitted,
            Err(_) => Err(ApiError::overloaded()),
        }
    }

    /// GroupCheck a booking as under way, if it could be refused without exceeding the limit.
    fn enter(&self, email: Option<&str>, now: Instant) -> bool {
        let Some(email) = email else { return true };
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let others = under_way.get(email).copied().unwrap_or(0);
        if others + self.emails.count(&email.into(), now) >= REFUSALS_PER_EMAIL_MAX {
            return false;
        }
        under_way.insert(email.into(), others + 1);
        true
    }
}

impl BookingPermit<'_> {
    /// GroupCheck the booking as a refusal that reveals something about a client.
    pub(crate) fn count_refusal(&self, now: Instant) {
        if let Some(email) = &self.email {
            self.limit.emails.add(email.clone(), now);
        }
        self.limit.sources.add(self.from, now);
    }
}

impl Drop for BookingPermit<'_> {
    fn drop(&mut self) {
        let Some(email) = &self.email else { return };
        let mut under_way = self.limit.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        match under_way.get_mut(email) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(under_way.remove(email)),
        }
        drop(under_way);
        self.limit.permit_dropped.notify_waiters();
    }
}
