//! The requests of a server of a cluster that hands over: those under way are answered, later ones
//! wait, and then the server that decides answers them. Reference 11.1.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use axum::response::Response;
use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::http::connection::forwarding_seal::ForwardedFrom;

/// Requests that can be under way at once: more than there are connections.
const UNDER_WAY_MAX: u32 = 1 << 24;
/// Longest time for which later requests wait for those under way. A stranger may send the body of
/// one for ever.
const DRAIN_TIME: Duration = Duration::from_millis(150);

/// The way to the server that decides after a hand-over.
pub(crate) trait Successor: Send + Sync {
    /// Has it answer a request. The client is to connect anew: this server ends soon.
    fn pass_on(&self, request: Request<Body>, from: ForwardedFrom) -> BoxFuture<'_, Response>;

    /// Answers a request that came over the operator's socket.
    fn pass_command_on(&self, request: Request<Body>) -> BoxFuture<'_, Response>;

    /// Answers GET /readyz.
    fn readiness(&self, headers: &HeaderMap) -> Response;
}

/// The place of the requests of a server that decides, until it hands over.
pub(crate) struct Departure {
    under_way: Semaphore,
    has_begun: AtomicBool,
    /// Answers later requests.
    successor: Arc<dyn Successor>,
}

/// The server that answers a request.
pub(crate) enum AnsweredBy<'d> {
    /// This one, as long as the permit is kept.
    This(SemaphorePermit<'d>),
    /// The one to which the decision was passed.
    Successor(&'d dyn Successor),
}

impl Departure {
    /// The departure of a server whose later requests `successor` answers.
    pub(crate) fn new(successor: Arc<dyn Successor>) -> Self {
        let under_way = Semaphore::new(UNDER_WAY_MAX as usize);
        Self { under_way, has_begun: AtomicBool::new(false), successor }
    }

    /// Returns the server that answers a request that has just come, once that is known.
    pub(crate) async fn enter(&self) -> AnsweredBy<'_> {
        match self.under_way.acquire().await {
            Ok(permit) => AnsweredBy::This(permit),
            Err(_closed) => AnsweredBy::Successor(&*self.successor),
        }
    }

    /// The way to the successor, once the server is about to hand over.
    pub(crate) fn begun(&self) -> Option<&dyn Successor> {
        self.has_begun.load(Ordering::SeqCst).then_some(&*self.successor)
    }

    /// Passes the decision on by `pass`: runs it once the requests under way are answered, or have
    /// had their time. Those that come meanwhile wait, and are then forwarded.
    pub(crate) async fn hand_over(&self, pass: impl Future<Output = ()>) {
        self.has_begun.store(true, Ordering::SeqCst);
        // In the queue before all that come later, also when its time is over.
        let mut all = pin!(self.under_way.acquire_many(UNDER_WAY_MAX));
        let drained = tokio::time::timeout(DRAIN_TIME, &mut all).await;
        if drained.is_err() {
            tracing::warn!("some requests are still under way; they may get a 503");
        }
        pass.await;
        // Before the permits are given back: those that wait would get them.
        self.under_way.close();
        drop(drained);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::watch;

    use super::*;
    use crate::domain::directory::cluster_secret::ClusterSecret;
    use crate::http::connection::forwarding::Forwarder;

    fn departure() -> Departure {
        let secret = ClusterSecret::new([7; 32]);
        Departure::new(Arc::new(Forwarder::new(&secret, 10, watch::channel(None).1)))
    }

    #[tokio::test(start_paused = true)]
    async fn requests_under_way_end_first_and_later_ones_are_the_successors() {
        let departure = departure();
        let AnsweredBy::This(under_way) = departure.enter().await else { panic!("it decides") };
        assert!(departure.begun().is_none());
        let (passing, mut passed) = tokio::sync::oneshot::channel();
        let (pass, end) = tokio::sync::oneshot::channel::<()>();
        let mut handing = pin!(departure.hand_over(async {
            passing.send(()).expect("it is awaited");
            end.await.expect("it is sent");
        }));
        assert!(handing.as_mut().now_or_never().is_none());
        assert!(departure.begun().is_some());
        let mut later = pin!(departure.enter());
        assert!(later.as_mut().now_or_never().is_none(), "it waits");
        assert!(passed.try_recv().is_err(), "a request is under way");
        drop(under_way);
        assert!(handing.as_mut().now_or_never().is_none());
        passed.try_recv().expect("no request is under way");
        assert!(later.as_mut().now_or_never().is_none(), "it waits until the decision is passed");
        pass.send(()).expect("it is awaited");
        handing.await;
        assert!(matches!(later.await, AnsweredBy::Successor(_)));
        assert!(matches!(departure.enter().await, AnsweredBy::Successor(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_never_ends_holds_nothing_up() {
        let departure = departure();
        let _never_ends = departure.enter().await;
        let mut later = pin!(departure.enter());
        let passed = departure.hand_over(async {
            assert!(later.as_mut().now_or_never().is_none(), "it waits for the end of the passing");
        });
        tokio::time::timeout(DRAIN_TIME * 2, passed).await.expect("it has a time");
        assert!(matches!(departure.enter().await, AnsweredBy::Successor(_)));
    }
}
