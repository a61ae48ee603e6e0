//! Changes over booked time: the list of the appointments that they displace, and what happens to
//! them. Reference 15.11.

pub(crate) mod plan;
pub(crate) mod question;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::ids::VeventId;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::engine::Rejection;
use crate::http::{GuardedRejection, estimate_dry_run};
use crate::web::practice::displaced::plan::{BookedChange, Outlook, Plan, Treatment};
use crate::web::practice::displaced::question::{GivenAnswer, LISTED_MAX, Question};
use crate::web::practice::message;
use crate::web::practice::revision::write;
use crate::web::practice::visit::ProVisit;
use crate::wire::displaced::ListDigest;
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// A change over booked time that is done.
pub(crate) struct SettledChange {
    /// The id of the event that the change is about; 0 of an absence that stands.
    pub(crate) id: u64,
    /// The state right after it.
    pub(crate) after: Arc<GroupState>,
    /// Number of appointments that were cancelled or moved with it.
    pub(crate) treated: usize,
}

/// Result of a form about a change over booked time.
pub(crate) enum Settled {
    Done(SettledChange),
    /// Nothing is written: the form has to say what happens to the appointments.
    Asks(StatusCode, Box<Question>),
    /// The change itself is refused.
    Refused(Refusals),
}

/// Carries out a change, once a form says what happens to the appointments that it displaces. All
/// of it is one event: a kill leaves all or nothing.
///
/// # Errors
/// The page of a failure that lies not with the form.
pub(crate) async fn settle(
    visit: &mut ProVisit,
    change: BookedChange,
    given: &Params,
) -> Result<Settled, Response> {
    let answer = GivenAnswer::read(visit, given);
    let plan = answer.plan(change);
    let (plan, outlook) = match look_ahead(visit, plan).await? {
        Ok(seen) => seen,
        Err(refusals) => return Ok(Settled::Refused(refusals)),
    };
    let digest = ListDigest::new(&outlook.list);
    if !outlook.list.is_empty()
        && let Some(status) = answer.find_open_question(digest, &outlook)
    {
        let question = Question::ask(visit, &answer, &outlook);
        return Ok(Settled::Asks(status, Box::new(question)));
    }
    let treated = plan.count_treated();
    let Some(command) = plan.clone().into_command(digest) else {
        let after = Arc::clone(&visit.state);
        return Ok(Settled::Done(SettledChange { id: 0, after, treated }));
    };
    let refusals = match write(visit, command).await {
        Ok(done) => {
            let own = plan.change.commands();
            let refused = done.steps.iter().position(Result::is_err);
            let settled = |id: u64| {
                let after = Arc::clone(&done.group_state);
                Settled::Done(SettledChange { id, after, treated })
            };
            match (refused, done.steps.first()) {
                // The first of several commands is the write itself.
                (None, Some(Ok(first))) if own == 1 => return Ok(settled(first.object)),
                (None, _) => return Ok(settled(done.object)),
                (Some(0), Some(Err(refusals))) if own == 1 => refusals.clone(),
                (Some(_), _) => return ask_again(visit, plan, &answer, digest).await,
            }
        }
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => refusals,
        Err(rejection) => {
            let error = rejection.into_error(visit.zone(), Audience::Pro);
            return Err(message::failed(&visit.request, &error));
        }
    };
    match refusals.first() {
        Some(Refusal::OtherEffect(_)) => ask_again(visit, plan, &answer, digest).await,
        _ => Ok(Settled::Refused(refusals)),
    }
}

/// Asks on the newest state, after a plan that another change came before.
async fn ask_again(
    visit: &mut ProVisit,
    plan: Plan,
    answer: &GivenAnswer,
    expected: ListDigest,
) -> Result<Settled, Response> {
    visit.renew();
    let (_, outlook) = match look_ahead(visit, plan).await? {
        Ok(seen) => seen,
        Err(refusals) => return Ok(Settled::Refused(refusals)),
    };
    let is_same = ListDigest::new(&outlook.list) == expected && !outlook.misfits.is_empty();
    let status = if is_same { StatusCode::CONFLICT } else { StatusCode::PRECONDITION_FAILED };
    let mut question = Question::ask(visit, answer, &outlook);
    question.is_overtaken = !is_same;
    Ok(Settled::Asks(status, Box::new(question)))
}

/// Returns the question about an absence that stands; `None` if nothing is booked under it.
///
/// # Errors
/// The page of a failure.
pub(crate) async fn ask_about(
    visit: &ProVisit,
    absence: VeventId,
) -> Result<Option<Box<Question>>, Response> {
    let change = BookedChange::Stands(absence);
    let plan = Plan { change, treatment: Treatment::Leave, chosen: Vec::new() };
    let Ok((_, outlook)) = look_ahead(visit, plan).await? else { return Ok(None) };
    if outlook.list.is_empty() {
        return Ok(None);
    }
    let answer = GivenAnswer::read(visit, &Params::default());
    Ok(Some(Box::new(Question::ask(visit, &answer, &outlook))))
}

/// Tries out a plan on the state of a visit. Nothing is written. The plan comes back with the
/// chosen appointments that are on the list.
///
/// # Errors
/// The page of a failure. The refusals of the change are in the answer.
async fn look_ahead(
    visit: &ProVisit,
    mut plan: Plan,
) -> Result<Result<(Plan, Outlook), Refusals>, Response> {
    let state = Arc::clone(&visit.state);
    let now = visit.request.now;
    let cost = estimate_dry_run(&state, now);
    let compute = move || {
        let list = plan.change.find_list(&state, now)?;
        let listed = list.iter().map(|one| one.id);
        let chosen: BTreeSet<VeventId> = plan.chosen.iter().copied().collect();
        plan.chosen = listed.filter(|id| chosen.contains(id)).collect();
        // The form of such a list has no choices.
        if list.len() > LISTED_MAX {
            plan.chosen.clear();
        }
        let misfits = plan.find_misfits(&state, now);
        Ok((plan, Outlook { list, misfits }))
    };
    let pool = &visit.request.pages.server.blocking_pool;
    let seen = pool.run_weighed(cost, compute).await;
    seen.map_err(|error| message::failed(&visit.request, &error))
}
