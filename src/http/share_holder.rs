//! Responses that hold a share of a bounded resource until they are sent. Reference 1.1.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use crate::http::connection::source_shares::SourceShare;

/// Returns a response whose body holds a share until it is sent.
pub(crate) fn hold_until_sent(response: Response, share: SourceShare) -> Response {
    response.map(|body| Body::new(ShareHolder { body, _share: share }))
}

/// The body of a response with a share.
struct ShareHolder {
    body: Body,
    _share: SourceShare,
}

impl HttpBody for ShareHolder {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
