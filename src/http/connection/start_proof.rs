//! The check that the address which a server of a cluster gives to the others leads to itself.
//! Reference 8.11.

use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONNECTION, HOST};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri};
use axum::response::Response;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::time::{Instant, sleep, timeout};

use crate::engine::randomness::Randomness;
use crate::http::connection::forwarding_client::{ForwardingClient, uri_at};

/// The header with a question of the asker, and in the answer with the proof.
pub(crate) const X_SLOTBOOK_START: HeaderName = HeaderName::from_static("x-slotbook-start");
/// The path on which it is answered.
const PATH: &str = "/readyz";
/// Longest time in which an address is tried.
const CHECK_TIME: Duration = Duration::from_secs(10);
/// Longest time for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after an answer that proves nothing.
const TRY_PAUSE: Duration = Duration::from_millis(250);
/// Proofs that are needed, each over a connection of its own: an address that leads to several
/// servers in turn leads to this one by chance.
const PROOFS: u32 = 3;

/// Proves that an answer is of this start of this server. Its key is drawn for one start and leaves
/// the process in no form, so neither another server of the cluster nor an earlier process of this
/// one can answer in its place.
#[derive(Clone, Debug)]
pub struct StartProof(Hmac<Sha256>);

/// Reason why an address does not lead to this server.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongAddress {
    /// It has no scheme or no host.
    #[error("it is not the address of a server")]
    Unusable,
    /// No connection, or no answer in time.
    #[error("nothing answers there: {0}")]
    Unanswered(String),
    /// A server of a cluster that cannot prove to be this one.
    #[error("another server of a cluster answers there")]
    OtherServer,
    /// An answer without a proof.
    #[error("something that is no server of a cluster answers there, with status {0}")]
    NoServer(StatusCode),
}

impl StartProof {
    /// The proof of a start, with a key that is random and used for nothing else.
    pub fn new(key: [u8; 32]) -> Self {
        Self(Hmac::new_from_slice(&key).expect("any length makes a key"))
    }

    /// Adds the proof to the answer to a GET /readyz whose headers ask for it.
    pub(crate) fn answer(&self, headers: &HeaderMap, response: &mut Response) {
        let Some(question) = headers.get(X_SLOTBOOK_START) else { return };
        let proof = HEXLOWER.encode(&self.mac(question).finalize().into_bytes());
        let proof = HeaderValue::try_from(proof).expect("digits and letters are visible");
        response.headers_mut().insert(X_SLOTBOOK_START, proof);
    }

    fn proves(&self, question: &HeaderValue, answer: &HeaderValue) -> bool {
        let Ok(proof) = HEXLOWER.decode(answer.as_bytes()) else { return false };
        self.mac(question).verify_slice(&proof).is_ok()
    }

    fn mac(&self, question: &HeaderValue) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(question.as_bytes());
        mac
    }
}

/// Checks that the server at `url` is this one, which is served meanwhile and answers with `proof`.
/// It is asked as other servers ask it. What does not answer is asked for ten seconds.
///
/// # Errors
/// Not this server answers there, three times in a row, or none does.
pub async fn check_own_url(url: &str, proof: &StartProof) -> Result<(), WrongAddress> {
    let uri = uri_at(url, &Uri::from_static(PATH)).ok_or(WrongAddress::Unusable)?;
    let client = ForwardingClient::new();
    let began = Instant::now();
    let mut proofs = 0;
    while proofs < PROOFS {
        match ask(&client, &uri, proof).await {
            Ok(()) => proofs += 1,
            Err(WrongAddress::OtherServer) => return Err(WrongAddress::OtherServer),
            Err(reason) if began.elapsed() >= CHECK_TIME => return Err(reason),
            Err(reason) => {
                tracing::debug!(%reason, url, "this server has not answered at its own address");
                sleep(TRY_PAUSE).await;
            }
        }
    }
    Ok(())
}

/// Asks once, over a connection of its own.
async fn ask(
    client: &ForwardingClient<Body>,
    uri: &Uri,
    proof: &StartProof,
) -> Result<(), WrongAddress> {
    let question = HEXLOWER.encode(&Randomness::from_os().bytes());
    let question = HeaderValue::try_from(question).expect("digits and letters are visible");
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let request = Request::get(uri)
        .header(HOST, host)
        .header(CONNECTION, "close")
        .header(X_SLOTBOOK_START, &question)
        .body(Body::empty());
    let request = request.map_err(|_| WrongAddress::Unusable)?;
    let answer = match timeout(ANSWER_TIMEOUT, client.send(request)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(WrongAddress::Unanswered(innermost(&error))),
        Err(_) => return Err(WrongAddress::Unanswered("no answer in time".to_owned())),
    };
    match answer.headers().get(X_SLOTBOOK_START) {
        Some(given) if proof.proves(&question, given) => Ok(()),
        Some(_) => Err(WrongAddress::OtherServer),
        None => Err(WrongAddress::NoServer(answer.status())),
    }
}

/// Returns the message of the first cause of an error.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;

    use super::*;
    use crate::domain::directory::cluster_secret::ClusterSecret;
    use crate::http::connection::forwarding::{Forwarder, serve_following};

    async fn bind() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        (listener, url)
    }

    /// Starts a server with a proof, or without one.
    async fn start(proof: Option<&StartProof>) -> String {
        let (listener, url) = bind().await;
        let mut forwarder =
            Forwarder::new(&ClusterSecret::new([7; 32]), 100, watch::channel(None).1);
        if let Some(proof) = proof {
            forwarder = forwarder.proving(proof.clone());
        }
        tokio::spawn(async move {
            serve_following(std::future::pending::<()>(), &listener, &Arc::new(forwarder)).await;
        });
        url
    }

    /// Starts a relay that gives its connections to servers in turn.
    async fn relay(urls: Vec<String>) -> String {
        let (listener, url) = bind().await;
        tokio::spawn(async move {
            for url in urls.iter().cycle() {
                let address: SocketAddr = url["http://".len()..].parse().expect("an address");
                let (mut client, _) = listener.accept().await.expect("it listens");
                let mut server = TcpStream::connect(address).await.expect("it listens");
                tokio::io::copy_bidirectional(&mut client, &mut server).await.expect("it answers");
            }
        });
        url
    }

    #[tokio::test]
    async fn an_address_is_right_if_this_start_alone_answers_there() {
        let own = StartProof::new([1; 32]);
        let other = StartProof::new([2; 32]);
        let url = start(Some(&own)).await;
        assert_eq!(check_own_url(&url, &own).await, Ok(()));
        let another = start(Some(&other)).await;
        assert_eq!(check_own_url(&another, &own).await, Err(WrongAddress::OtherServer));
        let in_turn = relay(vec![url.clone(), url, another]).await;
        assert_eq!(check_own_url(&in_turn, &own).await, Err(WrongAddress::OtherServer));
        assert_eq!(check_own_url("10.0.0.1:8080", &own).await, Err(WrongAddress::Unusable));
    }

    #[tokio::test]
    async fn an_answer_to_another_question_proves_nothing() {
        let own = StartProof::new([1; 32]);
        let mut headers = HeaderMap::new();
        headers.insert(X_SLOTBOOK_START, HeaderValue::from_static("one"));
        let mut response = Response::new(Body::empty());
        own.answer(&headers, &mut response);
        let answer = &response.headers()[X_SLOTBOOK_START];
        assert!(own.proves(&HeaderValue::from_static("one"), answer));
        assert!(!own.proves(&HeaderValue::from_static("two"), answer));
        assert!(!own.proves(&HeaderValue::from_static("one"), &HeaderValue::from_static("one")));
    }

    #[tokio::test]
    async fn each_server_of_a_cluster_answers_and_no_other_one() {
        let own = StartProof::new([1; 32]);
        let url = start(None).await;
        let uri = uri_at(&url, &Uri::from_static(PATH)).expect("a URL");
        let asked = ask(&ForwardingClient::new(), &uri, &own).await;
        assert_eq!(asked, Err(WrongAddress::NoServer(StatusCode::SERVICE_UNAVAILABLE)));
    }
}
