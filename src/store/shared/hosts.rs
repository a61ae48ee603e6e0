//! The hosts of a shared store: a connection to the one that takes writes.

use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

/// Pause until a host that takes no writes is asked again. It may become the primary while another
/// one, which was it, is silent.
const AGAIN_PAUSE: Duration = Duration::from_millis(250);

/// Returns the first connection that `connect` makes, to one of this many hosts. All are tried at
/// once: one that is silent keeps nothing from the others, which are tried again meanwhile.
///
/// # Errors
/// The reason of each host, once all have one.
pub(crate) async fn connect_to_first<C, F: Future<Output = Result<C, String>>>(
    hosts: usize,
    connect: impl Fn(usize) -> F,
) -> Result<C, String> {
    let attempt = async |host: usize, pause: Duration| {
        tokio::time::sleep(pause).await;
        (host, connect(host).await)
    };
    let mut attempts: FuturesUnordered<_> =
        (0..hosts).map(|host| attempt(host, Duration::ZERO)).collect();
    let mut reasons = vec![None; hosts];
    while let Some((host, connected)) = attempts.next().await {
        match connected {
            Ok(connection) => return Ok(connection),
            Err(reason) => reasons[host] = Some(reason),
        }
        if reasons.iter().all(Option::is_some) {
            break;
        }
        attempts.push(attempt(host, AGAIN_PAUSE));
    }
    let mut reasons: Vec<String> = reasons.into_iter().flatten().collect();
    reasons.dedup();
    Err(reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_host_keeps_nothing_from_one_that_becomes_the_primary() {
        let tries = Cell::new(0);
        let connect = async |host| {
            if host == 0 {
                return pending().await;
            }
            tries.set(tries.get() + 1);
            if tries.get() < 9 { Err("it takes no writes".to_owned()) } else { Ok(host) }
        };
        let connecting = connect_to_first(2, connect);
        let connected = tokio::time::timeout(AGAIN_PAUSE * 9, connecting).await;
        assert_eq!(connected.expect("no host is waited for"), Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_that_all_refuse_are_not_asked_again() {
        let tries = Cell::new(0);
        let connect = async |host| {
            tries.set(tries.get() + 1);
            Err::<(), _>(format!("host {host} refuses"))
        };
        let refused = connect_to_first(3, connect).await.unwrap_err();
        assert_eq!(refused, "host 0 refuses; host 1 refuses; host 2 refuses");
        assert_eq!(tries.get(), 3);
        let alike = connect_to_first(2, async |_| Err::<(), _>("no".to_owned())).await;
        assert_eq!(alike.unwrap_err(), "no");
    }
}
