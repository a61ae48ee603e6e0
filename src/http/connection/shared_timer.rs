//! The timer of a connection. Reference 1.1.
//!
//! hyper sets a timer for the head of each request and drops it when the head is there. The
//! runtime's timers stand in one structure behind a lock, which each of them would enter and
//! leave. Here all of a connection share one, which is set again when it has run out, or for a wait
//! that ends earlier, as no head's does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

/// The timer of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTimer(Arc<Mutex<Option<Alarm>>>);

/// A timer of the runtime.
type Alarm = Pin<Box<tokio::time::Sleep>>;

impl Timer for SharedTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(SharedSleep { alarm: Arc::clone(&self.0), deadline: deadline.into() })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

/// A wait for a moment. One of a connection is polled at a time.
#[derive(Debug)]
struct SharedSleep {
    alarm: Arc<Mutex<Option<Alarm>>>,
    deadline: tokio::time::Instant,
}

impl Sleep for SharedSleep {}

impl Future for SharedSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut alarm = self.alarm.lock();
        let alarm = alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.deadline)));
        if alarm.deadline() > self.deadline {
            alarm.as_mut().reset(self.deadline);
        }
        loop {
            // It may have been set for an earlier wait.
            ready!(alarm.as_mut().poll(context));
            if alarm.deadline() >= self.deadline {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(self.deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::Response;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::{Instant as Stopwatch, advance, sleep_until};

    use super::*;

    /// Waits until a time after the beginning, and checks that it is that.
    async fn wait(timer: &SharedTimer, began: Stopwatch, seconds: u64) {
        let deadline = began + Duration::from_secs(seconds);
        timer.sleep_until(deadline.into()).await;
        assert_eq!(Stopwatch::now().duration_since(began).as_secs(), seconds);
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_ends_at_its_own_time() {
        let timer = SharedTimer::default();
        let began = Stopwatch::now();
        let dropped = tokio::time::timeout(
            Duration::from_secs(1),
            timer.sleep_until((began + Duration::from_secs(20)).into()),
        );
        assert!(dropped.await.is_err(), "the head came after a second");
        wait(&timer, began, 21).await;
        wait(&timer, began, 60).await;
        // The alarm stands at a later time than the next wait.
        drop(tokio::time::timeout(Duration::ZERO, timer.sleep(Duration::from_secs(90))).await);
        wait(&timer, began, 62).await;
        advance(Duration::from_secs(8)).await;
        wait(&timer, began, 70).await;
    }

    #[tokio::test(start_paused = true)]
    async fn each_head_has_its_whole_time_and_no_more() {
        let (ours, mut theirs) = tokio::io::duplex(4_096);
        let service = service_fn(async |_| Ok::<_, Infallible>(Response::new(Body::empty())));
        let connection = http1::Builder::new()
            .timer(SharedTimer::default())
            .header_read_timeout(Duration::from_secs(20))
            .serve_connection(TokioIo::new(ours), service);
        let server = tokio::spawn(connection);
        let began = Stopwatch::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        for seconds in [15, 30, 49] {
            sleep_until(after(seconds)).await;
            theirs.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.expect("it is open");
            let mut answer = [0; 1_024];
            assert!(theirs.read(&mut answer).await.expect("it is open") > 0);
        }
        sleep_until(after(60)).await;
        theirs.write_all(b"GET / HTTP/1.1\r\n").await.expect("it is open");
        let mut rest = Vec::new();
        theirs.read_to_end(&mut rest).await.expect("it is closed");
        assert_eq!(began.elapsed().as_secs(), 69, "20 s after the last answer");
        assert!(server.await.expect("no panic").is_err());
    }
}
