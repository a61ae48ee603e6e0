//! Endpoints of customfields, the definitions of customised attributes. Reference 13.9, 9.

use crate::domain::records::customfield::Customfield;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::endpoint::{Endpoint, EndpointPath, handler, write_handler};
use crate::http::permissions::{ADMINISTRATORS, PUBLIC, Resource, Verb};
use crate::http::resources::crud::{self, CrudRecord, DeletableRecord, Deletion};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::field::{Audience, Table};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/customfields");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/customfields/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::list(&[ALL], handler!(InGroup, crud::list::<Customfield>))
        .named("ListCustomfields", "List customfields")
        .right(Resource::Customfield, Verb::List, PUBLIC),
    Endpoint::post(&[ALL], write_handler!(crud::create::<Customfield>))
        .named("MakeCustomfield", "Create a customfield")
        .right(Resource::Customfield, Verb::Make, ADMINISTRATORS),
    Endpoint::get(&[ONE], handler!(InGroup, crud::show::<Customfield>))
        .named("ShowCustomfield", "Get a customfield")
        .right(Resource::Customfield, Verb::Show, PUBLIC),
    Endpoint::put(&[ONE], write_handler!(crud::change::<Customfield>))
        .named("ChangeCustomfield", "Update a customfield")
        .right(Resource::Customfield, Verb::Change, ADMINISTRATORS),
    Endpoint::delete(&[ONE], write_handler!(crud::delete::<Customfield>))
        .named("DeleteCustomfield", "Mark a customfield as deleted")
        .right(Resource::Customfield, Verb::Delete, ADMINISTRATORS),
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

impl DeletableRecord for Customfield {
    const DELETION: Deletion<Self> = Deletion::Marks(|field| field.deleted = true);
}
