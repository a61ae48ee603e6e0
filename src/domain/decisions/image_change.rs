//! Decisions about the images of a group. Reference 12.10.

use std::sync::Arc;

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::records::fault::Fault;
use crate::domain::records::image::{GROUP_IMAGES_BYTES_MAX, Image, ImageSlot};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};

/// Decides to put an image into a slot. Nothing changes if it is there already.
///
/// # Errors
/// NoResult for a calendar that does not exist or is deleted. InvalidParameter if the images of the
/// group would be larger than they may be.
pub(crate) fn decide_set(
    context: &mut Context<'_>,
    slot: ImageSlot,
    image: &Arc<Image>,
) -> Result<Decision, Refusals> {
    let state = context.state;
    check_slot(state, slot)?;
    if state.images.in_slot(slot).is_some_and(|known| known.digest == image.digest) {
        return Ok(Decision::Unchanged(Outcome::default()));
    }
    let mut next = state.images.clone();
    next.put(slot, Arc::clone(image));
    if next.bytes() > GROUP_IMAGES_BYTES_MAX {
        let rule = format!(
            "the images of the group would take {} bytes, more than {GROUP_IMAGES_BYTES_MAX}: \
             delete one first",
            next.bytes()
        );
        return Err(Fault::new("image", rule).into());
    }
    let event = Event::ImageSet { at: context.stamp(), slot, image: Arc::clone(image) };
    Ok(Decision::Event(event, Outcome::default()))
}

/// Decides to empty a slot.
///
/// # Errors
/// NoResult if it is empty.
pub(crate) fn decide_removal(
    context: &mut Context<'_>,
    slot: ImageSlot,
) -> Result<Decision, Refusals> {
    context.state.images.in_slot(slot).ok_or(Refusal::NoResult)?;
    let event = Event::ImageRemoved { at: context.stamp(), slot };
    Ok(Decision::Event(event, Outcome::default()))
}

fn check_slot(state: &GroupState, slot: ImageSlot) -> Result<(), Refusal> {
    match slot {
        ImageSlot::Logo | ImageSlot::Cover => Ok(()),
        ImageSlot::Calendar(id) => match state.catalogue.calendars.get(&id) {
            Some(calendar) if !calendar.deleted => Ok(()),
            Some(_) | None => Err(Refusal::NoResult),
        },
    }
}
