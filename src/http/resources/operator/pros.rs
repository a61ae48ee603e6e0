//! Professionals of all groups, for the operator. Reference 3.2, 11.1.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::domain::directory::Directory;
use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::factor_changes::ChangeFactor;
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::professionals::ProDraft;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::{Email, InvalidValue, Name, Text, folded};
use crate::http::answer::streamed::json_lines;
use crate::http::endpoint::{EndpointMethod, OperatorEndpoint};
use crate::http::error::ApiError;
use crate::http::request::ApiRequest;
use crate::http::resources::operator::access_change::{
    change_access, field, group_ids, optional, refused, text,
};
use crate::http::response::HandlerResult;
use crate::password;
use crate::wire::role::{ROLE, calendars_text, parse_role};
use crate::wire::value;

const PROS: &str = "/api/v1/operator/pros";
const SECOND_FACTORS: &str = "/api/v1/operator/second-factors";

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[OperatorEndpoint] = &[
    OperatorEndpoint::new(EndpointMethod::Get, PROS, |request| Box::pin(list(request))),
    OperatorEndpoint::new(EndpointMethod::Post, PROS, |request| Box::pin(add(request))),
    OperatorEndpoint::new(EndpointMethod::Put, PROS, |request| Box::pin(change(request))),
    OperatorEndpoint::new(EndpointMethod::Delete, PROS, |request| Box::pin(remove(request))),
    OperatorEndpoint::new(EndpointMethod::Delete, SECOND_FACTORS, |request| {
        Box::pin(remove_second_factor(request))
    }),
];

/// GET, with the optional parameter `email`, whose case and accents do not matter.
async fn list(request: ApiRequest) -> HandlerResult {
    let directory = Arc::clone(request.identity.directory());
    let email = request.params.value("email").map(folded);
    Ok(json_lines(move |out| {
        for pro in directory.pros.values() {
            if email.as_ref().is_some_and(|email| *email != pro.email.folded()) {
                continue;
            }
            let row = json!({
                "id": pro.id,
                "email": pro.email.as_str(),
                "groups": pro.groups,
                "main": pro.main,
                "roles": roles_of(&directory, pro),
                "firstname": pro.firstname.as_str(),
                "lastname": pro.lastname.as_str(),
            });
            writeln!(out, "{row}")?;
        }
        Ok(())
    }))
}

/// The roles of a professional that are below administrator, by group.
fn roles_of(directory: &Directory, pro: &Pro) -> Map<String, Value> {
    let mut roles = Map::new();
    for group in &pro.groups {
        let role = directory.roles.role_of(*group, pro.id);
        if *role != ProRole::Administrator {
            let own = calendars_text(role);
            let own = own.trim_matches(',');
            let name = role.name();
            let text = if own.is_empty() { name.to_owned() } else { format!("{name} {own}") };
            roles.insert(group.to_string(), text.into());
        }
    }
    roles
}

/// POST `{"email","password_hash","lastname","firstname","cellphone","groups","main"}`, with the
/// fields of a role or as administrator: adds a professional; without `password_hash` further
/// groups for an existing one.
async fn add(request: ApiRequest) -> HandlerResult {
    let body = &request.body;
    let groups = field(body, "groups", group_ids)?;
    let role = read_role(&request, &groups)?.unwrap_or(ProRole::Administrator);
    let change = ChangeAccess::AddPro(ProDraft {
        email: text(body, "email", Email::new)?,
        password_hash: optional(body, "password_hash", |given| {
            parse_hash(&value::parse_text(given)?)
        })?,
        lastname: text(body, "lastname", Name::new)?,
        firstname: text(body, "firstname", Name::new)?,
        cellphone: text(body, "cellphone", Text::new)?,
        groups,
        main: field(body, "main", value::parse_id)?.and_then(GroupId::new),
        role,
    });
    change_access(&request, change).await
}

/// PUT `{"email","password_hash"}`: sets another password, and ends the sessions. Or PUT
/// `{"email","groups","role","calendar_ids","reads_all"}`: gives another role in these groups, or
/// in all of the professional's.
async fn change(request: ApiRequest) -> HandlerResult {
    if request.body.contains_key(ROLE) {
        return set_role(request).await;
    }
    let change = ChangeAccess::SetPassword {
        email: text(&request.body, "email", Email::new)?,
        former: None,
        password_hash: text(&request.body, "password_hash", parse_hash)?,
    };
    change_access(&request, change).await
}

async fn set_role(request: ApiRequest) -> HandlerResult {
    let email = text(&request.body, "email", Email::new)?;
    let mut groups = field(&request.body, "groups", group_ids)?;
    let directory = Arc::clone(request.identity.directory());
    let Some(pro) = directory.pros.find_by_email(&email.folded()) else {
        return Err(refused(&AccessRefusal::NoPro(email)));
    };
    if let Some(other) = groups.iter().find(|group| !pro.works_for(**group)) {
        return Err(refused(&AccessRefusal::WorksElsewhere(email, *other)));
    }
    if groups.is_empty() {
        groups.extend(&pro.groups);
    }
    let role = read_role(&request, &groups)?.unwrap_or(ProRole::Administrator);
    let set = ChangeAccess::SetRole { pro: pro.id, groups, role, former: None, is_operator: true };
    change_access(&request, set).await
}

/// Returns the role that the body gives in some groups; without groups, in the only one of the
/// store.
///
/// # Errors
/// The rule that a field breaks. Own calendars need one group, whose calendars they are.
fn read_role(
    request: &ApiRequest,
    groups: &BTreeSet<GroupId>,
) -> Result<Option<ProRole>, ApiError> {
    let published = request.server.engine.published();
    let named: Vec<GroupId> = if groups.is_empty() {
        published.groups().take(2).collect()
    } else {
        groups.iter().copied().collect()
    };
    let Some(first) = named.first() else { return Ok(None) };
    // Without own calendars any group serves to read the role.
    let served = named.iter().find_map(|group| published.group_state(*group));
    let Some(state) = served else {
        return Err(refused(&AccessRefusal::NoGroup(*first)));
    };
    let role = parse_role(&request.body, &state, &ProRole::Administrator)?;
    if matches!(role, Some(ProRole::Professional(_))) && named.len() > 1 {
        let rule = "must be one group: own calendars are those of one";
        return Err(Fault::new("groups", rule).into());
    }
    Ok(role)
}

/// DELETE `{"email","groups"}`: from these groups, or altogether if none is named.
async fn remove(request: ApiRequest) -> HandlerResult {
    let change = ChangeAccess::RemovePro {
        email: text(&request.body, "email", Email::new)?,
        groups: field(&request.body, "groups", group_ids)?,
    };
    change_access(&request, change).await
}

/// DELETE `{"email"}`: removes the second factor of a lost telephone. The password stays.
async fn remove_second_factor(request: ApiRequest) -> HandlerResult {
    let email = text(&request.body, "email", Email::new)?;
    let change = ChangeAccess::ChangeFactor(ChangeFactor::RemoveLost(email));
    change_access(&request, change).await
}

fn parse_hash(hash: &str) -> Result<Text<255>, InvalidValue> {
    if password::is_hash(hash) {
        return Text::new(hash);
    }
    Err(InvalidValue("must be an argon2id hash as a PHC string".to_owned()))
}
