//! Endpoints of sessions: login and logout. Reference 13.10, 3.3.

use axum::http::StatusCode;
use axum::http::header::{LINK, SET_COOKIE};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::domain::directory::professionals::Pro;
use crate::domain::records::account::Account;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::http::auth::login_uses::ActiveLogin;
use crate::http::auth::own_sessions::{EndedSessions, OwnSessions};
use crate::http::auth::person::by_screens_alone;
use crate::http::auth::session::SessionLogin;
use crate::http::auth::{
    AuthRequest, Authenticator, Credential, LoginAttempt, Person, login_failed,
};
use crate::http::body::{BYTES_MAX, Form};
use crate::http::endpoint::{
    Answer, Body, Endpoint, EndpointPath, QueryKind, QueryParameter, Shape, handler,
};
use crate::http::error::{ApiError, help_link};
use crate::http::limits::body_limits::SMALL_BYTES;
use crate::http::openapi::records::logged_in_pro;
use crate::http::permissions::{ANY_KEY, OWN_ONLY, Resource, Verb};
use crate::http::request::{ApiRequest, SessionRequest};
use crate::http::response::{HandlerResult, json_response, ok_response};
use crate::planted_faults::PlantedFault;
use crate::wire::column_value::FieldType;
use crate::wire::datetime::format_rfc_3339;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;
use crate::wire::pro::PROFESSIONAL;
use crate::wire::schema::{
    Count, NoProblem, UtcTime, all_required, described, given, list as list_of, no_object, object,
    one_of, schema_names, schema_of, text, whole,
};

/// The parameters of a login, in the query or in the body.
const LOGIN_PARAMETERS: &[QueryParameter] = &[
    QueryKind::Text.named("pro[email]", "e-mail address of a professional"),
    QueryKind::Text.named("pro[password]", "SHA-1 of the password, in hexadecimal digits"),
    QueryKind::Text.named("account[email]", "e-mail address of an account"),
    QueryKind::Text.named("account[password]", "SHA-1 of the password, in hexadecimal digits"),
    QueryKind::Text.named(
        "account[group_id]",
        "group of the account; by default the only group that has one of this address",
    ),
    QueryKind::Flag.named(STAY_SIGNED_IN, "1: the session lasts for 30 days"),
];

/// The parameter of a person who does not want to log in every day.
const STAY_SIGNED_IN: &str = "stay_signed_in";

const LOGGED_IN: Answer = Answer {
    header: Some(("Set-Cookie", "_session_id")),
    ..Answer::json(
        200,
        "the person who has logged in",
        Shape::Named("LoggedIn", schema_of::<LoggedIn>),
    )
};
const LOGIN_FAILED: Answer = Answer::json(
    401,
    "the credentials are wrong; there is no challenge",
    Shape::Named("LoginFailed", login_failed_schema),
);
const LOGGED_OUT: Answer =
    Answer::json(200, "the session has ended", Shape::Named("LoggedOut", schema_of::<LoggedOut>));

const SESSIONS: Answer =
    Answer::json(200, "the person's sessions", Shape::Named("Sessions", schema_of::<SessionList>));
const ENDED: Answer = Answer::json(
    200,
    "the number of sessions that have ended",
    Shape::Named("SessionsEnded", schema_of::<SessionsEnded>),
);

const ALL: EndpointPath = EndpointPath::current("/api/v1/sessions");
const ONE: EndpointPath = EndpointPath::current("/api/v1/sessions/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[EndpointPath::current("/api/v1/sessions/login")], handler!(Session, log_in))
        .named("LogIn", "Begin a session of a professional or of a client's account")
        .right(Resource::Session, Verb::Make, ANY_KEY)
        .query(LOGIN_PARAMETERS)
        .body(Body::plain(login_body))
        .answers(&[LOGGED_IN, LOGIN_FAILED]),
    Endpoint::post(&[EndpointPath::current("/api/v1/sessions/logout")], handler!(Session, log_out))
        .named("LogOut", "End the session of the cookie")
        .right(Resource::Session, Verb::Delete, ANY_KEY)
        .without_body()
        .answers(&[LOGGED_OUT]),
    Endpoint::get(&[ALL], handler!(AtLarge, list))
        .named("ListSessions", "List one's own sessions")
        .right(Resource::Session, Verb::List, OWN_ONLY)
        .answers(&[SESSIONS]),
    Endpoint::delete(&[ALL], handler!(AtLarge, end_others))
        .named("EndOtherSessions", "End all of one's other sessions")
        .right(Resource::Session, Verb::DeleteMany, OWN_ONLY)
        .without_body()
        .answers(&[ENDED]),
    Endpoint::delete(&[ONE], handler!(AtLarge, end_one))
        .named("EndSession", "End another of one's sessions")
        .right(Resource::Session, Verb::DeleteMany, OWN_ONLY)
        .without_body()
        .answers(&[ENDED]),
];

const PASSWORD: &str = "SHA-1 of the password, in hexadecimal digits.";

/// The body of a login. The same flat, as a form or in the query is read too. Reference 3.3.
fn login_body() -> RefOr<Schema> {
    let person = || {
        object()
            .property("email", described(text(), "E-mail address."))
            .property("password", described(text(), PASSWORD))
    };
    let group = "Group of the account; by default the only one that has the address.";
    let account = person().property("group_id", described(given(FieldType::Reference), group));
    object()
        .property("pro", described(person(), "Credentials of a professional."))
        .property("account", described(account, "Credentials of a client's account."))
        .property(
            STAY_SIGNED_IN,
            described(whole(0, 1), "1: the session lasts for 30 days, also without use."),
        )
        .into()
}

/// The person who has logged in, under the name of the role.
#[derive(Serialize, ToSchema)]
struct LoggedIn {
    /// The professional who has logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LoggedInPro>)]
    pro: Option<Map<String, Value>>,
    /// The client's account that has logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<LoggedInAccount>,
    /// Always null.
    #[schema(value_type = NoProblem)]
    error: (),
}

#[derive(Serialize, ToSchema)]
struct LoggedInAccount {
    /// The names and numbers of its fiche.
    #[serde(flatten)]
    #[schema(ignore)]
    fiche: Map<String, Value>,
    /// The e-mail address.
    email: String,
    /// Id of the group.
    group_id: GroupId,
    /// Id of the client's fiche.
    fiche_id: FicheId,
}

schema_names! {
    LoggedInPro => logged_in_pro();
}

/// The response to a failed login: the member of the role is null. If the request is wrong in
/// another way, it has the member `errors` alone.
fn login_failed_schema() -> RefOr<Schema> {
    let entry = all_required([
        ("code", whole(5, 5).into(), "Number of the problem."),
        ("name", one_of(["LoginFailed"]).into(), "Name of the problem."),
    ]);
    object()
        .property("pro", described(no_object(), "Null, after the login of a professional."))
        .property("account", described(no_object(), "Null, after the login of a client's account."))
        .property("error", described(entry, "The problem."))
        .property("errors", described(list_of(object()), "Problems of the request."))
        .into()
}

/// The sessions of a person, the last used first.
#[derive(Serialize, ToSchema)]
struct SessionList {
    /// Those that have not ended.
    sessions: Vec<SessionRow>,
}

/// A session of the caller.
#[derive(Serialize, ToSchema)]
struct SessionRow {
    /// Number by which it can be ended.
    #[schema(value_type = SessionNumber)]
    id: u64,
    /// Time of the login.
    #[schema(value_type = UtcTime)]
    created_at_utc: String,
    /// Time of the last use.
    #[schema(value_type = UtcTime)]
    last_used_at_utc: String,
    /// Time at which it ends without further use.
    #[schema(value_type = UtcTime)]
    expires_at_utc: String,
    /// Address of the last use.
    source: String,
    /// Name that the browser gave itself at the login; empty if it gave none.
    device: String,
    /// Whether it lasts for 30 days, also without use.
    stay_signed_in: bool,
    /// Whether this request uses it.
    is_current: bool,
}

/// The end of some sessions.
#[derive(Serialize, ToSchema)]
struct SessionsEnded {
    /// Number of sessions that have ended.
    #[schema(value_type = Count)]
    ended: usize,
}

schema_names! {
    SessionNumber => whole(0, (1 << 52) - 1);
}

/// The end of a session.
#[derive(Serialize, ToSchema)]
struct LoggedOut {
    /// Always null.
    #[schema(value_type = NoProblem)]
    error: (),
}

/// POST /api/v1/sessions/login: `pro[email]` and `pro[password]`, or `account[email]`,
/// `account[password]` and `account[group_id]`, in the query, a form or a JSON object.
///
/// A form may also give the apikey. If both persons are given, the professional's credentials
/// count. A successful login ends the session of the request's cookie, and leaves a second cookie
/// by which the browser is known. A foreign page is refused unless the key names its origin.
async fn log_in(request: SessionRequest<'_>) -> HandlerResult {
    let SessionRequest { server, auth, mut body } = request;
    let authenticator = &server.authenticator;
    let session = authenticator.session(&auth);
    let key_in_query = auth.params.value("apikey");
    if key_in_query.is_some() {
        auth.key(key_in_query, None)?;
    }
    let is_identified = key_in_query.is_some() || session.is_some();
    let bytes_max = if is_identified { BYTES_MAX } else { SMALL_BYTES };
    let form = match body.read_form(bytes_max).await {
        Ok(form) => form,
        Err(error) if is_identified => return Err(error),
        // Without a key, the missing key is reported instead of the malformed body.
        Err(_) => Form::default(),
    };
    let key_in_form = if form.is_json { None } else { form.params.value("apikey") };
    let apikey = auth.key(key_in_query.or(key_in_form), session.as_ref())?;
    authenticator.refuse_unnamed_page(&auth, apikey)?;
    authenticator.refuse_foreign_login(&auth, apikey)?;
    refuse_wrong_types(&form)?;
    let stays = reads_stay(&auth.params.clone().append(&form.params))?;
    // The body is dropped here, before the credential waits to be verified.
    drop(body);
    let params = auth.params.clone().append(&form.params);
    let (role, attempt) = read_attempt(authenticator, &params, &auth, apikey)?;
    drop(params);
    let Some(person) = authenticator.verify(attempt, &auth).await? else {
        return Ok(login_failed_response(role));
    };
    refuse_without_second_factor(&person, &auth, apikey)?;
    let login = SessionLogin {
        apikey,
        person: &person,
        stays,
        from: auth.from,
        headers: &auth.parts.headers,
        now: auth.now,
    };
    let cookie = authenticator.sessions.open(login, auth.published, auth.directory);
    let Some(cookie) = cookie else { return Ok(login_failed_response(role)) };
    authenticator.access_log.note_session(&person, &apikey, auth.from, auth.directory, auth.now);
    if let Person::Account(group, account) = &person {
        server.account_uses.record(&server.engine, *group, account, auth.now);
    }
    if session.is_some() && !PlantedFault::SessionKeptOverLogin.is_active() {
        authenticator.sessions.end(session.as_ref());
        authenticator.sessions.saved().await?;
    }
    let mut response = ok_response(&render_person(&person, &auth));
    response.headers_mut().insert(SET_COOKIE, cookie);
    if let Some(cookie) = authenticator.meet_device(&person, &auth) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Refuses the session of a professional that would be of no use: each group that the key covers
/// demands a second factor. Reference 3.11.
///
/// # Errors
/// 403 with the rule.
fn refuse_without_second_factor(
    person: &Person,
    auth: &AuthRequest<'_>,
    apikey: [u8; 32],
) -> Result<(), ApiError> {
    let Person::Pro(id) = person else { return Ok(()) };
    let AuthRequest { directory, published, .. } = auth;
    let (Some(pro), Some(key)) = (directory.pros.get(id), directory.apikeys.get(&apikey)) else {
        return Ok(());
    };
    let mut demanding = None;
    for group in pro.groups.iter().filter(|group| key.covers(**group)) {
        match published.group_state(*group) {
            Some(state) if state.catalogue.group.second_factor_required => {
                demanding = Some(*group);
            }
            Some(_) | None => return Ok(()),
        }
    }
    match demanding {
        Some(group) => Err(ApiError::unauthorized(&by_screens_alone(group))),
        None => Ok(()),
    }
}

/// POST /api/v1/sessions/logout: ends the session of the cookie, or the login that stands for the
/// key, if it is valid, and removes the cookie from the browser. A foreign page is refused if the
/// cookie names a valid session, under whichever key.
async fn log_out(request: SessionRequest<'_>) -> HandlerResult {
    let SessionRequest { server, auth, .. } = request;
    let identity = server.authenticator.identify(&auth).await?;
    let mut session = server.authenticator.session(&auth);
    if let Some(found) = &session {
        server.authenticator.refuse_foreign(&auth)?;
        // Under another key a session counts for nothing.
        if found.apikey != identity.apikey {
            session = None;
        }
    }
    let mut response = ok_response(&LoggedOut { error: () });
    let cookie = server.authenticator.sessions.end(session.as_ref());
    server.authenticator.sessions.saved().await?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    if let (Some(Person::Pro(pro)), Some(hash)) = (identity.person(), identity.login()) {
        let login = Some(ActiveLogin { pro, hash });
        let cookie = server.authenticator.log_out_at_screens(login).await?;
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// GET /api/v1/sessions: the caller's own, with the logins at the screens. With HTTP Basic none of
/// them is the current one.
async fn list(request: ApiRequest) -> HandlerResult {
    let rows = own_sessions(&request)?.list().into_iter().map(|view| SessionRow {
        id: view.id,
        created_at_utc: format_rfc_3339(view.begun),
        last_used_at_utc: format_rfc_3339(view.last_used),
        expires_at_utc: format_rfc_3339(view.ends),
        source: view.source,
        device: view.device.into(),
        stay_signed_in: view.stays,
        is_current: view.is_current,
    });
    Ok(ok_response(&SessionList { sessions: rows.collect() }))
}

/// DELETE /api/v1/sessions: all of the caller but the one of this request.
async fn end_others(request: ApiRequest) -> HandlerResult {
    let ended = own_sessions(&request)?.end(EndedSessions::Others).await?;
    Ok(ok_response(&SessionsEnded { ended }))
}

/// DELETE /api/v1/sessions/{id}: one of the caller. A logout ends the one of the request.
async fn end_one(request: ApiRequest) -> HandlerResult {
    let id = request.path_id.ok_or_else(ApiError::no_result)?;
    match own_sessions(&request)?.end(EndedSessions::One(id)).await? {
        0 => Err(ApiError::no_result()),
        ended => Ok(ok_response(&SessionsEnded { ended })),
    }
}

/// Returns the sessions of the person who asks.
///
/// # Errors
/// 403 for the operator, who has none.
fn own_sessions(request: &ApiRequest) -> Result<OwnSessions<'_>, ApiError> {
    let Some(person) = request.identity.person() else {
        return Err(ApiError::unauthorized("only people who log in have sessions"));
    };
    let ApiRequest { server, identity, headers, now, .. } = request;
    let authenticator = &server.authenticator;
    let published = server.engine.published();
    let directory = identity.directory();
    let mut session = authenticator.sessions.find(headers, published, directory, *now);
    session.take_if(|session| identity.has_password || session.apikey != identity.apikey);
    let login = identity.login();
    Ok(OwnSessions { authenticator, published, directory, person, session, login, now: *now })
}

/// Returns whether the person of a login stays signed in.
///
/// # Errors
/// 400 for a value that is no flag.
fn reads_stay(params: &Params) -> Result<bool, ApiError> {
    match params.value(STAY_SIGNED_IN) {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(_) => Err(Fault::new(STAY_SIGNED_IN, "must be 1 or 0").into()),
    }
}

/// # Errors
/// 400 if a parameter of the login has the wrong type in a JSON body.
fn refuse_wrong_types(form: &Form) -> Result<(), ApiError> {
    let mut faults = Vec::new();
    for role in ["pro", "account"] {
        let is_text = form.is_json && form.params.value(role).is_some();
        if is_text || form.wrong_types.iter().any(|name| name == role) {
            faults.push(Fault::new(role, "must be an object"));
        }
    }
    for parameter in LOGIN_PARAMETERS {
        if form.wrong_types.iter().any(|name| name == parameter.name) {
            let rule =
                if parameter.name == STAY_SIGNED_IN { "must be 1 or 0" } else { "must be text" };
            faults.push(Fault::new(parameter.name, rule));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// Returns the login attempt of the parameters, and the name of its role.
///
/// # Errors
/// 403 if the parameters hold no credentials.
fn read_attempt(
    authenticator: &Authenticator,
    params: &Params,
    auth: &AuthRequest<'_>,
    apikey: [u8; 32],
) -> Result<(&'static str, LoginAttempt), ApiError> {
    if let Some(credential) = read_credential(params, "pro") {
        let candidates = auth.pro_of(&credential.email).into_iter().collect();
        let cache_key = authenticator.login_cache_key(&credential, [b"pro", b"", b""]);
        return Ok(("pro", LoginAttempt { cache_key, credential, candidates, tries: 1 }));
    }
    let Some(credential) = read_credential(params, "account") else {
        return Err(ApiError::unauthorized(
            "a login needs pro[email] and pro[password], or account[email], account[password] and account[group_id]",
        ));
    };
    let group = params.value("account[group_id]");
    let scope: [&[u8]; 3] = [b"account", &apikey, group.unwrap_or_default().as_bytes()];
    let cache_key = authenticator.login_cache_key(&credential, scope);
    let account = match group {
        Some(text) => {
            let group = text.parse().ok().and_then(GroupId::new);
            group.and_then(|group| auth.account_of(group, &credential.email, apikey))
        }
        None => auth.only_account(&credential.email, apikey),
    };
    let candidates = account.into_iter().collect();
    Ok(("account", LoginAttempt { cache_key, credential, candidates, tries: 1 }))
}

/// Returns the credential of a role, if its e-mail address or its password is given.
fn read_credential(params: &Params, role: &str) -> Option<Credential> {
    let email = params.value(&format!("{role}[email]"));
    let password = params.value(&format!("{role}[password]"));
    if email.is_none() && password.is_none() {
        return None;
    }
    Some(Credential::new(email.unwrap_or_default(), password.unwrap_or_default()))
}

/// Returns a 401 response in the shape of a login's response.
fn login_failed_response(role: &str) -> Response {
    let entry = login_failed();
    let status =
        StatusCode::from_u16(entry.problem.status()).expect("the table holds HTTP statuses");
    let body = json!({ role: null, "error": entry.to_json() }).to_string();
    let mut response = json_response(status, body);
    response.headers_mut().insert(LINK, help_link(entry.problem));
    response
}

/// Renders the person who has logged in.
fn render_person(person: &Person, auth: &AuthRequest<'_>) -> LoggedIn {
    let mut answer = LoggedIn { pro: None, account: None, error: () };
    match person {
        Person::Pro(id) => {
            answer.pro = auth.directory.pros.get(id).map(|pro| render_pro(pro, auth))
        }
        Person::Account(group, account) => answer.account = render_account(*group, account, auth),
    }
    answer
}

/// Renders an account, with some fields of its fiche.
fn render_account(
    group: GroupId,
    account: &Account,
    auth: &AuthRequest<'_>,
) -> Option<LoggedInAccount> {
    let state = auth.published.group_state(group)?;
    let fiche = state.fiches.get(&account.fiche_id)?;
    let mut fiche = FICHE.render(fiche, &Scope::for_group(&state), Audience::Account);
    fiche.retain(|name, _| {
        ["lastname", "firstname", "firstphone", "secondphone"].contains(&name.as_str())
    });
    let email = account.email.as_str().to_owned();
    Some(LoggedInAccount { fiche, email, group_id: group, fiche_id: account.fiche_id })
}

/// Renders a professional, with times in the time zone of the main group.
fn render_pro(pro: &Pro, auth: &AuthRequest<'_>) -> Map<String, Value> {
    let mut object = match auth.published.group_state(pro.main) {
        Some(state) => {
            let scope = Scope::for_group(&state).with_roles(&auth.directory.roles);
            PROFESSIONAL.render(pro, &scope, Audience::Pro)
        }
        None => Map::new(),
    };
    object.insert("group_id".into(), pro.main.number().into());
    object
}
