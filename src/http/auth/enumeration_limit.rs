//! Against guessing who is whose client: a refusal that tells of a client is counted, by e-mail address and by source
//! address, where the key alone asks. Reference 3.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::domain::time::Instant;
use crate::http::auth::sliding_window::{SlidingWindow, source};
use crate::http::error::ApiError;

/// How long a refusal counts.
const SECONDS: i64 = 3_600;
/// Refusals of one e-mail address within an hour.
const PER_EMAIL: usize = 20;
/// Refusals to one source address within an hour.
const PER_SOURCE: usize = 200;
/// How long a booking may wait for others of the same address that are under way.
const PATIENCE: Duration = Duration::from_secs(5);

/// The refusals of the last hour, and who is about to be told.
#[derive(Debug)]
pub(crate) struct EnumerationLimit {
    emails: SlidingWindow<Box<str>>,
    sources: SlidingWindow<IpAddr>,
    /// Bookings under way, by e-mail address: each may come to be a refusal, so that no burst learns more than its
    /// number allows.
    under_way: Mutex<BTreeMap<Box<str>, usize>>,
    /// Tells those who wait that a booking is no longer under way.
    freed: Notify,
}

impl Default for EnumerationLimit {
    fn default() -> Self {
        Self {
            emails: SlidingWindow::new(PER_EMAIL, SECONDS),
            sources: SlidingWindow::new(PER_SOURCE, SECONDS),
            under_way: Mutex::default(),
            freed: Notify::new(),
        }
    }
}

/// The right to ask once.
#[derive(Debug)]
pub(crate) struct Turn<'g> {
    guesses: &'g EnumerationLimit,
    email: Option<Box<str>>,
    from: IpAddr,
}

impl EnumerationLimit {
    /// The right to book for an address, folded, where one is given. Waits while so many bookings of it are under way
    /// that it is not known whether it may.
    ///
    /// # Errors
    /// 429 after too many refusals; 503 where the wait took too long.
    pub(crate) async fn turn(
        &self,
        email: Option<Box<str>>,
        from: IpAddr,
        now: Instant,
    ) -> Result<Turn<'_>, ApiError> {
        let from = source(from);
        let waiting = async {
            loop {
                // Made before looking, so that nothing freed in between is missed.
                let freed = self.freed.notified();
                let by_email = email.as_ref().and_then(|email| self.emails.wait(email, now));
                if let Some(seconds) = by_email.max(self.sources.wait(&from, now)) {
                    return Err(ApiError::too_many(
                        "bookings were refused for reasons that tell of a client",
                        seconds,
                    ));
                }
                if self.enter(email.as_deref(), now) {
                    return Ok(Turn { guesses: self, email: email.clone(), from });
                }
                freed.await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .unwrap_or_else(|_| Err(ApiError::overloaded()))
    }

    fn enter(&self, email: Option<&str>, now: Instant) -> bool {
        let Some(email) = email else { return true };
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let others = under_way.get(email).copied().unwrap_or(0);
        let free = others + self.emails.count(&email.into(), now) < PER_EMAIL;
        if free {
            under_way.insert(email.into(), others + 1);
        }
        free
    }
}

impl Turn<'_> {
    /// Counts what the turn came to as a refusal that tells of a client.
    pub(crate) fn told(&self, now: Instant) {
        if let Some(email) = &self.email {
            self.guesses.emails.add(email.clone(), now);
        }
        self.guesses.sources.add(self.from, now);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(email) = &self.email else { return };
        let mut under_way = self.guesses.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        match under_way.get_mut(email) {
            Some(others) if *others > 1 => *others -= 1,
            Some(_) | None => drop(under_way.remove(email)),
        }
        drop(under_way);
        self.guesses.freed.notify_waiters();
    }
}
