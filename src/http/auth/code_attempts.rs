//! Limits on guessing codes of second factors: some wrong ones count as a wrong password. Reference
//! 3.6, 3.11.

use sha2::{Digest as _, Sha256};

use crate::domain::directory::professionals::Pro;
use crate::http::auth::auth_request::AuthRequest;
use crate::http::auth::authenticator::{Authenticator, log_failure};
use crate::http::auth::login_proof::Claimant;
use crate::http::error::ApiError;
use crate::http::limits::login_limit::KnownFrom;

impl Authenticator {
    /// Refuses a code after too many wrong credentials, as a password would be. Returns the proof
    /// that the request has of an earlier login.
    ///
    /// # Errors
    /// 429 with the number of seconds to wait.
    pub(crate) fn admit_code(
        &self,
        pro: &Pro,
        request: &AuthRequest<'_>,
    ) -> Result<KnownFrom, ApiError> {
        let email_hash: [u8; 32] = Sha256::digest(pro.email.folded().as_bytes()).into();
        let password_hash = pro.password_hash.as_str();
        let claimant = Claimant { email_hash: &email_hash, password_hash };
        let headers = &request.parts.headers;
        let place = self.login_proofs.place(&email_hash, request.from);
        let known = match self.login_proofs.find_device(headers, claimant, request.now) {
            Some(device) => KnownFrom::Device(device),
            None if request.directory.known_logins.knows(place, request.now) => KnownFrom::Source,
            None => KnownFrom::Nowhere,
        };
        self.refuse_after_failures(email_hash, request.from, known, request.now)?;
        Ok(known)
    }

    /// Counts a wrong code of a professional. Some of them together count as a wrong password;
    /// returns whether this is the last of these.
    pub(crate) fn count_wrong_code(
        &self,
        pro: &Pro,
        known: KnownFrom,
        request: &AuthRequest<'_>,
    ) -> bool {
        if !self.login_steps.count_wrong_code(pro.id) {
            return false;
        }
        let email_hash: [u8; 32] = Sha256::digest(pro.email.folded().as_bytes()).into();
        self.failures.count_failure(email_hash, request.from, known, request.now);
        log_failure(&email_hash, request.from);
        true
    }
}
