//! The time that clients' live appointments take, by client.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::booking::taken_time::TakenInterval;
use crate::domain::records::ids::FicheId;

/// Each client's live appointments.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientTime {
    /// Ascending by start; a client without any is not there.
    lists: OrdMap<FicheId, Arc<Vec<TakenInterval>>>,
}

impl ClientTime {
    /// All of these, each list in any order. The same as adding one after another.
    pub(crate) fn from_lists(clients: BTreeMap<FicheId, Vec<TakenInterval>>) -> Self {
        let sorted = |(client, mut list): (FicheId, Vec<TakenInterval>)| {
            list.sort_unstable();
            list.shrink_to_fit();
            (client, Arc::new(list))
        };
        Self { lists: clients.into_iter().map(sorted).collect() }
    }

    /// A client's live appointments, ascending by start.
    pub(crate) fn for_client(&self, client: FicheId) -> &[TakenInterval] {
        self.lists.get(&client).map_or(&[], |list| list.as_slice())
    }

    pub(crate) fn add(&mut self, client: FicheId, taken: TakenInterval) {
        let Some(list) = self.lists.get_mut(&client) else {
            self.lists.insert(client, Arc::new(vec![taken]));
            return;
        };
        // Mostly the latest of all: then nothing of a long list has to be looked at.
        let latest = list.last().is_none_or(|last| *last < taken);
        let at = if latest { list.len() } else { list.partition_point(|other| *other < taken) };
        if let Some(own) = Arc::get_mut(list) {
            own.insert(at, taken);
        } else {
            // A copy as long as it has to be, and not by half as much longer.
            let mut copy = Vec::with_capacity(list.len() + 1);
            copy.extend_from_slice(&list[..at]);
            copy.push(taken);
            copy.extend_from_slice(&list[at..]);
            *list = Arc::new(copy);
        }
    }

    /// Takes out an appointment that was added with this very interval.
    pub(crate) fn remove(&mut self, client: FicheId, taken: TakenInterval) {
        let list = self.lists.get_mut(&client).expect("a client who has an appointment is there");
        let at =
            list.binary_search(&taken).expect("a live appointment stands in its client's list");
        let list = Arc::make_mut(list);
        list.remove(at);
        if list.is_empty() {
            self.lists.remove(&client);
        }
    }
}
