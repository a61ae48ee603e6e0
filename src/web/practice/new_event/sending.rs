//! The write of a new appointment, once for each form. Reference 6.6, 15.9.

use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::ids::VeventId;
use crate::domain::state::command::{Batch, Command, Put, PutVevent, RecordChange, VeventDraft};
use crate::domain::state::idempotency::IdempotencyShare;
use crate::domain::state::refusal::Refusals;
use crate::engine::{Committed, IdempotentRequest, Rejection};
use crate::http::{GuardedRejection, GuardedWrite, draw_up_new};
use crate::web::practice::new_event::client_part::WantedClient;
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;

/// The hidden field with the key of a form.
pub(crate) const FORM_KEY: &str = "k";
/// The hidden field with the target whose warnings the form has shown.
pub(crate) const SEEN: &str = "seen";

/// A form that makes one appointment, however often it is sent.
pub(crate) struct FormOnce {
    /// SHA-256 of group, professional and key.
    scope: [u8; 32],
    /// SHA-256 of what was sent.
    body: [u8; 32],
}

/// An appointment that a form has made before.
pub(crate) struct MadeBefore {
    pub(crate) id: VeventId,
    /// Whether it was made by the same fields.
    pub(crate) is_same: bool,
}

/// The reason why no appointment was made.
pub(crate) enum NotMade {
    /// The record of the new client is refused.
    ClientRefused(Refusals),
    /// The appointment is refused.
    EventRefused(Refusals),
    /// The same form has made another appointment.
    OtherForm,
    Failed(GuardedRejection),
}

impl FormOnce {
    /// Returns the form with a key, as this professional sends it.
    pub(crate) fn new(visit: &ProVisit, key: &str, given: &Params) -> Self {
        let scope = Sha256::new_with_prefix(b"practice form ")
            .chain_update(visit.group().id.number().to_be_bytes())
            .chain_update(visit.login.pro.number().to_be_bytes())
            .chain_update(key);
        let mut body = Sha256::new();
        // The press that overrides warnings sends the same appointment as the one before it.
        for (name, value) in given.iter().filter(|(name, _)| *name != SEEN) {
            for text in [name, value] {
                body.update(text.len().to_be_bytes());
                body.update(text);
            }
        }
        Self { scope: scope.finalize().into(), body: body.finalize().into() }
    }

    /// Returns the appointment that the form has made within the last day.
    pub(crate) fn find(&self, visit: &ProVisit) -> Option<MadeBefore> {
        let engine = &visit.request.pages.server.engine;
        let state = engine.published().group_state(visit.group().id)?;
        let record = state.idempotency_records.find(&self.scope, engine.steady_now())?;
        Some(MadeBefore { id: parse_answer(&record.answer)?, is_same: record.body == self.body })
    }
}

/// Makes an appointment of these fields of the API, and its client if it is new: both or none.
///
/// # Errors
/// The reason why nothing was made.
pub(crate) async fn make_appointment(
    visit: &ProVisit,
    object: Map<String, Value>,
    client: WantedClient,
    once: &FormOnce,
) -> Result<VeventId, NotMade> {
    let write = GuardedWrite::unlimited(visit.group().id, make_command(object, client));
    let once = IdempotentRequest {
        scope: once.scope,
        body: once.body,
        share: IdempotencyShare::Pro,
        render: Arc::new(|done: &Committed| made_id(done).to_string().into_bytes()),
    };
    let server = &visit.request.pages.server;
    let done = match write.send(server, visit.author(), Some(once)).await {
        Ok((done, _)) => done,
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => {
            return Err(NotMade::EventRefused(refusals));
        }
        Err(GuardedRejection::Rejected(Rejection::IdempotencyConflict)) => {
            return Err(NotMade::OtherForm);
        }
        Err(rejection) => return Err(NotMade::Failed(rejection)),
    };
    if let Some(id) = done.answer.as_deref().and_then(parse_answer) {
        return Ok(id);
    }
    // Without an event nothing was recorded: a command of the batch was refused.
    let refused = done.steps.into_iter().enumerate();
    for (index, step) in refused {
        if let Err(refusals) = step {
            let is_client = index == 0;
            return Err(if is_client {
                NotMade::ClientRefused(refusals)
            } else {
                NotMade::EventRefused(refusals)
            });
        }
    }
    unreachable!("an appointment that was made has its answer")
}

/// Makes the command. A new client and its appointment are one batch.
fn make_command(mut object: Map<String, Value>, client: WantedClient) -> Command {
    let patch = match client {
        WantedClient::Known(id) => {
            object.insert("fiche_id".to_owned(), id.number().into());
            let draft =
                VeventDraft::new(move |state, _, draws, at| draw_up_new(&object, state, draws, at));
            return Command::PutVevent(PutVevent::Make(draft));
        }
        WantedClient::New(patch) => patch,
    };
    let draft = VeventDraft::new(move |state, _, draws, at| {
        let mut object = object.clone();
        // The client was made by the command before this one, and has the highest id.
        object.insert("fiche_id".to_owned(), state.highest_id(IdKind::Fiche).into());
        draw_up_new(&object, state, draws, at)
    });
    let client = Command::ChangeRecord(RecordChange::Fiche(Put { id: None, fields: patch }));
    let event = Command::PutVevent(PutVevent::Make(draft));
    Command::Batch(Batch { commands: [client, event].into(), is_atomic: true })
}

/// The id of the appointment that a command has made.
fn made_id(done: &Committed) -> u64 {
    match done.steps.last() {
        Some(Ok(step)) => step.object,
        Some(Err(_)) | None => done.object,
    }
}

fn parse_answer(recorded: &[u8]) -> Option<VeventId> {
    std::str::from_utf8(recorded).ok()?.parse().ok().and_then(VeventId::new)
}
