//! The accounts of clients, with their fiches. Reference 3.5.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{Email, Text};
use crate::domain::time::CivilDay;

/// The login of a client to one group. Reference 3.5.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The address it logs in with.
    pub email: Email,
    /// The fiche that it books for, set when the account was confirmed.
    pub fiche_id: FicheId,
    /// A PHC string over the lower-case hexadecimal SHA-1 of the password.
    pub password_hash: Text<255>,
    /// The fiches that it booked for before. They remain its own after their deletion and a new
    /// confirmation. A fiche found by its e-mail alone is never among them.
    pub former: Vec<FicheId>,
    /// The last day of a login, on the clocks of the group; `None` if there was none since format
    /// 6. Reference 17.5.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_6")]
    pub last_login: Option<CivilDay>,
}

/// The name of an account in events, which hold no address. The order of the members is the format
/// on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccountMark {
    /// The client that the account books for.
    pub client: FicheId,
    /// The SHA-256 of its folded address.
    pub address_hash: [u8; 32],
}

impl Account {
    /// Returns its name in events.
    pub fn mark(&self) -> AccountMark {
        AccountMark { client: self.fiche_id, address_hash: Self::hash_address(&self.email) }
    }

    /// Returns the SHA-256 of an address as accounts are found by it.
    pub fn hash_address(email: &Email) -> [u8; 32] {
        Sha256::digest(email.folded().as_bytes()).into()
    }

    /// Whether the account owns a fiche. It loses one only by an erasure.
    ///
    /// ```
    /// use slotbook::domain::records::account::Account;
    /// use slotbook::domain::records::ids::FicheId;
    /// use slotbook::domain::records::text::{Email, Text};
    /// let id = |number| FicheId::new(number).unwrap();
    /// let email = Email::new("ada@example.org").unwrap();
    /// let password_hash = Text::default();
    /// let former = vec![id(3)];
    /// let account =
    ///     Account { email, fiche_id: id(7), password_hash, former, last_login: None };
    /// assert!(account.owns(id(7)) && account.owns(id(3)) && !account.owns(id(4)));
    /// ```
    pub fn owns(&self, fiche: FicheId) -> bool {
        self.fiche_id == fiche || self.former.contains(&fiche)
    }

    /// All fiches of the account, deleted or not. The first is the one it books for.
    pub fn own(&self) -> impl Iterator<Item = FicheId> + '_ {
        std::iter::once(self.fiche_id).chain(self.former.iter().copied())
    }
}

/// Leaves out the password hash.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { email, fiche_id, former, .. } = self;
        write!(f, "Account({email:?}, {fiche_id:?}, {former:?})")
    }
}
