//! Endpoints of the images of a group. Reference 12.10, 13.23.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::records::fault::Fault;
use crate::domain::records::group::Group;
use crate::domain::records::image::{Image, ImageSlot};
use crate::domain::state::command::{Command, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::engine::Committed;
use crate::http::answer::entity_tag::tagged;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::permissions::{ADMINISTRATORS, PUBLIC, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, ok_response, to_json};
use crate::http::server::Server;
use crate::http::writes::prepared_write::{PreparedWrite, Written};
use crate::notify::links::image_path;
use crate::wire::field::Audience;
use crate::wire::image::{ImageFault, make_image};
use crate::wire::schema::{Count, one_of, pattern, schema_names, schema_of};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/images");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/images/{slot}");

const LIST: Answer =
    Answer::json(200, "the images", Shape::Named("ImageList", schema_of::<ImageList>));
const IMAGE: Answer = Answer {
    has_object_tag: true,
    ..Answer::json(200, "the image", Shape::Named("Image", schema_of::<ImageAnswer>))
};

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::put(&[ONE], handler!(InGroup, set))
        .named("SetImage", "Set an image of a group")
        .right(Resource::Image, Verb::Change, ADMINISTRATORS)
        .body(Body::IMAGE)
        .answers(&[IMAGE]),
    Endpoint::get(&[ALL], handler!(InGroup, list))
        .named("ListImages", "List the images of a group")
        .right(Resource::Image, Verb::List, PUBLIC)
        .answers(&[LIST]),
    Endpoint::delete(&[ONE], handler!(InGroup, delete))
        .named("DeleteImage", "Delete an image of a group")
        .right(Resource::Image, Verb::Delete, ADMINISTRATORS)
        .answers(&[IMAGE]),
];

schema_names! {
    /// The name of a slot.
    ShownSlot => pattern("^(logo|cover|calendar-[1-9][0-9]*)$");
    /// A media type.
    ShownType => one_of(["image/jpeg", "image/png"]);
    /// A SHA-256.
    ShownDigest => pattern("^[0-9a-f]{64}$");
}

/// The images of a group.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ImageList {
    /// Logo, cover, then the photos of calendars, ascending by id.
    images: Vec<ImageAnswer>,
}

/// An image of a group.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ImageAnswer {
    /// Its slot: logo, cover, or calendar- with the id of a calendar.
    #[schema(value_type = ShownSlot)]
    slot: String,
    /// The SHA-256 of its bytes.
    #[schema(value_type = ShownDigest)]
    digest: String,
    /// Its media type.
    #[schema(value_type = ShownType)]
    media_type: &'static str,
    /// Width in pixels.
    #[schema(value_type = Count)]
    width: u32,
    /// Height in pixels.
    #[schema(value_type = Count)]
    height: u32,
    /// Size in bytes.
    #[schema(value_type = Count)]
    bytes: usize,
    /// Path of the image on this server. It needs no key, and changes with the image.
    url: String,
}

impl ImageAnswer {
    fn new(group: &Group, slot: ImageSlot, image: &Image) -> Self {
        Self {
            slot: slot.to_string(),
            digest: image.digest.to_string(),
            media_type: image.format.media_type(),
            width: image.width,
            height: image.height,
            bytes: image.bytes.len(),
            url: image_path(group, image),
        }
    }
}

/// GET /api/v1/groups/{group_id}/images. Callers other than professionals do not see the photos of
/// calendars that are not offered.
async fn list(request: GroupRequest) -> HandlerResult {
    let state = &request.state;
    let sees_all = request.audience() >= Audience::Pro;
    let is_seen = |slot: ImageSlot| match slot {
        ImageSlot::Logo | ImageSlot::Cover => true,
        ImageSlot::Calendar(id) => sees_all || state.catalogue.calendar_hidden(id).is_none(),
    };
    let group = &state.catalogue.group;
    let seen = state.images.iter().filter(|(slot, _)| is_seen(*slot));
    let images = seen.map(|(slot, image)| ImageAnswer::new(group, slot, image)).collect();
    Ok(ok_response(&ImageList { images }))
}

/// PUT /api/v1/groups/{group_id}/images/{slot}. The body is the file itself, or a form with it.
async fn set(request: GroupRequest) -> HandlerResult {
    let slot = slot_in_path(&request)?;
    check_calendar(&request.state, slot)?;
    let made = make_in_turn(&request.server, slot, request.content.clone()).await?;
    let command = set_command(slot, made.map_err(Fault::from)?);
    let audience = request.audience();
    let show = move |state: &GroupState| show_image(state, slot);
    request.send(request.prepare_change(command, audience, show)).await
}

/// DELETE /api/v1/groups/{group_id}/images/{slot}. The answer shows the image as it was.
async fn delete(request: GroupRequest) -> HandlerResult {
    let slot = slot_in_path(&request)?;
    let show = move |state: &GroupState| show_image(state, slot);
    let command = removal_command(slot).only_if(request.precondition(show));
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    let shown = move |done: &Committed| show(&done.before).map(Written::Changed);
    request.send(PreparedWrite::new(write, request.audience(), shown)).await
}

/// Makes the image to keep in a slot, in the pool of images; the rule that the bytes break.
///
/// # Errors
/// 503 if too many images wait.
pub(crate) async fn make_in_turn(
    server: &Server,
    slot: ImageSlot,
    bytes: Vec<u8>,
) -> Result<Result<Image, ImageFault>, ApiError> {
    let make = move || make_image(slot, &bytes);
    server.image_pool.run(&server.blocking_pool, make).await
}

/// Returns the command that puts an image into a slot.
pub(crate) fn set_command(slot: ImageSlot, image: Image) -> Command {
    Command::ChangeRecord(RecordChange::SetImage(slot, Arc::new(image)))
}

/// Returns the command that empties a slot.
pub(crate) fn removal_command(slot: ImageSlot) -> Command {
    Command::ChangeRecord(RecordChange::RemoveImage(slot))
}

/// Returns the slot of the path.
fn slot_in_path(request: &GroupRequest) -> Result<ImageSlot, Fault> {
    let name = request.params.value("slot").unwrap_or_default();
    let rule = || Fault::new("slot", format!("must be {}", ImageSlot::NAMES));
    ImageSlot::from_name(name).ok_or_else(rule)
}

/// Checks that the calendar of a slot exists, before its image is decoded.
fn check_calendar(state: &GroupState, slot: ImageSlot) -> Result<(), ApiError> {
    match slot {
        ImageSlot::Calendar(id) if !state.catalogue.calendars.contains_key(&id) => {
            Err(ApiError::no_result().naming(&format!("calendar {id} in this group")))
        }
        ImageSlot::Logo | ImageSlot::Cover | ImageSlot::Calendar(_) => Ok(()),
    }
}

fn show_image(state: &GroupState, slot: ImageSlot) -> Option<ShownObject> {
    let image = state.images.in_slot(slot)?;
    Some(tagged(to_json(&ImageAnswer::new(&state.catalogue.group, slot, image))))
}
