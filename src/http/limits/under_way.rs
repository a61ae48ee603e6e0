//! Bookings with a key alone that are under way, by group. A burst passes no limit on bookings that
//! are recorded already. Reference 6.8.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::domain::records::ids::GroupId;

/// The bookings under way; a group without any has no entry.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<BTreeMap<GroupId, u32>>);

/// One booking, until this is dropped.
#[derive(Debug)]
pub(crate) struct BookingUnderWay<'u> {
    all: &'u UnderWay,
    group: GroupId,
    /// Number of those that were under way before it.
    pub(crate) earlier: u32,
}

impl UnderWay {
    /// Counts one more booking of a group.
    pub(crate) fn enter(&self, group: GroupId) -> BookingUnderWay<'_> {
        let mut by_group = self.0.lock();
        let number = by_group.entry(group).or_default();
        *number += 1;
        BookingUnderWay { all: self, group, earlier: *number - 1 }
    }
}

impl Drop for BookingUnderWay<'_> {
    fn drop(&mut self) {
        let mut by_group = self.all.0.lock();
        match by_group.get_mut(&self.group) {
            Some(number) if *number > 1 => *number -= 1,
            Some(_) | None => {
                by_group.remove(&self.group);
            }
        }
    }
}
