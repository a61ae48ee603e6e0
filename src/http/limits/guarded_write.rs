//! The one way of limited writes to the engine: admit, reserve, write, settle, count the refusal.
//! Reference 3.6, 6.11.

use crate::domain::records::group::Group;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::domain::state::command::{
    BookAppointment, CancelRight, Command, HoldTime, MoveAppointment,
};
use crate::domain::state::precondition::Precondition;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::engine::{Committed, IdempotentRequest, Rejection};
use crate::http::error::ApiError;
use crate::http::limits::booking_limit::{LimitSubjects, RateLimit};
use crate::http::limits::enumeration_limit::BookingPermit;
use crate::http::server::Server;
use crate::wire::field::Audience;

/// A write, with the limits that it has to pass on its way to the engine.
pub(crate) struct GuardedWrite {
    group: GroupId,
    command: Command,
    /// `None` for a write that no limit counts.
    limits: Option<WriteLimits>,
}

/// The limits that count a write.
struct WriteLimits {
    subjects: LimitSubjects,
    /// Number of places that the write takes of each limit of its subjects.
    places: usize,
    guess: Option<Guess>,
    /// The moment of the request.
    now: Instant,
}

/// A write whose refusals tell of a client. They count for its address and its source.
struct Guess {
    /// The folded address, if the write names one.
    email: Option<Box<str>>,
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

impl From<ApiError> for GuardedRejection {
    fn from(limited: ApiError) -> Self {
        Self::Limited(limited)
    }
}

impl From<Rejection> for GuardedRejection {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl GuardedWrite {
    /// Returns a write that no limit counts.
    pub(crate) const fn unlimited(group: GroupId, command: Command) -> Self {
        Self { group, command, limits: None }
    }

    /// Returns a booking. Only one by a professional has no subjects.
    pub(crate) fn booking(
        group: &Group,
        command: BookAppointment,
        subjects: Option<LimitSubjects>,
        now: Instant,
    ) -> Self {
        let places = command.intervention_ids.len();
        let limits = subjects.map(|subjects| {
            // An account learns of itself alone.
            let guess = subjects.is_by_key().then(|| Guess {
                email: command.client.email.as_ref().map(Email::folded),
                takes_known_only: !group.open,
            });
            WriteLimits { subjects, places, guess, now }
        });
        Self { group: group.id, command: Command::BookAppointment(Box::new(command)), limits }
    }

    /// Returns a hold. Only one by a professional has no subjects.
    pub(crate) fn hold(
        group: GroupId,
        command: HoldTime,
        subjects: Option<LimitSubjects>,
        now: Instant,
    ) -> Self {
        let places = command.intervention_ids.len();
        let limits = subjects.map(|subjects| {
            let subjects = subjects.for_hold();
            WriteLimits { subjects, places, guess: None, now }
        });
        Self { group, command: Command::HoldTime(Box::new(command)), limits }
    }

    /// Returns a move of an appointment, if it meets the precondition. By its secret, refusals
    /// count for a folded address.
    pub(crate) fn moving(
        group: GroupId,
        command: MoveAppointment,
        precondition: Option<Precondition>,
        subjects: LimitSubjects,
        email: Option<Box<str>>,
        now: Instant,
    ) -> Self {
        let guess = match &command.right {
            CancelRight::Secret(_) => Some(Guess { email, takes_known_only: false }),
            CancelRight::Account(_) | CancelRight::Pro => None,
        };
        let subjects = subjects.for_move(command.id);
        let limits = Some(WriteLimits { subjects, places: 1, guess, now });
        let command = Command::MoveAppointment(command).only_if(precondition);
        Self { group, command, limits }
    }

    /// The command of a write that no limit counts.
    ///
    /// # Panics
    /// If a limit counts it.
    pub(crate) fn into_command(self) -> Command {
        assert!(self.limits.is_none(), "limits count only what is sent through them");
        self.command
    }

    /// Writes within the limits. Returns the limit of the source with the fewest places left, too.
    ///
    /// # Errors
    /// 429 after too many writes or guesses, 503 after waiting for others of the same address or
    /// source; the engine's rejection. The places are given back then.
    pub(crate) async fn send(
        self,
        server: &Server,
        once: Option<IdempotentRequest>,
    ) -> Result<(Committed, Option<RateLimit>), GuardedRejection> {
        let Self { group, command, limits } = self;
        let Some(WriteLimits { subjects, places, guess, now }) = limits else {
            let done = server.engine.write_idempotent(group, command, once, None).await?;
            return Ok((done, None));
        };
        // Guesses come first: a write that waits for its turn takes no place meanwhile.
        let permit = match &guess {
            Some(Guess { email, .. }) => {
                Some(server.guesses.admit(email.clone(), subjects.source(), now).await?)
            }
            None => None,
        };
        let places = match server.booking_limit.reserve(&subjects, places, now) {
            Ok(places) => places,
            Err((limit, error)) => {
                server.metrics.record_limit(limit);
                return Err(error.into());
            }
        };
        // An accepted write cannot be refused any more, so it keeps no other one waiting until it
        // is durable. A refused one does until it is counted.
        let hook = permit.as_ref().map(BookingPermit::acceptance_hook);
        let written = server.engine.write_idempotent(group, command, once, hook).await;
        // The answer to a repeated request takes no place of its own.
        let is_new = written.as_ref().is_ok_and(|done| !done.is_replay());
        let limit = places.settle(is_new);
        if let (Some(permit), Some(guess)) = (&permit, &guess)
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
        | Refusal::PreconditionFailed(_)
        | Refusal::ExternidHeldTwice { .. }
        | Refusal::TooManyHolds { .. } => false,
    }
}
