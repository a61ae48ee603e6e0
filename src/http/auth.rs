//! Who asks: the application by its key, the professional by HTTP Basic. Spec 5, contract 3.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::computing::Computing;
use super::failure::Failure;
use super::throttle::Throttle;
use crate::domain::command::Caller;
use crate::domain::directory::{Apikey, Directory, Pro};
use crate::domain::ids::{GroupId, ProId};
use crate::domain::time::Instant;
use crate::engine::draws::Draws;
use crate::password;
use crate::wire::errors::Problem;
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// Seconds for which a verified credential need not be verified again.
const REMEMBERED_SECONDS: i64 = 60;

/// Whoever is behind a request, checked.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// The directory that says so.
    directory: Arc<Directory>,
    /// The application's key, as it is kept.
    apikey: [u8; 32],
    /// On whose behalf the application asks.
    pub(super) caller: Caller,
}

impl Identity {
    fn apikey(&self) -> &Apikey {
        self.directory.apikeys.get(&self.apikey).expect("the key was found in this very directory")
    }

    /// The professional, if it is one.
    fn pro(&self) -> Option<&Pro> {
        match self.caller {
            Caller::Application => None,
            Caller::Pro(id) => self.directory.pros.get(&id),
        }
    }

    /// Whether a group exists for the caller: the key covers it and, for a professional, it works there.
    pub(super) fn sees(&self, group: GroupId) -> bool {
        self.apikey().covers(group) && self.pro().is_none_or(|pro| pro.groups.binary_search(&group).is_ok())
    }

    /// The groups that a list of groups may name, ascending: the professional's own, else those named on the key;
    /// `None` where the key alone covers all groups.
    pub(super) fn groups(&self) -> Option<Vec<GroupId>> {
        match self.pro() {
            Some(pro) => Some(pro.groups.iter().copied().filter(|group| self.apikey().covers(*group)).collect()),
            None => self.apikey().groups.clone(),
        }
    }

    /// The group that a path without a group means where nothing names one: the professional's main group, else the
    /// only one of the key, whether the caller sees it or not.
    pub(super) fn home(&self) -> Option<GroupId> {
        let main = self.pro().map(|pro| pro.main).filter(|group| self.sees(*group));
        let only = match self.apikey().groups.as_deref() {
            Some([only]) => Some(*only),
            Some([] | [_, _, ..]) | None => None,
        };
        main.or(only)
    }

    /// How much the caller is told.
    pub(super) fn audience(&self) -> Audience {
        match self.caller {
            Caller::Application => Audience::Application,
            Caller::Pro(_) => Audience::Pro,
        }
    }
}

/// Finds out who asks.
pub(super) struct Doorkeeper {
    /// Keys the hashes under which credentials are remembered; drawn at start, never kept.
    secret: [u8; 32],
    /// Credentials verified within the last minute.
    remembered: Mutex<BTreeMap<[u8; 32], Remembered>>,
    /// Turns to verify: each takes a core for some tens of milliseconds, and 19 MiB.
    verifying: Computing,
    /// Who has failed too often.
    throttle: Throttle,
}

/// A credential that was right.
struct Remembered {
    pro: ProId,
    at: Instant,
}

/// What HTTP Basic carries, in the form of the wire.
struct Credential {
    email: Box<str>,
    password: String,
}

impl Doorkeeper {
    /// A doorkeeper who remembers nobody.
    pub(super) fn new(cores: usize) -> Self {
        Self {
            secret: Draws::from_os().bytes(),
            remembered: Mutex::default(),
            verifying: Computing::new(cores),
            throttle: Throttle::default(),
        }
    }

    /// Who asks, `from` an address.
    ///
    /// # Errors
    /// 403 without a known key; 401 for credentials that are not right, 429 after too many of them; 503 when too many are
    /// being verified.
    pub(super) async fn identify(
        &self,
        directory: Arc<Directory>,
        headers: &HeaderMap,
        params: &Params,
        from: IpAddr,
        now: Instant,
    ) -> Result<Identity, Failure> {
        let Some(key) = params.one("apikey") else {
            return Err(Failure::unauthorized("every request needs the parameter apikey in its query"));
        };
        let apikey: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        if !directory.apikeys.contains_key(&apikey) {
            return Err(Failure::unauthorized("the apikey is not known: ask the operator for a valid one"));
        }
        let caller = match headers.get(AUTHORIZATION) {
            None => Caller::Application,
            Some(header) => {
                let credential = Credential::of_basic(header.as_bytes()).ok_or_else(login_failed)?;
                Caller::Pro(self.pro(&directory, &credential, from, now).await?)
            }
        };
        Ok(Identity { directory, apikey, caller })
    }

    async fn pro(
        &self,
        directory: &Directory,
        credential: &Credential,
        from: IpAddr,
        now: Instant,
    ) -> Result<ProId, Failure> {
        let pro = directory.pro_of_email(&credential.email);
        let kept = pro.map_or(password::NOBODY, |pro| pro.password_hash.as_str()).to_owned();
        let memo = self.memo(credential, &kept);
        if let Some(known) = self.remembers(&memo, now) {
            return Ok(known);
        }
        let turn = self.verifying.turn().await?;
        // Whoever waited behind the same credential finds it verified.
        if let Some(known) = self.remembers(&memo, now) {
            return Ok(known);
        }
        if let Some(seconds) = self.throttle.wait(&credential.email, from, now) {
            return Err(Failure::too_many("logins of this e-mail address failed", seconds));
        }
        let given = credential.password.clone();
        let right = turn.run(move || password::matches(&kept, &given)).await?;
        match pro {
            Some(pro) if right => {
                self.remember(memo, pro.id, now);
                Ok(pro.id)
            }
            Some(_) | None => {
                self.throttle.failed(&credential.email, from, now);
                Err(login_failed())
            }
        }
    }

    /// What a credential is remembered under: nobody can make it without our secret, and a changed password changes it.
    fn memo(&self, credential: &Credential, kept: &str) -> [u8; 32] {
        let mut inner = Sha256::new_with_prefix(self.secret);
        for part in [&credential.email, credential.password.as_str(), kept] {
            inner.update(part.len().to_be_bytes());
            inner.update(part.as_bytes());
        }
        Sha256::new_with_prefix(self.secret).chain_update(inner.finalize()).finalize().into()
    }

    fn remembers(&self, memo: &[u8; 32], now: Instant) -> Option<ProId> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.get(memo).filter(|known| fresh(known.at, now)).map(|known| known.pro)
    }

    fn remember(&self, memo: [u8; 32], pro: ProId, now: Instant) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.retain(|_, known| fresh(known.at, now));
        remembered.insert(memo, Remembered { pro, at: now });
    }
}

fn fresh(at: Instant, now: Instant) -> bool {
    (0..REMEMBERED_SECONDS).contains(&now.seconds_since(at))
}

fn login_failed() -> Failure {
    Failure::new(Problem::LoginFailed, "the e-mail address or the password is wrong")
}

impl Credential {
    /// The credential of an Authorization header; `None` where it is not that of HTTP Basic.
    fn of_basic(header: &[u8]) -> Option<Self> {
        let header = std::str::from_utf8(header).ok()?;
        let (scheme, encoded) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
        let (email, password) = decoded.split_once(':')?;
        Some(Self { email: email.to_lowercase().into(), password: password::sha1_hex(password) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_carries_the_plain_password_which_may_hold_colons() {
        let credential = Credential::of_basic(b"basic QW5uQFguT3JnOmE6Yg==").expect("Ann@X.Org:a:b");
        assert_eq!(&*credential.email, "ann@x.org");
        assert_eq!(credential.password, password::sha1_hex("a:b"));
        for bad in ["Bearer QW5uOmI=", "Basic", "Basic !", "Basic QW5u", ""] {
            assert!(Credential::of_basic(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_credential_is_remembered_for_a_minute_and_never_under_another_password() {
        let doorkeeper = Doorkeeper::new(1);
        let credential = Credential { email: "ann@x.org".into(), password: "a".into() };
        let memo = doorkeeper.memo(&credential, "kept");
        let pro = ProId::new(7).expect("an id");
        doorkeeper.remember(memo, pro, Instant(1_000));
        assert_eq!(doorkeeper.remembers(&memo, Instant(1_059)), Some(pro));
        assert_eq!(doorkeeper.remembers(&memo, Instant(1_060)), None);
        assert_eq!(doorkeeper.remembers(&memo, Instant(999)), None);
        assert_ne!(doorkeeper.memo(&credential, "changed"), memo);
        let shifted = Credential { email: "ann@x.or".into(), password: "ga".into() };
        assert_ne!(doorkeeper.memo(&shifted, "kept"), memo);
    }
}
