//! The one way of limited writes to the engine: admit, reserve, write, settle, count the refusal.
//! Reference 3.6, 6.11.

use std::net::IpAddr;

use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Command;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::engine::{Committed, IdempotentRequest, Rejection};
use crate::http::error::ApiError;
use crate::http::limits::booking_limit::{BookingOrigin, RateLimit};
use crate::http::limits::enumeration_limit::BookingPermit;
use crate::http::server::Server;
use crate::wire::field::Audience;

/// The limits that one write has to pass. By default none counts it.
#[derive(Debug, Default)]
pub(crate) struct WriteGuard {
    guess: Option<Guess>,
    origin: Option<BookingOrigin>,
    /// Number of places that the write takes of each limit of its origin.
    places: usize,
    /// The moment of the request.
    now: Instant,
}

/// A write whose refusals tell of a client. They count for its address and its source.
#[derive(Debug)]
struct Guess {
    /// The folded address, if the write names one.
    email: Option<Box<str>>,
    /// The source; `None` behind the key of a server, which stands for many clients.
    source: Option<IpAddr>,
    /// Whether a refusal about the time tells of a client too, because only known ones may book.
    takes_known_only: bool,
}

/// The reason why a guarded write was not carried out.
pub(crate) enum GuardedRejection {
    /// A limit is used up. Nothing was asked of the engine.
    Limited(ApiError),
    /// The engine's rejection.
    Rejected(Rejection),
}

impl GuardedRejection {
    /// The error of an answer, in words for the audience.
    pub(crate) fn into_error(self, zone: Zone, audience: Audience) -> ApiError {
        match self {
            Self::Limited(error) => error,
            Self::Rejected(rejection) => ApiError::from_rejection(rejection, zone, audience),
        }
    }
}

impl From<Rejection> for GuardedRejection {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl WriteGuard {
    /// Counts the write by its origin, which only professionals lack, with that many places.
    pub(crate) fn new(origin: Option<BookingOrigin>, places: usize, now: Instant) -> Self {
        Self { guess: None, origin, places, now }
    }

    /// Counts refusals that tell of a client, for a folded address and a source. Where only known
    /// clients may book, refusals about the time count as well.
    pub(crate) fn counting_guesses(
        mut self,
        email: Option<Box<str>>,
        source: Option<IpAddr>,
        takes_known_only: bool,
    ) -> Self {
        self.guess = Some(Guess { email, source, takes_known_only });
        self
    }

    /// Writes within the limits. Returns the limit of the source with the fewest places left, too.
    ///
    /// # Errors
    /// 429 after too many writes or guesses, 503 after waiting for others of the same address or
    /// source; the engine's rejection. The places are given back then.
    pub(crate) async fn write(
        self,
        server: &Server,
        group: GroupId,
        command: Command,
        once: Option<IdempotentRequest>,
    ) -> Result<(Committed, Option<RateLimit>), GuardedRejection> {
        let now = self.now;
        let permit = match &self.guess {
            Some(Guess { email, source, .. }) => {
                let admitted = server.guesses.admit(email.clone(), *source, now).await;
                Some(admitted.map_err(GuardedRejection::Limited)?)
            }
            None => None,
        };
        let places = match server.booking_limit.reserve(self.origin.as_ref(), self.places, now) {
            Ok(places) => places,
            Err((limit, error)) => {
                server.metrics.record_limit(limit);
                return Err(GuardedRejection::Limited(error));
            }
        };
        let hook = permit.as_ref().map(BookingPermit::acceptance_hook);
        let written = server.engine.write_idempotent(group, command, once, hook).await;
        // The answer to a repeated request takes no place of its own.
        let is_new = written.as_ref().is_ok_and(|done| !done.is_replay());
        let limit = places.settle(is_new);
        if let (Some(permit), Some(guess)) = (&permit, &self.guess)
            && let Err(Rejection::Refused(refusals)) = &written
            && refusals.iter().any(|refusal| tells_of_client(refusal, guess.takes_known_only))
        {
            permit.count_refusal(now);
        }
        Ok((written?, limit))
    }
}

/// Whether a refusal tells a stranger something of a client. Where only known clients may book, a
/// refusal about the time tells that the client is known. Reference 3.6.
fn tells_of_client(refusal: &Refusal, takes_known_only: bool) -> bool {
    match refusal {
        Refusal::MaxRdvNumber { .. }
        | Refusal::MintimeBetween { .. }
        | Refusal::EmailAlreadyExists
        | Refusal::SameTimeRdv { .. }
        | Refusal::EmailNotFound => true,
        Refusal::MaxRdvPeriod { .. }
        | Refusal::MintimeRdv { .. }
        | Refusal::NotAvailable { .. }
        | Refusal::ClocksOverlap { .. } => takes_known_only,
        Refusal::Unauthorized { .. }
        | Refusal::InvalidParameter(_)
        | Refusal::NoResult
        | Refusal::MintimeAnnulation { .. }
        | Refusal::TooManyHolds { .. } => false,
    }
}
