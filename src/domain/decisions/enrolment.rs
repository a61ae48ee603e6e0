//! Decisions about the accounts of clients: the request of a link, and its use. Reference 3.5.

use std::sync::Arc;

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::record_change::put_record;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::password_link::{AccountStamp, PasswordLink};
use crate::domain::records::account::Account;
use crate::domain::records::account_link::{AccountLink, LINK_SECONDS, LinkAction, PendingRdv};
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::records::message::{LinkPurpose, Message, MessageContent};
use crate::domain::records::text::{Email, Name};
use crate::domain::state::command::{FollowLink, LinkRequest, Put, RequestLink};
use crate::domain::state::editable_record::EditableRecord as _;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// The rule of the refusal for a token without a valid link. It is the same for every token.
pub const NO_SUCH_LINK: &str = "is not the token of a valid link: request a new link";

/// Decides a request for a link. The caller gets the same answer after the same time, whether or
/// not a link is mailed. So if nothing happens, [`Event::nothing`] is written to disk.
///
/// # Errors
/// NoResult and InvalidParameter for the fiche that is changed in the same request.
pub fn decide_request(
    context: &mut Context<'_>,
    command: &RequestLink,
) -> Result<Decision, Refusals> {
    let event = match &command.request {
        LinkRequest::Account { pending_rdv, secret } => {
            let at = context.stamp();
            let mail = secret.as_ref().and_then(|secret| {
                draft_password_mail(context.state, &command.email, pending_rdv.as_ref(), secret, at)
            });
            Event::nothing(at).announced_by(mail.into_iter().collect())
        }
        LinkRequest::Email { account, put } => {
            request_email_change(context, &command.email, account, put)?
        }
    };
    Ok(Decision::Event(event, Outcome::default()))
}

/// Drafts the mail with a link that sets the password of an address; `None` if the address gets no
/// account. An existing account gets another password. In a group that is not open, only known
/// clients get a link.
fn draft_password_mail(
    state: &GroupState,
    requested: &Email,
    pending_rdv: Option<&PendingRdv>,
    secret: &LinkSecret,
    at: Instant,
) -> Option<Message> {
    let folded = requested.folded();
    let account = state.accounts.get(&folded);
    let fiche = state.fiche_of_email(&folded);
    let is_client =
        fiche.is_some() || account.is_some_and(|account| is_live_fiche(state, account.fiche_id));
    if !state.catalogue.group.open && !is_client {
        return None;
    }
    // The stored spelling is known to reach the mailbox. The requester's may reach another one.
    let stored_email = match (account, fiche) {
        (Some(account), _) => Some(&account.email),
        (None, Some(fiche)) => fiche.email.as_ref(),
        (None, None) => None,
    };
    let email = stored_email.unwrap_or(requested);
    let expires = at.plus_seconds(LINK_SECONDS);
    let link = PasswordLink {
        email: email.clone(),
        stamp: AccountStamp::from_account(account.map(Arc::as_ref)),
        expires,
        pending_rdv: pending_rdv.cloned(),
    };
    let token = link.seal(state.catalogue.group.id, secret);
    let purpose = if account.is_some() { LinkPurpose::NewPassword } else { LinkPurpose::Confirm };
    let content = MessageContent::AccountLink { purpose, token, expires };
    Some(state.outbox.draft(0, at, content, email.as_str()))
}

/// Makes the event of a request for a link that gives a fiche another address, and of the other
/// changes of the fiche.
fn request_email_change(
    context: &mut Context<'_>,
    email: &Email,
    account: &str,
    put: &Put<Fiche>,
) -> Result<Event, Refusals> {
    let Context { state, now, .. } = *context;
    let at = context.stamp();
    let fiche_id = put.id.ok_or(Refusal::NoResult)?;
    let before = Fiche::find(state, fiche_id).ok_or(Refusal::NoResult)?;
    let change = put_record(state, fiche_id, Some(before), &put.fields, now)?;
    let folded = email.folded();
    // A link to another account's address would be refused when followed, so none is mailed.
    let belongs_to_other_account = *folded != *account && state.accounts.contains_key(&folded);
    if belongs_to_other_account || !state.links.has_room(&folded, account, now) {
        return Ok(change.unwrap_or_else(|| Event::nothing(at)));
    }
    let draws = context.environment.link(state.catalogue.group.id);
    let expires = at.plus_seconds(LINK_SECONDS);
    let content =
        MessageContent::AccountLink { purpose: LinkPurpose::NewEmail, token: draws.token, expires };
    // The change causes no messages of its own, which would be numbered first.
    let message = state.outbox.draft(0, at, content, email.as_str());
    let link = AccountLink {
        hash: draws.hash,
        email: email.clone(),
        action: LinkAction::Email { account: account.into(), fiche_id },
        requested_at: at,
        expires,
    };
    Ok(Event::AccountLinkRequested {
        at,
        change: change.map(Box::new),
        link: Box::new(link),
        message: Box::new(message),
    })
}

/// Decides the use of a link. It expires by the steady time, which steps of the clock do not move.
///
/// # Errors
/// * InvalidParameter on `token` if the link does not exist, has expired or has been used, or on
///   `password` if it is missing.
/// * EmailNotFound if only clients may have accounts and the address is no client's any more.
/// * EmailAlreadyExists if another account has the address by now.
pub fn decide_follow(
    context: &mut Context<'_>,
    command: &FollowLink,
) -> Result<Decision, Refusals> {
    let event = follow_link(context, command)?;
    Ok(Decision::Event(event, Outcome::default()))
}

fn follow_link(context: &Context<'_>, command: &FollowLink) -> Result<Event, Refusals> {
    let Context { state, now, .. } = *context;
    let steady_now = context.environment.steady_now();
    let new_fiche = context.environment.fiche_id();
    if let Some(link) = &command.signed {
        if !state.takes_link(link, steady_now) {
            return Err(invalid_parameter("token", NO_SUCH_LINK));
        }
        return confirm_account(state, &link.email, command, new_fiche, now);
    }
    let Some(link) = state.links.find(&command.hash, steady_now) else {
        return Err(invalid_parameter("token", NO_SUCH_LINK));
    };
    match &link.action {
        LinkAction::Account { .. } => confirm_account(state, &link.email, command, new_fiche, now),
        LinkAction::Email { account, fiche_id } => {
            change_email(state, link, account, *fiche_id, now)
        }
    }
}

fn invalid_parameter(field: &str, rule: &str) -> Refusals {
    vec![Refusal::InvalidParameter(Fault::new(field, rule))]
}

fn is_live_fiche(state: &GroupState, id: FicheId) -> bool {
    state.fiches.get(&id).is_some_and(|fiche| !fiche.deleted)
}

/// Creates the account of an address, or sets its password. The account keeps its fiche while that
/// is live. Otherwise it gets the live fiche of the address with the lowest id, else a new fiche.
fn confirm_account(
    state: &GroupState,
    email: &Email,
    command: &FollowLink,
    new_fiche: FicheId,
    now: Instant,
) -> Result<Event, Refusals> {
    let Some(password_hash) = command.password_hash.clone() else {
        return Err(invalid_parameter("password", "is required"));
    };
    let at = state.stamp_for(now);
    let folded = email.folded();
    let before = state.accounts.get(&folded);
    let found = match before {
        Some(account) if is_live_fiche(state, account.fiche_id) => Some(account.fiche_id),
        _ => state.fiche_of_email(&folded).map(|fiche| fiche.id),
    };
    if found.is_none() && !state.catalogue.group.open {
        return Err(vec![Refusal::EmailNotFound]);
    }
    let fiche_id = found.unwrap_or(new_fiche);
    let fiche = match found {
        Some(_) => None,
        None => Some(Box::new(new_client_fiche(email, new_fiche, at, now))),
    };
    let mut former = Vec::new();
    if let Some(before) = before {
        former.extend(before.own().filter(|own| *own != fiche_id));
    }
    let email = before.map_or(email, |account| &account.email).clone();
    let last_login = Some(state.catalogue.zone().civil_of(now).day());
    let account = Box::new(Account { email, fiche_id, password_hash, former, last_login });
    Ok(Event::AccountPut { at, hash: command.hash, was: before.map(|_| folded), account, fiche })
}

/// Makes the fiche of a client who is known by an address only. A client must have a name, so the
/// local part of the address serves as the last name.
fn new_client_fiche(email: &Email, id: FicheId, at: Instant, now: Instant) -> Fiche {
    let local_part = email.as_str().split('@').next().unwrap_or_default();
    let name: String = local_part.chars().take(64).collect();
    let mut fiche = Fiche::new(id, at);
    fiche.lastname = Name::new(&name).expect("an address holds no control characters");
    fiche.email = Some(email.clone());
    fiche.from_web = true;
    fiche.mail_since = now;
    fiche.sms_since = now;
    fiche
}

/// Sets the address of a fiche to that of a link. The account gets it too, if it books for this
/// fiche. `was` is the folded address of the account that requested the link.
fn change_email(
    state: &GroupState,
    link: &AccountLink,
    was: &str,
    fiche_id: FicheId,
    now: Instant,
) -> Result<Event, Refusals> {
    // The fiche may have been merged into another since the request.
    let fiche_id = state.kept_client(fiche_id);
    // The account may have lost the address or the fiche since the request.
    let (Some(account), Some(before)) = (state.accounts.get(was), state.fiches.get(&fiche_id))
    else {
        return Err(invalid_parameter("token", NO_SUCH_LINK));
    };
    if !account.owns(fiche_id) {
        return Err(invalid_parameter("token", NO_SUCH_LINK));
    }
    let at = state.stamp_for(now);
    let mut account = Account::clone(account);
    if account.fiche_id == fiche_id {
        let folded = link.email.folded();
        if *folded != *was && state.accounts.contains_key(&folded) {
            return Err(vec![Refusal::EmailAlreadyExists]);
        }
        account.email = link.email.clone();
    }
    let mut fiche = Fiche::clone(before);
    fiche.email = Some(link.email.clone());
    fiche.record_change(Some(before), at, now);
    Ok(Event::AccountPut {
        at,
        hash: link.hash,
        was: Some(was.into()),
        account: Box::new(account),
        fiche: Some(Box::new(fiche)),
    })
}
