//! Deciding what a professional changes in the group's records: whole rows, made and changed one at a time. Contract 6.

use std::fmt;

use super::command::{Put, RecordChange};
use super::customfield::Model;
use super::directory::IdKind;
use super::event::Event;
use super::fiche::Fiche;
use super::ids::FicheId;
use super::refusal::{Fault, Refusal, Refusals};
use super::root::Root;
use super::time::Instant;

/// A kind of row that a professional makes and changes.
pub trait Record: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// What identifies a row.
    type Id: Copy + fmt::Debug + Send + Sync;

    /// Whose ids new rows have.
    const KIND: IdKind;

    /// The id of that number, if it is one.
    fn id(number: u64) -> Option<Self::Id>;

    /// The row of an id, deleted or not.
    fn find(root: &Root, id: Self::Id) -> Option<&Self>;

    /// A new row, with the defaults.
    fn blank(root: &Root, id: Self::Id, at: Instant) -> Self;

    /// What is wrong with the row, which stood as `before` if it is not new, in the group as it is.
    fn faults(&self, before: Option<&Self>, root: &Root) -> Vec<Fault>;

    /// Sets the moment of its last change.
    fn touch(&mut self, at: Instant);

    /// What has happened when the row stands like this.
    fn put(self, at: Instant) -> Event;
}

/// Decides a change of a record; `None` where it changes nothing. `new_id` is the number of the row, should one be made.
///
/// # Errors
/// NoResult where the row is not there; InvalidParameter, each fault by its field.
///
/// # Panics
/// Where `new_id` is no id and a row is made.
pub fn decide(root: &Root, change: &RecordChange, new_id: u64, now: Instant) -> Result<Option<Event>, Refusals> {
    match change {
        RecordChange::Fiche(change) => decide_put(root, change, new_id, now),
    }
}

/// The kind of ids that a change may use.
#[must_use]
pub fn kind(change: &RecordChange) -> IdKind {
    match change {
        RecordChange::Fiche(_) => Fiche::KIND,
    }
}

/// The number of the row that a change is about; `None` where it makes one.
#[must_use]
pub fn id(change: &RecordChange) -> Option<u64> {
    match change {
        RecordChange::Fiche(put) => put.id.map(FicheId::number),
    }
}

fn decide_put<R: Record>(root: &Root, put: &Put<R>, new_id: u64, now: Instant) -> Result<Option<Event>, Refusals> {
    let at = root.stamp_for(now);
    let before = match put.id {
        Some(id) => Some(R::find(root, id).ok_or_else(|| vec![Refusal::NoResult])?),
        None => None,
    };
    let blank = || R::blank(root, R::id(new_id).expect("granted ids are ids"), at);
    let mut row = before.cloned().unwrap_or_else(blank);
    put.fields.apply_to(&mut row);
    if before == Some(&row) {
        return Ok(None);
    }
    let faults = row.faults(before, root);
    if !faults.is_empty() {
        return Err(faults.into_iter().map(Refusal::InvalidParameter).collect());
    }
    row.touch(at);
    Ok(Some(row.put(at)))
}

impl Record for Fiche {
    type Id = FicheId;
    const KIND: IdKind = IdKind::Fiche;

    fn id(number: u64) -> Option<FicheId> {
        FicheId::new(number)
    }

    fn find(root: &Root, id: FicheId) -> Option<&Self> {
        root.fiches.get(&id).map(AsRef::as_ref)
    }

    fn blank(_: &Root, id: FicheId, at: Instant) -> Self {
        Self::new(id, at)
    }

    fn faults(&self, before: Option<&Self>, root: &Root) -> Vec<Fault> {
        let nameless = |fiche: &Self| fiche.lastname.is_blank() && fiche.firstname.is_blank();
        let mut faults = Vec::new();
        if nameless(self) && !before.is_some_and(nameless) {
            faults.push(Fault::new("lastname", "a client needs a last or first name"));
        }
        if before.is_none() {
            let missing =
                root.catalogue.demanded(Model::Fiche, true).filter(|name| self.customs.value(*name).is_none());
            faults.extend(missing.map(|name| Fault::new(name.to_string(), "this attribute is required")));
        }
        faults
    }

    fn touch(&mut self, at: Instant) {
        self.updated_at = at;
    }

    fn put(self, at: Instant) -> Event {
        Event::FichePut { at, fiche: Box::new(self) }
    }
}
