//! A timeout for clients that read too slowly. Such a client holds memory and a connection. Waits
//! for the client are noted as the activity of the connection. Reference 1.1.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant as Stopwatch, Sleep, sleep_until};

use crate::http::connection::activity::Activity;

/// Time for which a write may stall before the bytes taken are checked.
const WINDOW: Duration = Duration::from_secs(20);
/// Minimum number of bytes to be taken in that time: about the rate of the slowest telephone line.
const TAKEN_BYTES_MIN: usize = 16 * 1_024;

/// A stream whose writes fail with `TimedOut` when the client takes too few bytes for too long.
#[derive(Debug)]
pub(crate) struct SlowReaderTimeout<S> {
    stream: S,
    /// The stall since the last flush; `None` while all bytes are taken.
    stalled: Option<StalledWrite>,
    activity: Arc<Activity>,
    /// Sees that the client has left; `None` where nothing can.
    departure: Option<PollDeparture<S>>,
}

/// Looks whether the other side has closed the stream, and wakes the task when it does.
type PollDeparture<S> = fn(&mut S, &mut Context<'_>) -> Poll<()>;

#[derive(Debug)]
struct StalledWrite {
    /// Timer of the next check.
    check: Pin<Box<Sleep>>,
    /// Bytes taken since the last check.
    taken: usize,
}

impl<S> SlowReaderTimeout<S> {
    pub(crate) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, stalled: None, activity, departure: None }
    }

    /// Fails while the answer is a stream of changes once `departure` sees that the client has
    /// left. Until the next change nothing else would notice it.
    pub(crate) fn watching_departure(self, departure: PollDeparture<S>) -> Self {
        Self { departure: Some(departure), ..self }
    }

    /// Returns the result of a write, or `TimedOut` if too few bytes were taken in the window.
    fn check_progress(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = written {
            if let (Ok(bytes), Some(stalled)) = (&result, &mut self.stalled) {
                stalled.taken += bytes;
                self.activity.send();
            }
            return Poll::Ready(result);
        }
        self.activity.stall();
        let stalled = self.stalled.get_or_insert_with(StalledWrite::start);
        loop {
            ready!(stalled.check.as_mut().poll(context));
            if stalled.taken < TAKEN_BYTES_MIN {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            *stalled = StalledWrite::start();
        }
    }
}

/// Looks whether the client of a connection has closed it.
pub(crate) fn poll_departure(stream: &mut TcpStream, context: &mut Context<'_>) -> Poll<()> {
    let mut byte = [0];
    match stream.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
        Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(()),
        // The next request has come already.
        Poll::Ready(Ok(_)) | Poll::Pending => Poll::Pending,
    }
}

impl StalledWrite {
    fn start() -> Self {
        Self { check: Box::pin(sleep_until(Stopwatch::now() + WINDOW)), taken: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SlowReaderTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_pending() {
            self.activity.await_bytes();
        } else {
            self.activity.receive();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SlowReaderTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_progress(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.check_progress(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Ends the stall: after a flush no bytes wait for the client.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.stalled = None;
        if let Some(departure) = self.departure
            && self.activity.is_streaming()
            && departure(&mut self.stream, context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Sends `bytes` to a client that takes `taken_a_second` bytes a second.
    async fn send(bytes: usize, taken_a_second: usize) -> io::Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(64 * 1_024);
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; taken_a_second];
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if taken_a_second > 0 && !matches!(theirs.read(&mut buffer).await, Ok(1..)) {
                    return;
                }
            }
        });
        let mut ours = SlowReaderTimeout::new(ours, Arc::new(Activity::new()));
        let sent = async {
            ours.write_all(&vec![0; bytes]).await?;
            ours.flush().await
        };
        let sent = sent.await;
        reader.abort();
        sent
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_next_to_nothing_times_out() {
        let began = Stopwatch::now();
        for taken in [0, 1, 500] {
            let error = send(1 << 20, taken).await.expect_err("too little is taken");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(began.elapsed().as_secs(), 3 * WINDOW.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_that_reads_gets_everything() {
        let began = Stopwatch::now();
        send(1 << 20, 1_000).await.expect("enough is taken");
        assert!(began.elapsed() > WINDOW * 40, "it takes longer than the window");
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_between_two_answers_does_not_count() {
        let (ours, mut theirs) = tokio::io::duplex(1_000);
        let mut ours = SlowReaderTimeout::new(ours, Arc::new(Activity::new()));
        for _ in 0..5 {
            let (sent, read) = tokio::join!(
                async {
                    ours.write_all(&[0; 3_000]).await?;
                    ours.flush().await
                },
                async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    theirs.read_exact(&mut [0; 3_000]).await
                }
            );
            sent.and(read).expect("all of it arrives");
            tokio::time::sleep(WINDOW * 10).await;
        }
    }
}
