//! The index of the clients by their e-mail address and by their identifier of another system.

use imbl::OrdSet;
use sha2::{Digest, Sha256};

use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;

/// The fiches by what else identifies a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientIndex {
    /// The live fiches with an address.
    ///
    /// An address stands in it by 64 bits of its SHA-256. A change copies the nodes of the set that
    /// it touches, each with dozens of entries: as texts, each entry would be allocated again.
    emails: OrdSet<(u64, FicheId)>,
    /// The fiches with an identifier of another system, deleted ones included.
    externids: OrdSet<(i64, FicheId)>,
}

impl ClientIndex {
    /// Builds the index of some fiches.
    pub(crate) fn from_fiches<'f>(fiches: impl Iterator<Item = &'f Fiche> + Clone) -> Self {
        Self {
            emails: fiches.clone().filter_map(email_entry).collect(),
            externids: fiches.filter_map(externid_entry).collect(),
        }
    }

    /// Adds a fiche, by what it has.
    pub(crate) fn add(&mut self, fiche: &Fiche) {
        self.emails.extend(email_entry(fiche));
        self.externids.extend(externid_entry(fiche));
    }

    /// Removes a fiche as it was added.
    pub(crate) fn remove(&mut self, fiche: &Fiche) {
        if let Some(entry) = email_entry(fiche) {
            self.emails.remove(&entry);
        }
        if let Some(entry) = externid_entry(fiche) {
            self.externids.remove(&entry);
        }
    }

    /// Returns the live fiches that may have a folded address, ascending: all that have it, and
    /// those whose address has the same 64 bits.
    pub(crate) fn may_have_email(&self, folded: &str) -> impl Iterator<Item = FicheId> + '_ {
        ids_under(&self.emails, hash(folded))
    }

    /// Returns the fiches with an identifier of another system, ascending.
    pub(crate) fn with_externid(&self, externid: i64) -> impl Iterator<Item = FicheId> + '_ {
        ids_under(&self.externids, externid)
    }
}

/// Returns the ids that stand under a key, ascending.
fn ids_under<K: Copy + Ord>(
    entries: &OrdSet<(K, FicheId)>,
    key: K,
) -> impl Iterator<Item = FicheId> + '_ {
    let first = FicheId::new(1).expect("1 is an id");
    let from_first = entries.range((key, first)..);
    from_first.take_while(move |entry| entry.0 == key).map(|entry| entry.1)
}

fn email_entry(fiche: &Fiche) -> Option<(u64, FicheId)> {
    let email = fiche.email.as_ref()?;
    if fiche.deleted { None } else { Some((hash(&email.folded()), fiche.id)) }
}

fn externid_entry(fiche: &Fiche) -> Option<(i64, FicheId)> {
    Some((fiche.externid?, fiche.id))
}

fn hash(folded: &str) -> u64 {
    let digest = Sha256::digest(folded);
    let (first, _) = digest.split_first_chunk().expect("a SHA-256 has 32 bytes");
    u64::from_be_bytes(*first)
}
