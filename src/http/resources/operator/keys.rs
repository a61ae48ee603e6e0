//! Application keys, for the operator. Reference 3.1, 11.1.

use std::sync::Arc;

use data_encoding::HEXLOWER_PERMISSIVE;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::apikeys::ApikeyHolder;
use crate::domain::directory::apikeys::ApikeyName;
use crate::domain::records::author::KeyId;
use crate::domain::records::fault::Fault;
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::{InvalidValue, Text};
use crate::domain::time::Instant;
use crate::http::answer::streamed::json_lines;
use crate::http::endpoint::{EndpointMethod, OperatorEndpoint};
use crate::http::request::ApiRequest;
use crate::http::resources::operator::access_change::{
    change_access, field, group_ids, optional, text,
};
use crate::http::response::HandlerResult;
use crate::wire::datetime::format_rfc_3339;
use crate::wire::value;

const KEYS: &str = "/api/v1/operator/keys";

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[OperatorEndpoint] = &[
    OperatorEndpoint::new(EndpointMethod::Get, KEYS, |request| Box::pin(list(request))),
    OperatorEndpoint::new(EndpointMethod::Post, KEYS, |request| Box::pin(add(request))),
    OperatorEndpoint::new(EndpointMethod::Put, KEYS, |request| Box::pin(set(request))),
    OperatorEndpoint::new(EndpointMethod::Delete, KEYS, |request| Box::pin(revoke(request))),
];

/// GET: each key with the first digits of its SHA-256 as `id`. `last_used` is a UTC day or null.
/// `groups` is null for all groups. `any_origin` is true for a key of an earlier release, which
/// names no origins yet.
async fn list(request: ApiRequest) -> HandlerResult {
    let directory = Arc::clone(request.identity.directory());
    Ok(json_lines(move |out| {
        for (hash, apikey) in directory.apikeys.iter() {
            let origins: Vec<&str> = apikey.origins.iter().map(SiteOrigin::as_str).collect();
            let row = json!({
                "any_origin": apikey.allows_any_origin,
                "id": KeyId::of_hash(hash).to_string(),
                "groups": apikey.groups,
                "holder": holder_name(apikey.holder),
                "label": apikey.label.as_str(),
                "needs_contact": apikey.needs_contact,
                "last_used": directory.keys_used.get(hash).map(|day| format_day(*day)),
                "origins": origins,
            });
            writeln!(out, "{row}")?;
        }
        Ok(())
    }))
}

/// POST `{"sha256","label","groups","holder","origins"}`: the key itself stays with the command.
async fn add(request: ApiRequest) -> HandlerResult {
    let body = &request.body;
    let change = ChangeAccess::AddApikey {
        hash: text(body, "sha256", parse_sha256)?,
        label: text(body, "label", Text::new)?,
        groups: optional(body, "groups", group_ids)?,
        holder: text(body, "holder", parse_holder)?,
        origins: field(body, "origins", parse_origins)?,
    };
    change_access(&request, change).await
}

/// PUT `{"key","holder","origins"}`: `key` is a key, its id or its label. A field that is left out
/// stays.
async fn set(request: ApiRequest) -> HandlerResult {
    let body = &request.body;
    let change = ChangeAccess::SetApikey {
        name: named_key(&request)?,
        holder: optional(body, "holder", |given| parse_holder(&value::parse_text(given)?))?,
        origins: optional(body, "origins", parse_origins)?,
    };
    change_access(&request, change).await
}

/// DELETE `{"key"}`: a key, its id or its label. Every session that it opened ends.
async fn revoke(request: ApiRequest) -> HandlerResult {
    let change = ChangeAccess::RevokeApikey(named_key(&request)?);
    change_access(&request, change).await
}

fn named_key(request: &ApiRequest) -> Result<ApikeyName, Fault> {
    text(&request.body, "key", |key| {
        Ok(ApikeyName { hash: Sha256::digest(key).into(), text: key.to_owned() })
    })
}

/// Returns a day in UTC, YYYY-MM-DD.
fn format_day(day: Instant) -> String {
    let mut text = format_rfc_3339(day);
    text.truncate("YYYY-MM-DD".len());
    text
}

fn parse_sha256(digits: &str) -> Result<[u8; 32], InvalidValue> {
    let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).unwrap_or_default();
    bytes.try_into().map_err(|_| InvalidValue("must be 64 hexadecimal digits".to_owned()))
}

fn parse_holder(name: &str) -> Result<ApikeyHolder, InvalidValue> {
    let holders = [ApikeyHolder::Public, ApikeyHolder::Server, ApikeyHolder::Operator];
    let found = holders.into_iter().find(|holder| holder_name(*holder) == name);
    found.ok_or_else(|| InvalidValue("must be public, server or operator".to_owned()))
}

const fn holder_name(holder: ApikeyHolder) -> &'static str {
    match holder {
        ApikeyHolder::Public => "public",
        ApikeyHolder::Server => "server",
        ApikeyHolder::Unknown => "unknown",
        ApikeyHolder::Operator => "operator",
    }
}

fn parse_origins(given: &Value) -> Result<Vec<SiteOrigin>, InvalidValue> {
    if given.is_null() {
        return Ok(Vec::new());
    }
    let Some(list) = given.as_array() else {
        return Err(InvalidValue("must be a list of texts".to_owned()));
    };
    list.iter().map(|origin| SiteOrigin::new(&value::parse_text(origin)?)).collect()
}
