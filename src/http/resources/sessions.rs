//! POST sessions/login and sessions/logout. Reference 3.3, 3.

use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domain::identity::directory::Pro;
use crate::domain::records::ids::GroupId;
use crate::http::auth::{
    AuthRequest, Authenticator, Credential, LoginAttempt, Person, login_failed,
};
use crate::http::body::{Form, Incoming};
use crate::http::error::ApiError;
use crate::http::pipeline::{Outcome, json as answer, ok};
use crate::http::route_table::Server;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;
use crate::wire::pro::PROFESSIONAL;

/// POST /api/v1/sessions/login: `pro[email]` and `pro[password]`, or `account[email]`, `account[password]` and
/// `account[group_id]`, in the query, a form or a JSON object; the form may carry the apikey too. Where both are given,
/// the professional's count. Whatever session the request's cookie named ends with a success; so where it names one that
/// stands, under whichever key, a foreign page is refused.
pub(crate) async fn login(server: &Server, asked: AuthRequest<'_>, body: Incoming<'_>) -> Outcome {
    let authenticator = &server.authenticator;
    let session = authenticator.session(&asked);
    let in_query = asked.params.one("apikey");
    if in_query.is_some() {
        asked.key(in_query, None)?;
    }
    let form = match (body.form().await, in_query, &session) {
        (Ok(form), _, _) => form,
        (Err(failure), Some(_), _) | (Err(failure), _, Some(_)) => return Err(failure),
        // Without a key nothing else is worth telling.
        (Err(_), None, None) => Form::default(),
    };
    let given = in_query.or_else(|| form.params.one("apikey").filter(|_| !form.is_json));
    let apikey = asked.key(given, session.as_ref())?;
    if session.is_some() {
        authenticator.refuse_foreign(&asked)?;
    }
    // What a body may hold is not held on to while the credential waits for its turn.
    let (role, claim) =
        claim(authenticator, &asked.params.clone().followed_by(form.params), &asked, apikey)?;
    let Some(person) = authenticator.verify(claim, &asked).await? else {
        return Ok(failed(role));
    };
    let sessions = &authenticator.sessions;
    let cookie =
        sessions.open(apikey, &person, asked.published, asked.directory.as_ref(), asked.now);
    let Some(cookie) = cookie else { return Ok(failed(role)) };
    if session.is_some() {
        authenticator.sessions.end(session.as_ref());
    }
    let mut response = ok(&json!({ role: described(&person, &asked), "error": null }));
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// POST /api/v1/sessions/logout: ends the session of the cookie, if there is one, and takes the cookie from the browser:
/// where it names a session that stands, under whichever key, a foreign page is refused.
pub(crate) async fn logout(server: &Server, asked: AuthRequest<'_>) -> Outcome {
    let identity = server.authenticator.identify(&asked).await?;
    let session = server.authenticator.session(&asked);
    if session.is_some() {
        server.authenticator.refuse_foreign(&asked)?;
    }
    // A session counts for nothing under another key.
    let session = session.filter(|session| session.apikey == identity.apikey);
    let mut response = ok(&json!({ "error": null }));
    response.headers_mut().insert(SET_COOKIE, server.authenticator.sessions.end(session.as_ref()));
    Ok(response)
}

/// Who somebody claims to be, and the name of that role.
///
/// # Errors
/// 403 for parameters that claim nothing.
fn claim(
    authenticator: &Authenticator,
    params: &Params,
    asked: &AuthRequest<'_>,
    apikey: [u8; 32],
) -> Result<(&'static str, LoginAttempt), ApiError> {
    let given = |role: &str| {
        let [email, password] =
            ["email", "password"].map(|name| params.one(&format!("{role}[{name}]")));
        (email.is_some() || password.is_some())
            .then(|| Credential::new(email.unwrap_or_default(), password.unwrap_or_default()))
    };
    if let Some(credential) = given("pro") {
        let candidates = asked.pro_of(&credential.email).into_iter().collect();
        let cache_key = authenticator.login_cache_key(&credential, [b"pro", b"", b""]);
        return Ok(("pro", LoginAttempt { cache_key, credential, candidates, tries: 1 }));
    }
    let Some(credential) = given("account") else {
        return Err(ApiError::unauthorized(
            "a login needs pro[email] and pro[password], or account[email], account[password] and account[group_id]",
        ));
    };
    let group = params.one("account[group_id]");
    let scope: [&[u8]; 3] = [b"account", &apikey, group.unwrap_or_default().as_bytes()];
    let cache_key = authenticator.login_cache_key(&credential, scope);
    let account = match group {
        Some(text) => {
            let group = text.parse().ok().and_then(GroupId::new);
            group.and_then(|group| asked.account_of(group, &credential.email, apikey))
        }
        None => asked.only_account(&credential.email, apikey),
    };
    Ok((
        "account",
        LoginAttempt { cache_key, credential, candidates: account.into_iter().collect(), tries: 1 },
    ))
}

/// 401, in the shape of a login's answer.
fn failed(role: &str) -> Response {
    let entry = login_failed();
    let status =
        StatusCode::from_u16(entry.problem.status()).expect("the table holds HTTP statuses");
    answer(status, json!({ role: null, "error": entry.json() }).to_string().into_bytes())
}

/// What a login answers of a person.
fn described(person: &Person, asked: &AuthRequest<'_>) -> Value {
    let described = match person {
        Person::Pro(id) => asked.directory.pros.get(id).map(|pro| professional(pro, asked)),
        Person::Account(group, account) => asked.published.group_state(*group).and_then(|state| {
            let scope = Scope::of(&state);
            let fiche = state.fiches.get(&account.fiche_id)?;
            let mut object = FICHE.render(fiche, &scope, Audience::Account);
            object.retain(|name, _| {
                ["lastname", "firstname", "firstphone", "secondphone"].contains(&name.as_str())
            });
            object.insert("email".into(), account.email.as_str().into());
            object.insert("group_id".into(), group.number().into());
            object.insert("fiche_id".into(), account.fiche_id.number().into());
            Some(object)
        }),
    };
    Value::Object(described.unwrap_or_default())
}

/// A professional, with times on the clocks of the main group.
fn professional(pro: &Pro, asked: &AuthRequest<'_>) -> Map<String, Value> {
    let mut object = match asked.published.group_state(pro.main) {
        Some(state) => PROFESSIONAL.render(pro, &Scope::of(&state), Audience::Pro),
        None => Map::new(),
    };
    object.insert("group_id".into(), pro.main.number().into());
    object
}
