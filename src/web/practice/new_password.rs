//! The page of a mailed link by which a professional sets another password. Reference 15.2.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::professionals::Pro;
use crate::domain::records::author::Author;
use crate::engine::AccessError;
use crate::http::{ApiError, Incoming};
use crate::notify::links::LoginLink;
use crate::password::strength::check_new_password;
use crate::password::{self, Argon2Memory};
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::forgotten::ForgottenTexts;
use crate::web::pro_link::find_pro;
use crate::web::text::fill;

#[derive(Template)]
#[template(path = "web/practice/new_password.html")]
struct NewPasswordScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static ForgottenTexts,
    /// The sentence that names the address which the professional logs in with.
    choose: String,
    /// Whether the password before was refused.
    is_bad: bool,
}

/// GET /m/{token}.
pub(crate) fn show(request: &ScreenRequest, link: &LoginLink) -> Response {
    match find_pro(&request.pages, link) {
        Some((_, pro)) => respond_with_form(request, StatusCode::OK, &pro),
        None => gone(request),
    }
}

/// POST /m/{token}. All sessions and logins of the professional end. The page leads to the login:
/// a form of another site could have sent this one, so it lets no browser in.
pub(crate) async fn act(
    request: &ScreenRequest,
    link: &LoginLink,
    headers: &HeaderMap,
    body: Body,
) -> Response {
    let Some((_, pro)) = find_pro(&request.pages, link) else { return gone(request) };
    let server = &request.pages.server;
    let mut body = Incoming::new(server, headers, request.from, body);
    let bytes = match body.read_small().await {
        Ok(bytes) => bytes,
        Err(error) => return message::failed(request, &error),
    };
    let given = form_urlencoded::parse(&bytes).find(|(name, _)| name == "password");
    let given = given.map(|(_, password)| password).unwrap_or_default();
    if check_new_password(&given).is_err() {
        return respond_with_form(request, StatusCode::BAD_REQUEST, &pro);
    }
    let sha1 = password::sha1_hex(&given);
    let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
    let password_hash = match server.authenticator.password_pool.run(request.from, hash).await {
        Ok(password_hash) => password_hash,
        Err(error) => return message::failed(request, &error),
    };
    let former = Some(pro.password_hash.clone());
    let change = ChangeAccess::SetPassword { email: pro.email.clone(), former, password_hash };
    let author = Some(Author::Professional { id: pro.id, key: None });
    match server.engine.change_access(author, change).await {
        Ok(()) => {}
        // The link was followed meanwhile, or the professional removed.
        Err(AccessError::Refused(_)) => return gone(request),
        Err(AccessError::Rejected(rejection)) => {
            return message::failed(request, &ApiError::from_store(rejection));
        }
    }
    let ScreenRequest { directory, from, now, .. } = request;
    server.authenticator.record_owner(&pro.email, *from, directory, *now);
    let text = ForgottenTexts::in_language(request.language());
    message::with_line(request, StatusCode::OK, text.set_title, text.set)
}

fn gone(request: &ScreenRequest) -> Response {
    let text = ForgottenTexts::in_language(request.language());
    message::with_line(request, StatusCode::NOT_FOUND, text.dead_title, text.dead)
}

fn respond_with_form(request: &ScreenRequest, status: StatusCode, pro: &Pro) -> Response {
    let text = ForgottenTexts::in_language(request.language());
    let screen = NewPasswordScreen {
        frame: request.frame(text.new_title),
        text,
        choose: fill(text.choose, "email", pro.email.as_str()),
        is_bad: status == StatusCode::BAD_REQUEST,
    };
    respond(status, Privacy::Holder, render(&screen))
}
