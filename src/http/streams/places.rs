//! The number of streams: of one login, and of the server.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use metrics::Gauge;
use parking_lot::Mutex;

use crate::domain::directory::pro_logins::LoginHash;
use crate::domain::records::ids::ProId;

/// Maximum number of streams of one login.
const STREAMS_PER_OWNER_MAX: usize = 16;
/// Maximum number of streams of the server.
const STREAMS_MAX: usize = 1_024;

/// The login, or the person with a key, that streams are counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamOwner {
    /// A login at the screens.
    Login(LoginHash),
    /// A professional with the key of this SHA-256.
    Pro(ProId, [u8; 32]),
    /// The operator.
    Operator,
}

/// The streams that are open, by their owners.
#[derive(Default)]
pub(super) struct StreamPlaces(Mutex<OpenStreams>);

#[derive(Default)]
struct OpenStreams {
    all: usize,
    by_owner: BTreeMap<StreamOwner, usize>,
}

/// The place of one stream, until it is dropped.
pub(super) struct StreamPlace {
    places: Arc<StreamPlaces>,
    owner: StreamOwner,
    /// The number of open streams.
    metric: Gauge,
}

impl StreamPlaces {
    /// Takes a place; `None` if the owner or the server has as many streams as it may.
    pub(super) fn take(
        places: &Arc<Self>,
        owner: StreamOwner,
        metric: Gauge,
    ) -> Option<StreamPlace> {
        let mut open = places.0.lock();
        if open.all >= STREAMS_MAX {
            return None;
        }
        let own = open.by_owner.entry(owner).or_insert(0);
        if *own >= STREAMS_PER_OWNER_MAX {
            return None;
        }
        *own += 1;
        open.all += 1;
        drop(open);
        metric.increment(1);
        Some(StreamPlace { places: Arc::clone(places), owner, metric })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.metric.decrement(1);
        let mut open = self.places.0.lock();
        open.all -= 1;
        if let Entry::Occupied(mut own) = open.by_owner.entry(self.owner) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(number: u64) -> StreamOwner {
        StreamOwner::Pro(ProId::new(number).expect("an id"), [0; 32])
    }

    #[test]
    fn an_owner_and_the_server_have_as_many_as_they_may_and_no_more() {
        let places = Arc::new(StreamPlaces::default());
        let take = |number| StreamPlaces::take(&places, owner(number), Gauge::noop());
        let mut taken = Vec::new();
        for number in 1..=64 {
            taken.extend((0..STREAMS_PER_OWNER_MAX).map(|_| take(number).expect("there is room")));
            assert!(take(number).is_none());
        }
        assert_eq!(taken.len(), STREAMS_MAX);
        assert!(take(65).is_none(), "the server is full");
        taken.pop();
        let last = take(65).expect("one has ended");
        drop((last, taken));
        let open = places.0.lock();
        assert_eq!((open.all, open.by_owner.len()), (0, 0));
    }
}
