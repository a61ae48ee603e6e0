//! Decisions about second factors. Reference 3.11.

use thiserror::Error;

use crate::domain::directory::pro_logins::LoginHash;
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::second_factor::{
    CodeFault, GivenCode, RecoveryHash, SecondFactor, TotpSecret,
};
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::ids::ProId;
use crate::domain::records::text::{Email, Text};
use crate::domain::time::Instant;

/// A change of a second factor.
#[derive(Clone, Debug)]
pub enum ChangeFactor {
    /// Sets one up. The code shows that the authenticator has the secret.
    Enrol {
        /// The proof of the person.
        proof: FactorProof,
        /// The secret.
        secret: TotpSecret,
        /// The recovery codes.
        recovery: Vec<RecoveryHash>,
        /// The login that sets it up; all others of the person end.
        login: LoginHash,
    },
    /// Replaces all recovery codes.
    RenewRecovery {
        /// The proof of the person.
        proof: FactorProof,
        /// The recovery codes.
        recovery: Vec<RecoveryHash>,
    },
    /// Removes the factor, by its own person.
    Remove(FactorProof),
    /// Removes the factor of a lost telephone, by the operator.
    RemoveLost(Email),
}

/// The proof that a change comes from the person: the password and a code.
#[derive(Clone, Debug)]
pub struct FactorProof {
    /// The professional.
    pub pro: ProId,
    /// The hash of the password that was verified.
    pub password_hash: Text<255>,
    /// The code that was given.
    pub code: GivenCode,
}

/// The reason why a change of a second factor, or a login with one, is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages explain the variants")]
pub enum FactorRefusal {
    #[error("the login needs a code of the second factor")]
    CodeNeeded,
    #[error("the code is wrong, too old, or was used before")]
    WrongCode,
    #[error("too many codes were wrong: use a recovery code, or set another password")]
    CodesExhausted,
    #[error("a second factor is set up already: remove it first")]
    FactorKnown,
    #[error("no professional has the address {}", .0.as_str())]
    NoPro(Email),
    #[error("{} has no second factor", .0.as_str())]
    NoFactor(Email),
    #[error("the professional is gone, or has another password by now")]
    ProChanged,
}

/// Decides a change.
///
/// # Errors
/// The reason why the change is refused. A wrong code of a known factor is an event, which stands
/// for its refusal.
pub fn decide(
    directory: &Directory,
    change: &ChangeFactor,
    now: Instant,
) -> Result<DirectoryEvent, FactorRefusal> {
    match change {
        ChangeFactor::Enrol { proof, secret, recovery, login } => {
            let factor = enrol(directory, proof, secret, recovery, now)?;
            let logins = directory.pro_logins.active(proof.pro, now).map(|(hash, _)| hash);
            let ended = logins.filter(|hash| hash != login).collect();
            Ok(DirectoryEvent::SecondFactorPut { pro: proof.pro, factor, ended })
        }
        ChangeFactor::RenewRecovery { proof, recovery } => {
            let factor = find_factor(directory, proof)?;
            let used = match factor.check(proof.pro, &proof.code, now) {
                Ok(used) => used,
                Err(fault) => return refuse_code(proof.pro, fault),
            };
            let mut factor = factor.clone();
            factor.use_code(used);
            let factor = Box::new(factor.with_recovery(recovery.clone()));
            Ok(DirectoryEvent::SecondFactorPut { pro: proof.pro, factor, ended: Vec::new() })
        }
        ChangeFactor::Remove(proof) => {
            let factor = find_factor(directory, proof)?;
            match factor.check(proof.pro, &proof.code, now) {
                Ok(_) => Ok(DirectoryEvent::SecondFactorRemoved { pro: proof.pro }),
                Err(fault) => refuse_code(proof.pro, fault),
            }
        }
        ChangeFactor::RemoveLost(email) => {
            let Some(pro) = directory.pros.find_by_email(&email.folded()) else {
                return Err(FactorRefusal::NoPro(email.clone()));
            };
            if !directory.second_factors.contains_key(&pro.id) {
                return Err(FactorRefusal::NoFactor(email.clone()));
            }
            Ok(DirectoryEvent::SecondFactorRemoved { pro: pro.id })
        }
    }
}

/// Returns the event that counts a wrong code.
///
/// # Errors
/// The refusal of a code that counts no more.
pub fn refuse_code(pro: ProId, fault: CodeFault) -> Result<DirectoryEvent, FactorRefusal> {
    match fault {
        CodeFault::Wrong => Ok(DirectoryEvent::WrongCodeGiven { pro }),
        CodeFault::Exhausted => Err(FactorRefusal::CodesExhausted),
    }
}

/// Returns a new factor. A wrong code here is guessed by no one, since the page shows the secret.
fn enrol(
    directory: &Directory,
    proof: &FactorProof,
    secret: &TotpSecret,
    recovery: &[RecoveryHash],
    now: Instant,
) -> Result<Box<SecondFactor>, FactorRefusal> {
    check_password(directory, proof)?;
    if directory.second_factors.contains_key(&proof.pro) {
        return Err(FactorRefusal::FactorKnown);
    }
    let GivenCode::Authenticator(digits) = &proof.code else {
        return Err(FactorRefusal::WrongCode);
    };
    let Some(step) = secret.steps_of(digits, now).next() else {
        return Err(FactorRefusal::WrongCode);
    };
    Ok(Box::new(SecondFactor::new(secret.clone(), step, recovery.to_vec(), now)))
}

/// Returns the factor of the person of a proof.
///
/// # Errors
/// The person has another password by now, or no factor.
fn find_factor<'d>(
    directory: &'d Directory,
    proof: &FactorProof,
) -> Result<&'d SecondFactor, FactorRefusal> {
    let pro = check_password(directory, proof)?;
    match directory.second_factors.get(&proof.pro) {
        Some(factor) => Ok(factor),
        None => Err(FactorRefusal::NoFactor(pro.email.clone())),
    }
}

/// Returns the professional of a proof.
///
/// # Errors
/// The professional is gone, or has another password by now.
fn check_password<'d>(
    directory: &'d Directory,
    proof: &FactorProof,
) -> Result<&'d Pro, FactorRefusal> {
    let pro = directory.pros.get(&proof.pro);
    let unchanged = pro.filter(|pro| pro.password_hash == proof.password_hash);
    unchanged.ok_or(FactorRefusal::ProChanged)
}
