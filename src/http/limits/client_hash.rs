//! Hashes by which limits know the clients of a group. Reference 6.11.

use sha2::{Digest as _, Sha256};

use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::planted_faults::PlantedFault;

/// Domains whose addresses are the same with and without dots before the `@`.
const DOTLESS_DOMAINS: [&str; 2] = ["gmail.com", "googlemail.com"];

/// Returns the SHA-256 that stands for a client who is known by an address.
pub(crate) fn address_hash(group: GroupId, email: &Email) -> [u8; 32] {
    client_hash(group, b'e', &mailbox(&email.folded()))
}

/// Returns the SHA-256 that stands for a client of a group.
pub(crate) fn client_hash(group: GroupId, kind: u8, name: &str) -> [u8; 32] {
    let group = if PlantedFault::ClientLimitOfAllGroups.is_active() { 0 } else { group.number() };
    Sha256::new_with_prefix(group.to_be_bytes())
        .chain_update([kind])
        .chain_update(name)
        .finalize()
        .into()
}

/// Returns the mailbox of a folded address: without the tag after a plus sign, and without dots
/// where the domain ignores them. Only limits use it: a booking keeps the address as it was given.
pub(crate) fn mailbox(email: &str) -> String {
    let Some((local, domain)) = email.rsplit_once('@') else { return email.to_owned() };
    let name = match local.split_once('+') {
        Some((name, _)) if !name.is_empty() => name,
        _ => local,
    };
    if DOTLESS_DOMAINS.contains(&domain) {
        return format!("{}@gmail.com", name.replace('.', ""));
    }
    [name, "@", domain].concat()
}
