//! Text messages to an HTTP gateway: a POST of JSON with a bearer token. Reference 7.5.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use crate::domain::state::delivery_step::DeliveryOutcome;
use crate::notify::outcome::{deferred, error_chain, refused};

/// Maximum number of bytes read of the body of an error response.
const ERROR_BODY_BYTES_MAX: usize = 4_096;

/// Reason why the options of an SMS gateway cannot work.
#[derive(Debug, thiserror::Error)]
#[error("the SMS gateway cannot be used: {0}")]
pub struct InvalidGatewayOptions(String);

/// HTTP client of a gateway.
enum GatewayClient {
    /// Without TLS, so that a machine without root certificates can use a local gateway.
    Http(Client<HttpConnector, Full<Bytes>>),
    Https(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// An SMS gateway.
pub struct SmsGateway {
    client: GatewayClient,
    url: Uri,
    /// The `Authorization` header.
    bearer: HeaderValue,
    /// Maximum time for one message.
    timeout: Duration,
}

impl SmsGateway {
    /// Creates a client of a gateway; `timeout` limits each message. It connects with the first
    /// message.
    ///
    /// # Errors
    /// An invalid URL or token, or a machine without root certificates.
    pub fn new(url: &str, token: &str, timeout: Duration) -> Result<Self, InvalidGatewayOptions> {
        let Ok(uri) = url.parse::<Uri>() else {
            return Err(InvalidGatewayOptions("its address is no URL".to_owned()));
        };
        if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
            let reason = "its address must begin with http:// or https://";
            return Err(InvalidGatewayOptions(reason.to_owned()));
        }
        let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {token}")) else {
            let reason = "its token has characters that a header cannot hold";
            return Err(InvalidGatewayOptions(reason.to_owned()));
        };
        bearer.set_sensitive(true);
        let mut builder = Client::builder(TokioExecutor::new());
        // The gateway may have closed an idle connection by the next message.
        builder.pool_max_idle_per_host(0);
        let client = if uri.scheme_str() == Some("http") {
            GatewayClient::Http(builder.build_http())
        } else {
            let connector = match HttpsConnectorBuilder::new().try_with_platform_verifier() {
                Ok(connector) => connector.https_only().enable_http1().build(),
                Err(error) => return Err(InvalidGatewayOptions(error.to_string())),
            };
            GatewayClient::Https(builder.build(connector))
        };
        Ok(Self { client, url: uri, bearer, timeout })
    }

    /// Makes one attempt at a message. An empty `sender` leaves the sender to the gateway.
    pub(crate) async fn send(
        &self,
        to: &str,
        sender: &str,
        text: &str,
        message_id: &str,
    ) -> DeliveryOutcome {
        let mut body = json!({ "to": to, "text": text, "id": message_id });
        if !sender.is_empty() {
            body["from"] = sender.into();
        }
        let request = Request::post(self.url.clone())
            .header(AUTHORIZATION, self.bearer.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Idempotency-Key", message_id)
            .body(Full::from(body.to_string()));
        let Ok(request) = request else {
            return refused("the message cannot be written as a request");
        };
        match tokio::time::timeout(self.timeout, self.send_request(request)).await {
            Ok(outcome) => outcome,
            Err(_) => deferred("the SMS gateway did not answer in time"),
        }
    }

    async fn send_request(&self, request: Request<Full<Bytes>>) -> DeliveryOutcome {
        let response = match &self.client {
            GatewayClient::Http(client) => client.request(request).await,
            GatewayClient::Https(client) => client.request(request).await,
        };
        let response = match response {
            Ok(response) => response,
            Err(error) => {
                let causes = error_chain(&error);
                return deferred(&format!("the SMS gateway cannot be reached: {causes}"));
            }
        };
        let status = response.status();
        if status.is_success() {
            return DeliveryOutcome::Taken;
        }
        let body = read_error_body(response.into_body()).await;
        let reason = format!("the SMS gateway answered {status}: {body}");
        if is_final(status) { refused(&reason) } else { deferred(&reason) }
    }
}

/// Reads the body of an error response; empty if it is too long or the connection breaks.
async fn read_error_body(body: Incoming) -> String {
    match Limited::new(body, ERROR_BODY_BYTES_MAX).collect().await {
        Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        Err(_) => String::new(),
    }
}

/// Returns whether the gateway will refuse every attempt: 4xx, except timeouts and rate limits.
fn is_final(status: StatusCode) -> bool {
    const TEMPORARY: [u16; 3] = [408, 425, 429];
    status.is_client_error() && !TEMPORARY.contains(&status.as_u16())
}
