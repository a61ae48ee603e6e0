//! The parts of a request that authenticate its caller, and the candidates for a credential.
//! Reference 3.4.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::request::Parts as HttpParts;
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::records::ids::GroupId;
use crate::domain::time::Instant;
use crate::engine::published::Published;
use crate::http::auth::person::{Candidate, Person};
use crate::http::auth::session::ActiveSession;
use crate::http::error::ApiError;
use crate::wire::params::Params;

/// Maximum number of accounts of one address that are candidates beside that of the implied group.
const OTHER_ACCOUNTS_MAX: usize = 4;

/// A request whose caller is to be authenticated, and the state that it is compared with.
#[derive(Clone, Copy)]
pub(crate) struct AuthRequest<'r> {
    pub(crate) published: &'r Published,
    pub(crate) directory: &'r Arc<Directory>,
    /// Method, address and headers.
    pub(crate) parts: &'r HttpParts,
    pub(crate) params: &'r Params,
    /// The group of the path, if it names one.
    pub(crate) group: Option<GroupId>,
    /// The group that an older path implies by its object or its parameters, whether or not the
    /// caller sees it.
    pub(crate) implied_group: Option<GroupId>,
    /// Whether an older path names an object or a group, which need not exist. A caller who sees
    /// neither gets the same answer in both cases, so any account of the address may ask.
    pub(crate) names_target: bool,
    pub(crate) from: IpAddr,
    /// Whether the request came over the operator's socket.
    pub(crate) is_at_socket: bool,
    pub(crate) now: Instant,
}

/// Returns the SHA-256 of a known key.
///
/// # Errors
/// 403 for an unknown one.
pub(crate) fn find_key(key: &str, directory: &Directory) -> Result<[u8; 32], ApiError> {
    let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    if directory.apikeys.contains_key(&hash) {
        Ok(hash)
    } else {
        Err(ApiError::unauthorized("the apikey is not known: ask the operator for a valid one"))
    }
}

impl<'r> AuthRequest<'r> {
    /// A request for a page, whose address says nothing of its caller.
    pub(crate) fn of_page(
        published: &'r Published,
        directory: &'r Arc<Directory>,
        parts: &'r HttpParts,
        params: &'r Params,
        from: IpAddr,
        now: Instant,
    ) -> Self {
        Self {
            published,
            directory,
            parts,
            params,
            group: None,
            implied_group: None,
            names_target: false,
            from,
            is_at_socket: false,
            now,
        }
    }
}

impl AuthRequest<'_> {
    /// Returns the SHA-256 of the key that counts: the given one, else the session's. Reference
    /// 3.1.
    ///
    /// # Errors
    /// 403 without a known key.
    pub(crate) fn key(
        &self,
        given: Option<&str>,
        session: Option<&ActiveSession>,
    ) -> Result<[u8; 32], ApiError> {
        let Some(key) = given else {
            return match session {
                Some(session) => Ok(session.apikey),
                None => Err(ApiError::unauthorized(
                    "every request needs a key in the header X-Api-Key or in the parameter apikey, or a session",
                )),
            };
        };
        find_key(key, self.directory)
    }

    /// Returns the professional of an address.
    pub(crate) fn pro_of(&self, email: &str) -> Option<Candidate> {
        let pro = self.directory.pros.find_by_email(email)?;
        Some(Candidate { person: Person::Pro(pro.id), password_hash: pro.password_hash.clone() })
    }

    /// Returns the account of an address in a group, if the key covers the group.
    pub(crate) fn account_of(
        &self,
        group: GroupId,
        email: &str,
        apikey: [u8; 32],
    ) -> Option<Candidate> {
        if !self.directory.apikeys.get(&apikey)?.covers(group) {
            return None;
        }
        let state = self.published.group_state(group)?;
        let account = Arc::clone(state.accounts.get(email)?);
        let password_hash = account.password_hash.clone();
        Some(Candidate { person: Person::Account(group, account), password_hash })
    }

    /// Returns a candidate's person as it is now, if it still has the same address and password.
    pub(crate) fn refresh(&self, candidate: &Candidate) -> Option<Person> {
        match &candidate.person {
            Person::Pro(id) => {
                let pro = self.directory.pros.get(id)?;
                let is_unchanged = pro.password_hash == candidate.password_hash;
                if is_unchanged { Some(Person::Pro(pro.id)) } else { None }
            }
            Person::Account(group, account) => {
                let state = self.published.group_state(*group)?;
                let account = state.accounts.get(&account.email.folded())?;
                let is_unchanged = account.password_hash == candidate.password_hash;
                if is_unchanged { Some(Person::Account(*group, Arc::clone(account))) } else { None }
            }
        }
    }

    /// Returns the account of an address when no group is named: that in the only group of the key
    /// that has one. `None` if several groups have one. Reference 3.5.
    pub(crate) fn only_account(&self, email: &str, apikey: [u8; 32]) -> Option<Candidate> {
        let mut accounts = self.accounts_of(email, apikey);
        let first = accounts.next();
        if accounts.next().is_none() { first } else { None }
    }

    /// Returns the accounts of an address in the groups that the key covers, by group ascending.
    /// A look-up skips all groups up to the next that the key covers, or up to the next that has an
    /// account of the address.
    fn accounts_of(&self, email: &str, apikey: [u8; 32]) -> impl Iterator<Item = Candidate> {
        let key = self.directory.apikeys.get(&apikey);
        let mut from = GroupId::new(1);
        std::iter::from_fn(move || {
            loop {
                let group = self.published.next_group_of_account(email, from?)?;
                let covered = key?.first_covered(group)?;
                if covered == group {
                    from = GroupId::new(group.number() + 1);
                    return Some(group);
                }
                from = Some(covered);
            }
        })
        .filter_map(move |group| self.account_of(group, email, apikey))
    }

    /// Returns the groups that the key covers, ascending.
    fn groups_of(&self, apikey: [u8; 32]) -> Box<dyn Iterator<Item = GroupId> + '_> {
        match self.directory.apikeys.get(&apikey) {
            None => Box::new(std::iter::empty()),
            Some(key) => match &key.groups {
                Some(named) => Box::new(named.iter().copied()),
                None => Box::new(self.published.groups()),
            },
        }
    }

    /// Returns the candidate accounts for a Basic credential in trial order, and the number of
    /// passwords to try. The number is constant, so timing reveals nothing.
    ///
    /// The professional comes first, then the account of the path's group or of the implied group.
    /// On
    /// an older path follow other accounts of the address: those callers are answered that nothing
    /// was found, whether the object exists or not. The choice of the others depends neither on the
    /// implied group nor on its existence.
    pub(crate) fn basic_candidates(
        &self,
        email: &str,
        implied: Option<Candidate>,
        apikey: [u8; 32],
    ) -> (Vec<Candidate>, usize) {
        let mut candidates = Vec::new();
        candidates.extend(self.pro_of(email));
        if !self.names_target {
            candidates.extend(match self.group {
                Some(group) => self.account_of(group, email, apikey),
                None => self.only_account(email, apikey),
            });
            return (candidates, 2);
        }
        let implied_group = if implied.is_some() { self.implied_group } else { None };
        candidates.extend(implied);
        for other in self.accounts_of(email, apikey).take(OTHER_ACCOUNTS_MAX) {
            let is_implied = match &other.person {
                Person::Account(group, _) => Some(*group) == implied_group,
                Person::Pro(_) => false,
            };
            if !is_implied {
                candidates.push(other);
            }
        }
        let tries = 1 + self.groups_of(apikey).take(1 + OTHER_ACCOUNTS_MAX).count();
        (candidates, tries)
    }
}
