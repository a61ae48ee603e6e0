//! One professional of the team: the role, and the removal from the group. Reference 15.14.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::{GroupRight, ProRole, Sight};
use crate::domain::records::ids::ProId;
use crate::engine::AccessError;
use crate::web::assets::short_hash;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::team::PATH;
use crate::web::practice::team::role_form::RoleForm;
use crate::web::practice::texts::team::TeamTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::role::calendars_text;

/// The field with the digest of the role on which a form was filled in.
const FORMER: &str = "former";

#[derive(Template)]
#[template(path = "web/practice/team_member.html")]
struct MemberScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static TeamTexts,
    list: String,
    name: String,
    email: &'v str,
    phone: &'v str,
    action: String,
    role: RoleForm,
    /// The digest of the role as it is.
    former: String,
    /// Why nothing was done; empty without a refusal.
    refusal: &'static str,
    remove: String,
    /// Whether the screen asks for the removal.
    asks_removal: bool,
}

/// GET /p/{urlname}/settings/team/{id}.
pub(crate) async fn show(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    match find_member(&visit, &path) {
        Some(pro) => respond_with_member(&visit, pro, "", None, false),
        None => message::not_found(&visit.request),
    }
}

/// POST /p/{urlname}/settings/team/{id}: gives another role.
pub(crate) async fn change(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some(pro) = find_member(&visit, &path) else { return message::not_found(&visit.request) };
    let mut form = RoleForm::given(&visit, &given);
    let Some(role) = form.read(&visit) else {
        return respond_with_member(&visit, pro, "", Some(form), false);
    };
    let is_oneself = pro.id == visit.login.pro;
    let keeps_team = role.has(GroupRight::Team);
    let text = TeamTexts::in_language(visit.language());
    let former = visit.request.directory.roles.role_of(visit.group().id, pro.id);
    if given.value(FORMER).is_some_and(|based_on| based_on != digest(former)) {
        return respond_with_member(&visit, pro, text.role_changed, None, false);
    }
    let change = ChangeAccess::SetRole {
        pro: pro.id,
        groups: [visit.group().id].into(),
        role,
        former: Some(former.clone()),
        is_operator: false,
    };
    match visit.request.pages.server.engine.change_access(Some(visit.author()), change).await {
        // The team is shown to administrators only.
        Ok(()) if is_oneself && !keeps_team => redirect(&visit.url(Section::Agenda.path(), &[])),
        Ok(()) => redirect(&visit.url(PATH, &[("done", "saved")])),
        Err(AccessError::Refused(AccessRefusal::LastAdministrator(_))) => {
            respond_with_member(&visit, pro, text.last_administrator, Some(form), false)
        }
        Err(AccessError::Refused(AccessRefusal::RoleChanged(_))) => {
            respond_with_member(&visit, pro, text.role_changed, Some(form), false)
        }
        Err(error) => message::not_changed(&visit.request, error),
    }
}

/// GET /p/{urlname}/settings/team/{id}/remove.
pub(crate) async fn ask_removal(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    match find_member(&visit, &path) {
        Some(pro) => respond_with_member(&visit, pro, "", None, true),
        None => message::not_found(&visit.request),
    }
}

/// POST /p/{urlname}/settings/team/{id}/remove: the professional works for the group no more.
pub(crate) async fn remove(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, .. } = form;
    let Some(pro) = find_member(&visit, &path) else { return message::not_found(&visit.request) };
    let change = ChangeAccess::RemoveColleague { id: pro.id, group: visit.group().id };
    let text = TeamTexts::in_language(visit.language());
    let refusal =
        match visit.request.pages.server.engine.change_access(Some(visit.author()), change).await {
            Ok(()) if pro.id == visit.login.pro => {
                return redirect(&visit.request.url("/p", &[]));
            }
            Ok(()) => return redirect(&visit.url(PATH, &[("done", "removed")])),
            Err(AccessError::Refused(AccessRefusal::LastAdministrator(_))) => {
                text.last_administrator
            }
            Err(AccessError::Refused(AccessRefusal::LastOfGroup(_))) => text.last_of_group,
            Err(error) => return message::not_changed(&visit.request, error),
        };
    respond_with_member(&visit, pro, refusal, None, true)
}

/// Returns a digest of a role, by which a form says what it was filled in on.
fn digest(role: &ProRole) -> String {
    let reads_all = role.sight() == Sight::All;
    short_hash(format!("{} {} {reads_all}", role.name(), calendars_text(role)).as_bytes())
}

/// Returns the professional of a path, who works for the group.
fn find_member<'v>(visit: &'v ProVisit, path: &RecordPath) -> Option<&'v Pro> {
    let pro = visit.request.directory.pros.get(&path.id(ProId::new)?)?;
    if pro.works_for(visit.group().id) { Some(pro) } else { None }
}

/// Returns the screen of a professional. Without a form that was refused, it is that of the role as
/// it is.
fn respond_with_member(
    visit: &ProVisit,
    pro: &Pro,
    refusal: &'static str,
    form: Option<RoleForm>,
    asks_removal: bool,
) -> Response {
    let text = TeamTexts::in_language(visit.language());
    let role = visit.request.directory.roles.role_of(visit.group().id, pro.id);
    let former = digest(role);
    let role = form.unwrap_or_else(|| RoleForm::of_role(visit, role));
    let names = format!("{} {}", pro.firstname.as_str(), pro.lastname.as_str());
    let name = if names.trim().is_empty() { pro.email.as_str() } else { names.trim() };
    let status = if !refusal.is_empty() {
        StatusCode::CONFLICT
    } else if role.has_faults() {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    };
    let here = format!("{PATH}/{}", pro.id);
    let screen = MemberScreen {
        frame: visit.frame(name, Section::Settings),
        text,
        list: visit.url(PATH, &[]),
        name: name.to_owned(),
        email: pro.email.as_str(),
        phone: pro.cellphone.as_str(),
        action: visit.url(&here, &[]),
        role,
        former,
        refusal,
        remove: visit.url(&format!("{here}/remove"), &[]),
        asks_removal,
    };
    respond(status, Privacy::Client, render(&screen))
}
