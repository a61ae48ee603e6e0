//! Decisions about second factors. Reference 3.9.

use crate::domain::directory::access::AccessRefusal;
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

/// Decides a change.
///
/// # Errors
/// The reason why the change is refused. A wrong code of a known factor is an event, which stands
/// for its refusal.
pub fn decide(
    directory: &Directory,
    change: &ChangeFactor,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    match change {
        ChangeFactor::Enrol { proof, secret, recovery } => {
            enrol(directory, proof, secret, recovery, now)
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
            Ok(DirectoryEvent::SecondFactorPut { pro: proof.pro, factor })
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
                return Err(AccessRefusal::NoPro(email.clone()));
            };
            if !directory.second_factors.contains_key(&pro.id) {
                return Err(AccessRefusal::NoFactor(email.clone()));
            }
            Ok(DirectoryEvent::SecondFactorRemoved { pro: pro.id })
        }
    }
}

/// Returns the event that counts a wrong code.
///
/// # Errors
/// The refusal of a code that counts no more.
pub fn refuse_code(pro: ProId, fault: CodeFault) -> Result<DirectoryEvent, AccessRefusal> {
    match fault {
        CodeFault::Wrong => Ok(DirectoryEvent::WrongCodeGiven { pro }),
        CodeFault::Exhausted => Err(AccessRefusal::CodesExhausted),
    }
}

/// Sets up a factor. A wrong code here is guessed by no one, since the page shows the secret.
fn enrol(
    directory: &Directory,
    proof: &FactorProof,
    secret: &TotpSecret,
    recovery: &[RecoveryHash],
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    check_password(directory, proof)?;
    if directory.second_factors.contains_key(&proof.pro) {
        return Err(AccessRefusal::FactorKnown);
    }
    let GivenCode::Authenticator(digits) = &proof.code else {
        return Err(AccessRefusal::WrongCode);
    };
    let Some(step) = secret.steps_of(digits, now).next() else {
        return Err(AccessRefusal::WrongCode);
    };
    let factor = Box::new(SecondFactor::new(secret.clone(), step, recovery.to_vec(), now));
    Ok(DirectoryEvent::SecondFactorPut { pro: proof.pro, factor })
}

/// Returns the factor of the person of a proof.
///
/// # Errors
/// The person has another password by now, or no factor.
fn find_factor<'d>(
    directory: &'d Directory,
    proof: &FactorProof,
) -> Result<&'d SecondFactor, AccessRefusal> {
    let pro = check_password(directory, proof)?;
    match directory.second_factors.get(&proof.pro) {
        Some(factor) => Ok(factor),
        None => Err(AccessRefusal::NoFactor(pro.email.clone())),
    }
}

/// Returns the professional of a proof.
///
/// # Errors
/// The professional is gone, or has another password by now.
fn check_password<'d>(
    directory: &'d Directory,
    proof: &FactorProof,
) -> Result<&'d Pro, AccessRefusal> {
    let Some(pro) = directory.pros.get(&proof.pro) else { return Err(AccessRefusal::NoLogin) };
    if pro.password_hash != proof.password_hash {
        return Err(AccessRefusal::PasswordChanged(pro.email.clone()));
    }
    Ok(pro)
}
