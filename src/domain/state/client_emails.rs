//! The index of the live clients by their e-mail address.

use imbl::OrdSet;
use sha2::{Digest as _, Sha256};

use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;

/// The live fiches with an address.
///
/// An address stands in it by 64 bits of its SHA-256. A change copies the nodes of the set that it
/// touches, each with dozens of entries: as texts, each entry would be allocated again.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientEmails(OrdSet<(u64, FicheId)>);

impl ClientEmails {
    /// Builds the index of some fiches.
    pub(crate) fn from_fiches<'f>(fiches: impl Iterator<Item = &'f Fiche>) -> Self {
        Self(fiches.filter_map(entry).collect())
    }

    /// Adds a fiche, if it is live and has an address.
    pub(crate) fn add(&mut self, fiche: &Fiche) {
        if let Some(entry) = entry(fiche) {
            self.0.insert(entry);
        }
    }

    /// Removes a fiche as it was added.
    pub(crate) fn remove(&mut self, fiche: &Fiche) {
        if let Some(entry) = entry(fiche) {
            self.0.remove(&entry);
        }
    }

    /// Returns the fiches that may have a folded address, ascending: all that have it, and those
    /// whose address has the same 64 bits.
    pub(crate) fn candidates(&self, folded: &str) -> impl Iterator<Item = FicheId> + '_ {
        let hash = hash(folded);
        let first = FicheId::new(1).expect("1 is an id");
        let from_first = self.0.range((hash, first)..);
        from_first.take_while(move |entry| entry.0 == hash).map(|entry| entry.1)
    }
}

fn entry(fiche: &Fiche) -> Option<(u64, FicheId)> {
    let email = fiche.email.as_ref()?;
    if fiche.deleted { None } else { Some((hash(&email.folded()), fiche.id)) }
}

fn hash(folded: &str) -> u64 {
    let digest = Sha256::digest(folded);
    let (first, _) = digest.split_first_chunk().expect("a SHA-256 has 32 bytes");
    u64::from_be_bytes(*first)
}
