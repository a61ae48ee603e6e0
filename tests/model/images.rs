//! Images of a group: they have a bound together, and survive a snapshot. Reference 12.10.

use std::sync::Arc;

use slotbook::domain::records::image::{Image, ImageDigest, ImageFormat, ImageSlot};
use slotbook::domain::state::command::RecordChange;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::refusal::Refusal;
use slotbook::store::codec::SNAPSHOT_FORMAT;
use slotbook::store::state;

use super::shop::{Shop, calendar};

const MIB: usize = 1_024 * 1_024;

fn put(slot: ImageSlot, seed: u8, bytes: usize) -> RecordChange {
    let digest = ImageDigest([seed; 32]);
    let bytes = vec![seed; bytes].into();
    let image = Image { digest, format: ImageFormat::Jpeg, width: 4, height: 3, bytes };
    RecordChange::SetImage(slot, Arc::new(image))
}

#[test]
fn the_images_of_a_group_have_a_bound_together_and_one_in_two_slots_counts_once() {
    let mut shop = Shop::open_on_tuesday();
    let photo = ImageSlot::Calendar(calendar(1));
    assert_eq!(shop.changes(&put(ImageSlot::Logo, 1, 4 * MIB)), Ok(true));
    assert_eq!(shop.changes(&put(ImageSlot::Cover, 2, 4 * MIB)), Ok(true));
    let before = shop.group_state.clone();
    let refused = shop.changes(&put(photo, 3, 1)).expect_err("a byte too many");
    assert!(
        matches!(&refused[..], [Refusal::InvalidParameter(fault)] if &*fault.field == "image"),
        "{refused:?}"
    );
    assert_eq!(state::hash(&shop.group_state), state::hash(&before), "it changes nothing");
    assert_eq!(shop.changes(&put(photo, 2, 4 * MIB)), Ok(true), "it is there already");
    assert_eq!(shop.changes(&put(photo, 2, 4 * MIB)), Ok(false), "nothing changes");
    // Another one in its place has the room of the one that goes.
    assert_eq!(shop.changes(&put(ImageSlot::Logo, 4, 4 * MIB)), Ok(true));
    let gone = shop.changes(&RecordChange::RemoveImage(ImageSlot::Logo));
    assert_eq!(gone, Ok(true));
    let gone = shop.changes(&RecordChange::RemoveImage(ImageSlot::Logo));
    assert!(matches!(gone.expect_err("it is empty")[..], [Refusal::NoResult]));
    let nowhere = shop.changes(&put(ImageSlot::Calendar(calendar(99)), 5, 1));
    assert!(matches!(nowhere.expect_err("no calendar")[..], [Refusal::NoResult]));
    let closed = shop.clone().with_calendar(2, |calendar| calendar.deleted = true);
    for (mut shop, expected) in [(shop.clone(), Ok(true)), (closed, Err(vec![Refusal::NoResult]))] {
        let photo = ImageSlot::Calendar(calendar(2));
        assert_eq!(shop.changes(&put(photo, 5, 1)), expected, "a deleted calendar gets no photo");
    }
    let again = read_again(&shop.group_state);
    assert_eq!(again.images, shop.group_state.images);
    assert_eq!(again.records_bytes(), shop.group_state.records_bytes());
}

/// A state that was written to a snapshot and read again.
fn read_again(state: &GroupState) -> GroupState {
    let mut reader = state::GroupReader::default();
    state::write_group(state, |frame| reader.add_frame(frame, SNAPSHOT_FORMAT)).expect("frames");
    reader.group_state(state.sequence).expect("a whole state")
}
