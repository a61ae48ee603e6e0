//! Decision of the merge of two records of one person. Reference 6.20.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::account::Account;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::text::{LongText, Text};
use crate::domain::state::command::MergeFiches;
use crate::domain::state::editable_record::EditableRecord as _;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals, refuse_faults};

/// Decides a merge. One that was done already changes nothing.
///
/// # Errors
/// NoResult without the kept client. InvalidParameter if the kept client is deleted or was merged
/// itself, if the other one is the same, does not exist or was merged into a third, and for each
/// fault of the fields.
pub(crate) fn decide(
    context: &mut Context<'_>,
    command: &MergeFiches,
) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    let kept = Fiche::find(state, command.kept).ok_or(Refusal::NoResult)?;
    if let Some(rule) = kept.closed_rule() {
        return Err(Fault::new("id", rule).into());
    }
    let merged = Fiche::find(state, command.merged);
    let Some(merged) = merged.filter(|merged| merged.id != kept.id) else {
        let rule = "must be the id of another client of the group";
        return Err(Fault::new("fiche_id", rule).into());
    };
    let outcome = Outcome::object(kept.id.number());
    if merged.merged_into == Some(kept.id) {
        return Ok(Decision::Unchanged(outcome));
    }
    if let Some(rule) = merged.final_rule() {
        return Err(Fault::new("fiche_id", rule).into());
    }
    let mut row = complete(kept, merged);
    command.fields.apply_to(&mut row);
    let mut faults = row.faults(Some(kept), state);
    if row.deleted {
        faults.push(Fault::new("deleted", "must be false: the client is kept"));
    }
    if !faults.is_empty() {
        return Err(refuse_faults(faults));
    }
    let at = state.stamp_for(now);
    row.record_change(Some(kept), at, now);
    let event = Event::FichesMerged {
        at,
        kept: Box::new(row),
        merged: merged.id,
        merged_before: find_merged_into(state, merged.id),
        vevents: find_vevents(state, merged.id),
        accounts: move_accounts(state, kept.id, merged.id),
    };
    Ok(Decision::Event(event, outcome))
}

/// Returns a client with the values of another one where it has none. Comments of both stay, if
/// they fit.
fn complete(kept: &Fiche, merged: &Fiche) -> Fiche {
    let mut row = kept.clone();
    if row.lastname.is_blank() {
        row.lastname = merged.lastname.clone();
    }
    if row.firstname.is_blank() {
        row.firstname = merged.firstname.clone();
    }
    fill_text(&mut row.firstphone, &merged.firstphone);
    fill_text(&mut row.secondphone, &merged.secondphone);
    row.email = row.email.or_else(|| merged.email.clone());
    row.birthdate = row.birthdate.or(merged.birthdate);
    row.externid = row.externid.or(merged.externid);
    row.comments = join_comments(&kept.comments, &merged.comments);
    for (name, value) in merged.customs.iter() {
        if row.customs.value(*name).is_none() {
            row.customs.set(*name, Some(value.clone()));
        }
    }
    row
}

fn fill_text<const MAX: usize>(own: &mut Text<MAX>, other: &Text<MAX>) {
    if own.is_blank() {
        *own = other.clone();
    }
}

/// Returns the comments of both records, one after the other; the own ones alone if both are too
/// long together.
fn join_comments(own: &LongText, other: &LongText) -> LongText {
    if other.is_blank() || own == other {
        return own.clone();
    }
    if own.is_blank() {
        return other.clone();
    }
    let both = format!("{}\n{}", own.as_str(), other.as_str());
    LongText::new(&both).unwrap_or_else(|_| own.clone())
}

/// The clients that were merged into one, ascending.
fn find_merged_into(state: &GroupState, client: FicheId) -> Vec<FicheId> {
    let merged = state.fiches.values().filter(|fiche| fiche.merged_into == Some(client));
    merged.map(|fiche| fiche.id).collect()
}

/// The events that name a client, deleted ones included, ascending.
fn find_vevents(state: &GroupState, client: FicheId) -> Vec<VeventId> {
    let named = state.rows.values().filter(|row| row.fiche_id() == Some(client));
    named.map(|row| row.id).collect()
}

/// The accounts that own the merged client, as they own the kept one. They keep the merged one, by
/// which their owner may still ask.
fn move_accounts(state: &GroupState, kept: FicheId, merged: FicheId) -> Vec<Account> {
    let mut moved = Vec::new();
    for account in state.accounts.values() {
        if !account.owns(merged) {
            continue;
        }
        let mut account = Account::clone(account);
        if account.fiche_id == merged {
            account.former.retain(|own| *own != kept);
            account.former.push(merged);
            account.fiche_id = kept;
        } else if !account.owns(kept) {
            account.former.push(kept);
        }
        moved.push(account);
    }
    moved
}
