//! Tokens of logins at the practice's own screens, and the last use of each, which is kept in
//! memory only. Reference 15.1.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::http::HeaderMap;
use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::directory::pro_logins::LoginHash;
use crate::domain::records::ids::ProId;
use crate::domain::time::Instant;
use crate::engine::randomness::Randomness;
use crate::http::auth::login_cookie::login_tokens;

/// Number of uses beyond twice the open logins at which those of logins that have ended go.
const SPARE_USES: usize = 64;

/// A login that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActiveLogin {
    pub(crate) pro: ProId,
    pub(crate) hash: LoginHash,
}

/// The last use of a login since the start of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoginUse {
    pub(crate) at: Instant,
    /// The client address.
    pub(crate) from: IpAddr,
}

/// The last uses of logins, and the source of their tokens.
pub(crate) struct LoginUses {
    last: Mutex<BTreeMap<LoginHash, LoginUse>>,
    randomness: Mutex<Randomness>,
}

impl LoginUses {
    pub(crate) fn new() -> Self {
        Self { last: Mutex::default(), randomness: Mutex::new(Randomness::from_os()) }
    }

    /// Returns a new token of 256 random bits, and its hash.
    pub(crate) fn new_token(&self) -> (String, LoginHash) {
        let token = HEXLOWER.encode(&self.randomness.lock().bytes());
        let hash = hash_token(token.as_bytes());
        (token, hash)
    }

    /// Records a use. The table never outgrows the open logins by much.
    pub(crate) fn touch(&self, login: ActiveLogin, used: LoginUse, directory: &Directory) {
        let mut last = self.last.lock();
        last.insert(login.hash, used);
        if last.len() > 2 * directory.pro_logins.len() + SPARE_USES {
            last.retain(|hash, _| directory.pro_logins.find(hash, used.at).is_some());
        }
    }

    /// Returns the last use of a login; `None` if it was not used since the start.
    pub(crate) fn last(&self, hash: &LoginHash) -> Option<LoginUse> {
        self.last.lock().get(hash).copied()
    }
}

/// Returns the login that the cookies of a request name, if it has not ended. The directory has its
/// professional.
pub(crate) fn find_login(
    headers: &HeaderMap,
    behind_tls: bool,
    directory: &Directory,
    now: Instant,
) -> Option<ActiveLogin> {
    login_tokens(headers, behind_tls).find_map(|token| {
        let hash = hash_token(token);
        let login = directory.pro_logins.find(&hash, now)?;
        directory.pros.get(&login.pro)?;
        Some(ActiveLogin { pro: login.pro, hash })
    })
}

fn hash_token(token: &[u8]) -> LoginHash {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_logins_that_have_ended_are_forgotten() {
        let uses = LoginUses::new();
        let pro = ProId::new(1).expect("an id");
        let used = LoginUse { at: Instant(0), from: IpAddr::from([127, 0, 0, 1]) };
        for _ in 0..1_000 {
            let (_, hash) = uses.new_token();
            uses.touch(ActiveLogin { pro, hash }, used, &Directory::default());
        }
        assert!(uses.last.lock().len() <= SPARE_USES);
    }
}
