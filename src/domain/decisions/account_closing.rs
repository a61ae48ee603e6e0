//! Decision of the closing of a client's accounts by the practice. Reference 3.12.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::account::AccountMark;
use crate::domain::records::ids::FicheId;
use crate::domain::state::event::Event;
use crate::domain::state::refusal::{Refusal, Refusals};

/// Decides that the accounts that book for a client are closed. The id of a merged record stands
/// for the kept one. The client and its appointments stay.
///
/// # Errors
/// NoResult if the client does not exist.
pub fn decide(context: &Context<'_>, client: FicheId) -> Result<Decision, Refusals> {
    let state = context.state;
    if !state.fiches.contains_key(&client) {
        return Err(Refusal::NoResult.into());
    }
    let client = state.kept_client(client);
    let outcome = Outcome::object(client.number());
    let accounts: Vec<AccountMark> =
        state.accounts.of_client(client).map(|account| account.mark()).collect();
    if accounts.is_empty() {
        return Ok(Decision::Unchanged(outcome));
    }
    Ok(Decision::Event(Event::AccountsClosed { at: context.stamp(), accounts }, outcome))
}
