//! New connections to the server that decides, a part of them at a time: that server closes what
//! one address has above its maximum, until a sealed request has come over a connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Extensions;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Number of connections at once over which no answer has come: half of what an address has by
/// default.
const UNPROVEN_MAX: usize = 128;
/// Longest time for which a connection counts among them. Its request has been read by then, though
/// its answer may take longer.
const UNPROVEN_TIME: Duration = Duration::from_millis(100);

/// The places of connections over which no answer has come.
#[derive(Clone, Debug)]
pub(crate) struct UnprovenPlaces(Arc<Semaphore>);

/// Frees the place of a connection with the first answer. Each answer has it in its extensions.
#[derive(Clone, Debug)]
pub(crate) struct UnprovenPlace(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

/// A connection with its place.
#[derive(Debug)]
pub(crate) struct UnprovenConnection<T> {
    io: T,
    place: UnprovenPlace,
}

impl UnprovenPlaces {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(UNPROVEN_MAX)))
    }

    /// Waits for a place.
    pub(crate) async fn take(&self) -> UnprovenPlace {
        let permit = Arc::clone(&self.0).acquire_owned().await.expect("it is never closed");
        UnprovenPlace(Arc::new(Mutex::new(Some(permit))))
    }
}

impl UnprovenPlace {
    /// Puts the place on a connection, which leaves it after a time.
    pub(crate) fn of_connection<T>(self, io: T) -> UnprovenConnection<T> {
        let place = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(UNPROVEN_TIME).await;
            place.free();
        });
        UnprovenConnection { io, place: self }
    }

    /// Frees the place of the connection over which an answer with these extensions has come.
    pub(crate) fn free_by(answer: &mut Extensions) {
        if let Some(place) = answer.remove::<Self>() {
            place.free();
        }
    }

    fn free(&self) {
        drop(self.0.lock().take());
    }
}

impl<T: Connection> Connection for UnprovenConnection<T> {
    fn connected(&self) -> Connected {
        self.io.connected().extra(self.place.clone())
    }
}

impl<T: Read + Unpin> Read for UnprovenConnection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for UnprovenConnection<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_after_the_first_answer_or_a_time() {
        let places = UnprovenPlaces::new();
        let mut connections = Vec::new();
        for _ in 0..UNPROVEN_MAX {
            connections.push(places.take().await.of_connection(tokio::io::empty()));
        }
        // A task that has done so much is held up once.
        tokio::task::yield_now().await;
        assert!(places.take().now_or_never().is_none());
        let mut answer = Extensions::new();
        answer.insert(connections[0].place.clone());
        UnprovenPlace::free_by(&mut answer);
        assert!(answer.is_empty());
        let last = places.take().now_or_never().expect("the first is proven");
        assert!(places.take().now_or_never().is_none());
        tokio::time::sleep(UNPROVEN_TIME * 2).await;
        drop(last);
        assert_eq!(places.0.available_permits(), UNPROVEN_MAX);
    }
}
