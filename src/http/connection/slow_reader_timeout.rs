//! A connection whose other side must keep reading: whoever asks for much and takes little holds memory and a place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant as Stopwatch, Sleep, sleep_until};

/// How long what is to be sent may be held up before it is asked how much was taken.
const WINDOW: Duration = Duration::from_secs(20);
/// Bytes that must have been taken in that time, unless all were: about what the slowest telephone line takes.
const TAKEN_MIN: usize = 16 * 1_024;

/// A stream that ends where its other side takes too little for too long.
#[derive(Debug)]
pub(crate) struct SlowReaderTimeout<S> {
    stream: S,
    /// What is known since something to be sent was first held up; `None` while all is sent.
    held_up: Option<HeldUp>,
}

#[derive(Debug)]
struct HeldUp {
    /// When it is asked how much was taken.
    until: Pin<Box<Sleep>>,
    /// Bytes taken since.
    taken: usize,
}

impl<S> SlowReaderTimeout<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, held_up: None }
    }

    /// What a write has come to: counted, or its end where too little was taken.
    fn count(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match (written, &mut self.held_up) {
            (Poll::Ready(Ok(bytes)), Some(held_up)) => {
                held_up.taken += bytes;
                Poll::Ready(Ok(bytes))
            }
            (Poll::Ready(written), _) => Poll::Ready(written),
            (Poll::Pending, held_up) => {
                let until = || Box::pin(sleep_until(Stopwatch::now() + WINDOW));
                let held_up = held_up.get_or_insert_with(|| HeldUp { until: until(), taken: 0 });
                loop {
                    ready!(held_up.until.as_mut().poll(context));
                    if held_up.taken < TAKEN_MIN {
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    *held_up = HeldUp { until: until(), taken: 0 };
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SlowReaderTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SlowReaderTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.count(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Flushed is what the other side can no longer hold up.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.held_up = None;
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

    /// Sends so much to somebody who takes so many bytes a second.
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
        let mut ours = SlowReaderTimeout::new(ours);
        let sent = async {
            ours.write_all(&vec![0; bytes]).await?;
            ours.flush().await
        };
        let sent = sent.await;
        reader.abort();
        sent
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_or_next_to_nothing_is_left() {
        let began = Stopwatch::now();
        for taken in [0, 1, 500] {
            let error = send(1 << 20, taken).await.expect_err("too little is taken");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(began.elapsed().as_secs(), 3 * WINDOW.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_slow_but_reads_gets_everything() {
        let began = Stopwatch::now();
        send(1 << 20, 1_000).await.expect("enough is taken");
        assert!(began.elapsed() > WINDOW * 40, "for as long as it takes");
    }

    #[tokio::test(start_paused = true)]
    async fn rest_between_two_answers_counts_for_nothing() {
        let (ours, mut theirs) = tokio::io::duplex(1_000);
        let mut ours = SlowReaderTimeout::new(ours);
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
