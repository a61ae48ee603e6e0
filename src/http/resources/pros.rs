//! Endpoints of a group's professionals, for professionals. Reference 3.2.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::records::ids::ProId;
use crate::http::endpoint::{
    AnswerSchema, BodySchema, Endpoint, EndpointMethod, EndpointPath, handler,
};
use crate::http::error::ApiError;
use crate::http::permissions::{PROS_ONLY, Resource, Right, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::pagination::{PageAnswer, compute_page};
use crate::http::response::{HandlerResult, ok_response};
use crate::wire::field::Scope;
use crate::wire::list::Query;
use crate::wire::pro::PROFESSIONAL;

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/pros");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/pros/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        operation_id: "ListPros",
        summary: "List the group's professionals",
        tag: "pros",
        method: EndpointMethod::Get,
        paths: &[ALL],
        right: Some(Right::new(Resource::Pro, Verb::List, PROS_ONLY)),
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::List,
        handler: handler!(InGroup, list),
    },
    Endpoint {
        operation_id: "ShowPro",
        summary: "Get a professional",
        tag: "pros",
        method: EndpointMethod::Get,
        paths: &[ONE],
        right: Some(Right::new(Resource::Pro, Verb::Show, PROS_ONLY)),
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::Record,
        handler: handler!(InGroup, show),
    },
];

/// GET /api/v1/groups/{group_id}/pros.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let query = Query::parse(&request.params, &PROFESSIONAL, &request.scope(), audience)?;
    let state = Arc::clone(&request.state);
    let directory = Arc::clone(request.identity.directory());
    compute_page(
        &request.server,
        directory.pros.len().saturating_mul(query.cost_per_record()),
        move || {
            let records = directory.pros_of(state.catalogue.group.id).collect();
            let page = query.select_page(records, &Scope::for_group(&state));
            let numbers: Vec<u64> = page.records.iter().map(|pro| query.record_id(pro)).collect();
            let head = query.envelope_head(numbers.len(), page.total);
            PageAnswer::new(head, numbers, move |number, bytes| {
                let id = ProId::new(number).expect("the page holds ids");
                let pro = directory.pros.get(&id).expect("the page is from this directory");
                PROFESSIONAL.append(pro, &Scope::for_group(&state), audience, bytes);
            })
        },
    )
    .await
}

/// GET /api/v1/groups/{group_id}/pros/{id}.
async fn show(request: GroupRequest) -> HandlerResult {
    let id = request.id(ProId::new)?;
    let pro = request.identity.directory().pros.get(&id).ok_or_else(ApiError::no_result)?;
    if !pro.works_for(request.state.catalogue.group.id) {
        return Err(ApiError::no_result());
    }
    let object = PROFESSIONAL.render(pro, &request.scope(), request.audience());
    Ok(ok_response(&Value::Object(object)))
}
