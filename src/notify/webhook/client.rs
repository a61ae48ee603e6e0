//! One request to the receiver of a webhook. Reference 18.5 and 18.6.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::rt::{Read, Write};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::domain::state::webhooks::url::{ReceiverHost, WebhookUrl};
use crate::domain::state::webhooks::webhook::AttemptResult;
use crate::notify::webhook::addresses::AllowedNetworks;
use crate::notify::webhook::resolver::ResolveHost;
use crate::planted_faults::PlantedFault;

/// Longest time for all of an attempt: name, connection, TLS, and the head of the answer.
pub const ATTEMPT_TIME_MAX: Duration = Duration::from_secs(10);
/// Longest time for a connection to one address of several.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(4);
/// Maximum number of addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;
/// Largest head of an answer.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Bytes of the body of an answer that are read, so that a receiver may end it. None is kept.
const BODY_BYTES_MAX: usize = 4 << 10;
/// Longest time for which they are awaited.
const BODY_TIME_MAX: Duration = Duration::from_millis(500);

/// A request that is signed.
#[derive(Clone, Debug)]
pub struct SignedRequest {
    /// The header `webhook-id`.
    pub id: String,
    /// The header `webhook-timestamp`: the time of the attempt.
    pub timestamp: i64,
    /// The header `webhook-signature`.
    pub signature: String,
    /// The body.
    pub body: Vec<u8>,
}

/// Makes requests to receivers.
pub struct WebhookClient {
    allowed: AllowedNetworks,
    resolver: Arc<dyn ResolveHost>,
    /// Settings of TLS, made by the first attempt; `None` if the authorities of this machine cannot
    /// be read.
    tls: OnceCell<Option<TlsConnector>>,
}

impl WebhookClient {
    /// Creates a client that finds the addresses of names by a resolver.
    pub fn new(allowed: AllowedNetworks, resolver: Arc<dyn ResolveHost>) -> Self {
        Self { allowed, resolver, tls: OnceCell::new() }
    }

    /// The networks inside which receivers may be.
    pub const fn allowed(&self) -> &AllowedNetworks {
        &self.allowed
    }

    /// Makes one attempt, which takes 10 seconds at most. No redirect is followed.
    pub async fn attempt(&self, url: &WebhookUrl, request: SignedRequest) -> AttemptResult {
        match timeout(ATTEMPT_TIME_MAX, self.send(url, request)).await {
            Ok(Ok(status)) => AttemptResult::Status(status),
            Ok(Err(failure)) => failure,
            Err(_) => AttemptResult::TimedOut,
        }
    }

    async fn send(&self, url: &WebhookUrl, request: SignedRequest) -> Result<u16, AttemptResult> {
        let request = build_request(url, request)?;
        let addresses = self.find_addresses(url).await?;
        let stream = connect(&addresses, url.port()).await?;
        if !url.is_https() {
            return exchange(TokioIo::new(stream), request).await;
        }
        let tls = self.tls.get_or_init(read_authorities).await.as_ref();
        let tls = tls.ok_or(AttemptResult::Tls)?;
        // The certificate must be that of the name, whatever the address.
        let name = match url.host() {
            ReceiverHost::Name(name) => ServerName::try_from(name.into_string()),
            ReceiverHost::Address(address) => Ok(ServerName::from(address)),
        };
        let name = name.map_err(|_| AttemptResult::Tls)?;
        let stream = tls.connect(name, stream).await.map_err(|_| AttemptResult::Tls)?;
        exchange(TokioIo::new(stream), request).await
    }

    /// Resolves the host once. The addresses that it returns are those that are connected to, and
    /// all of them are allowed: a later answer of the name's server counts for nothing.
    async fn find_addresses(&self, url: &WebhookUrl) -> Result<Vec<IpAddr>, AttemptResult> {
        let addresses = match url.host() {
            ReceiverHost::Address(address) => vec![address],
            ReceiverHost::Name(name) => {
                let found = self.resolver.resolve(&name).await;
                found.map_err(|_| AttemptResult::Unresolved)?
            }
        };
        if addresses.is_empty() {
            return Err(AttemptResult::Unresolved);
        }
        let lets = |address: &IpAddr| self.allowed.lets_connect(url.is_https(), *address);
        if !addresses.iter().all(lets) && !PlantedFault::WebhookAddressUnchecked.is_active() {
            return Err(AttemptResult::AddressRefused);
        }
        Ok(addresses)
    }
}

/// Reads the authorities that this machine trusts.
async fn read_authorities() -> Option<TlsConnector> {
    let read = tokio::task::spawn_blocking(|| {
        let provider = Arc::new(ring::default_provider());
        let verifier = match Verifier::new(Arc::clone(&provider)) {
            Ok(verifier) => verifier,
            Err(error) => {
                tracing::error!(%error, "webhooks cannot be delivered by https");
                return None;
            }
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Some(TlsConnector::from(Arc::new(config)))
    });
    read.await.ok().flatten()
}

fn build_request(
    url: &WebhookUrl,
    request: SignedRequest,
) -> Result<Request<Full<Bytes>>, AttemptResult> {
    let SignedRequest { id, timestamp, signature, body } = request;
    let request = Request::post(url.target())
        .header(HOST, url.authority())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, "slotbook-webhook")
        .header(CONNECTION, "close")
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp)
        .header("webhook-signature", signature)
        .body(Full::from(body));
    request.map_err(|_| AttemptResult::Broken)
}

/// Connects to the first address that takes a connection.
async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, AttemptResult> {
    let mut failure = AttemptResult::Unreachable;
    for address in addresses.iter().take(ADDRESSES_MAX) {
        let address = SocketAddr::new(*address, port);
        match timeout(CONNECT_TIME_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(_)) => failure = AttemptResult::Unreachable,
            Err(_) => failure = AttemptResult::TimedOut,
        }
    }
    Err(failure)
}

/// Sends a request and returns the status of its answer. The connection ends with it.
async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<u16, AttemptResult>
where
    S: Read + Write + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX);
    let (mut sender, connection) =
        builder.handshake(stream).await.map_err(|_| AttemptResult::Broken)?;
    let answer = async move {
        let answer = sender.send_request(request).await.map_err(|_| AttemptResult::Broken)?;
        let status = answer.status().as_u16();
        let _ = timeout(BODY_TIME_MAX, read_little(answer)).await;
        Ok(status)
    };
    tokio::pin!(answer);
    tokio::select! {
        biased;
        status = &mut answer => status,
        // The end of the connection is the end of the answer, which may be complete.
        _ = connection => answer.await,
    }
}

/// Reads the beginning of a body and drops it.
async fn read_little(answer: Response<Incoming>) {
    let mut body = answer.into_body();
    let mut bytes = 0;
    while bytes < BODY_BYTES_MAX
        && let Some(Ok(frame)) = body.frame().await
    {
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::notify::webhook::resolver::Lookup;

    /// A name whose addresses change with each look.
    struct Changing {
        answers: Vec<Vec<&'static str>>,
        lookups: AtomicUsize,
    }

    impl Changing {
        fn new(answers: &[&[&'static str]]) -> Arc<Self> {
            let answers = answers.iter().map(|addresses| addresses.to_vec()).collect();
            Arc::new(Self { answers, lookups: AtomicUsize::new(0) })
        }
    }

    impl ResolveHost for Changing {
        fn resolve(&self, _: &str) -> Lookup {
            let look = self.lookups.fetch_add(1, Ordering::SeqCst);
            let answer = &self.answers[look.min(self.answers.len() - 1)];
            let addresses = answer.iter().map(|it| it.parse().expect("an address")).collect();
            Box::pin(async move { Ok(addresses) })
        }
    }

    fn request() -> SignedRequest {
        SignedRequest {
            id: "1-1-0-a".into(),
            timestamp: 0,
            signature: "v1,x".into(),
            body: b"{}".to_vec(),
        }
    }

    fn url(text: &str) -> WebhookUrl {
        WebhookUrl::new(text).expect("an address")
    }

    fn loopback() -> AllowedNetworks {
        AllowedNetworks::new(vec!["127.0.0.0/8".parse().expect("a network")])
    }

    /// A receiver that answers each connection so, and counts them.
    async fn receiver(answer: &'static [u8]) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let mut head = [0; 1_024];
                    let _ = stream.read(&mut head).await;
                    // An answer that is empty is none, and `*` stands for one without an end.
                    let endless = answer.ends_with(b"*");
                    let _ = stream.write_all(answer).await;
                    while endless && stream.write_all(&[b'x'; 8_192]).await.is_ok() {}
                    let _ = stream.read(&mut head).await;
                });
            }
        });
        (port, connections)
    }

    #[tokio::test]
    async fn a_name_is_connected_to_by_the_addresses_that_were_checked() {
        let (port, connections) = receiver(b"HTTP/1.1 204 No Content\r\n\r\n").await;
        // The second look leads inside, as an attacker's name server would have it.
        for (answers, result, looks) in [
            (&[&["127.0.0.1"][..], &["10.0.0.1"]][..], AttemptResult::Status(204), 1),
            (&[&["10.0.0.1"], &["127.0.0.1"]], AttemptResult::AddressRefused, 1),
            (&[&["127.0.0.1", "169.254.169.254"]], AttemptResult::AddressRefused, 1),
            (&[&[]], AttemptResult::Unresolved, 1),
        ] {
            let resolver = Changing::new(answers);
            let client = WebhookClient::new(loopback(), resolver.clone());
            let address = url(&format!("http://localhost:{port}/"));
            assert_eq!(client.attempt(&address, request()).await, result, "{answers:?}");
            assert_eq!(resolver.lookups.load(Ordering::SeqCst), looks, "{answers:?}");
        }
        assert_eq!(connections.load(Ordering::SeqCst), 1);
        // Nothing is allowed inside: no connection is made, however often the name is looked up.
        let resolver = Changing::new(&[&["127.0.0.1"], &["8.8.8.8"]]);
        let client = WebhookClient::new(AllowedNetworks::default(), resolver);
        let address = url(&format!("https://inside.example:{port}/"));
        assert_eq!(client.attempt(&address, request()).await, AttemptResult::AddressRefused);
        assert_eq!(connections.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn the_status_is_the_answer_whatever_follows_it() {
        for (answer, result) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..], AttemptResult::Status(200)),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 30000000000\r\n\r\n*",
                AttemptResult::Status(200),
            ),
            (b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n", AttemptResult::Status(500)),
            (b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", AttemptResult::Status(410)),
            (b"SSH-2.0-x\r\n", AttemptResult::Broken),
            (b"HTTP/1.1 200 OK\r\nX: *", AttemptResult::Broken),
        ] {
            let (port, _) = receiver(answer).await;
            let client = WebhookClient::new(loopback(), Changing::new(&[&["127.0.0.1"]]));
            let address = url(&format!("http://127.0.0.1:{port}/"));
            let text = String::from_utf8_lossy(answer);
            assert_eq!(client.attempt(&address, request()).await, result, "{text}");
        }
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let (inside, reached) = receiver(b"HTTP/1.1 200 OK\r\n\r\n").await;
        let location = format!("HTTP/1.1 307 T\r\nLocation: http://127.0.0.1:{inside}/\r\n\r\n");
        let (port, _) = receiver(location.into_bytes().leak()).await;
        let client = WebhookClient::new(loopback(), Changing::new(&[&["127.0.0.1"]]));
        let address = url(&format!("http://127.0.0.1:{port}/"));
        assert_eq!(client.attempt(&address, request()).await, AttemptResult::Status(307));
        assert_eq!(reached.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_receiver_that_does_not_answer_is_given_up_after_ten_seconds() {
        let (port, _) = receiver(b"").await;
        let client = WebhookClient::new(loopback(), Changing::new(&[&["127.0.0.1"]]));
        let address = url(&format!("http://127.0.0.1:{port}/"));
        let began = tokio::time::Instant::now();
        assert_eq!(client.attempt(&address, request()).await, AttemptResult::TimedOut);
        assert_eq!(began.elapsed(), ATTEMPT_TIME_MAX);
    }
}
