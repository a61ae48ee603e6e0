//! Sending a change of the settings, and what may come of it.

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::VeventId;
use crate::domain::state::command::Command;
use crate::domain::state::refusal::Refusal;
use crate::engine::{Committed, Rejection};
use crate::http::ApiError;
use crate::notify::language::long_date;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::Audience;

/// The reason why nothing was saved.
pub(crate) enum Unsaved {
    /// Some fields are wrong, or a rule of the group is broken: a sentence, empty without one.
    Refused { faults: Vec<Fault>, sentence: String },
    /// The record was changed after the form was shown, or is gone.
    Overtaken,
    /// An error that lies not with the form.
    Failed(ApiError),
}

impl From<Vec<Fault>> for Unsaved {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Refused { faults, sentence: String::new() }
    }
}

/// Sends a command to the group, and waits until it is durable.
pub(crate) async fn save(visit: &ProVisit, command: Command) -> Result<Committed, Unsaved> {
    let engine = &visit.request.pages.server.engine;
    match engine.write(visit.group().id, visit.author(), command).await {
        Ok(done) => Ok(done),
        Err(Rejection::Refused(refusals)) => Err(judge(visit, &refusals)),
        Err(rejection) => {
            let error = ApiError::from_rejection(rejection, visit.zone(), Audience::Pro);
            Err(Unsaved::Failed(error))
        }
    }
}

/// Returns a visit with the newest state of its group.
pub(crate) fn refreshed(visit: ProVisit) -> ProVisit {
    let newest = visit.request.pages.server.engine.published().group_state(visit.group().id);
    match newest {
        Some(state) => ProVisit { state, ..visit },
        None => visit,
    }
}

fn judge(visit: &ProVisit, refusals: &[Refusal]) -> Unsaved {
    let text = SettingsTexts::in_language(visit.language());
    let mut faults = Vec::new();
    let mut sentence = String::new();
    for refusal in refusals {
        match refusal {
            Refusal::PreconditionFailed(_) | Refusal::OtherEffect(_) | Refusal::NoResult => {
                return Unsaved::Overtaken;
            }
            Refusal::InvalidParameter(fault) => faults.push(fault.clone()),
            Refusal::ClocksOverlap { first, second } => {
                let overlap = fill(text.clocks_overlap, "first", &name_appointment(visit, *first));
                sentence = fill(&overlap, "second", &name_appointment(visit, *second));
            }
            Refusal::Unauthorized { .. }
            | Refusal::MaxRdvNumber { .. }
            | Refusal::MintimeBetween { .. }
            | Refusal::MaxRdvPeriod { .. }
            | Refusal::MintimeRdv { .. }
            | Refusal::MintimeAnnulation { .. }
            | Refusal::EmailAlreadyExists
            | Refusal::SameTimeRdv { .. }
            | Refusal::EmailNotFound
            | Refusal::ExternidHeldTwice { .. }
            | Refusal::UpcomingAppointments { .. }
            | Refusal::TooManyHolds { .. }
            | Refusal::NotAvailable { .. } => text.not_possible.clone_into(&mut sentence),
        }
    }
    Unsaved::Refused { faults, sentence }
}

/// Returns the time and the client of an appointment.
pub(crate) fn name_appointment(visit: &ProVisit, id: VeventId) -> String {
    let appointment = visit.state.rows.get(&id).and_then(|row| row.appointment());
    let Some(appointment) = appointment else { return id.to_string() };
    let when = long_date(visit.language(), visit.zone().civil_of(appointment.start));
    let Some(client) = visit.state.fiches.get(&appointment.fiche_id) else { return when };
    let name = format!("{} {}", client.firstname.as_str(), client.lastname.as_str());
    format!("{when}, {}", name.trim())
}
