//! Logins at the screens that have given the password and still need a code. They are kept in
//! memory for ten minutes. Reference 3.11.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderValue};
use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::directory::professionals::Pro;
use crate::domain::records::ids::ProId;
use crate::domain::records::text::Text;
use crate::domain::time::Instant;
use crate::engine::randomness::Randomness;
use crate::http::auth::login_cookie::cookie_values;
use crate::http::limits::ranked_map::{Ranked, RankedMap};

/// Name of the cookie without TLS.
const NAME: &str = "_login_step";
/// The same behind TLS.
const NAME_OVER_TLS: &str = "__Host-_login_step";
/// Seconds within which a code has to follow the password.
pub(crate) const LOGIN_STEP_SECONDS: i64 = 600;
/// Maximum number of such logins of one professional; beyond it the oldest ends.
pub(crate) const LOGIN_STEPS_PER_PRO_MAX: usize = 10;
/// Maximum number of such logins; beyond it the oldest ends.
const LOGIN_STEPS_MAX: usize = 10_000;
/// Maximum number of tokens that are looked up for one request.
const TOKENS_MAX: usize = 4;
/// Number of wrong codes of a professional that count as one wrong password.
pub(crate) const WRONG_CODES_PER_FAILURE: u8 = 5;

/// The logins that need a code, and the wrong codes that do not count as a wrong password yet.
pub(crate) struct LoginSteps(Mutex<StepTable>);

struct StepTable {
    /// By the SHA-256 of the token.
    steps: RankedMap<[u8; 32], LoginStep>,
    /// Fewer than [`WRONG_CODES_PER_FAILURE`] for each professional.
    wrong_codes: BTreeMap<ProId, u8>,
    randomness: Randomness,
}

/// A login that has given the right password.
#[derive(Clone, Debug)]
pub(crate) struct LoginStep {
    pub(crate) pro: ProId,
    /// The hash of that password. Another one ends the login.
    pub(crate) password_hash: Text<255>,
    /// Whether it shall last for 30 days.
    pub(crate) stays: bool,
    begun: Instant,
}

/// A login that was found by its cookie.
pub(crate) struct FoundLoginStep {
    pub(crate) step: LoginStep,
    hash: [u8; 32],
}

/// By the begin, and by the professional and the begin.
impl Ranked for LoginStep {
    type First = Instant;
    type Second = (ProId, Instant);

    fn ranks(&self) -> (Instant, (ProId, Instant)) {
        (self.begun, (self.pro, self.begun))
    }
}

impl LoginSteps {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(StepTable {
            steps: RankedMap::new(),
            wrong_codes: BTreeMap::new(),
            randomness: Randomness::from_os(),
        }))
    }

    /// Begins a login of a professional whose password was verified. Returns the cookie that proves
    /// it.
    pub(crate) fn begin(
        &self,
        pro: &Pro,
        stays: bool,
        behind_tls: bool,
        now: Instant,
    ) -> HeaderValue {
        let mut table = self.0.lock();
        table.make_room(pro.id);
        let token = HEXLOWER.encode(&table.randomness.bytes());
        let password_hash = pro.password_hash.clone();
        let step = LoginStep { pro: pro.id, password_hash, stays, begun: now };
        table.steps.put(Sha256::digest(&token).into(), step);
        cookie(&format!("{token}; Max-Age={LOGIN_STEP_SECONDS}"), behind_tls)
    }

    /// Returns the login of a request's cookies, unless its time is over or the password has
    /// changed.
    pub(crate) fn find(
        &self,
        headers: &HeaderMap,
        behind_tls: bool,
        directory: &Directory,
        now: Instant,
    ) -> Option<FoundLoginStep> {
        let table = self.0.lock();
        cookie_values(headers, name(behind_tls)).take(TOKENS_MAX).find_map(|token| {
            let hash = Sha256::digest(token).into();
            let step = table.steps.get(&hash)?.clone();
            let is_fresh = (0..LOGIN_STEP_SECONDS).contains(&now.seconds_since(step.begun));
            let pro = directory.pros.get(&step.pro)?;
            let is_unchanged = pro.password_hash == step.password_hash;
            if is_fresh && is_unchanged { Some(FoundLoginStep { step, hash }) } else { None }
        })
    }

    /// Ends a login. Returns the cookie that removes the token from the browser.
    pub(crate) fn end(&self, found: &FoundLoginStep, behind_tls: bool) -> HeaderValue {
        self.0.lock().steps.remove(&found.hash);
        cookie("; Max-Age=0", behind_tls)
    }

    /// Counts a wrong code. Returns whether it is the one by which they count as a wrong password.
    pub(crate) fn count_wrong_code(&self, pro: ProId) -> bool {
        let mut table = self.0.lock();
        let count = table.wrong_codes.entry(pro).or_default();
        *count += 1;
        if *count < WRONG_CODES_PER_FAILURE {
            return false;
        }
        table.wrong_codes.remove(&pro);
        true
    }
}

impl StepTable {
    /// Removes as many logins as one more of this professional needs.
    fn make_room(&mut self, pro: ProId) {
        let first = ((pro, Instant(i64::MIN)), [0; 32]);
        let own = self.steps.starting_at_second(first).take_while(|((of, _), _)| *of == pro);
        let own: Vec<[u8; 32]> = own.map(|(_, hash)| *hash).collect();
        let excess = (own.len() + 1).saturating_sub(LOGIN_STEPS_PER_PRO_MAX);
        for oldest in own.iter().take(excess) {
            self.steps.remove(oldest);
        }
        while self.steps.len() >= LOGIN_STEPS_MAX
            && let Some(&(_, oldest)) = self.steps.least_by_first()
        {
            self.steps.remove(&oldest);
        }
    }
}

fn cookie(rest: &str, behind_tls: bool) -> HeaderValue {
    let secure = if behind_tls { "; Secure" } else { "" };
    let cookie = format!("{}={rest}; Path=/; HttpOnly; SameSite=Lax{secure}", name(behind_tls));
    cookie.try_into().expect("hexadecimal digits and words make a header")
}

const fn name(behind_tls: bool) -> &'static str {
    if behind_tls { NAME_OVER_TLS } else { NAME }
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;

    use super::*;
    use crate::domain::records::ids::GroupId;

    const NOW: Instant = Instant(1_000_000);

    fn directory() -> (Directory, Pro) {
        let group = GroupId::new(1).expect("an id");
        let pro = Pro::blank(ProId::new(7).expect("an id"), group, NOW);
        let mut directory = Directory::default();
        directory.pros.insert(pro.id, pro.clone());
        (directory, pro)
    }

    fn with_cookie(cookie: &HeaderValue) -> HeaderMap {
        let (pair, _) = cookie.to_str().expect("a text").split_once(';').expect("attributes");
        HeaderMap::from_iter([(COOKIE, pair.parse().expect("a header"))])
    }

    #[test]
    fn a_login_waits_ten_minutes_for_its_code_and_ends_with_another_password() {
        let (mut directory, pro) = directory();
        let steps = LoginSteps::new();
        let cookie = steps.begin(&pro, true, false, NOW);
        assert!(cookie.to_str().expect("a text").contains("HttpOnly"));
        let headers = with_cookie(&cookie);
        let finds = |directory: &Directory, seconds| {
            steps.find(&headers, false, directory, NOW.plus_seconds(seconds)).is_some()
        };
        assert!(finds(&directory, 0) && finds(&directory, LOGIN_STEP_SECONDS - 1));
        assert!(!finds(&directory, LOGIN_STEP_SECONDS) && !finds(&directory, -1));
        let password_hash = Text::new("other").expect("a text");
        directory.pros.insert(pro.id, Pro { password_hash, ..pro });
        assert!(!finds(&directory, 0));
    }

    #[test]
    fn a_person_has_ten_at_most_and_the_oldest_ends() {
        let (directory, pro) = directory();
        let steps = LoginSteps::new();
        let cookies: Vec<HeaderMap> = (0..=LOGIN_STEPS_PER_PRO_MAX)
            .map(|second| {
                let now = NOW.plus_seconds(i64::try_from(second).expect("small"));
                with_cookie(&steps.begin(&pro, false, false, now))
            })
            .collect();
        let now = NOW.plus_seconds(20);
        let found =
            cookies.iter().filter(|headers| steps.find(headers, false, &directory, now).is_some());
        assert_eq!(found.count(), LOGIN_STEPS_PER_PRO_MAX);
        assert!(steps.find(&cookies[0], false, &directory, now).is_none());
    }

    #[test]
    fn each_fifth_wrong_code_counts() {
        let (_, pro) = directory();
        let steps = LoginSteps::new();
        let counted: Vec<bool> = (0..10).map(|_| steps.count_wrong_code(pro.id)).collect();
        let expected: Vec<bool> = (1..=10).map(|nth| nth % 5 == 0).collect();
        assert_eq!(counted, expected);
    }
}
