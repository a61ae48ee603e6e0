//! Streams of changes to browsers and programs: their number, what they share, and each reader.
//! Reference 18.3.

mod bursts;
mod places;
pub(crate) mod reader;
mod turns;

use std::sync::Arc;

use metrics::Gauge;
use tokio::sync::watch;

use crate::domain::records::ids::GroupId;
use crate::engine::Engine;
use crate::http::error::ApiError;
use crate::http::streams::bursts::Burst;
use crate::http::streams::places::{StreamOwner, StreamPlace, StreamPlaces};
use crate::http::streams::turns::{GroupTurns, Turns, gather};

/// Media type of a stream.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// The streams of a server.
pub(crate) struct ChangeStreams {
    engine: Engine,
    places: Arc<StreamPlaces>,
    groups: GroupTurns,
    /// Whether all streams are to end.
    ending: watch::Sender<bool>,
}

/// The part of a reader in the streams of a server.
pub(crate) struct StreamShare {
    /// The changes of the group as they are gathered.
    bursts: watch::Receiver<Arc<Burst>>,
    /// Whether all streams are to end.
    ending: watch::Receiver<bool>,
    /// Counts the stream until it is dropped.
    _place: StreamPlace,
}

impl ChangeStreams {
    /// The streams over an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        let ending = watch::Sender::new(false);
        Self { engine, places: Arc::default(), groups: Arc::default(), ending }
    }

    /// Ends all streams, and lets none begin.
    pub(crate) fn end_all(&self) {
        self.ending.send_replace(true);
    }

    /// Takes the part of a reader in the streams of a group that is served. `open` is the metric of
    /// open streams.
    ///
    /// # Errors
    /// 503 if the reader, or all readers, have as many as they may, or if the server stops.
    fn take(
        &self,
        group: GroupId,
        owner: StreamOwner,
        open: Gauge,
    ) -> Result<StreamShare, ApiError> {
        let ending = self.ending.subscribe();
        let place = StreamPlaces::take(&self.places, owner, open);
        let Some(place) = place.filter(|_| !*ending.borrow()) else {
            return Err(ApiError::no_stream());
        };
        let published = self.engine.published();
        let mut groups = self.groups.lock();
        let bursts = match groups.get_mut(&group) {
            Some(turns) => turns.add(),
            None => {
                // Watched before the state is read: what is published later wakes.
                let watched = published.watch_changes(group);
                let state = published.group_state(group).ok_or_else(ApiError::no_result)?;
                let burst = Arc::new(Burst::none(state));
                let (turns, receiver) = Turns::begin(Arc::clone(&burst));
                groups.insert(group, turns);
                let all = Arc::clone(&self.groups);
                tokio::spawn(gather(self.engine.clone(), group, watched, burst, all));
                receiver
            }
        };
        Ok(StreamShare { bursts, ending, _place: place })
    }
}
