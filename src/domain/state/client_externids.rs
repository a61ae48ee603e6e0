//! The index of the clients by their identifier of another system.

use imbl::OrdSet;

use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;

/// The fiches with an identifier of another system, deleted ones included.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientExternids(OrdSet<(i64, FicheId)>);

impl ClientExternids {
    /// Builds the index of some fiches.
    pub(crate) fn from_fiches<'f>(fiches: impl Iterator<Item = &'f Fiche>) -> Self {
        Self(fiches.filter_map(entry).collect())
    }

    /// Adds a fiche, if it has an identifier.
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

    /// Returns the fiches with an identifier, ascending.
    pub(crate) fn holders(&self, externid: i64) -> impl Iterator<Item = FicheId> + '_ {
        let first = FicheId::new(1).expect("1 is an id");
        let from_first = self.0.range((externid, first)..);
        from_first.take_while(move |entry| entry.0 == externid).map(|entry| entry.1)
    }
}

fn entry(fiche: &Fiche) -> Option<(i64, FicheId)> {
    Some((fiche.externid?, fiche.id))
}
