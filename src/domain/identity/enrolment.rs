//! Deciding what clients do about their accounts: asking for a link, and following it. Reference 3.

use crate::domain::identity::account::Account;
use crate::domain::identity::account_link::{AccountLink, LINK_SECONDS, LinkAction, LinkRequester};
use crate::domain::messaging::message::{LinkPurpose, MessageContent};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::records::record_change;
use crate::domain::records::text::{Email, Name};
use crate::domain::state::command::{AskLink, FollowLink, LinkDraws, LinkWish, RecordChange};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Fault, Refusal, Refusals};
use crate::domain::time::Instant;

/// Decides whether somebody is sent a link. Whoever asks is told the same either way, and no sooner: where nobody is mailed
/// and nothing changes along with it, [nothing](Event::nothing) goes to disk.
///
/// # Errors
/// NoResult and InvalidParameter of the fiche that is changed along with it.
pub fn ask(
    state: &GroupState,
    command: &AskLink,
    draws: &LinkDraws,
    now: Instant,
) -> Result<Event, Refusals> {
    let at = state.stamp_for(now);
    let folded = command.email.folded();
    let (asker, email, aim, purpose, change) = match &command.wish {
        LinkWish::Account { pending_rdv } => {
            let Some((asker, purpose)) = wanted(state, &folded) else {
                return Ok(Event::nothing(at));
            };
            let email = on_record(state, &folded).unwrap_or(&command.email);
            (asker, email, LinkAction::Account { pending_rdv: pending_rdv.clone() }, purpose, None)
        }
        LinkWish::Email { account, put } => {
            let fiche_id = put.id.ok_or_else(|| vec![Refusal::NoResult])?;
            let change = record_change::decide(state, &RecordChange::Fiche(put.clone()), 0, now)?;
            let aim = LinkAction::Email { account: account.clone(), fiche_id };
            (LinkRequester::Account(account), &command.email, aim, LinkPurpose::NewEmail, change)
        }
    };
    // Its owner could do nothing with it: an address that has an account is nobody else's.
    let is_anothers = matches!(asker, LinkRequester::Account(own) if *folded != *own && state.accounts.contains_key(&folded));
    if is_anothers || !state.links.has_room(&folded, asker, now) {
        return Ok(change.unwrap_or_else(|| Event::nothing(at)));
    }
    let expires = at.plus_seconds(LINK_SECONDS);
    let content = MessageContent::AccountLink { purpose, token: draws.token.clone(), expires };
    let before =
        if let Some(Event::Announced { messages, .. }) = &change { messages.len() } else { 0 };
    let place = u64::try_from(before).expect("a change announces few messages");
    let message = Box::new(state.outbox.draft(place, at, content, email.as_str()));
    let link = AccountLink { hash: draws.hash, email: email.clone(), aim, asked: at, expires };
    Ok(Event::AccountLinkAsked { at, change: change.map(Box::new), link: Box::new(link), message })
}

/// Who wants a link that sets the password of a folded address, and what for, if there is to be one: an account that is
/// there has its password set anew; where only known clients may book, nobody else gets one.
fn wanted(state: &GroupState, folded: &str) -> Option<(LinkRequester<'static>, LinkPurpose)> {
    let live = |id: FicheId| state.fiches.get(&id).is_some_and(|fiche| !fiche.deleted);
    let account = state.accounts.get(folded);
    let has_fiche = state.fiche_of_email(folded).is_some();
    let may = state.catalogue.group.open
        || has_fiche
        || account.is_some_and(|account| live(account.fiche_id));
    let asker =
        if has_fiche || account.is_some() { LinkRequester::Known } else { LinkRequester::Newcomer };
    let purpose = if account.is_some() { LinkPurpose::NewPassword } else { LinkPurpose::Confirm };
    may.then_some((asker, purpose))
}

/// A folded address as its account spells it, else its live fiche with the lowest id: there its mailbox is known to be. Who
/// asks for a link may spell it so that it is another's.
fn on_record<'r>(state: &'r GroupState, folded: &str) -> Option<&'r Email> {
    let of_fiche = || state.fiche_of_email(folded)?.email.as_ref();
    state.accounts.get(folded).map(|account| &account.email).or_else(of_fiche)
}

/// Decides what following a link does.
///
/// # Errors
/// InvalidParameter on token where there is no such link any more, and on password where one is needed;
/// EmailNotFound where the address is no client's any more and only clients may have accounts; EmailAlreadyExists where the
/// address has become another account's.
pub fn follow(
    state: &GroupState,
    command: &FollowLink,
    new_fiche: FicheId,
    now: Instant,
) -> Result<Event, Refusals> {
    let Some(link) = state.links.find(&command.hash, now) else {
        return Err(invalid("token", NO_SUCH_LINK));
    };
    let at = state.stamp_for(now);
    match &link.aim {
        LinkAction::Account { .. } => confirm(state, &link.email, command, (new_fiche, at), now),
        LinkAction::Email { account, fiche_id } => {
            change_email(state, &link.email, (account, *fiche_id), (command.hash, at), now)
        }
    }
}

/// What is said of a token that opens nothing, whatever it once did.
pub const NO_SUCH_LINK: &str =
    "is not that of a link that can still be followed: ask for a new one";

fn invalid(field: &str, rule: &str) -> Refusals {
    vec![Refusal::InvalidParameter(Fault::new(field, rule))]
}

/// The account of an address, new or with another password. It keeps its fiche while that is live; a new one's is the
/// live fiche of the address with the lowest id, else a new fiche.
fn confirm(
    state: &GroupState,
    email: &Email,
    command: &FollowLink,
    (new_fiche, at): (FicheId, Instant),
    now: Instant,
) -> Result<Event, Refusals> {
    let Some(password_hash) = command.password_hash.clone() else {
        return Err(invalid("password", "is required"));
    };
    let folded = email.folded();
    let before = state.accounts.get(&folded);
    let kept = before
        .map(|account| account.fiche_id)
        .filter(|id| state.fiches.get(id).is_some_and(|f| !f.deleted));
    let found = kept.or_else(|| state.fiche_of_email(&folded).map(|fiche| fiche.id));
    if found.is_none() && !state.catalogue.group.open {
        return Err(vec![Refusal::EmailNotFound]);
    }
    let fiche = found.is_none().then(|| Box::new(newcomer(email, new_fiche, at, now)));
    let fiche_id = found.unwrap_or(new_fiche);
    let former = before
        .into_iter()
        .flat_map(|account| account.own())
        .filter(|own| *own != fiche_id)
        .collect();
    let email = before.map_or_else(|| email.clone(), |account| account.email.clone());
    let account = Box::new(Account { email, fiche_id, password_hash, former });
    Ok(Event::AccountPut { at, hash: command.hash, was: before.map(|_| folded), account, fiche })
}

/// The fiche of somebody of whom nothing is known but the address. A client has a name: it stands in until another is
/// given.
fn newcomer(email: &Email, id: FicheId, at: Instant, now: Instant) -> Fiche {
    let name: String =
        email.as_str().split('@').next().unwrap_or_default().chars().take(64).collect();
    let mut fiche = Fiche::new(id, at);
    fiche.lastname = Name::new(&name).expect("an address holds no control characters");
    fiche.email = Some(email.clone());
    fiche.from_web = true;
    (fiche.mail_since, fiche.sms_since) = (now, now);
    fiche
}

/// Another address for a fiche, and for the account whose fiche it is.
fn change_email(
    state: &GroupState,
    email: &Email,
    (was, fiche_id): (&str, FicheId),
    (hash, at): ([u8; 32], Instant),
    now: Instant,
) -> Result<Event, Refusals> {
    let account = state.accounts.get(was).filter(|account| account.owns(fiche_id));
    let (Some(account), Some(fiche)) = (account, state.fiches.get(&fiche_id)) else {
        return Err(invalid("token", NO_SUCH_LINK));
    };
    let mut account = Account::clone(account);
    if account.fiche_id == fiche_id {
        if state.accounts.get(&email.folded()).is_some_and(|_| *email.folded() != *was) {
            return Err(vec![Refusal::EmailAlreadyExists]);
        }
        account.email = email.clone();
    }
    let before = fiche;
    let mut fiche = Fiche::clone(before);
    fiche.email = Some(email.clone());
    fiche.updated_at = at;
    fiche.record_reachability(Some(before), now);
    let (account, fiche) = (Box::new(account), Some(Box::new(fiche)));
    Ok(Event::AccountPut { at, hash, was: Some(was.into()), account, fiche })
}
