//! Bodies that a thread writes at the pace of their reader, in memory that does not grow with their
//! length.

use std::io::{self, BufWriter, Write};
use std::task::{Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

/// Size of a part of the body, in bytes.
const PART_BYTES: usize = 64 * 1_024;

/// Returns a response whose body are JSON objects, one a line.
pub(crate) fn json_lines(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Response {
    streamed("application/x-ndjson", write)
}

/// Returns a response whose body `write` writes on a thread that serves no connection. An error or
/// a panic breaks the connection, so that no client takes a part for the whole. Once the client has
/// left, `write` gets an error.
pub(crate) fn streamed(
    content_type: &'static str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Response {
    // The last part is empty: an end without it is a failure.
    let (sender, mut parts) = mpsc::channel::<Bytes>(1);
    tokio::task::spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(PART_BYTES, PartSender(sender));
        let written = write(&mut out).and_then(|()| out.flush());
        if written.is_ok() {
            // The client may have left.
            drop(out.get_ref().0.blocking_send(Bytes::new()));
        }
    });
    let parts = stream::poll_fn(move |context| {
        Poll::Ready(match ready!(parts.poll_recv(context)) {
            Some(end) if end.is_empty() => None,
            Some(part) => Some(Ok(part)),
            None => Some(Err(io::Error::other("the body was not written to its end"))),
        })
    });
    // Compression asks once more after the end.
    let mut response = Response::new(Body::from_stream(parts.fuse()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Sends each write as a part of the body.
struct PartSender(mpsc::Sender<Bytes>);

impl Write for PartSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.blocking_send(Bytes::copy_from_slice(bytes)) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    async fn read(response: Response) -> Option<usize> {
        let collected = response.into_body().collect().await.ok()?;
        Some(collected.to_bytes().len())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_body_arrives_whole_or_as_an_error() {
        let parts = |number: usize| {
            move |out: &mut dyn Write| {
                (0..number).try_for_each(|_| out.write_all(&[b'x'; PART_BYTES / 3]))
            }
        };
        for number in (0..300).chain([2_000]) {
            assert_eq!(read(json_lines(parts(number))).await, Some(number * (PART_BYTES / 3)));
        }
        let failing = json_lines(move |out| {
            parts(9)(out)?;
            Err(io::ErrorKind::Other.into())
        });
        assert_eq!(read(failing).await, None);
        let panicking = json_lines(move |out| {
            parts(9)(out)?;
            panic!("a bug");
        });
        assert_eq!(read(panicking).await, None);
    }

    #[tokio::test]
    async fn a_body_that_has_ended_stays_ended() {
        let mut body = json_lines(|out| out.write_all(b"{}")).into_body();
        assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
        for _ in 0..2 {
            assert!(body.frame().await.is_none());
        }
    }

    #[tokio::test]
    async fn the_writer_of_a_client_that_left_gets_an_error() {
        let (ended, end) = tokio::sync::oneshot::channel();
        drop(json_lines(move |out| {
            let left = loop {
                if let Err(error) = out.write_all(&[b'x'; PART_BYTES]) {
                    break error;
                }
            };
            ended.send(left.kind()).expect("the test waits");
            Err(left)
        }));
        assert_eq!(end.await, Ok(io::ErrorKind::BrokenPipe));
    }
}
