//! Time that live appointments take, by client.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::availability::taken_time::TakenInterval;
use crate::domain::records::ids::FicheId;

/// Live appointments of each client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientTime {
    /// Each list ascends by start and is not empty. A client without live appointments has no
    /// entry.
    lists: OrdMap<FicheId, Arc<Vec<TakenInterval>>>,
}

impl ClientTime {
    /// Returns the appointments of these clients. The lists may be in any order; none may be empty.
    pub(crate) fn from_lists(mut clients: BTreeMap<FicheId, Vec<TakenInterval>>) -> Self {
        for list in clients.values_mut() {
            list.sort_unstable();
            list.shrink_to_fit();
        }
        Self { lists: clients.into_iter().map(|(client, list)| (client, Arc::new(list))).collect() }
    }

    /// Returns a client's live appointments, ascending by start.
    pub(crate) fn for_client(&self, client: FicheId) -> &[TakenInterval] {
        match self.lists.get(&client) {
            Some(list) => list,
            None => &[],
        }
    }

    /// Adds an appointment.
    pub(crate) fn add(&mut self, client: FicheId, taken: TakenInterval) {
        let Some(list) = self.lists.get_mut(&client) else {
            self.lists.insert(client, Arc::new(vec![taken]));
            return;
        };
        // Most new appointments are the latest of their client: then no search is needed.
        let latest = list.last().is_none_or(|last| *last < taken);
        let at = if latest { list.len() } else { list.partition_point(|other| *other < taken) };
        if let Some(own) = Arc::get_mut(list) {
            own.insert(at, taken);
        } else {
            // The copy gets exactly the needed capacity: Vec::insert on a clone would reserve more.
            let mut copy = Vec::with_capacity(list.len() + 1);
            copy.extend_from_slice(&list[..at]);
            copy.push(taken);
            copy.extend_from_slice(&list[at..]);
            *list = Arc::new(copy);
        }
    }

    /// Removes an appointment.
    ///
    /// # Panics
    /// If the appointment was not added with exactly this interval.
    pub(crate) fn remove(&mut self, client: FicheId, taken: TakenInterval) {
        let list = self.lists.get_mut(&client).expect("a client with an appointment has a list");
        let at = list.binary_search(&taken).expect("a live appointment is in its client's list");
        let list = Arc::make_mut(list);
        list.remove(at);
        if list.is_empty() {
            self.lists.remove(&client);
        }
    }
}
