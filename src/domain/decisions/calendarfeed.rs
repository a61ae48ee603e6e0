//! Decisions about calendar feeds. Reference 19.1, 19.2.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::directory::feed_access::may_manage_feed;
use crate::domain::directory::roles::{GroupRight, ProRole};
use crate::domain::records::author::Author;
use crate::domain::records::calendarfeed::{CALENDARFEEDS_MAX, Calendarfeed, FeedTarget};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarfeedId, ID_MAX};
use crate::domain::state::calendarfeed_change::{CalendarfeedChange, CalendarfeedStep};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};

/// Decides to make, renew or revoke a feed.
///
/// # Errors
/// NoResult for a feed that there is not. InvalidParameter for a calendar that there is not, or
/// that is deleted, and if the group has its maximum of feeds.
pub(crate) fn decide(
    context: &mut Context<'_>,
    change: &CalendarfeedChange,
) -> Result<Decision, Refusals> {
    let state = context.state;
    let at = context.stamp();
    let feed = match &change.step {
        CalendarfeedStep::Make { target, details, secret_hash } => {
            check_target(state, *target)?;
            if state.calendarfeeds.len() >= CALENDARFEEDS_MAX {
                let rule = format!(
                    "the group has {CALENDARFEEDS_MAX} calendar feeds, which is the maximum: \
                     revoke one first"
                );
                return Err(Fault::new("calendarfeed", rule).into());
            }
            let number = (state.calendarfeeds.last() + 1).min(ID_MAX);
            Calendarfeed {
                id: CalendarfeedId::new(number).expect("numbers begin with 1"),
                target: *target,
                details: *details,
                secret_hash: *secret_hash,
                author: change.author,
                created_at: at,
                updated_at: at,
            }
        }
        CalendarfeedStep::Renew { id, secret_hash } => Calendarfeed {
            secret_hash: *secret_hash,
            author: change.author,
            updated_at: at,
            ..find(state, *id)?.clone()
        },
        CalendarfeedStep::Revoke { id } => {
            find(state, *id)?;
            let event = Event::CalendarfeedRevoked { at, id: *id };
            return Ok(Decision::Event(event, Outcome::object(id.number())));
        }
    };
    let outcome = Outcome::object(feed.id.number());
    Ok(Decision::Event(Event::CalendarfeedPut { at, feed: Box::new(feed) }, outcome))
}

/// Checks that a role may make, renew or revoke a feed.
///
/// # Errors
/// The right that it lacks.
pub(crate) fn check_role(
    state: &GroupState,
    change: &CalendarfeedChange,
    role: &ProRole,
) -> Result<(), Refusal> {
    let target = match &change.step {
        CalendarfeedStep::Make { target, .. } => Some(*target),
        CalendarfeedStep::Renew { id, .. } | CalendarfeedStep::Revoke { id } => {
            state.calendarfeeds.get(*id).map(|feed| feed.target)
        }
    };
    // The decision refuses a feed that there is not.
    let Some(target) = target else { return Ok(()) };
    // Others have the rights of administrators.
    let Author::Professional { id, .. } = change.author else { return Ok(()) };
    if may_manage_feed(role, id, target) {
        return Ok(());
    }
    Err(Refusal::lacking(GroupRight::Agenda))
}

fn find(state: &GroupState, id: CalendarfeedId) -> Result<&Calendarfeed, Refusal> {
    state.calendarfeeds.get(id).map(AsRef::as_ref).ok_or(Refusal::NoResult)
}

/// Checks that the calendar of a feed exists. The caller has checked the professional, whom the
/// group does not know.
fn check_target(state: &GroupState, target: FeedTarget) -> Result<(), Fault> {
    let FeedTarget::Calendar(id) = target else { return Ok(()) };
    if state.catalogue.calendars.get(&id).is_some_and(|calendar| !calendar.deleted) {
        return Ok(());
    }
    let rule = format!("{id} is not the id of one of the group's calendars");
    Err(Fault::new("calendar_id", rule))
}
