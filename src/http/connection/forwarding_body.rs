//! The body of a request that is forwarded. As long as nothing of it was read, the request can be
//! sent to another server.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;

/// A body that outlives the requests in which it is sent.
#[derive(Clone)]
pub(crate) struct RetainedBody(Arc<Retained>);

struct Retained {
    body: Mutex<Body>,
    is_begun: AtomicBool,
}

impl RetainedBody {
    pub(crate) fn new(body: Body) -> Self {
        Self(Arc::new(Retained { body: Mutex::new(body), is_begun: AtomicBool::new(false) }))
    }

    /// Whether something of it may have been read.
    pub(crate) fn is_begun(&self) -> bool {
        self.0.is_begun.load(Ordering::SeqCst)
    }
}

impl HttpBody for RetainedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.0.is_begun.store(true, Ordering::SeqCst);
        Pin::new(&mut *self.0.body.lock()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.body.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.body.lock().size_hint()
    }
}
