//! The second factor of a professional who is logged in at the screens: setting it up, removing it,
//! and new recovery codes. Reference 3.11.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};

use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::factor_changes::{ChangeFactor, FactorProof, FactorRefusal};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::second_factor::{
    GivenCode, RECOVERY_BYTES, RECOVERY_CODES, RecoveryHash, TotpSecret, hash_recovery,
};
use crate::domain::records::author::Author;
use crate::domain::records::ids::ProId;
use crate::engine::AccessError;
use crate::engine::randomness::Randomness;
use crate::http::auth::auth_request::AuthRequest;
use crate::http::auth::authenticator::Authenticator;
use crate::http::auth::login_uses::ActiveLogin;
use crate::http::error::ApiError;
use crate::http::limits::login_limit::KnownFrom;
use crate::password;

/// Characters between two hyphens of a recovery code.
const RECOVERY_PART: usize = 4;

/// An enrolment that waits for the first code of the authenticator.
pub(crate) struct BegunEnrolment {
    /// The secret in base 32, as authenticators take it.
    pub(crate) secret: String,
    /// The proof that the password was right and the server made the secret. The page sends it
    /// back.
    pub(crate) ticket: String,
}

/// The form of a professional who changes the own factor.
pub(crate) struct FactorForm<'f> {
    /// The present password, plain.
    pub(crate) current: &'f str,
    /// The code.
    pub(crate) code: &'f str,
}

/// A change of a factor by a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactorAction {
    /// Makes other recovery codes.
    RenewRecovery,
    /// Removes the factor.
    Remove,
}

/// The result of a form.
pub(crate) enum FactorChange {
    /// It is done. The recovery codes are shown once; there are none after a removal.
    Done(Vec<String>),
    /// The present password was wrong. It counts as a failed login.
    WrongCurrent,
    /// The code was wrong, too old, or used before.
    WrongCode,
    /// Too many codes were wrong.
    CodesExhausted,
    /// The form is too old, or the factor was changed by another one.
    Overtaken,
}

impl Authenticator {
    /// Begins an enrolment of a professional who gives the present password; `None` for a wrong
    /// one.
    ///
    /// # Errors
    /// 429 after too many wrong passwords; 503 when too many are being verified.
    pub(crate) async fn begin_enrolment(
        &self,
        login: ActiveLogin,
        current: &str,
        request: &AuthRequest<'_>,
    ) -> Result<Option<BegunEnrolment>, ApiError> {
        let AuthRequest { directory, from, now, .. } = *request;
        let pro = directory.pros.get(&login.pro).expect("a login is found with its professional");
        let current = password::sha1_hex(current);
        if !self.verify_again(&pro.email, &pro.password_hash, current, from, now).await? {
            return Ok(None);
        }
        let bytes = Randomness::from_os().bytes();
        let (secret, _) = bytes.split_first_chunk().expect("20 of 32 bytes");
        let secret = TotpSecret::new(*secret);
        let ticket = self.login_proofs.enrolment_ticket(pro, &secret, now);
        Ok(Some(BegunEnrolment {
            secret: BASE32_NOPAD.encode(secret.bytes()),
            ticket: BASE64URL_NOPAD.encode(&ticket),
        }))
    }

    /// Returns the secret of an enrolment that was begun, in base 32; `None` if it is too old.
    pub(crate) fn enrolment_secret(
        &self,
        login: ActiveLogin,
        ticket: &str,
        request: &AuthRequest<'_>,
    ) -> Option<String> {
        let pro = request.directory.pros.get(&login.pro)?;
        Some(BASE32_NOPAD.encode(self.read_ticket(pro, ticket, request)?.bytes()))
    }

    /// Sets up a factor with the first code of the authenticator. All other logins end.
    ///
    /// # Errors
    /// 503 if the store takes no writes.
    pub(crate) async fn finish_enrolment(
        &self,
        login: ActiveLogin,
        ticket: &str,
        code: &str,
        request: &AuthRequest<'_>,
    ) -> Result<FactorChange, ApiError> {
        let directory = request.directory;
        let pro = directory.pros.get(&login.pro).expect("a login is found with its professional");
        let Some(secret) = self.read_ticket(pro, ticket, request) else {
            return Ok(FactorChange::Overtaken);
        };
        let (codes, recovery) = draw_recovery_codes(pro.id);
        let proof = FactorProof {
            pro: pro.id,
            password_hash: pro.password_hash.clone(),
            code: GivenCode::read(code),
        };
        let change = ChangeFactor::Enrol { proof, secret, recovery, login: login.hash };
        self.send_factor_change(pro.id, change, codes).await
    }

    /// Removes a factor, or makes other recovery codes.
    ///
    /// # Errors
    /// 429 after too many wrong passwords or codes; 503 when too many are being verified, or the
    /// store takes no writes.
    pub(crate) async fn change_own_factor(
        &self,
        login: ActiveLogin,
        action: FactorAction,
        given: FactorForm<'_>,
        request: &AuthRequest<'_>,
    ) -> Result<FactorChange, ApiError> {
        let AuthRequest { directory, from, now, .. } = *request;
        let pro = directory.pros.get(&login.pro).expect("a login is found with its professional");
        let current = password::sha1_hex(given.current);
        if !self.verify_again(&pro.email, &pro.password_hash, current, from, now).await? {
            return Ok(FactorChange::WrongCurrent);
        }
        let proof = FactorProof {
            pro: pro.id,
            password_hash: pro.password_hash.clone(),
            code: GivenCode::read(given.code),
        };
        let (change, codes) = match action {
            FactorAction::Remove => (ChangeFactor::Remove(proof), Vec::new()),
            FactorAction::RenewRecovery => {
                let (codes, recovery) = draw_recovery_codes(pro.id);
                (ChangeFactor::RenewRecovery { proof, recovery }, codes)
            }
        };
        let changed = self.send_factor_change(pro.id, change, codes).await?;
        if matches!(changed, FactorChange::WrongCode | FactorChange::CodesExhausted) {
            self.count_wrong_code(pro, KnownFrom::Login, request);
        }
        Ok(changed)
    }

    /// Sends a change, and waits until it is durable.
    async fn send_factor_change(
        &self,
        pro: ProId,
        change: ChangeFactor,
        codes: Vec<String>,
    ) -> Result<FactorChange, ApiError> {
        let author = Some(Author::Professional { id: pro, key: None });
        match self.engine.change_access(author, ChangeAccess::ChangeFactor(change)).await {
            Ok(()) => Ok(FactorChange::Done(codes)),
            Err(AccessError::Refused(AccessRefusal::Factor(FactorRefusal::WrongCode))) => {
                Ok(FactorChange::WrongCode)
            }
            Err(AccessError::Refused(AccessRefusal::Factor(FactorRefusal::CodesExhausted))) => {
                Ok(FactorChange::CodesExhausted)
            }
            Err(AccessError::Refused(_)) => Ok(FactorChange::Overtaken),
            Err(AccessError::Rejected(rejection)) => Err(ApiError::from_store(rejection)),
        }
    }

    fn read_ticket(
        &self,
        pro: &Pro,
        ticket: &str,
        request: &AuthRequest<'_>,
    ) -> Option<TotpSecret> {
        let ticket = BASE64URL_NOPAD.decode(ticket.as_bytes()).ok()?;
        self.login_proofs.read_enrolment_ticket(pro, &ticket, request.now)
    }
}

/// Returns new recovery codes of a professional, as they are shown, and their hashes.
fn draw_recovery_codes(pro: ProId) -> (Vec<String>, Vec<RecoveryHash>) {
    let mut randomness = Randomness::from_os();
    let mut shown = Vec::new();
    let mut hashes = Vec::new();
    for _ in 0..RECOVERY_CODES {
        let code = BASE32_NOPAD.encode(&randomness.bytes()[..RECOVERY_BYTES]);
        hashes.push(hash_recovery(pro, &code));
        let parts = code.as_bytes().chunks(RECOVERY_PART).map(String::from_utf8_lossy);
        shown.push(parts.collect::<Vec<_>>().join("-"));
    }
    (shown, hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_codes_differ_and_are_read_as_they_are_shown() {
        let pro = ProId::new(7).expect("an id");
        let (shown, hashes) = draw_recovery_codes(pro);
        assert_eq!((shown.len(), hashes.len()), (RECOVERY_CODES, RECOVERY_CODES));
        for (code, hash) in shown.iter().zip(&hashes) {
            assert_eq!(code.len(), 19, "{code}");
            let typed = format!(" {} ", code.to_lowercase());
            let GivenCode::Recovery(text) = GivenCode::read(&typed) else { panic!("{code}") };
            assert_eq!(hash_recovery(pro, &text), *hash);
        }
        let distinct: std::collections::BTreeSet<&String> = shown.iter().collect();
        assert_eq!(distinct.len(), RECOVERY_CODES);
    }
}
