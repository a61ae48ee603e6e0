//! Text messages to an HTTP gateway: a POST of JSON with a bearer token. Reference 7.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use crate::domain::messaging::delivery::DeliveryOutcome;
use crate::notify::{deferred, refused, whole};

/// Bytes of an answer that are read; of them a line is kept.
const ANSWER_MAX: usize = 4_096;

/// Why text messages could not be sent that way at all.
#[derive(Debug, thiserror::Error)]
#[error("the SMS gateway cannot be used: {0}")]
pub struct Unusable(String);

/// Connections to a gateway.
enum Way {
    /// Without TLS: nobody vouches for anybody, and the machine need not know whom to believe.
    Plain(Client<HttpConnector, Full<Bytes>>),
    Secret(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// The way to a gateway.
pub struct Gateway {
    way: Way,
    url: Uri,
    /// The header that proves who we are.
    bearer: HeaderValue,
    /// How long one message may take.
    timeout: Duration,
}

impl Gateway {
    /// The way to a gateway; each message may take as long as `timeout`. Nothing is connected yet.
    ///
    /// # Errors
    /// An address or a token that is none, or a machine without TLS.
    pub fn new(url: &str, token: &str, timeout: Duration) -> Result<Self, Unusable> {
        let uri: Uri = url.parse().map_err(|_| Unusable("its address is no URL".to_owned()))?;
        if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(Unusable("its address must begin with http:// or https://".to_owned()));
        }
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Unusable("its token cannot stand in a header".to_owned()))?;
        bearer.set_sensitive(true);
        // A connection that rested may be gone by the next message.
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_max_idle_per_host(0);
        let way = if uri.scheme_str() == Some("http") {
            Way::Plain(client.build_http())
        } else {
            let connector = HttpsConnectorBuilder::new()
                .try_with_platform_verifier()
                .map_err(|error| Unusable(error.to_string()))?;
            Way::Secret(client.build(connector.https_only().enable_http1().build()))
        };
        Ok(Self { way, url: uri, bearer, timeout })
    }

    /// Makes one attempt at a message.
    pub(super) async fn send(
        &self,
        to: &str,
        sender: &str,
        text: &str,
        identity: &str,
    ) -> DeliveryOutcome {
        let mut body = json!({ "to": to, "text": text, "id": identity });
        if !sender.is_empty() {
            body["from"] = sender.into();
        }
        let request = Request::post(self.url.clone())
            .header(AUTHORIZATION, self.bearer.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Idempotency-Key", identity)
            .body(Full::from(body.to_string()));
        let Ok(request) = request else {
            return refused("the message cannot be written as a request");
        };
        match tokio::time::timeout(self.timeout, self.answer(request)).await {
            Ok(outcome) => outcome,
            Err(_) => deferred("the SMS gateway did not answer in time"),
        }
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> DeliveryOutcome {
        let asked = match &self.way {
            Way::Plain(client) => client.request(request),
            Way::Secret(client) => client.request(request),
        };
        let answer = match asked.await {
            Ok(answer) => answer,
            Err(error) => {
                return deferred(&format!("the SMS gateway cannot be reached: {}", whole(&error)));
            }
        };
        let status = answer.status();
        if status.is_success() {
            return DeliveryOutcome::Taken;
        }
        let said = Limited::new(answer.into_body(), ANSWER_MAX)
            .collect()
            .await
            .map(|body| body.to_bytes());
        let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
        let reason = format!("the SMS gateway answered {status}: {said}");
        if is_final(status) { refused(&reason) } else { deferred(&reason) }
    }
}

/// Whether the gateway will never take it: 4xx, save where it is busy or was too slow.
fn is_final(status: StatusCode) -> bool {
    const PASSING: [u16; 3] = [408, 425, 429];
    status.is_client_error() && !PASSING.contains(&status.as_u16())
}
