//! Clients' accounts: who logs in to one group, and which fiches are its own. Reference 3.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{Email, Text};

/// A client's login to one group. Reference 3.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The address it logs in with.
    pub email: Email,
    /// The fiche set when it was confirmed: the one it books for.
    pub fiche_id: FicheId,
    /// A PHC string over the lower-case SHA-1 hex of the password.
    pub password_hash: Text<255>,
    /// The fiches it had before its fiche was deleted and it was confirmed anew; they stay its own. Never one that was
    /// found by e-mail alone.
    pub former: Vec<FicheId>,
}

impl Account {
    /// Whether a fiche is its own. What is its own stays so.
    ///
    /// ```
    /// use slotbook::domain::identity::account::Account;
    /// use slotbook::domain::records::ids::FicheId;
    /// use slotbook::domain::records::text::{Email, Text};
    /// let id = |number| FicheId::new(number).unwrap();
    /// let email = Email::new("ada@example.org").unwrap();
    /// let account = Account { email, fiche_id: id(7), password_hash: Text::default(), former: vec![id(3)] };
    /// assert!(account.owns(id(7)) && account.owns(id(3)) && !account.owns(id(4)));
    /// ```
    #[must_use]
    pub fn owns(&self, fiche: FicheId) -> bool {
        self.own().any(|own| own == fiche)
    }

    /// All its own fiches, deleted or not: first the one it books for.
    pub fn own(&self) -> impl Iterator<Item = FicheId> + '_ {
        std::iter::once(self.fiche_id).chain(self.former.iter().copied())
    }
}

/// Without the hash, which is nobody's to read.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { email, fiche_id, former, .. } = self;
        write!(f, "Account({email:?}, {fiche_id:?}, {former:?})")
    }
}
