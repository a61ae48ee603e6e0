//! The client by which a server of a cluster forwards requests, with a time for connecting.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, Uri};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower_service::Service;

use crate::http::connection::forwarding_body::RetainedBody;
use crate::http::connection::unproven_connections::{
    UnprovenConnection, UnprovenPlace, UnprovenPlaces,
};

/// Largest buffer of a connection for what was read and not passed on.
const READ_BYTES_MAX: usize = 64 << 10;
/// Longest time for a connection, with the name and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time after which an unused connection is closed: less than a crowded server leaves it open.
const POOL_IDLE_TIME: Duration = Duration::from_secs(1);
/// Pauses and number of the probes by which the loss of the other machine is noticed.
const PROBE_PAUSE: Duration = Duration::from_secs(1);
const PROBES: u32 = 4;
/// Longest time for which sent bytes may stay unconfirmed.
const UNCONFIRMED_TIME: Duration = Duration::from_secs(5);

/// A pool of connections to the server that decides, for requests with bodies of one type.
pub(crate) enum ForwardingClient<B = RetainedBody> {
    /// Without TLS, for a machine without root certificates.
    Http(Client<TimedConnector<HttpConnector>, B>),
    Https(Client<TimedConnector<HttpsConnector<HttpConnector>>, B>),
}

impl<B> ForwardingClient<B>
where
    B: Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Unpin + 'static,
{
    /// A pool without connections.
    pub(crate) fn new() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(PROBE_PAUSE));
        http.set_keepalive_interval(Some(PROBE_PAUSE));
        http.set_keepalive_retries(Some(PROBES));
        http.set_tcp_user_timeout(Some(UNCONFIRMED_TIME));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(POOL_IDLE_TIME).set_host(false);
        // As connections of clients have it: an answer that is read slowly waits in it.
        builder.http1_max_buf_size(READ_BYTES_MAX);
        match HttpsConnectorBuilder::new().try_with_platform_verifier() {
            Ok(tls) => {
                let connector = tls.https_or_http().enable_http1().wrap_connector(http);
                Self::Https(builder.build(TimedConnector::new(connector)))
            }
            Err(error) => {
                tracing::debug!(%error, "servers of the cluster with https:// cannot be reached");
                http.enforce_http(true);
                Self::Http(builder.build(TimedConnector::new(http)))
            }
        }
    }

    /// Sends a request. One of which a byte may have been sent is never sent again.
    ///
    /// # Errors
    /// The server cannot be reached, or it has not answered.
    pub(crate) async fn send(&self, request: Request<B>) -> Result<Response<Incoming>, Error> {
        let mut response = match self {
            Self::Http(client) => client.request(request).await,
            Self::Https(client) => client.request(request).await,
        }?;
        UnprovenPlace::free_by(response.extensions_mut());
        Ok(response)
    }
}

/// Returns the address of a request's target at another server.
pub(crate) fn uri_at(server: &str, target: &Uri) -> Option<Uri> {
    let mut parts = server.parse::<Uri>().ok()?.into_parts();
    let target = target.path_and_query().cloned();
    parts.path_and_query = Some(target.unwrap_or_else(|| PathAndQuery::from_static("/")));
    parts.scheme.as_ref()?;
    Uri::from_parts(parts).ok()
}

/// A connector whose connections fail after a time, and are made a part of them at a time.
#[derive(Clone)]
pub(crate) struct TimedConnector<C> {
    connector: C,
    places: UnprovenPlaces,
}

impl<C> TimedConnector<C> {
    fn new(connector: C) -> Self {
        Self { connector, places: UnprovenPlaces::new() }
    }
}

/// The reason why there is no connection.
type ConnectError = Box<dyn StdError + Send + Sync>;

impl<C> Service<Uri> for TimedConnector<C>
where
    C: Service<Uri>,
    C::Error: Into<ConnectError>,
    C::Future: Send + 'static,
{
    type Response = UnprovenConnection<C::Response>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.connector.call(uri);
        let places = self.places.clone();
        Box::pin(async move {
            let place = places.take().await;
            let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await?;
            Ok(place.of_connection(connected.map_err(Into::into)?))
        })
    }
}
