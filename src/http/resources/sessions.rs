//! Endpoints of sessions: login and logout. Reference 13.10, 3.3.

use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domain::directory::professionals::Pro;
use crate::domain::records::account::Account;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::GroupId;
use crate::http::auth::{
    AuthRequest, Authenticator, Credential, LoginAttempt, Person, login_failed,
};
use crate::http::body::{BYTES_MAX, Form};
use crate::http::endpoint::{
    Answer, Body, Endpoint, EndpointPath, QueryKind, QueryParameter, Shape, handler,
};
use crate::http::error::ApiError;
use crate::http::limits::body_limits::SMALL_BYTES;
use crate::http::openapi::answers;
use crate::http::openapi::bodies;
use crate::http::permissions::{ANY_KEY, Resource, Verb};
use crate::http::request::SessionRequest;
use crate::http::response::{HandlerResult, json_response, ok_response};
use crate::planted_faults::PlantedFault;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;
use crate::wire::pro::PROFESSIONAL;

/// The parameters of a login, in the query or in the body.
const LOGIN_PARAMETERS: &[QueryParameter] = &[
    QueryParameter::new("pro[email]", QueryKind::Text, "e-mail address of a professional"),
    QueryParameter::new(
        "pro[password]",
        QueryKind::Text,
        "SHA-1 of the password, in hexadecimal digits",
    ),
    QueryParameter::new("account[email]", QueryKind::Text, "e-mail address of an account"),
    QueryParameter::new(
        "account[password]",
        QueryKind::Text,
        "SHA-1 of the password, in hexadecimal digits",
    ),
    QueryParameter::new(
        "account[group_id]",
        QueryKind::Text,
        "group of the account; by default the only group that has one of this address",
    ),
];

const LOGGED_IN: Answer = Answer {
    header: Some(("Set-Cookie", "_session_id")),
    ..Answer::json(
        200,
        "the person who has logged in",
        Shape::Named("LoggedIn", answers::logged_in),
    )
};
const LOGIN_FAILED: Answer = Answer::json(
    401,
    "the credentials are wrong; there is no challenge",
    Shape::Named("LoginFailed", answers::login_failed),
);
const LOGGED_OUT: Answer =
    Answer::json(200, "the session has ended", Shape::Named("LoggedOut", answers::logged_out));

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[EndpointPath::current("/api/v1/sessions/login")], handler!(Session, log_in))
        .named("LogIn", "Begin a session of a professional or of a client's account")
        .right(Resource::Session, Verb::Make, ANY_KEY)
        .query(LOGIN_PARAMETERS)
        .body(Body::or_form(
            || bodies::login_json(LOGIN_PARAMETERS),
            || bodies::login_form(LOGIN_PARAMETERS),
        ))
        .answers(&[LOGGED_IN, LOGIN_FAILED]),
    Endpoint::post(&[EndpointPath::current("/api/v1/sessions/logout")], handler!(Session, log_out))
        .named("LogOut", "End the session of the cookie")
        .right(Resource::Session, Verb::Delete, ANY_KEY)
        .answers(&[LOGGED_OUT]),
];

/// POST /api/v1/sessions/login: `pro[email]` and `pro[password]`, or `account[email]`,
/// `account[password]` and `account[group_id]`, in the query, a form or a JSON object.
///
/// A form may also give the apikey. If both persons are given, the professional's credentials
/// count. A successful login ends the session of the request's cookie. A foreign page is refused
/// unless the key names its origin.
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
    authenticator.refuse_foreign_login(&auth, apikey)?;
    refuse_wrong_types(&form)?;
    // The body is dropped here, before the credential waits to be verified.
    drop(body);
    let params = auth.params.clone().append(&form.params);
    let (role, attempt) = read_attempt(authenticator, &params, &auth, apikey)?;
    drop(params);
    let Some(person) = authenticator.verify(attempt, &auth).await? else {
        return Ok(login_failed_response(role));
    };
    let sessions = &authenticator.sessions;
    let cookie = sessions.open(apikey, &person, auth.published, auth.directory.as_ref(), auth.now);
    let Some(cookie) = cookie else { return Ok(login_failed_response(role)) };
    if session.is_some() && !PlantedFault::SessionKeptOverLogin.is_active() {
        authenticator.sessions.end(session.as_ref());
    }
    let mut response = ok_response(&json!({ role: render_person(&person, &auth), "error": null }));
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// POST /api/v1/sessions/logout: ends the session of the cookie, if it is valid, and removes the
/// cookie from the browser. A foreign page is refused if the cookie names a valid session, under
/// whichever key.
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
    let mut response = ok_response(&json!({ "error": null }));
    let cookie = server.authenticator.sessions.end(session.as_ref());
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
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
            faults.push(Fault::new(parameter.name, "must be text"));
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
    json_response(status, json!({ role: null, "error": entry.to_json() }).to_string())
}

/// Renders a person in the response of a login.
fn render_person(person: &Person, auth: &AuthRequest<'_>) -> Value {
    let object = match person {
        Person::Pro(id) => match auth.directory.pros.get(id) {
            Some(pro) => render_pro(pro, auth),
            None => Map::new(),
        },
        Person::Account(group, account) => {
            render_account(*group, account, auth).unwrap_or_default()
        }
    };
    Value::Object(object)
}

/// Renders an account, with some fields of its fiche.
fn render_account(
    group: GroupId,
    account: &Account,
    auth: &AuthRequest<'_>,
) -> Option<Map<String, Value>> {
    let state = auth.published.group_state(group)?;
    let fiche = state.fiches.get(&account.fiche_id)?;
    let mut object = FICHE.render(fiche, &Scope::for_group(&state), Audience::Account);
    object.retain(|name, _| {
        ["lastname", "firstname", "firstphone", "secondphone"].contains(&name.as_str())
    });
    object.insert("email".into(), account.email.as_str().into());
    object.insert("group_id".into(), group.number().into());
    object.insert("fiche_id".into(), account.fiche_id.number().into());
    Some(object)
}

/// Renders a professional, with times in the time zone of the main group.
fn render_pro(pro: &Pro, auth: &AuthRequest<'_>) -> Map<String, Value> {
    let mut object = match auth.published.group_state(pro.main) {
        Some(state) => PROFESSIONAL.render(pro, &Scope::for_group(&state), Audience::Pro),
        None => Map::new(),
    };
    object.insert("group_id".into(), pro.main.number().into());
    object
}
