//! A write that a handler has prepared: its command, and how its answer shows what it has done.

use std::sync::Arc;

use crate::domain::records::author::Author;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::zone::Zone;
use crate::engine::{Committed, IdempotentRequest};
use crate::http::answer::answer_parts::AnswerParts;
use crate::http::error::ApiError;
use crate::http::idempotency::IdempotencyKey;
use crate::http::limits::booking_limit::RateLimit;
use crate::http::limits::guarded_write::{GuardedRejection, GuardedWrite};
use crate::http::response::{
    CreatedAnswer, HandlerResult, created_parts, created_response, object_response,
};
use crate::http::server::Server;
use crate::wire::field::Audience;

/// A write that passed the checks of its handler. The group decides the rest.
pub(crate) struct PreparedWrite {
    write: GuardedWrite,
    /// The audience of refusals.
    audience: Audience,
    show: Arc<ShowWritten>,
    /// A field of refusals, and its name in the request.
    renamed_field: Option<(&'static str, &'static str)>,
}

/// Shows what a write has done; `None` if its object is gone. It depends on the commit alone.
type ShowWritten = dyn Fn(&Committed) -> Option<Written> + Send + Sync;

/// The result of a write, as its answer shows it.
pub(crate) enum Written {
    /// It made one or several objects, in JSON.
    Made(Vec<u8>),
    /// It changed an object, or left it as it is.
    Changed(ShownObject),
}

impl Written {
    fn into_json(self) -> Vec<u8> {
        match self {
            Self::Made(json) => json,
            Self::Changed(shown) => shown.json,
        }
    }
}

impl PreparedWrite {
    /// Prepares a write.
    pub(crate) fn new(
        write: GuardedWrite,
        audience: Audience,
        show: impl Fn(&Committed) -> Option<Written> + Send + Sync + 'static,
    ) -> Self {
        Self { write, audience, show: Arc::new(show), renamed_field: None }
    }

    /// Sets the name in the request of a field that refusals name otherwise.
    pub(crate) fn renaming_field(self, field: &'static str, name: &'static str) -> Self {
        Self { renamed_field: Some((field, name)), ..self }
    }

    /// Returns the same write with another command in place of its own.
    pub(crate) fn with_command(self, change: impl FnOnce(Command) -> Command) -> Self {
        Self { write: self.write.with_command(change), ..self }
    }

    /// Returns the command of a write by a professional, which no limit counts, and what shows its
    /// result.
    pub(crate) fn into_row(self) -> (Command, RowAnswers) {
        let Self { write, audience, show, renamed_field } = self;
        (write.into_command(), RowAnswers { audience, show, renamed_field })
    }

    /// Sends it to the group, once for each idempotency key. `path` is the pattern of the request's
    /// route, and `state` what the request was checked on.
    ///
    /// # Errors
    /// 429 by a limit; the engine's rejection, in words for the audience; 404 if its object is
    /// gone.
    pub(crate) async fn send(
        self,
        server: &Server,
        author: Author,
        state: &GroupState,
        path: &str,
        key: Option<IdempotencyKey>,
    ) -> HandlerResult {
        let Self { write, audience, show, renamed_field } = self;
        let render = {
            let show = Arc::clone(&show);
            move |done: &Committed| show(done).map(Written::into_json).unwrap_or_default()
        };
        let sent = match send_once(server, author, write, key, render).await {
            Ok(sent) => sent,
            Err(rejection) => {
                let error = rejection.into_error(state.catalogue.zone(), audience);
                return Err(rename_field(error, renamed_field));
            }
        };
        let Sent { done, kept, limit } = sent;
        let written = match kept {
            Some(kept) => Some(Written::Made(kept)),
            None => show(&done),
        };
        match written {
            Some(Written::Made(bytes)) => {
                // A replay names nothing but its bytes.
                let appointment =
                    if done.is_replay() { None } else { done.appointments.first().copied() };
                let awaits_code = done.awaits_code;
                let answer = CreatedAnswer { bytes, appointment, awaits_code, limit };
                Ok(created_response(answer, path, state))
            }
            Some(Written::Changed(shown)) => Ok(object_response(shown)),
            None => Err(ApiError::no_result()),
        }
    }
}

/// The way to answer a row of a batch.
pub(crate) struct RowAnswers {
    audience: Audience,
    show: Arc<ShowWritten>,
    renamed_field: Option<(&'static str, &'static str)>,
}

impl RowAnswers {
    /// Returns the answer to a row that was carried out, or the error of its refusals.
    ///
    /// # Errors
    /// The refusals, in words for the audience; 404 if its object is gone.
    pub(crate) fn answer(
        &self,
        decided: &Result<Committed, Vec<Refusal>>,
        path: &str,
        state: &GroupState,
    ) -> Result<AnswerParts, ApiError> {
        let done = match decided {
            Ok(done) => done,
            Err(refusals) => return Err(self.refuse(refusals, state.catalogue.zone())),
        };
        match (self.show)(done) {
            Some(Written::Made(bytes)) => {
                let appointment = done.appointments.first().copied();
                Ok(created_parts(bytes, appointment, path, state))
            }
            Some(Written::Changed(shown)) => Ok(AnswerParts::object(shown)),
            None => Err(ApiError::no_result()),
        }
    }
}

impl RowAnswers {
    /// Returns the error of refusals, in words for the audience.
    pub(crate) fn refuse(&self, refusals: &[Refusal], zone: Zone) -> ApiError {
        let error = ApiError::from_refusals(refusals, zone, self.audience);
        rename_field(error, self.renamed_field)
    }
}

fn rename_field(error: ApiError, renamed: Option<(&str, &str)>) -> ApiError {
    match renamed {
        Some((field, name)) => error.with_renamed_field(field, name),
        None => error,
    }
}

/// A write that was sent.
pub(crate) struct Sent {
    pub(crate) done: Committed,
    /// The answer recorded under the idempotency key, of this request or of an earlier one.
    pub(crate) kept: Option<Vec<u8>>,
    /// The limit of the source that has the fewest places left, if one counts the write.
    pub(crate) limit: Option<RateLimit>,
}

/// Sends a write to its group, once for each idempotency key. `render` makes the answer to record.
///
/// # Errors
/// 429 by a limit; the engine's rejection.
pub(crate) async fn send_once(
    server: &Server,
    author: Author,
    write: GuardedWrite,
    key: Option<IdempotencyKey>,
    render: impl Fn(&Committed) -> Vec<u8> + Send + Sync + 'static,
) -> Result<Sent, GuardedRejection> {
    let once = key.as_ref().map(|key| {
        let texts = key.texts.clone();
        let render = Arc::new(move |done: &Committed| texts.condense(&render(done)));
        IdempotentRequest { scope: key.scope, body: key.body, share: key.share, render }
    });
    let (done, limit) = write.send(server, author, once).await?;
    let kept = done.answer.as_ref().zip(key).map(|(kept, key)| key.texts.expand(kept));
    Ok(Sent { done, kept, limit })
}
