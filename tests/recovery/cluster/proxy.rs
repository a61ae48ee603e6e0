//! A way to PostgreSQL that can be cut: bytes then go neither way, and no connection ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The way of one server to one server of PostgreSQL.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) port: u16,
    is_cut: Arc<watch::Sender<bool>>,
}

impl Way {
    /// Opens a way to a port of this machine.
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own = listener.local_addr().expect("bound").port();
        let (is_cut, cut) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let cut = cut.clone();
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    // As in a network, no small packet waits for the one before.
                    for stream in [&client, &server] {
                        stream.set_nodelay(true).expect("a socket");
                    }
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    let there = pass(from_client, to_server, cut.clone());
                    tokio::join!(there, pass(from_server, to_client, cut));
                });
            }
        });
        Self { port: own, is_cut: Arc::new(is_cut) }
    }

    /// Cuts the way, or mends it.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

/// Passes bytes on until one side ends. While the way is cut, they wait.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut cut: watch::Receiver<bool>) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
        if cut.wait_for(|is_cut| !*is_cut).await.is_err() {
            // The test is over.
            return tokio::time::sleep(Duration::ZERO).await;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
