//! The second factor of a professional: codes of an authenticator application, and recovery codes.
//! Reference 3.11.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use totp_rs::{Builder, Secret, Totp};

use crate::domain::records::ids::ProId;
use crate::domain::time::Instant;

/// Seconds for which an authenticator shows one code.
pub const STEP_SECONDS: u64 = 30;
/// Number of steps before and after the present one whose codes are accepted.
const STEPS_AROUND: u64 = 1;
/// Digits of a code of an authenticator.
pub const CODE_DIGITS: usize = 6;
/// Number of recovery codes that are made at once.
pub const RECOVERY_CODES: usize = 10;
/// Random bytes of a recovery code.
pub const RECOVERY_BYTES: usize = 10;
/// Number of wrong codes for one password after which codes of the authenticator are not accepted.
pub const WRONG_CODES_MAX: u32 = 200;
/// Number of used steps that are kept. Without changes of the clock three would do.
const USED_STEPS_KEPT: usize = 16;
/// Maximum number of characters of a code that is read.
const GIVEN_CHARACTERS_MAX: usize = 64;

/// The secret that an authenticator shares with the server: 160 random bits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotpSecret([u8; Self::BYTES]);

/// The SHA-256 that stands for a recovery code of a professional. The code has 80 random bits, so
/// that no slow hash is needed.
pub type RecoveryHash = [u8; 32];

/// A second factor. Both times and codes are as RFC 6238 says, with SHA-1.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondFactor {
    secret: TotpSecret,
    /// The time at which it was set up.
    pub since: Instant,
    /// The steps whose codes were accepted, in this order.
    used_steps: Vec<u64>,
    /// The recovery codes that were not used.
    recovery: Vec<RecoveryHash>,
    /// The number of wrong codes since the last password, less those that right ones made up for.
    wrong_codes: u32,
}

/// A code, as a person typed it.
#[derive(Clone, PartialEq, Eq)]
pub enum GivenCode {
    /// The digits of an authenticator.
    Authenticator(String),
    /// Anything else, in capital letters, without spaces and hyphens.
    Recovery(String),
}

/// The second step of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecondStep {
    /// There was none.
    NotTaken,
    /// The person has a login, which this one continues.
    TakenBefore,
    /// A code.
    Code(GivenCode),
}

/// A code that was accepted. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UsedCode {
    /// The code of a step.
    Step(u64),
    /// A recovery code.
    Recovery(RecoveryHash),
}

/// The reason why a code is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeFault {
    /// It is wrong, too old, or was used before.
    Wrong,
    /// Too many were wrong, and this is none of the recovery codes.
    Exhausted,
}

impl TotpSecret {
    /// Number of bytes.
    pub const BYTES: usize = 20;

    /// Makes a secret from random bytes, which must not be guessable.
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Returns the steps around a moment whose code is this one, ascending.
    pub fn steps_of(&self, code: &str, now: Instant) -> impl Iterator<Item = u64> {
        let totp = self.totp();
        let present = u64::try_from(now.0).unwrap_or(0) / STEP_SECONDS;
        let steps = present.saturating_sub(STEPS_AROUND)..=present + STEPS_AROUND;
        steps.filter(move |step| totp.check(code, step * STEP_SECONDS).is_some())
    }

    /// The algorithm for one step: it accepts the code of that step alone.
    fn totp(&self) -> Totp {
        let builder = Builder::new().with_digits(6).with_step_duration(STEP_SECONDS).with_skew(0);
        let built = builder.with_secret(Secret::new_stack(self.0)).build();
        built.expect("6 digits and 160 bits are as the standard asks")
    }
}

impl SecondFactor {
    /// A factor that begins with a code that was just used.
    pub fn new(
        secret: TotpSecret,
        used_step: u64,
        recovery: Vec<RecoveryHash>,
        since: Instant,
    ) -> Self {
        Self { secret, since, used_steps: vec![used_step], recovery, wrong_codes: 0 }
    }

    /// The number of recovery codes that were not used.
    pub fn recovery_codes_left(&self) -> usize {
        self.recovery.len()
    }

    /// Checks a code. Nothing changes before [`SecondFactor::use_code`].
    ///
    /// # Errors
    /// The reason why it is not accepted.
    pub fn check(&self, pro: ProId, code: &GivenCode, now: Instant) -> Result<UsedCode, CodeFault> {
        let is_exhausted = self.wrong_codes >= WRONG_CODES_MAX;
        let fault = if is_exhausted { CodeFault::Exhausted } else { CodeFault::Wrong };
        match code {
            GivenCode::Authenticator(_) if is_exhausted => Err(fault),
            GivenCode::Authenticator(digits) => {
                let unused = |step: &u64| !self.used_steps.contains(step);
                let step = self.secret.steps_of(digits, now).find(unused).ok_or(fault)?;
                Ok(UsedCode::Step(step))
            }
            GivenCode::Recovery(text) => {
                let hash = hash_recovery(pro, text);
                if self.recovery.contains(&hash) {
                    Ok(UsedCode::Recovery(hash))
                } else {
                    Err(fault)
                }
            }
        }
    }

    /// Records that a code was accepted, so that it is never accepted again.
    pub fn use_code(&mut self, used: UsedCode) {
        match used {
            UsedCode::Step(step) => {
                self.used_steps.push(step);
                if self.used_steps.len() > USED_STEPS_KEPT {
                    self.used_steps.remove(0);
                }
            }
            UsedCode::Recovery(hash) => self.recovery.retain(|left| *left != hash),
        }
        self.wrong_codes = self.wrong_codes.saturating_sub(1);
    }

    /// Counts a wrong code.
    pub fn count_wrong_code(&mut self) {
        self.wrong_codes = self.wrong_codes.saturating_add(1);
    }

    /// Begins to count anew: a guesser has to learn another password first.
    pub fn forget_wrong_codes(&mut self) {
        self.wrong_codes = 0;
    }

    /// Returns the same with other recovery codes.
    #[must_use]
    pub fn with_recovery(self, recovery: Vec<RecoveryHash>) -> Self {
        Self { recovery, ..self }
    }
}

impl GivenCode {
    /// Reads what a person typed.
    pub fn read(text: &str) -> Self {
        let shown = text.chars().filter(|character| !" -\t\u{a0}\u{202f}".contains(*character));
        let text: String = shown.take(GIVEN_CHARACTERS_MAX).collect();
        if text.len() == CODE_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::Authenticator(text)
        } else {
            Self::Recovery(text.to_ascii_uppercase())
        }
    }
}

/// Returns the hash that stands for a recovery code, in capital letters, without hyphens.
pub fn hash_recovery(pro: ProId, code: &str) -> RecoveryHash {
    let mut hasher = Sha256::new();
    hasher.update(b"slotbook recovery code\0");
    hasher.update(pro.number().to_be_bytes());
    hasher.update(code.as_bytes());
    hasher.finalize().into()
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret(…)")
    }
}

impl fmt::Debug for SecondFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecondFactor(…)")
    }
}

impl fmt::Debug for GivenCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GivenCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pro() -> ProId {
        ProId::new(3).expect("an id")
    }

    /// The secret of the examples of RFC 6238.
    fn secret() -> TotpSecret {
        TotpSecret::new(*b"12345678901234567890")
    }

    fn factor() -> SecondFactor {
        let recovery = vec![hash_recovery(pro(), "ABCD2345ABCD2345"), hash_recovery(pro(), "B")];
        SecondFactor::new(secret(), 0, recovery, Instant(0))
    }

    #[test]
    fn codes_are_those_of_the_standard() {
        for (at, digits) in [(59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")]
        {
            let code = GivenCode::read(digits);
            let step = u64::try_from(at).expect("positive") / STEP_SECONDS;
            assert_eq!(factor().check(pro(), &code, Instant(at)), Ok(UsedCode::Step(step)));
        }
    }

    #[test]
    fn a_code_counts_for_one_step_before_and_after_its_own() {
        let code = GivenCode::read("081 804");
        let step = 1_111_111_109 / 30;
        for (step_of_now, is_accepted) in
            [(step - 2, false), (step - 1, true), (step, true), (step + 1, true), (step + 2, false)]
        {
            for second in [0, 29] {
                let now = Instant(step_of_now * 30 + second);
                assert_eq!(factor().check(pro(), &code, now).is_ok(), is_accepted, "{now:?}");
            }
        }
    }

    #[test]
    fn each_code_is_accepted_once_also_after_the_clock_was_set_back() {
        let mut factor = factor();
        let now = Instant(1_111_111_109);
        for given in ["081804", "abcd-2345 abcd-2345"] {
            let code = GivenCode::read(given);
            let used = factor.check(pro(), &code, now).expect("it is right");
            factor.use_code(used);
            assert_eq!(factor.check(pro(), &code, now), Err(CodeFault::Wrong), "{given}");
        }
        assert_eq!(factor.recovery_codes_left(), 1);
        // A code of a year later does not stand in the way of the present ones.
        factor.use_code(UsedCode::Step(60_000_000));
        let before = GivenCode::read("287082");
        assert!(factor.check(pro(), &before, Instant(59)).is_ok());
    }

    #[test]
    fn after_200_wrong_codes_only_recovery_codes_count_until_the_password_changes() {
        let mut factor = factor();
        let now = Instant(1_111_111_109);
        let right = GivenCode::read("081804");
        for _ in 0..WRONG_CODES_MAX {
            assert!(factor.check(pro(), &right, now).is_ok());
            factor.count_wrong_code();
        }
        assert_eq!(factor.check(pro(), &right, now), Err(CodeFault::Exhausted));
        assert_eq!(factor.check(pro(), &GivenCode::read("x"), now), Err(CodeFault::Exhausted));
        assert!(factor.check(pro(), &GivenCode::read("b"), now).is_ok());
        factor.forget_wrong_codes();
        assert!(factor.check(pro(), &right, now).is_ok());
    }

    #[test]
    fn a_recovery_code_is_of_one_person() {
        let other = ProId::new(4).expect("an id");
        let code = GivenCode::read("ABCD2345ABCD2345");
        assert!(factor().check(pro(), &code, Instant(0)).is_ok());
        assert_eq!(factor().check(other, &code, Instant(0)), Err(CodeFault::Wrong));
    }

    #[test]
    fn the_last_16_codes_are_remembered() {
        let mut factor = factor();
        let steps = 1_000..1_000 + u64::try_from(USED_STEPS_KEPT).expect("few");
        steps.clone().for_each(|step| factor.use_code(UsedCode::Step(step)));
        // The first one is that of the setting up.
        assert_eq!(factor.used_steps, steps.collect::<Vec<_>>());
        assert_eq!(factor.recovery_codes_left(), 2);
    }

    #[test]
    fn six_digits_are_a_code_of_the_authenticator_and_all_else_is_one_of_recovery() {
        assert_eq!(GivenCode::read("123 456"), GivenCode::Authenticator("123456".into()));
        for text in ["abcdef", "1234567", "12345", "12345x"] {
            assert_eq!(GivenCode::read(text), GivenCode::Recovery(text.to_ascii_uppercase()));
        }
    }
}
