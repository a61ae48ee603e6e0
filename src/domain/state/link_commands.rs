//! Commands about mailed links of accounts. Reference 3.5.

use std::fmt;

use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::password_link::PasswordLink;
use crate::domain::records::account_link::PendingRdv;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::text::{Email, Text};
use crate::domain::state::patch::Put;

/// Requests a link to be mailed to an address. Reference 3.5.
#[derive(Clone, Debug)]
pub struct RequestLink {
    /// The address.
    pub email: Email,
    /// The purpose of the link.
    pub request: LinkRequest,
}

/// The purpose for which a link is requested.
#[derive(Clone, Debug)]
pub enum LinkRequest {
    /// A new account, or another password.
    Account {
        /// The booking in progress to return when the link is followed.
        pending_rdv: Option<PendingRdv>,
        /// The secret that signs the link; `None` if the address has got its share of links, so
        /// that no link is mailed.
        secret: Option<LinkSecret>,
    },
    /// Another address for a fiche of the account.
    Email {
        /// The folded address of the account.
        account: Box<str>,
        /// The fiche, with its other changes in the same request.
        put: Put<Fiche>,
    },
}

/// Follows a link. Reference 3.5.
#[derive(Clone)]
pub struct FollowLink {
    /// The SHA-256 of its token.
    pub hash: [u8; 32],
    /// The link that the token holds; `None` for a stored link.
    pub signed: Option<PasswordLink>,
    /// The hash of the new password, for a link that sets one.
    pub password_hash: Option<Text<255>>,
}

/// Leaves out the hashes.
impl fmt::Debug for FollowLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FollowLink(…)")
    }
}
