//! Decisions on commands: bookings, holds, moves, cancellations, changes of records and events,
//! accounts, deliveries, announcements and upkeep. Reference 6, 7.

pub mod account_closing;
pub mod alike;
pub mod announcement;
pub mod appointment_move;
pub mod batch;
pub mod book;
pub(crate) mod calendarfeed;
pub mod cancellation;
pub(crate) mod candidates;
pub mod client_record;
pub(crate) mod client_rules;
pub mod confirmation;
pub(crate) mod contact_rule;
pub mod decision;
pub(crate) mod delayed_notice;
pub mod delivery;
pub mod displaced;
pub mod dry_run;
pub mod enrolment;
pub mod erasure;
pub(crate) mod fiche_merge;
pub mod founding;
pub(crate) mod held_share;
pub mod hold;
pub(crate) mod hours;
pub(crate) mod idle_clients;
pub(crate) mod image_change;
pub(crate) mod login_notice;
pub mod manual_change;
pub(crate) mod overlap_check;
pub(crate) mod plage_over_hold;
pub mod record_change;
pub mod retention;
pub(crate) mod series_part;
pub(crate) mod shop_warning;
pub(crate) mod unconfirmed;
pub mod upkeep;
pub(crate) mod webhook;
pub(crate) mod within;

use std::sync::Arc;

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::dry_run::Foreseen;
use crate::domain::state::command::{Command, PutVevents};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// Decides a command. It changes nothing: the caller applies the event, or asks the calendar.
///
/// # Errors
/// The refusals of Reference 2.3 in its order.
pub fn decide(context: &mut Context<'_>, command: &Command) -> Result<Decision, Refusals> {
    match command {
        Command::BookAppointment(command) => book::decide(context, command),
        Command::CancelAppointment(command) => cancellation::decide(context, command),
        Command::PutVevent(command) => manual_change::decide(context, command),
        Command::Expecting(expecting) => {
            let foreseen = foresee(context.state, &expecting.command, context.now)?;
            // A refused batch says so by its steps.
            if !foreseen.is_refused() {
                let check = &expecting.expectation;
                let checked = check.check(context.state, &foreseen.state, context.now);
                checked.map_err(|effect| Refusal::OtherEffect(Box::new(effect)))?;
            }
            decide(context, &expecting.command)
        }
        Command::PutVevents(command) => match command.as_ref() {
            PutVevents::Hours(command) => hours::decide(context, command),
            PutVevents::Part(command) => series_part::decide(context, command),
            PutVevents::Make(drafts) => manual_change::decide_many(context, drafts),
        },
        Command::ChangeRecord(change) => record_change::decide(context, change),
        Command::Deliver(step) => delivery::decide(context, step),
        Command::Quietly(command) => decide(context, command),
        Command::Conditional(conditional) => {
            // Last, since the refusal shows the object, for which the caller needs the right.
            let decision = decide(context, &conditional.command)?;
            conditional.precondition.check(context.state).map_err(Refusal::overtaken)?;
            Ok(decision)
        }
        Command::RequestLink(command) => enrolment::decide_request(context, command),
        Command::FollowLink(command) => enrolment::decide_follow(context, command),
        Command::RemoveDeleted(command) => upkeep::decide_removal(context, command),
        Command::EmptyCancelled(command) => upkeep::decide_emptying(context, command),
        Command::EndHistory(command) => Ok(upkeep::decide_history_end(context, command)),
        Command::EraseClients(command) => erasure::decide(context, command),
        Command::CloseAccounts(client) => account_closing::decide(context, *client),
        Command::Retain(step) => Ok(retention::decide(context, step)),
        Command::ConfirmBooking(command) => confirmation::decide(context, command),
        Command::MoveAppointment(command) => appointment_move::decide(context, command),
        Command::HoldTime(command) => hold::decide(context, command),
        Command::ExtendHold(id) => hold::decide_extension(context, *id),
        Command::ReleaseHold(id) => hold::decide_release(context, *id),
        Command::WarnShop(command) => Ok(shop_warning::decide(context, command)),
        Command::NotifyOfLogin(command) => Ok(login_notice::decide(context, command)),
        Command::Batch(batch) => Ok(batch::decide(context, batch, decide)),
        Command::NoteReads(reads) => {
            let event = Event::ReadsNoted { at: context.stamp(), reads: Arc::clone(reads) };
            Ok(Decision::Event(event, Outcome::default()))
        }
        Command::ChangeCalendarfeed(change) => calendarfeed::decide(context, change),
        Command::Webhook(command) => webhook::decide(context, command),
        Command::Within(command) => within::decide(context, command, decide),
    }
}

/// Returns the state after a command that is not carried out: no id is used up and nothing is
/// written. Reference 6.19.
///
/// # Errors
/// As [`decide`].
pub fn foresee(state: &GroupState, command: &Command, now: Instant) -> Result<Foreseen, Refusals> {
    dry_run::foresee(state, command, now, decide)
}
