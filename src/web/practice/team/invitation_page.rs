//! The page of an invitation that was mailed. Reference 3.10.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::directory::invitations::Invitation;
use crate::domain::directory::joining::NewPerson;
use crate::domain::records::text::{Name, Text};
use crate::engine::AccessError;
use crate::http::ApiError;
use crate::notify::links::InvitationLink;
use crate::password::strength::check_new_password;
use crate::password::{self, Argon2Memory};
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::team::TeamTexts;
use crate::web::text::fill;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/invitation.html")]
struct InvitationScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static TeamTexts,
    about: String,
    /// The act that the owner of the address has to do.
    step: Step,
    login_url: String,
    fields: &'v PersonFields,
}

/// The step that leads on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The person is new, and writes name and password.
    BeNew,
    /// A login, since the address is known.
    LogIn,
    /// A logout, since another address is logged in.
    LogOut,
    /// The button, for the professional who is logged in.
    Accept,
}

impl InvitationScreen<'_> {
    fn is(&self, step: &str) -> bool {
        let name = match self.step {
            Step::BeNew => "new",
            Step::LogIn => "log-in",
            Step::LogOut => "log-out",
            Step::Accept => "accept",
        };
        name == step
    }
}

/// The fields of a new person.
#[derive(Default)]
struct PersonFields {
    lastname: String,
    firstname: String,
    phone: String,
    name_fault: &'static str,
    phone_fault: &'static str,
    password_fault: &'static str,
}

/// GET /m/{token}.
pub(crate) fn show(request: &ScreenRequest, link: &InvitationLink) -> Response {
    match find(request, link) {
        Some(invitation) => {
            let fields = PersonFields::default();
            respond_with(request, link, &invitation, StatusCode::OK, &fields)
        }
        None => gone(request),
    }
}

/// POST /m/{token}: accepts the invitation.
pub(crate) async fn act(
    request: &ScreenRequest,
    link: &InvitationLink,
    given: &Params,
) -> Response {
    let Some(invitation) = find(request, link) else { return gone(request) };
    let person = match step_of(request, &invitation) {
        Step::Accept => None,
        step @ (Step::LogIn | Step::LogOut) => {
            let status =
                if step == Step::LogIn { StatusCode::UNAUTHORIZED } else { StatusCode::CONFLICT };
            return respond_with(request, link, &invitation, status, &PersonFields::default());
        }
        Step::BeNew => match read_person(request, given).await {
            Ok(person) => Some(Box::new(person)),
            Err(NotRead::Faults(fields)) => {
                let status = StatusCode::BAD_REQUEST;
                return respond_with(request, link, &invitation, status, &fields);
            }
            Err(NotRead::Failed(error)) => return message::failed(request, &error),
        },
    };
    let server = &request.pages.server;
    match server.authenticator.accept_invitation(link, person).await {
        Ok(()) => {}
        Err(AccessError::Refused(_)) => return gone(request),
        Err(AccessError::Rejected(rejection)) => {
            return message::failed(request, &ApiError::from_store(rejection));
        }
    }
    let ScreenRequest { directory, from, now, .. } = request;
    server.authenticator.record_owner(&invitation.email, *from, directory, *now);
    let text = TeamTexts::in_language(request.language());
    message::with_line(request, StatusCode::OK, text.joined_title, text.joined)
}

/// Returns the open invitation of a link that the server made.
fn find(request: &ScreenRequest, link: &InvitationLink) -> Option<Invitation> {
    let server = &request.pages.server;
    server.engine.published().group_state(link.group)?;
    let steady_now = server.engine.steady_now();
    let invitation = request.directory.invitations.find(link.group, link.number, steady_now)?;
    if link.verify(invitation, &server.link_secret()) { Some(invitation.clone()) } else { None }
}

fn step_of(request: &ScreenRequest, invitation: &Invitation) -> Step {
    let email = invitation.email.folded();
    let known = request.directory.pros.find_by_email(&email);
    match (request.login, known) {
        (Some(login), Some(known)) if login.pro == known.id => Step::Accept,
        (Some(_), Some(_)) => Step::LogOut,
        (None, Some(_)) => Step::LogIn,
        (Some(_) | None, None) => Step::BeNew,
    }
}

/// The reason why a form gives no person.
enum NotRead {
    /// Fields are wrong.
    Faults(Box<PersonFields>),
    /// The password cannot be hashed now.
    Failed(ApiError),
}

/// Reads a new person, and hashes the password.
async fn read_person(request: &ScreenRequest, given: &Params) -> Result<NewPerson, NotRead> {
    let text = TeamTexts::in_language(request.language());
    let typed = |name: &str| given.value(name).unwrap_or_default().trim().to_owned();
    let mut fields = PersonFields {
        lastname: typed("lastname"),
        firstname: typed("firstname"),
        phone: typed("phone"),
        ..PersonFields::default()
    };
    let lastname = Name::<64>::new(&fields.lastname).ok().filter(|name| !name.is_blank());
    let firstname = Name::<64>::new(&fields.firstname).ok();
    let cellphone = Text::<25>::new(&fields.phone).ok();
    if lastname.is_none() || firstname.is_none() {
        fields.name_fault = text.bad_name;
    }
    if cellphone.is_none() {
        fields.phone_fault = text.bad_phone;
    }
    let typed = given.value("password").unwrap_or_default();
    if check_new_password(typed).is_err() {
        fields.password_fault = text.bad_password;
    }
    let (Some(lastname), Some(firstname), Some(cellphone), "") =
        (lastname, firstname, cellphone, fields.password_fault)
    else {
        return Err(NotRead::Faults(Box::new(fields)));
    };
    let sha1 = password::sha1_hex(typed);
    let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
    let pool = &request.pages.server.authenticator.password_pool;
    let password_hash = pool.run(request.from, hash).await.map_err(NotRead::Failed)?;
    Ok(NewPerson { lastname, firstname, cellphone, password_hash })
}

fn gone(request: &ScreenRequest) -> Response {
    let text = TeamTexts::in_language(request.language());
    message::with_line(request, StatusCode::NOT_FOUND, text.dead_title, text.dead)
}

fn respond_with(
    request: &ScreenRequest,
    link: &InvitationLink,
    invitation: &Invitation,
    status: StatusCode,
    fields: &PersonFields,
) -> Response {
    let text = TeamTexts::in_language(request.language());
    let published = request.pages.server.engine.published();
    let group = published.group_state(link.group);
    let name = group.map(|state| state.catalogue.group.name.as_str().to_owned());
    let here = format!("/m/{}", link.token().as_str());
    let screen = InvitationScreen {
        frame: request.frame(&fill(text.join_title, "group", &name.unwrap_or_default())),
        text,
        about: fill(text.join_about, "email", invitation.email.as_str()),
        step: step_of(request, invitation),
        login_url: request.url("/login", &[("next", &here)]),
        fields,
    };
    respond(status, Privacy::Holder, render(&screen))
}
