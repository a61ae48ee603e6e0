//! Professionals of all groups, for the operator. Reference 3.2, 11.1.

use std::sync::Arc;

use serde_json::json;

use crate::domain::directory::access::{ChangeAccess, ProDraft};
use crate::domain::directory::factor_changes::ChangeFactor;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::{Email, InvalidValue, Name, Text, folded};
use crate::http::answer::streamed::json_lines;
use crate::http::endpoint::{EndpointMethod, OperatorEndpoint};
use crate::http::request::ApiRequest;
use crate::http::resources::operator::access_change::{
    change_access, field, group_ids, optional, text,
};
use crate::http::response::HandlerResult;
use crate::password;
use crate::wire::value;

const PROS: &str = "/api/v1/operator/pros";
const SECOND_FACTORS: &str = "/api/v1/operator/second-factors";

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[OperatorEndpoint] = &[
    OperatorEndpoint::new(EndpointMethod::Get, PROS, |request| Box::pin(list(request))),
    OperatorEndpoint::new(EndpointMethod::Post, PROS, |request| Box::pin(add(request))),
    OperatorEndpoint::new(EndpointMethod::Put, PROS, |request| Box::pin(set_password(request))),
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
                "firstname": pro.firstname.as_str(),
                "lastname": pro.lastname.as_str(),
            });
            writeln!(out, "{row}")?;
        }
        Ok(())
    }))
}

/// POST `{"email","password_hash","lastname","firstname","cellphone","groups","main"}`: adds a
/// professional; without `password_hash` further groups for an existing one.
async fn add(request: ApiRequest) -> HandlerResult {
    let body = &request.body;
    let change = ChangeAccess::AddPro(ProDraft {
        email: text(body, "email", Email::new)?,
        password_hash: optional(body, "password_hash", |given| {
            parse_hash(&value::parse_text(given)?)
        })?,
        lastname: text(body, "lastname", Name::new)?,
        firstname: text(body, "firstname", Name::new)?,
        cellphone: text(body, "cellphone", Text::new)?,
        groups: field(body, "groups", group_ids)?,
        main: field(body, "main", value::parse_id)?.and_then(GroupId::new),
    });
    change_access(&request, change).await
}

/// PUT `{"email","password_hash"}`: sets another password, and ends the sessions.
async fn set_password(request: ApiRequest) -> HandlerResult {
    let change = ChangeAccess::SetPassword {
        email: text(&request.body, "email", Email::new)?,
        former: None,
        password_hash: text(&request.body, "password_hash", parse_hash)?,
    };
    change_access(&request, change).await
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
