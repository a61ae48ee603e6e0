//! The open connections, with room for sources that have few. Reference 1.1.
//!
//! Above 80 % of the maximum each new connection ends another: the one that has waited longest for
//! its client, of the network with the most connections. The networks are a tree: an IPv4 address
//! in its /24; an IPv6 /64 in its /56, in its /48. From the root the largest child is taken.
//!
//! A request changes the activity of its connection alone. The orders below hold the moments that
//! were known when a connection was last looked at, which are never too late. So the first of an
//! order is looked at again, and moved back if it has been active since.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant as Stopwatch;

use crate::http::connection::activity::Activity;
use crate::http::limits::source_networks::SourceNetworks;

/// Percentage of the maximum above which a new connection ends another.
const CROWDED_PERCENT: usize = 80;
/// Percentage of the maximum from which only sources with few connections get more.
const RESERVED_FROM_PERCENT: usize = 90;
/// Number of connections from which a source has more than few. Its networks may have twice and
/// four times as many.
const FEW: [usize; 3] = [8, 16, 32];
/// Longest time between two looks at a connection of a crowded server.
const LOOK_PAUSE: Duration = Duration::from_secs(2);
/// Pause of a crowded server between two searches for connections whose time is over.
const SEARCH_PAUSE: Duration = Duration::from_millis(100);
/// Part of the connections that one such search looks at, at most: all within the look pause.
const SEARCHED_PART: usize = 20;
/// Maximum number of sources, and of connections of each, that a new connection looks at.
const SOURCES_LOOKED_AT_MAX: usize = 8;
const CONNECTIONS_LOOKED_AT_MAX: usize = 64;
/// Pause before a full server looks again for a connection that may end.
const FULL_PAUSE: Duration = Duration::from_millis(20);

/// The open connections of a listener.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    connections_max: usize,
    per_source_max: usize,
    open: Mutex<OpenConnections>,
    /// A connection has ended.
    freed: Notify,
    /// More connections are open than a server that is not crowded has.
    crowded: Notify,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next_id: u64,
    /// Counts the changes of networks.
    changes: u64,
    by_id: BTreeMap<u64, OpenConnection>,
    /// The networks with open connections.
    networks: BTreeMap<IpNet, Network>,
    /// The networks that are in no other.
    roots: NetworksBySize,
    /// Connections in the order of their next look.
    by_look: BTreeSet<(Stopwatch, u64)>,
}

#[derive(Debug)]
struct OpenConnection {
    /// From the largest network to the source; empty if the connection is never ended.
    networks: Vec<IpNet>,
    /// The key in the order of its source.
    since: Stopwatch,
    /// The key in the order of looks.
    look_at: Stopwatch,
    activity: Arc<Activity>,
    end: oneshot::Sender<()>,
}

/// A network with open connections.
#[derive(Debug, Default)]
struct Network {
    size: usize,
    /// The change that gave it this size.
    changed: u64,
    /// The networks in it; empty for a source.
    parts: NetworksBySize,
    /// Connections of a source, the one that has waited longest first.
    by_since: BTreeSet<(Stopwatch, u64)>,
}

/// Networks by size. Of two equal ones that with the older change is larger, so that a newcomer's
/// is the last to lose a connection.
type NetworksBySize = BTreeSet<(usize, Reverse<u64>, IpNet)>;

/// The place of an open connection, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    table: Arc<ConnectionTable>,
    id: u64,
    pub(crate) activity: Arc<Activity>,
    /// Completes when the connection is to end.
    pub(crate) ended: oneshot::Receiver<()>,
}

/// Takes an open connection off its source's count.
#[derive(Clone, Debug)]
pub(crate) struct SourceExemption {
    table: Arc<ConnectionTable>,
    id: u64,
}

/// The answer to a new connection.
#[derive(Debug)]
enum Admission {
    Admitted(ConnectionPlace),
    /// Its source has too many connections.
    Refused,
    /// All connections are at work.
    Full,
}

impl ConnectionTable {
    /// A table for these numbers of connections at once; 0 of a source stands for no maximum.
    pub(crate) fn new(connections_max: usize, per_source_max: usize) -> Arc<Self> {
        let per_source_max = if per_source_max == 0 { usize::MAX } else { per_source_max };
        Arc::new(Self {
            connections_max,
            per_source_max,
            open: Mutex::default(),
            freed: Notify::new(),
            crowded: Notify::new(),
        })
    }

    /// Returns a place for a connection, once there is one; `None` if its source has too many. One
    /// of a trusted proxy has no maximum, and is never ended for another.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        is_proxy: bool,
    ) -> Option<ConnectionPlace> {
        let networks = if is_proxy {
            Vec::new()
        } else {
            SourceNetworks::around(peer).widest_first().collect()
        };
        loop {
            match self.try_admit(&networks) {
                Admission::Admitted(place) => return Some(place),
                Admission::Refused => return None,
                Admission::Full => {
                    // A connection whose request is answered may end, and tells nothing of that.
                    let _ = tokio::time::timeout(FULL_PAUSE, self.freed.notified()).await;
                }
            }
        }
    }

    fn try_admit(self: &Arc<Self>, networks: &[IpNet]) -> Admission {
        let mut open = self.open.lock();
        if let Some(own) = networks.last()
            && open.size(own) >= self.per_source_max
        {
            return Admission::Refused;
        }
        if open.by_id.len() >= self.crowded_from() {
            open.end_idlest();
            self.crowded.notify_one();
        }
        let count = open.by_id.len();
        if count >= self.connections_max {
            return Admission::Full;
        }
        let reserved_from = percent(self.connections_max, RESERVED_FROM_PERCENT);
        if count >= reserved_from && !open.has_few(networks) {
            return Admission::Refused;
        }
        let activity = Arc::new(Activity::new());
        let (end, ended) = oneshot::channel();
        let id = open.insert(networks, Arc::clone(&activity), end);
        Admission::Admitted(ConnectionPlace { table: Arc::clone(self), id, activity, ended })
    }

    /// Ends the connections whose time is over, whenever the server is crowded.
    pub(crate) async fn end_overdue(&self) {
        loop {
            self.crowded.notified().await;
            loop {
                tokio::time::sleep(SEARCH_PAUSE).await;
                let mut open = self.open.lock();
                if open.by_id.len() < self.crowded_from() {
                    break;
                }
                open.end_overdue();
            }
        }
    }

    fn crowded_from(&self) -> usize {
        percent(self.connections_max, CROWDED_PERCENT)
    }
}

impl OpenConnections {
    fn insert(
        &mut self,
        networks: &[IpNet],
        activity: Arc<Activity>,
        end: oneshot::Sender<()>,
    ) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let since = Stopwatch::now();
        let look_at = since + LOOK_PAUSE;
        self.change_sizes(networks, |size| size + 1);
        if let Some(own) = networks.last() {
            let own = self.networks.get_mut(own).expect("it was entered above");
            own.by_since.insert((since, id));
            self.by_look.insert((look_at, id));
        }
        let networks = networks.to_vec();
        self.by_id.insert(id, OpenConnection { networks, since, look_at, activity, end });
        id
    }

    fn remove(&mut self, id: u64) -> Option<OpenConnection> {
        let removed = self.by_id.remove(&id)?;
        self.leave(&removed.networks, (removed.since, id), (removed.look_at, id));
        Some(removed)
    }

    /// Takes a connection from its networks, so that it is never ended for another.
    fn exempt(&mut self, id: u64) {
        let Some(connection) = self.by_id.get_mut(&id) else { return };
        let networks = std::mem::take(&mut connection.networks);
        let since = connection.since;
        let look_at = connection.look_at;
        self.leave(&networks, (since, id), (look_at, id));
    }

    /// Takes a connection with these keys from its networks.
    fn leave(&mut self, networks: &[IpNet], since: (Stopwatch, u64), look_at: (Stopwatch, u64)) {
        let Some(own) = networks.last() else { return };
        let own = self.networks.get_mut(own).expect("it has this connection");
        own.by_since.remove(&since);
        self.by_look.remove(&look_at);
        self.change_sizes(networks, |size| size - 1);
    }

    /// Changes the sizes of networks, each of which is in the one before it.
    fn change_sizes(&mut self, networks: &[IpNet], change: impl Fn(usize) -> usize) {
        self.changes += 1;
        let mut around: Option<&IpNet> = None;
        for network in networks {
            let entry = self.networks.entry(*network).or_default();
            let before = (entry.size, Reverse(entry.changed), *network);
            entry.size = change(entry.size);
            entry.changed = self.changes;
            let size = entry.size;
            // An empty network around this one has lost its entry, and its parts with it.
            let order = match around {
                None => Some(&mut self.roots),
                Some(around) => self.networks.get_mut(around).map(|around| &mut around.parts),
            };
            if let Some(order) = order {
                order.remove(&before);
                if size > 0 {
                    order.insert((size, Reverse(self.changes), *network));
                }
            }
            if size == 0 {
                self.networks.remove(network);
            }
            around = Some(network);
        }
    }

    fn size(&self, network: &IpNet) -> usize {
        self.networks.get(network).map_or(0, |network| network.size)
    }

    /// Returns whether a source and the networks around it have few connections.
    fn has_few(&self, networks: &[IpNet]) -> bool {
        networks.iter().rev().zip(FEW).all(|(network, few)| self.size(network) < few)
    }

    /// Ends the connection that has waited longest for its client, of the largest network that has
    /// one.
    fn end_idlest(&mut self) {
        for source in self.largest_sources() {
            if let Some(id) = self.find_idlest(&source) {
                self.end(id);
                return;
            }
        }
    }

    /// Returns some sources: those of the largest networks first.
    fn largest_sources(&self) -> Vec<IpNet> {
        let mut sources = Vec::new();
        let mut waiting = ascending(&self.roots);
        while let Some(network) = waiting.pop()
            && sources.len() < SOURCES_LOOKED_AT_MAX
        {
            let parts = &self.networks[&network].parts;
            if parts.is_empty() {
                sources.push(network);
            } else {
                waiting.extend(ascending(parts));
            }
        }
        sources
    }

    /// Returns the connection of a source that has waited longest for its client, if one waits. If
    /// all that are looked at have been active since they were known, it is the idlest of these.
    fn find_idlest(&mut self, source: &IpNet) -> Option<u64> {
        let now = Stopwatch::now();
        let mut idlest: Option<(Stopwatch, u64)> = None;
        for _ in 0..CONNECTIONS_LOOKED_AT_MAX {
            let own = self.networks.get_mut(source)?;
            let &(known, id) = own.by_since.first()?;
            let connection = self.by_id.get_mut(&id).expect("the orders hold open connections");
            let waiting_since = connection.activity.waiting_since();
            if waiting_since.is_some_and(|since| since <= known) {
                return Some(id);
            }
            if let Some(since) = waiting_since
                && idlest.is_none_or(|(longest, _)| since < longest)
            {
                idlest = Some((since, id));
            }
            // One at work is looked at again after all those that wait.
            let since = waiting_since.unwrap_or(now);
            own.by_since.remove(&(known, id));
            own.by_since.insert((since, id));
            connection.since = since;
        }
        idlest.map(|(_, id)| id)
    }

    /// Ends connections whose time in a crowded server is over, of those that are due for a look.
    fn end_overdue(&mut self) {
        let now = Stopwatch::now();
        for _ in 0..=self.by_id.len() / SEARCHED_PART {
            let Some(&(look_at, id)) = self.by_look.first() else { return };
            if look_at > now {
                return;
            }
            let connection = self.by_id.get_mut(&id).expect("the orders hold open connections");
            let end = connection.activity.crowded_end();
            if end.is_some_and(|end| end <= now) {
                self.end(id);
                continue;
            }
            let next = now + LOOK_PAUSE;
            connection.look_at = end.map_or(next, |end| end.min(next));
            self.by_look.remove(&(look_at, id));
            self.by_look.insert((connection.look_at, id));
        }
    }

    /// Ends a connection. Its place is free at once.
    fn end(&mut self, id: u64) {
        if let Some(removed) = self.remove(id) {
            // A task that has ended by itself needs no signal.
            let _ = removed.end.send(());
        }
    }
}

impl ConnectionPlace {
    /// Returns the means to treat the connection as one of a trusted proxy from then on.
    pub(crate) fn exemption(&self) -> SourceExemption {
        SourceExemption { table: Arc::clone(&self.table), id: self.id }
    }
}

impl SourceExemption {
    /// Treats the connection as one of a trusted proxy. Done again, it changes nothing.
    pub(crate) fn exempt(&self) {
        self.table.open.lock().exempt(self.id);
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        // The entry is gone if the connection was ended for another.
        drop(self.table.open.lock().remove(self.id));
        self.table.freed.notify_one();
    }
}

/// Returns the largest networks, the largest last.
fn ascending(networks: &NetworksBySize) -> Vec<IpNet> {
    let largest = networks.iter().rev().take(SOURCES_LOOKED_AT_MAX);
    let mut largest: Vec<IpNet> = largest.map(|(_, _, network)| *network).collect();
    largest.reverse();
    largest
}

fn percent(of: usize, percent: usize) -> usize {
    of.saturating_mul(percent) / 100
}

#[cfg(test)]
mod tests;
