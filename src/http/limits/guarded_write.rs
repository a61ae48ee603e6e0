//! The one way of limited writes to the engine: admit, reserve, write, settle, count the refusal.
//! Reference 3.6, 6.11.

use std::sync::Arc;

use crate::domain::decisions::unconfirmed::{find_code_channel, find_given_number};
use crate::domain::records::author::Author;
use crate::domain::records::channel::Channel;
use crate::domain::records::fault::Fault;
use crate::domain::records::group::Group;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::GroupId;
use crate::domain::records::message::ShopWarning;
use crate::domain::records::text::Email;
use crate::domain::state::command::{
    BookAppointment, Caller, CancelRight, Command, HoldTime, MoveAppointment,
};
use crate::domain::state::precondition::Precondition;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::engine::{Committed, IdempotentRequest, Rejection};
use crate::http::error::ApiError;
use crate::http::limits::booking_limit::{BookingReservation, LimitSubjects, RateLimit};
use crate::http::limits::client_hash::mailbox;
use crate::http::limits::code_budget::{CodePlace, CodeRequest};
use crate::http::limits::enumeration_limit::BookingPermit;
use crate::http::limits::under_way::BookingUnderWay;
use crate::http::metrics::HttpMetrics;
use crate::http::server::Server;
use crate::notify::smtp::is_mail_address;
use crate::wire::field::Audience;

/// A write, with the limits that it has to pass on its way to the engine.
pub(crate) struct GuardedWrite {
    group: GroupId,
    command: Command,
    /// `None` for a write that no limit counts. On the heap: futures in futures hold the write.
    limits: Option<Box<WriteLimits>>,
}

/// The limits that count a write.
struct WriteLimits {
    subjects: LimitSubjects,
    /// Number of places that the write takes of each limit of its subjects.
    places: usize,
    guess: Option<Guess>,
    /// `None` for a write that needs no code beyond any limit.
    code: Option<CodeNeed>,
    /// The moment of the request.
    now: Instant,
}

/// A write whose refusals tell of a client. They count for its address and its source.
struct Guess {
    /// The folded address, if the write names one.
    email: Option<Arc<str>>,
    /// Whether a refusal about the time tells of a client too, because only known ones may book.
    takes_known_only: bool,
}

/// The code of a booking by a key alone.
struct CodeNeed {
    /// The channel by which the group asks for it; `None` if only a limit does, by mail.
    channel: Option<Channel>,
    /// The address as it is given.
    email: Option<Email>,
    /// The number that a texted code goes to.
    number: Option<String>,
    /// The telephone number of the group.
    phone: Box<str>,
}

/// The places that a write has taken of its limits.
struct Admission<'s> {
    places: BookingReservation<'s>,
    code: Option<CodePlace>,
    /// Counts a booking without a code until it is made or refused.
    _under_way: Option<BookingUnderWay<'s>>,
}

/// The reason why a guarded write was not carried out.
pub(crate) enum GuardedRejection {
    /// A limit is used up. Nothing was asked of the engine.
    Limited(ApiError),
    /// No code can be sent now. Nothing was asked of the engine.
    NoCode {
        /// The time after which one can be sent; `None` without a gateway.
        retry_seconds: Option<i64>,
        /// The telephone number of the group.
        phone: Box<str>,
    },
    /// The engine's rejection.
    Rejected(Rejection),
}

impl GuardedRejection {
    /// The error of an answer, in words for the audience.
    pub(crate) fn into_error(self, zone: Zone, audience: Audience) -> ApiError {
        match self {
            Self::Limited(error) => error,
            Self::NoCode { retry_seconds, phone } => ApiError::no_code(retry_seconds, &phone),
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
            let subjects = subjects.with_origin(command.booking_origin.as_deref());
            // An account learns of itself alone.
            let guess = subjects.is_by_key().then(|| Guess {
                email: command.client.email.as_ref().map(|email| email.folded().into()),
                takes_known_only: !group.open,
            });
            let code = CodeNeed::for_booking(group, &command);
            Box::new(WriteLimits { subjects, places, guess, code, now })
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
            Box::new(WriteLimits { subjects, places, guess: None, code: None, now })
        });
        Self { group, command: Command::HoldTime(Box::new(command)), limits }
    }

    /// Returns the extension of a hold with some legs, which counts as a hold does.
    pub(crate) fn extension(
        group: GroupId,
        hold: HoldId,
        places: usize,
        subjects: LimitSubjects,
        now: Instant,
    ) -> Self {
        let subjects = subjects.for_hold();
        let limits = WriteLimits { subjects, places, guess: None, code: None, now };
        let limits = Some(Box::new(limits));
        Self { group, command: Command::ExtendHold(hold), limits }
    }

    /// Returns a move of an appointment, if it meets the precondition. By its secret, refusals
    /// count for a folded address.
    pub(crate) fn moving(
        group: GroupId,
        command: MoveAppointment,
        precondition: Option<Precondition>,
        subjects: LimitSubjects,
        email: Option<Arc<str>>,
        now: Instant,
    ) -> Self {
        let guess = match &command.right {
            CancelRight::Secret(_) => Some(Guess { email, takes_known_only: false }),
            CancelRight::Account(_) | CancelRight::Pro => None,
        };
        let subjects = subjects.for_move(command.id);
        let limits = Some(Box::new(WriteLimits { subjects, places: 1, guess, code: None, now }));
        let command = Command::MoveAppointment(command).only_if(precondition);
        Self { group, command, limits }
    }

    /// Returns the same write with another command in place of its own.
    pub(crate) fn with_command(self, change: impl FnOnce(Command) -> Command) -> Self {
        Self { command: change(self.command), ..self }
    }

    /// The command of a write that no limit counts.
    ///
    /// # Panics
    /// If a limit counts it.
    pub(crate) fn into_command(self) -> Command {
        assert!(self.limits.is_none(), "limits count only what is sent through them");
        self.command
    }

    /// Writes within the limits, for an author. Returns the limit of the source with the fewest
    /// places left, too.
    ///
    /// # Errors
    /// 429 after too many writes or guesses, 503 after waiting for others of the same address or
    /// source; the engine's rejection. The places are given back then.
    pub(crate) async fn send(
        self,
        server: &Server,
        author: Author,
        once: Option<IdempotentRequest>,
    ) -> Result<(Committed, Option<RateLimit>), GuardedRejection> {
        let Self { group, mut command, limits } = self;
        let Some(limits) = limits else {
            let done = server.engine.write_idempotent(group, author, command, once, None).await?;
            server.booking_limit.forget_cancelled(&done);
            return Ok((done, None));
        };
        let now = limits.now;
        // Guesses come first: a write that waits for its turn takes no place meanwhile.
        let permit = match &limits.guess {
            Some(Guess { email, .. }) => {
                let source = limits.subjects.source();
                // A move asks for no code.
                let may_ask_code = limits.code.is_some();
                Some(server.guesses.admit(email.clone(), source, may_ask_code, now).await?)
            }
            None => None,
        };
        let is_guessed = permit.as_ref().is_some_and(|permit| permit.is_email_exhausted);
        let admission = limits.admit(server, group, is_guessed, &mut command)?;
        // An accepted write cannot be refused any more, so it keeps no other one waiting until it
        // is durable. A refused one does until it is counted.
        let hook = permit.as_ref().map(BookingPermit::acceptance_hook);
        let written = server.engine.write_idempotent(group, author, command, once, hook).await;
        record_holds(&server.metrics, &written);
        let limit = admission.settle(server, &written);
        if let (Some(permit), Some(guess)) = (&permit, &limits.guess)
            && let Err(Rejection::Refused(refusals)) = &written
            && refusals.iter().any(|refusal| tells_of_client(refusal, guess.takes_known_only))
        {
            permit.count_refusal(now);
        }
        Ok((written?, limit))
    }
}

impl WriteLimits {
    /// Takes the places of a write. Beyond a limit, a booking by a key alone is made with a code,
    /// if one can be mailed; so is one of an address that was guessed at.
    ///
    /// # Errors
    /// Limited, or NoCode. Nothing is taken.
    fn admit<'s>(
        &self,
        server: &'s Server,
        group: GroupId,
        is_guessed: bool,
        command: &mut Command,
    ) -> Result<Admission<'s>, GuardedRejection> {
        if let Some(code) = &self.code
            && let Some(channel) = code.channel
        {
            return self.admit_with_code(server, group, code, channel);
        }
        let can_ask = self.code.as_ref().filter(|_| server.gateways.can_send_code(Channel::Mail));
        let mut under_way = None;
        if let (Some(code), Command::BookAppointment(booking)) = (can_ask, &mut *command)
            && self.subjects.networks().is_some()
        {
            let entered = server.under_way.enter(group);
            if server.asks_for_codes(group, entered.earlier, self.now) {
                booking.is_code_demanded = true;
                return self.admit_with_code(server, group, code, Channel::Mail);
            }
            // Strangers who use up the codes of an address do not lock it out either.
            if is_guessed
                && let Ok(admission) = self.admit_with_code(server, group, code, Channel::Mail)
            {
                booking.is_code_demanded = true;
                return Ok(admission);
            }
            under_way = Some(entered);
        }
        let reserved = server.booking_limit.reserve(&self.subjects, self.places, self.now);
        let is_within = matches!(&reserved, Ok(places) if !places.asks_code());
        if !is_within
            && let Some(code) = can_ask
            && let Command::BookAppointment(booking) = command
        {
            let with_code = self.admit_with_code(server, group, code, Channel::Mail);
            // Strangers who use up the codes of an address do not lock it out.
            let goes_without = matches!(&reserved, Ok(places) if !places.needs_code());
            if with_code.is_ok() || !goes_without {
                if let Ok(places) = reserved {
                    places.settle(false);
                }
                booking.is_code_demanded = true;
                return with_code;
            }
        }
        match reserved {
            Ok(places) => Ok(Admission { places, code: None, _under_way: under_way }),
            Err((limit, error)) => {
                server.metrics.record_limit(limit);
                Err(error.into())
            }
        }
    }

    fn admit_with_code<'s>(
        &self,
        server: &'s Server,
        group: GroupId,
        code: &CodeNeed,
        channel: Channel,
    ) -> Result<Admission<'s>, GuardedRejection> {
        let refuse =
            |retry_seconds| GuardedRejection::NoCode { retry_seconds, phone: code.phone.clone() };
        if !server.gateways.can_send_code(channel) {
            return Err(refuse(None));
        }
        if channel == Channel::Mail
            && let Some(email) = &code.email
            && !is_mail_address(email.as_str())
        {
            let rule = "is no address that a code can be mailed to";
            let refusal = Refusal::InvalidParameter(Fault::new("fiche.email", rule));
            return Err(Rejection::Refused(vec![refusal]).into());
        }
        let subjects = self.subjects.clone().for_code();
        let places = match server.booking_limit.reserve(&subjects, self.places, self.now) {
            Ok(places) => places,
            Err((limit, error)) => {
                server.metrics.record_limit(limit);
                return Err(error.into());
            }
        };
        let Some(recipient) = code.recipient(channel) else {
            return Ok(Admission { places, code: None, _under_way: None });
        };
        let request = CodeRequest { group, networks: subjects.networks(), recipient: &recipient };
        match server.codes.take(request, self.now) {
            Ok(code) => {
                if code.is_half {
                    server.warn_shop(group, ShopWarning::CodesHalfUsed);
                }
                Ok(Admission { places, code: Some(code), _under_way: None })
            }
            Err(seconds) => {
                places.settle(false);
                server.metrics.record_limit("codes");
                Err(refuse(Some(seconds)))
            }
        }
    }
}

impl Admission<'_> {
    /// Gives back what was not needed. Returns the limit of the source with the fewest places left.
    fn settle(self, server: &Server, written: &Result<Committed, Rejection>) -> Option<RateLimit> {
        // The answer to a repeated request takes no place of its own.
        let done = written.as_ref().ok().filter(|done| !done.is_replay());
        if let Some(code) = self.code {
            match done.and_then(|done| done.hold) {
                Some(hold) => server.codes.name(&code, hold),
                None => server.codes.give_back(&code),
            }
            server.count_codes();
        }
        self.places.settle(done.is_some())
    }
}

impl CodeNeed {
    /// Returns the code of a booking; `None` for one by an account or a professional.
    fn for_booking(group: &Group, command: &BookAppointment) -> Option<Self> {
        if command.caller != Caller::Application {
            return None;
        }
        let channel = find_code_channel(group, command);
        let number = match channel {
            Some(Channel::Sms) => find_given_number(group, command),
            Some(Channel::Mail) | None => None,
        };
        let email = command.client.email.clone();
        Some(Self { channel, email, number, phone: group.phone.as_str().into() })
    }

    /// Returns the mailbox or the number that the code goes to; `None` if the booking names none,
    /// which its decision refuses.
    fn recipient(&self, channel: Channel) -> Option<String> {
        match channel {
            Channel::Sms => self.number.clone(),
            Channel::Mail => self.email.as_ref().map(|email| mailbox(&email.folded())),
        }
    }
}

/// Records holds that ended for another one, and one that was refused.
fn record_holds(metrics: &HttpMetrics, written: &Result<Committed, Rejection>) {
    match written {
        Ok(done) => metrics.record_pushed_out(done.pushed_out),
        Err(Rejection::Refused(refusals)) => {
            if let [Refusal::TooManyHolds { bound, .. }] = refusals[..] {
                metrics.record_limit(bound.name());
            }
        }
        Err(_) => {}
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
        | Refusal::OtherEffect(_)
        | Refusal::ExternidHeldTwice { .. }
        | Refusal::UpcomingAppointments { .. }
        | Refusal::TooManyHolds { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::decisions::decision::Outcome;
    use crate::domain::state::group_state::GroupState;
    use crate::domain::state::refusal::HoldBound;
    use crate::wire::group::GROUP;

    #[test]
    fn holds_that_are_refused_or_end_for_another_are_counted() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let metrics = HttpMetrics::from_recorder(Arc::new(recorder));
        let state = Arc::new(GroupState::new(Catalogue::new(GROUP.blank.clone())));
        let outcome = Outcome { pushed_out: 2, ..Outcome::default() };
        record_holds(&metrics, &Ok(Committed::unchanged(&state, outcome)));
        let refusal = Refusal::TooManyHolds { bound: HoldBound::Day, retry_seconds: 60 };
        record_holds(&metrics, &Err(Rejection::Refused(vec![refusal])));
        record_holds(&metrics, &Err(Rejection::Overloaded));
        let text = handle.render();
        let mut counted: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        counted.retain(|line| line.contains("_total"));
        counted.sort_unstable();
        assert_eq!(
            counted,
            [
                "slotbook_holds_pushed_out_total 2",
                "slotbook_limited_bookings_total{limit=\"holds_day\"} 1"
            ]
        );
    }
}
