//! Answers of a server in a cluster. An answer without a durable write of its own needs the lease
//! of the server: another one may have decided something else since the state was read.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::AGE;
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};

use crate::engine::{LEASE_TIME, Lease, confirmation};
use crate::http::error::{ApiError, TellsNoState};
use crate::planted_faults::PlantedFault;

/// Time after the end of a lease for which public searches are answered all the same.
const STALE_TIME: Duration = Duration::from_secs(60);

/// Time after which a request is waited for only while the lease is held. A write waits for
/// PostgreSQL, which may stay away for long: those that come after it are refused by then.
const PATIENCE: Duration = Duration::from_secs(6);
/// Pause between two looks at the lease after that.
const LOOK_PAUSE: Duration = Duration::from_millis(500);

/// A request to a server that needs a lease.
pub(crate) struct LeasedRequest {
    lease: Arc<Lease>,
    /// Whether it changes nothing.
    is_read: bool,
    /// Whether it asks for the process alone.
    is_health_check: bool,
    /// Whether it is a search as the public makes it, whose answer may be old if it says so.
    is_public_search: bool,
}

impl LeasedRequest {
    pub(crate) fn new(lease: &Arc<Lease>, method: &Method, uri: &Uri) -> Self {
        Self {
            lease: Arc::clone(lease),
            is_read: method.is_safe(),
            is_health_check: uri.path() == "/healthz",
            is_public_search: *method == Method::GET
                && uri.path().ends_with("/availabletimeslots")
                && !is_own(uri.query().unwrap_or_default()),
        }
    }

    /// Returns the answer of `answering`, or 503 if it may not leave this server.
    pub(crate) async fn answer(self, answering: impl Future<Output = Response>) -> Response {
        let answered = tokio::select! {
            biased;
            answered = confirmation::noting(answering) => answered,
            () = self.patience_ends() => return ApiError::unconfirmed(self.is_read).into_response(),
        };
        let (mut response, is_confirmed) = answered;
        // The one check, after the state was read and before the first byte. What was read after a
        // write of the request's own is at least as new as that one, and so not too old either.
        if is_confirmed
            || self.is_health_check
            || self.lease.is_held()
            || response.extensions().get::<TellsNoState>().is_some()
            || PlantedFault::SharedLeaseUnchecked.is_active()
        {
            return response;
        }
        if self.is_public_search
            && response.status() == StatusCode::OK
            && let Some(age) = self.lease.age()
            && age <= LEASE_TIME + STALE_TIME
        {
            response.headers_mut().insert(AGE, HeaderValue::from(age.as_secs()));
            return response;
        }
        tracing::debug!(age = ?self.lease.age(), "an answer is withheld: the lease is over");
        ApiError::without_lease(self.is_read).into_response()
    }

    /// Returns once the request was waited for long enough by a server without a lease. What it
    /// writes may still be written.
    async fn patience_ends(&self) {
        tokio::time::sleep(PATIENCE).await;
        while self.is_health_check || self.lease.is_held() {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }
}

/// Whether the query of a search asks for what the public does not see: the view of professionals,
/// or the free time that a hold or an appointment of the caller leaves.
fn is_own(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).any(|(name, value)| match &*name {
        "from_web" => !matches!(&*value, "1" | "true"),
        name => name.starts_with("hold") || name.starts_with("appointment_id"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_may_name_its_view_and_nothing_of_its_own() {
        for public in
            ["", "apikey=k&start=2035-01-01", "nDays=7&from_web=1", "from_web=true&a=hold"]
        {
            assert!(!is_own(public), "{public}");
        }
        for own in
            ["from_web=0", "from%5Fweb=0", "from_web=1&from_web=0", "hold=t", "appointment_id=7"]
        {
            assert!(is_own(own), "{own}");
        }
    }
}
