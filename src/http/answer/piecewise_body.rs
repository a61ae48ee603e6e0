//! Long bodies in pieces. Each is compressed on the thread that serves the connection, which other
//! connections need in between. Reference 1.5.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Maximum size of a piece in bytes: less than a millisecond of compression.
const PIECE_BYTES: usize = 32 * 1_024;

/// Returns a response whose body comes in pieces, unless it is known to be no longer than one.
pub(crate) fn in_pieces(response: Response) -> Response {
    match response.body().size_hint().exact() {
        Some(bytes) if bytes <= PIECE_BYTES as u64 => response,
        _ => {
            let rest = Bytes::new();
            response.map(|body| Body::new(PiecewiseBody { body, rest, pauses: false }))
        }
    }
}

/// A body whose task gives way to others after each piece.
struct PiecewiseBody {
    body: Body,
    /// The part of the last frame that is not sent yet.
    rest: Bytes,
    /// Whether others are to run before the next piece.
    pauses: bool,
}

impl HttpBody for PiecewiseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if std::mem::take(&mut self.pauses) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let bytes = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(bytes);
        self.pauses = !self.rest.is_empty();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.body.size_hint().exact() {
            Some(bytes) => SizeHint::with_exact(bytes + self.rest.len() as u64),
            None => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A body of one frame whose length is not known before.
    struct UnknownLength(Option<Bytes>);

    impl HttpBody for UnknownLength {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    #[test]
    fn a_long_body_pauses_after_each_piece() {
        let whole = Bytes::from(vec![b'x'; 2 * PIECE_BYTES + 5]);
        let body = in_pieces(Response::new(Body::from(whole.clone()))).into_body();
        assert_eq!(body.size_hint().exact(), Some(whole.len() as u64));
        read_in_pieces(body, &whole);
        let unknown = Body::new(UnknownLength(Some(whole.clone())));
        read_in_pieces(in_pieces(Response::new(unknown)).into_body(), &whole);
    }

    fn read_in_pieces(mut body: Body, whole: &Bytes) {
        let mut context = Context::from_waker(Waker::noop());
        let mut sent = Vec::new();
        let mut pauses = 0;
        loop {
            if let Some(left) = body.size_hint().exact() {
                assert_eq!(left, (whole.len() - sent.len()) as u64);
            }
            match Pin::new(&mut body).poll_frame(&mut context) {
                Poll::Ready(Some(frame)) => {
                    let piece = frame.expect("a piece").into_data().expect("bytes");
                    assert!(piece.len() <= PIECE_BYTES, "{} bytes", piece.len());
                    sent.extend_from_slice(&piece);
                }
                Poll::Ready(None) => break,
                Poll::Pending => pauses += 1,
            }
        }
        assert_eq!((sent, pauses), (whole.to_vec(), 2));
    }
}
