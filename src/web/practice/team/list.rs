//! The professionals of a group, and its open invitations. Reference 15.14.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::joining::JoinRefusal;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::text::Email;
use crate::engine::AccessError;
use crate::notify::language::long_date;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::team::PATH;
use crate::web::practice::team::role_form::{RoleForm, role_in_words};
use crate::web::practice::texts::team::TeamTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;

#[derive(Template)]
#[template(path = "web/practice/team.html")]
struct TeamScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static TeamTexts,
    settings: String,
    /// A sentence about what was done; empty without one.
    notice: &'static str,
    members: Vec<MemberRow>,
    invitations: Vec<InvitationRow>,
    /// The address of the form that invites.
    action: String,
    sends_mails: bool,
    email: &'v str,
    /// The sentence of a wrong address; empty without a fault.
    email_fault: String,
    role: RoleForm,
}

/// A professional in the list.
struct MemberRow {
    url: String,
    name: String,
    role: String,
    is_oneself: bool,
}

/// An open invitation.
struct InvitationRow {
    id: u64,
    email: String,
    facts: String,
    withdraw: String,
}

/// GET /p/{urlname}/settings/team.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let role = RoleForm::of_role(&visit, &ProRole::Reception);
    respond_with_team(&visit, StatusCode::OK, "", String::new(), role)
}

/// POST /p/{urlname}/settings/team: invites a professional by mail.
pub(crate) async fn invite(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let text = TeamTexts::in_language(visit.language());
    let typed = given.value("email").unwrap_or_default().trim();
    let mut form = RoleForm::given(&visit, &given);
    let role = form.read(&visit);
    let refuse = |form: RoleForm, fault: &str| {
        respond_with_team(&visit, StatusCode::BAD_REQUEST, typed, fault.to_owned(), form)
    };
    let Ok(email) = Email::new(typed) else { return refuse(form, text.bad_email) };
    let Some(role) = role else { return refuse(form, "") };
    let server = &visit.request.pages.server;
    if let Err(error) = server.links.count_requested(visit.request.from, visit.request.now) {
        return message::failed(&visit.request, &error);
    }
    let author = visit.author();
    let group = visit.group().id;
    let invited = server.authenticator.invite(group, email, role, author, visit.request.now).await;
    match invited {
        Ok(_) => redirect(&visit.url(PATH, &[("done", "invited")])),
        Err(AccessError::Refused(AccessRefusal::Joining(JoinRefusal::WorksHere))) => {
            refuse(form, text.works_here)
        }
        Err(AccessError::Refused(AccessRefusal::Joining(JoinRefusal::ManyInvitations))) => {
            refuse(form, text.many_invitations)
        }
        Err(AccessError::Refused(AccessRefusal::Joining(JoinRefusal::NoMails))) => {
            refuse(form, text.no_mails)
        }
        Err(error) => message::not_changed(&visit.request, error),
    }
}

/// POST /p/{urlname}/settings/team/invitations/{id}. One that has ended changes nothing.
pub(crate) async fn withdraw(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, .. } = form;
    let Some(number) = path.id(Some) else { return message::not_found(&visit.request) };
    let change = ChangeAccess::Uninvite { group: visit.group().id, number };
    match visit.request.pages.server.engine.change_access(Some(visit.author()), change).await {
        Ok(()) | Err(AccessError::Refused(AccessRefusal::Joining(JoinRefusal::NoInvitation))) => {
            redirect(&visit.url(PATH, &[("done", "withdrawn")]))
        }
        Err(error) => message::not_changed(&visit.request, error),
    }
}

/// Returns the role of a professional in words, with the names of own calendars.
pub(crate) fn describe_role(visit: &ProVisit, role: &ProRole) -> String {
    let text = TeamTexts::in_language(visit.language());
    let name = role_in_words(role.name(), text);
    let ProRole::Professional(own) = role else { return name.to_owned() };
    let calendars = &visit.state.catalogue.calendars;
    let names = own.calendars.iter().filter_map(|id| calendars.get(id));
    let names: Vec<&str> = names.map(|calendar| calendar.name.as_str()).collect();
    let own_names = fill(text.own, "calendars", &names.join(", "));
    let reads = if own.reads_all { text.reads_all_short } else { text.reads_own_short };
    format!("{name} · {own_names} · {reads}")
}

fn respond_with_team(
    visit: &ProVisit,
    status: StatusCode,
    email: &str,
    email_fault: String,
    role: RoleForm,
) -> Response {
    let text = TeamTexts::in_language(visit.language());
    let group = visit.group().id;
    let directory = &visit.request.directory;
    let members = directory.pros.of_group(group).map(|pro| {
        let names = format!("{} {}", pro.firstname.as_str(), pro.lastname.as_str());
        let is_named = !names.trim().is_empty();
        MemberRow {
            url: visit.url(&format!("{PATH}/{}", pro.id), &[]),
            name: if is_named { names.trim().to_owned() } else { pro.email.as_str().to_owned() },
            role: describe_role(visit, directory.roles.role_of(group, pro.id)),
            is_oneself: pro.id == visit.login.pro,
        }
    });
    let steady_now = visit.request.pages.server.engine.steady_now();
    let open = directory.invitations.of_group(group);
    let open = open.filter(|(_, invitation)| steady_now < invitation.expires);
    let invitations = open.map(|(number, invitation)| {
        let ends = long_date(visit.language(), visit.zone().civil_of(invitation.expires));
        let until = fill(text.open_until, "when", &ends);
        InvitationRow {
            id: number,
            email: invitation.email.as_str().to_owned(),
            facts: format!("{} · {until}", describe_role(visit, &invitation.role)),
            withdraw: visit.url(&format!("{PATH}/invitations/{number}"), &[]),
        }
    });
    let screen = TeamScreen {
        frame: visit.frame(text.title, Section::Settings),
        text,
        settings: visit.url(Section::Settings.path(), &[]),
        notice: match visit.request.params.value("done") {
            Some("invited") => text.invited,
            Some("withdrawn") => text.withdrawn,
            Some("saved") => text.saved,
            Some("removed") => text.removed,
            Some(_) | None => "",
        },
        members: members.collect(),
        invitations: invitations.collect(),
        action: visit.url(PATH, &[]),
        sends_mails: visit.request.pages.server.mails_links(),
        email,
        email_fault,
        role,
    };
    respond(status, Privacy::Client, render(&screen))
}
