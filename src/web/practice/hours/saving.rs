//! Saving a change of the hours: a dry run first, and a question if it displaces appointments.
//! Reference 6.19, 15.8.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::decisions::displaced::{DisplacedAppointment, find_displaced};
use crate::domain::decisions::foresee;
use crate::domain::records::fault::Fault;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;
use crate::engine::Rejection;
use crate::http::{ApiError, GuardedRejection, estimate_dry_run, expecting};
use crate::web::format;
use crate::web::page::redirect;
use crate::web::practice::frame::Section;
use crate::web::practice::hours::words::long_date;
use crate::web::practice::message;
use crate::web::practice::revision::{faults_among, write};
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::displaced::{EXPECTED, ListDigest};
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// Maximum number of appointments that a question names.
const NAMED_MAX: usize = 50;

/// The reason why a change was not saved.
pub(crate) enum NotSaved {
    /// It displaces appointments, and the form does not say that it knows these.
    Asked(SaveQuestion),
    /// Some values are wrong.
    Refused(Vec<Fault>),
    /// The record was changed after the form was shown, or is gone.
    Overtaken,
    /// An error that lies not with the form.
    Failed(ApiError),
}

/// The question before appointments are displaced.
pub(crate) struct SaveQuestion {
    /// The digest of the whole list, which the form sends back.
    pub(crate) digest: String,
    /// Whether the form knew another list.
    pub(crate) is_changed: bool,
    pub(crate) sentence: String,
    pub(crate) appointments: Vec<OutsideLine>,
    /// The sentence about those that are not named; empty without any.
    pub(crate) more: String,
}

/// An appointment in a question.
pub(crate) struct OutsideLine {
    pub(crate) url: String,
    pub(crate) when: String,
    pub(crate) client: String,
    pub(crate) calendar: String,
}

impl SaveQuestion {
    /// The status of the page that asks.
    pub(crate) const fn status(&self) -> StatusCode {
        if self.is_changed { StatusCode::PRECONDITION_FAILED } else { StatusCode::CONFLICT }
    }
}

/// Saves a change if it displaces no appointments, or those that the form names. The list is made
/// again in the same step as the change. The visit then has the newest state.
pub(crate) async fn save_as_expected(
    visit: &mut ProVisit,
    command: Command,
    given: &Params,
) -> Result<(), NotSaved> {
    visit.renew();
    let displaced = try_out(visit, &command).await?;
    let digest = ListDigest::new(&displaced);
    let known = given.value(EXPECTED);
    if !displaced.is_empty() && known != Some(digest.to_text().as_str()) {
        return Err(NotSaved::Asked(ask(visit, &displaced, known.is_some())));
    }
    let written = write(visit, expecting(command.clone(), digest)).await;
    let is_done = match &written {
        Ok(done) => done.steps.iter().all(Result::is_ok),
        Err(_) => false,
    };
    visit.renew();
    match written {
        Ok(_) if is_done => Ok(()),
        Ok(_) => Err(NotSaved::Overtaken),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => {
            if refusals.iter().any(|refusal| matches!(refusal, Refusal::OtherEffect(_))) {
                // Another booking came between. The list is that of the newest state.
                let displaced = try_out(visit, &command).await?;
                return Err(NotSaved::Asked(ask(visit, &displaced, true)));
            }
            Err(judge(refusals))
        }
        Err(rejection) => Err(NotSaved::Failed(rejection.into_error(visit.zone(), Audience::Pro))),
    }
}

/// Returns the appointments that a change would displace, on a thread that serves no connection.
async fn try_out(
    visit: &ProVisit,
    command: &Command,
) -> Result<Vec<DisplacedAppointment>, NotSaved> {
    let state = Arc::clone(&visit.state);
    let now = visit.request.now;
    let command = command.clone().within(visit.role());
    let cost = estimate_dry_run(&state, now);
    let foreseen = move || list_displaced(&state, &command, now);
    let pool = &visit.request.pages.server.blocking_pool;
    match pool.run_weighed(cost, foreseen).await {
        Ok(Ok(displaced)) => Ok(displaced),
        Ok(Err(refusals)) => Err(judge(refusals)),
        Err(error) => Err(NotSaved::Failed(error)),
    }
}

fn list_displaced(
    state: &GroupState,
    command: &Command,
    now: Instant,
) -> Result<Vec<DisplacedAppointment>, Refusals> {
    let foreseen = foresee(state, command, now)?;
    for step in &foreseen.outcome.steps {
        if let Err(refusals) = &step.outcome {
            return Err(refusals.clone());
        }
    }
    Ok(find_displaced(state, &foreseen.state, now))
}

fn judge(refusals: Refusals) -> NotSaved {
    let is_overtaken =
        |refusal: &Refusal| matches!(refusal, Refusal::PreconditionFailed(_) | Refusal::NoResult);
    if refusals.iter().any(is_overtaken) {
        return NotSaved::Overtaken;
    }
    NotSaved::Refused(faults_among(refusals))
}

fn ask(visit: &ProVisit, displaced: &[DisplacedAppointment], is_changed: bool) -> SaveQuestion {
    let text = HoursTexts::in_language(visit.language());
    let count = displaced.len();
    let sentence = match count {
        0 => text.outside_none.to_owned(),
        1 => text.outside_one.to_owned(),
        _ => fill(text.outside_many, "count", &count.to_string()),
    };
    let more = count.saturating_sub(NAMED_MAX);
    SaveQuestion {
        digest: ListDigest::new(displaced).to_text(),
        is_changed,
        sentence,
        appointments: displaced.iter().take(NAMED_MAX).map(|one| name(visit, one)).collect(),
        more: match more {
            0 => String::new(),
            more => fill(text.more, "count", &more.to_string()),
        },
    }
}

fn name(visit: &ProVisit, one: &DisplacedAppointment) -> OutsideLine {
    let state = &visit.state;
    let start = visit.zone().civil_of(one.start);
    let row = state.rows.get(&one.id);
    let client = row.and_then(|row| state.fiches.get(&row.fiche_id()?));
    let calendar = state.catalogue.calendars.get(&one.calendar_id);
    let day = long_date(visit.language(), start.day());
    OutsideLine {
        url: visit.url(&format!("/events/{}", one.id), &[]),
        when: format!("{day}, {}", format::time(start)),
        client: client.map(|client| client.names()).unwrap_or_default(),
        calendar: calendar.map_or("", |calendar| calendar.name.as_str()).to_owned(),
    }
}

/// Everything above the fields of a form of exceptions.
#[derive(Default)]
pub(crate) struct AboveFields {
    /// Sentences about the whole form.
    pub(crate) faults: Vec<String>,
    pub(crate) question: Option<SaveQuestion>,
}

/// A form of exceptions that was not saved.
pub(crate) struct UnsavedExceptions {
    pub(crate) status: StatusCode,
    pub(crate) above: AboveFields,
}

/// Saves exceptions, and leads to their list. Returns what the form shows if it asks first, or if
/// values are wrong.
pub(crate) async fn save_exceptions(
    visit: &mut ProVisit,
    command: Command,
    given: &Params,
) -> Result<Response, UnsavedExceptions> {
    match save_as_expected(visit, command, given).await {
        Ok(()) => Ok(redirect(&visit.url(Section::Hours.path(), &[("saved", "1")]))),
        Err(NotSaved::Asked(question)) => Err(UnsavedExceptions {
            status: question.status(),
            above: AboveFields { question: Some(question), ..AboveFields::default() },
        }),
        Err(NotSaved::Refused(faults)) => Err(UnsavedExceptions {
            status: StatusCode::BAD_REQUEST,
            above: AboveFields {
                faults: faults.into_iter().map(|fault| fault.rule).collect(),
                question: None,
            },
        }),
        Err(NotSaved::Overtaken) => Ok(message::not_found(&visit.request)),
        Err(NotSaved::Failed(error)) => Ok(message::failed(&visit.request, &error)),
    }
}
