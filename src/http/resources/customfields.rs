//! Endpoints of customfields, the definitions of customised attributes. Reference 13.9, 9.

use crate::domain::records::customfield::Customfield;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::endpoint::{
    AnswerSchema, BodySchema, Endpoint, EndpointMethod, EndpointPath, handler,
};
use crate::http::permissions::{PROS_ONLY, PUBLIC, Resource, Right, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::crud::{self, CrudRecord};
use crate::http::response::HandlerResult;
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::field::{Audience, Table};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/customfields");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/customfields/{id}");

const fn right(verb: Verb) -> Option<Right> {
    let extents = match verb {
        Verb::List | Verb::Show => PUBLIC,
        Verb::Make | Verb::Change | Verb::Delete | Verb::DeleteMany => PROS_ONLY,
    };
    Some(Right::new(Resource::Customfield, verb, extents))
}

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        operation_id: "ListCustomfields",
        summary: "List customfields",
        tag: "customfields",
        method: EndpointMethod::Get,
        paths: &[ALL],
        right: right(Verb::List),
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::List,
        handler: handler!(InGroup, list),
    },
    Endpoint {
        operation_id: "MakeCustomfield",
        summary: "Create a customfield",
        tag: "customfields",
        method: EndpointMethod::Post,
        paths: &[ALL],
        right: right(Verb::Make),
        query: &[],
        body: BodySchema::NewRecord,
        answer: AnswerSchema::NewRecord,
        handler: handler!(InGroup, crud::create::<Customfield>),
    },
    Endpoint {
        operation_id: "ShowCustomfield",
        summary: "Get a customfield",
        tag: "customfields",
        method: EndpointMethod::Get,
        paths: &[ONE],
        right: right(Verb::Show),
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::Record,
        handler: handler!(InGroup, crud::show::<Customfield>),
    },
    Endpoint {
        operation_id: "ChangeCustomfield",
        summary: "Update a customfield",
        tag: "customfields",
        method: EndpointMethod::Put,
        paths: &[ONE],
        right: right(Verb::Change),
        query: &[],
        body: BodySchema::ChangedFields,
        answer: AnswerSchema::Record,
        handler: handler!(InGroup, crud::change::<Customfield>),
    },
    Endpoint {
        operation_id: "DeleteCustomfield",
        summary: "Mark a customfield as deleted",
        tag: "customfields",
        method: EndpointMethod::Delete,
        paths: &[ONE],
        right: right(Verb::Delete),
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::Record,
        handler: handler!(InGroup, delete),
    },
];

impl CrudRecord for Customfield {
    fn table() -> &'static Table<Self> {
        &CUSTOMFIELD
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Customfield(put)
    }

    /// Clients see the definitions of the attributes that they fill.
    fn is_visible(field: &Self, _state: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || (field.user_visible && !field.deleted)
    }

    fn is_left_out(field: &Self) -> bool {
        field.deleted
    }
}

/// GET /api/v1/groups/{group_id}/customfields.
async fn list(request: GroupRequest) -> HandlerResult {
    let rows = request.state.catalogue.customfields.len();
    crud::list(&request, rows, all_customfields, |_, _| true).await
}

/// DELETE /api/v1/groups/{group_id}/customfields/{id}.
async fn delete(request: GroupRequest) -> HandlerResult {
    crud::mark_deleted::<Customfield>(request, |field| field.deleted = true).await
}

fn all_customfields(state: &GroupState) -> Vec<&Customfield> {
    state.catalogue.customfields.values().map(AsRef::as_ref).collect()
}
