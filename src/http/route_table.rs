//! Every path and what it leads to: the one table the service is made from. Reference 13, 3.

use std::any::Any;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, AUTHORIZATION,
};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;

use crate::engine::Engine;
use crate::http::auth::Authenticator;
use crate::http::auth::enumeration_limit::EnumerationLimit;
use crate::http::auth::session::session_tokens;
use crate::http::auth::sliding_window::SlidingWindow;
use crate::http::blocking_pool::Computing;
use crate::http::connection::forwarded::TrustedProxies;
use crate::http::error::ApiError;
use crate::http::legacy_paths::Sort;
use crate::http::metrics::Meters;
use crate::http::pipeline;
use crate::http::resources::accounts::ASKED_MAX;
use crate::http::resources::mail_links;
use crate::notify::Gateways;
use crate::wire::errors::Problem;

/// A line of the table.
pub(crate) struct Row {
    /// The method.
    method: MethodFilter,
    /// The path, without the `.json` it may end with.
    pub(crate) path: &'static str,
    /// What it leads to.
    pub(crate) operation: Operation,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Whether the process is alive.
    Alive,
    /// Whether it serves.
    Ready,
    /// The OpenAPI document.
    Document,
    /// The page to try the API.
    Docs,
    /// What needs an apikey.
    Keyed(Keyed),
}

/// What an application asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keyed {
    /// A session begins.
    LogIn,
    /// A session ends.
    LogOut,
    /// Something in no group in particular.
    AtLarge(AtLarge),
    /// Something in the group of the path.
    InGroup(InGroup),
    /// The same on an older path without a group, about objects of this sort.
    Older(InGroup, Sort),
}

/// What is done in no group in particular.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtLarge {
    /// The caller's groups.
    ListGroups,
    /// Somebody wants an account, or another password for it.
    AskLink,
    /// Somebody follows the link that was mailed.
    FollowLink,
}

/// What is done in one group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InGroup {
    ShowGroup,
    ChangeGroup,
    ListCalendars,
    ListCalendarsOfIntervention,
    ShowCalendar,
    MakeCalendar,
    ChangeCalendar,
    DeleteCalendar,
    ListCalendarsets,
    ShowCalendarset,
    MakeCalendarset,
    ChangeCalendarset,
    RemoveCalendarset,
    ListInterventionsOfSet,
    ListInterventionsetsOfSet,
    ListInterventions,
    ShowIntervention,
    MakeIntervention,
    ChangeIntervention,
    DeleteIntervention,
    ListInterventionsets,
    ShowInterventionset,
    MakeInterventionset,
    ChangeInterventionset,
    RemoveInterventionset,
    ListCustomfields,
    ShowCustomfield,
    MakeCustomfield,
    ChangeCustomfield,
    DeleteCustomfield,
    ListFiches,
    ShowFiche,
    MakeFiche,
    ChangeFiche,
    ListMessages,
    ShowMessage,
    ListPros,
    ShowPro,
    ListVevents,
    ShowVevent,
    MakeVevent,
    ChangeVevent,
    DeleteVevent,
    SearchSlots,
    BookAppointment,
    ListAppointments,
    ShowAppointment,
    CancelAppointment,
}

const fn row(method: MethodFilter, path: &'static str, operation: Operation) -> Row {
    Row { method, path, operation }
}

const fn at_large(method: MethodFilter, path: &'static str, operation: AtLarge) -> Row {
    row(method, path, Operation::Keyed(Keyed::AtLarge(operation)))
}

const fn in_group(method: MethodFilter, path: &'static str, operation: InGroup) -> Row {
    row(method, path, Operation::Keyed(Keyed::InGroup(operation)))
}

const fn older(method: MethodFilter, path: &'static str, operation: InGroup, sort: Sort) -> Row {
    row(method, path, Operation::Keyed(Keyed::Older(operation, sort)))
}

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;
const PUT: MethodFilter = MethodFilter::PUT;
const DELETE: MethodFilter = MethodFilter::DELETE;

pub(crate) static TABLE: &[Row] = &[
    row(GET, "/healthz", Operation::Alive),
    row(GET, "/readyz", Operation::Ready),
    row(GET, "/api/v1/openapi", Operation::Document),
    row(GET, "/docs", Operation::Docs),
    row(POST, "/api/v1/sessions/login", Operation::Keyed(Keyed::LogIn)),
    row(POST, "/api/v1/sessions/logout", Operation::Keyed(Keyed::LogOut)),
    at_large(POST, "/api/v1/accounts", AtLarge::AskLink),
    at_large(POST, "/api/v1/accounts/confirm", AtLarge::FollowLink),
    at_large(GET, "/api/v1/groups", AtLarge::ListGroups),
    in_group(GET, "/api/v1/groups/{group_id}", InGroup::ShowGroup),
    in_group(PUT, "/api/v1/groups/{group_id}", InGroup::ChangeGroup),
    in_group(GET, "/api/v1/groups/{group_id}/calendars", InGroup::ListCalendars),
    in_group(GET, "/api/v1/groups/{group_id}/calendars/{id}", InGroup::ShowCalendar),
    in_group(POST, "/api/v1/groups/{group_id}/calendars", InGroup::MakeCalendar),
    in_group(PUT, "/api/v1/groups/{group_id}/calendars/{id}", InGroup::ChangeCalendar),
    in_group(DELETE, "/api/v1/groups/{group_id}/calendars/{id}", InGroup::DeleteCalendar),
    in_group(GET, "/api/v1/groups/{group_id}/calendarsets", InGroup::ListCalendarsets),
    in_group(POST, "/api/v1/groups/{group_id}/calendarsets", InGroup::MakeCalendarset),
    in_group(GET, "/api/v1/groups/{group_id}/calendarsets/{id}", InGroup::ShowCalendarset),
    in_group(PUT, "/api/v1/groups/{group_id}/calendarsets/{id}", InGroup::ChangeCalendarset),
    in_group(DELETE, "/api/v1/groups/{group_id}/calendarsets/{id}", InGroup::RemoveCalendarset),
    in_group(
        GET,
        "/api/v1/groups/{group_id}/calendarsets/{id}/interventions",
        InGroup::ListInterventionsOfSet,
    ),
    in_group(
        GET,
        "/api/v1/groups/{group_id}/calendarsets/{id}/interventionsets",
        InGroup::ListInterventionsetsOfSet,
    ),
    in_group(GET, "/api/v1/groups/{group_id}/interventions", InGroup::ListInterventions),
    in_group(GET, "/api/v1/groups/{group_id}/interventions/{id}", InGroup::ShowIntervention),
    in_group(POST, "/api/v1/groups/{group_id}/interventions", InGroup::MakeIntervention),
    in_group(PUT, "/api/v1/groups/{group_id}/interventions/{id}", InGroup::ChangeIntervention),
    in_group(DELETE, "/api/v1/groups/{group_id}/interventions/{id}", InGroup::DeleteIntervention),
    in_group(GET, "/api/v1/groups/{group_id}/interventionsets", InGroup::ListInterventionsets),
    in_group(POST, "/api/v1/groups/{group_id}/interventionsets", InGroup::MakeInterventionset),
    in_group(GET, "/api/v1/groups/{group_id}/interventionsets/{id}", InGroup::ShowInterventionset),
    in_group(
        PUT,
        "/api/v1/groups/{group_id}/interventionsets/{id}",
        InGroup::ChangeInterventionset,
    ),
    in_group(
        DELETE,
        "/api/v1/groups/{group_id}/interventionsets/{id}",
        InGroup::RemoveInterventionset,
    ),
    in_group(GET, "/api/v1/groups/{group_id}/customfields", InGroup::ListCustomfields),
    in_group(POST, "/api/v1/groups/{group_id}/customfields", InGroup::MakeCustomfield),
    in_group(GET, "/api/v1/groups/{group_id}/customfields/{id}", InGroup::ShowCustomfield),
    in_group(PUT, "/api/v1/groups/{group_id}/customfields/{id}", InGroup::ChangeCustomfield),
    in_group(DELETE, "/api/v1/groups/{group_id}/customfields/{id}", InGroup::DeleteCustomfield),
    in_group(GET, "/api/v1/groups/{group_id}/fiches", InGroup::ListFiches),
    in_group(POST, "/api/v1/groups/{group_id}/fiches", InGroup::MakeFiche),
    in_group(GET, "/api/v1/groups/{group_id}/fiches/{id}", InGroup::ShowFiche),
    in_group(PUT, "/api/v1/groups/{group_id}/fiches/{id}", InGroup::ChangeFiche),
    in_group(GET, "/api/v1/groups/{group_id}/messages", InGroup::ListMessages),
    in_group(GET, "/api/v1/groups/{group_id}/messages/{id}", InGroup::ShowMessage),
    in_group(GET, "/api/v1/groups/{group_id}/pros", InGroup::ListPros),
    in_group(GET, "/api/v1/groups/{group_id}/pros/{id}", InGroup::ShowPro),
    in_group(GET, "/api/v1/groups/{group_id}/vevents", InGroup::ListVevents),
    in_group(GET, "/api/v1/groups/{group_id}/vevents/{id}", InGroup::ShowVevent),
    in_group(POST, "/api/v1/groups/{group_id}/vevents", InGroup::MakeVevent),
    in_group(PUT, "/api/v1/groups/{group_id}/vevents/{id}", InGroup::ChangeVevent),
    in_group(DELETE, "/api/v1/groups/{group_id}/vevents/{id}", InGroup::DeleteVevent),
    in_group(GET, "/api/v1/groups/{group_id}/availabletimeslots", InGroup::SearchSlots),
    in_group(POST, "/api/v1/groups/{group_id}/appointments", InGroup::BookAppointment),
    in_group(GET, "/api/v1/groups/{group_id}/appointments", InGroup::ListAppointments),
    in_group(GET, "/api/v1/groups/{group_id}/appointments/{id}", InGroup::ShowAppointment),
    in_group(DELETE, "/api/v1/groups/{group_id}/appointments/{id}", InGroup::CancelAppointment),
    older(GET, "/api/v1/calendars", InGroup::ListCalendars, Sort::Calendar),
    older(POST, "/api/v1/calendars", InGroup::MakeCalendar, Sort::Calendar),
    older(GET, "/api/v1/calendars/{id}", InGroup::ShowCalendar, Sort::Calendar),
    older(PUT, "/api/v1/calendars/{id}", InGroup::ChangeCalendar, Sort::Calendar),
    older(DELETE, "/api/v1/calendars/{id}", InGroup::DeleteCalendar, Sort::Calendar),
    older(GET, "/api/v1/fiches", InGroup::ListFiches, Sort::Fiche),
    older(POST, "/api/v1/fiches", InGroup::MakeFiche, Sort::Fiche),
    older(GET, "/api/v1/fiches/{id}", InGroup::ShowFiche, Sort::Fiche),
    older(PUT, "/api/v1/fiches/{id}", InGroup::ChangeFiche, Sort::Fiche),
    older(GET, "/api/v1/vevents", InGroup::ListVevents, Sort::Vevent),
    older(POST, "/api/v1/vevents", InGroup::MakeVevent, Sort::Vevent),
    older(GET, "/api/v1/vevents/{id}", InGroup::ShowVevent, Sort::Vevent),
    older(PUT, "/api/v1/vevents/{id}", InGroup::ChangeVevent, Sort::Vevent),
    older(DELETE, "/api/v1/vevents/{id}", InGroup::DeleteVevent, Sort::Vevent),
    older(GET, "/api/v1/appointments", InGroup::ListAppointments, Sort::Appointment),
    older(POST, "/api/v1/appointments", InGroup::BookAppointment, Sort::Appointment),
    older(GET, "/api/v1/appointments/{id}", InGroup::ShowAppointment, Sort::Appointment),
    older(DELETE, "/api/v1/appointments/{id}", InGroup::CancelAppointment, Sort::Appointment),
    older(
        GET,
        "/api/v1/interventions/{id}/calendars",
        InGroup::ListCalendarsOfIntervention,
        Sort::Intervention,
    ),
];

impl Row {
    /// The method, as HTTP names it.
    pub(crate) fn http_method(&self) -> Method {
        match self.method {
            POST => Method::POST,
            PUT => Method::PUT,
            DELETE => Method::DELETE,
            _ => Method::GET,
        }
    }

    /// Whether it makes something, which an Idempotency-Key keeps from being made twice.
    pub(crate) fn makes(&self) -> bool {
        self.method == POST
    }

    /// Whether it changes something, for which there must be room.
    pub(crate) fn changes(&self) -> bool {
        self.method != GET
    }

    /// Whether a body is read.
    pub(crate) fn takes_body(&self) -> bool {
        self.method == POST || self.method == PUT
    }

    /// Whether the path ends with the id of an object, or leads on from one.
    pub(crate) fn is_of_one(&self) -> bool {
        self.path.contains("{id}")
    }
}

/// What every request is answered with.
pub struct Server {
    /// Decides writes and publishes states.
    pub(crate) engine: Engine,
    /// Knows who asks.
    pub(crate) authenticator: Authenticator,
    /// Who has been told too much of clients.
    pub(crate) guesses: EnumerationLimit,
    /// Links about accounts that were asked for, by source.
    pub(crate) links_asked: SlidingWindow<IpAddr>,
    /// Where long computations go.
    pub(crate) computing: Computing,
    /// What messages say, for those who may read them.
    pub(crate) gateways: Arc<Gateways>,
    /// Who is believed about where requests come from.
    proxies: TrustedProxies,
    /// Where figures go.
    meters: Arc<Meters>,
}

impl Server {
    /// A server over an engine, on a machine of so many cores.
    #[must_use]
    pub fn new(engine: Engine, cores: usize) -> Self {
        Self {
            engine,
            authenticator: Authenticator::new(cores),
            guesses: EnumerationLimit::default(),
            links_asked: SlidingWindow::new(ASKED_MAX.0, ASKED_MAX.1),
            computing: Computing::new(cores),
            gateways: Arc::new(Gateways::unconfigured("")),
            proxies: TrustedProxies::default(),
            meters: Arc::default(),
        }
    }

    /// The same, where messages say what these gateways make them say.
    #[must_use]
    pub fn with_gateways(mut self, gateways: Arc<Gateways>) -> Self {
        self.authenticator.public_url.clone_from(&gateways.public_url);
        self.gateways = gateways;
        self
    }

    /// The same, measured.
    #[must_use]
    pub fn metered(self, meters: Meters) -> Self {
        Self { meters: Arc::new(meters), ..self }
    }

    /// The same behind proxies, which are believed about whom they serve.
    #[must_use]
    pub fn behind(self, proxies: Vec<IpNet>) -> Self {
        Self { proxies: TrustedProxies(proxies), ..self }
    }

    /// The same behind TLS: browsers are told to keep sessions to it.
    #[must_use]
    pub fn behind_tls(mut self, behind_tls: bool) -> Self {
        self.authenticator.sessions.behind_tls = behind_tls;
        self
    }
}

/// The service that answers requests.
#[derive(Clone)]
pub struct Routes {
    service: TowerToHyperService<Router>,
    server: Arc<Server>,
    pub(crate) meters: Arc<Meters>,
}

/// Where a request comes from, as far as it is known.
#[derive(Clone, Copy)]
pub(crate) struct Source(pub(crate) IpAddr);

/// A path that ended with `.xml`.
#[derive(Clone, Copy)]
pub(crate) struct XmlAsked;

impl Routes {
    /// The service of a server.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        let meters = Arc::clone(&server.meters);
        let mut router = Router::new();
        for row in TABLE {
            let handler = move |State(server): State<Arc<Server>>,
                                ids: Result<RawPathParams, _>,
                                request: Request| {
                pipeline::answer(server, row, ids.ok(), request)
            };
            router = router.route(row.path, on(row.method, handler));
        }
        // Pages for people, beside the API.
        router = router.route("/m/{token}", get(mail_links::show).post(mail_links::act));
        let router = router
            .fallback(not_found)
            .method_not_allowed_fallback(method_not_allowed)
            .with_state(Arc::clone(&server));
        Self { service: TowerToHyperService::new(router), server, meters }
    }

    /// The answer to a request. A panic is a bug of ours, whose caller alone pays.
    pub(crate) async fn respond<B>(&self, request: hyper::Request<B>, peer: SocketAddr) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let began = tokio::time::Instant::now();
        let method = request.method().clone();
        let headers = request.headers();
        let source = self.server.proxies.source(peer.ip(), headers);
        // What a login answers is for who logs in.
        let by_key_alone = !headers.contains_key(AUTHORIZATION)
            && session_tokens(headers).next().is_none()
            && !request.uri().path().starts_with("/api/v1/sessions/");
        let asks_first =
            method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let mut request = without_suffix(request.map(Body::new));
        request.extensions_mut().insert(Source(source));
        let mut response = match Guarded(Box::pin(self.service.call(request))).await {
            Ok(Ok(response)) => response,
            Ok(Err(impossible)) => match impossible {},
            Err(_) => ApiError::ours().into_response(),
        };
        // No line of the table takes OPTIONS: what is refused for that alone is a path that there is.
        if asks_first && response.status() == StatusCode::METHOD_NOT_ALLOWED {
            response = preflight(&response);
        }
        if by_key_alone {
            // Any web page may read what the key alone is told.
            response
                .headers_mut()
                .insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
        let micros = began.elapsed().as_micros();
        self.meters.answered(&method, &response, began.elapsed());
        tracing::debug!(%peer, %source, %method, status = response.status().as_u16(), micros, "answered");
        response
    }
}

/// The answer to a browser that asks whether a page may send a request to a path, made of the refusal that names the path's
/// methods. Headers with credentials are never among those that a page may send.
fn preflight(refused: &Response) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    if let Some(methods) = refused.headers().get(ALLOW) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods.clone());
    }
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("content-type, idempotency-key"),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// The request without the `.json` or `.xml` that its path may end with.
fn without_suffix(mut request: Request) -> Request {
    let path = request.uri().path();
    let Some((stem, xml)) = path
        .strip_suffix(".json")
        .map(|stem| (stem, false))
        .or_else(|| path.strip_suffix(".xml").map(|stem| (stem, true)))
    else {
        return request;
    };
    let query = request.uri().query();
    let target = query.map_or_else(|| stem.to_owned(), |query| format!("{stem}?{query}"));
    // What is left of a legal path is one, or nothing but `/` was there.
    let Ok(uri) = target.parse::<Uri>() else { return request };
    *request.uri_mut() = uri;
    if xml {
        request.extensions_mut().insert(XmlAsked);
    }
    request
}

async fn not_found() -> ApiError {
    ApiError::new(
        Problem::NoResult,
        "there is no such path: see the documentation for those there are",
    )
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(
        Problem::MethodNotAllowed,
        "the path does not take this method: the header Allow names those it takes",
    )
}

/// A future whose panic is its result.
struct Guarded<F>(Pin<Box<F>>);

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Box<dyn Any + Send>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_goes_and_the_query_stays() {
        let stripped = |uri: &str| {
            let request = Request::builder().uri(uri).body(Body::empty()).expect("a request");
            without_suffix(request).uri().to_string()
        };
        assert_eq!(stripped("/api/v1/groups.json?apikey=a.json"), "/api/v1/groups?apikey=a.json");
        assert_eq!(stripped("/api/v1/groups/4.xml"), "/api/v1/groups/4");
        assert_eq!(stripped("/api/v1/groups?a=b.json"), "/api/v1/groups?a=b.json");
    }
}
