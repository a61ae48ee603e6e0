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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_booking_knows_of_the_earlier_ones_of_its_group_until_they_end() {
        let all = UnderWay::default();
        let enter = |group| all.enter(GroupId::new(group).expect("an id"));
        let [first, second, third] = [4, 4, 4].map(enter);
        assert_eq!([first.earlier, second.earlier, third.earlier], [0, 1, 2]);
        let other = enter(5);
        assert_eq!(other.earlier, 0, "of another group");
        drop(first);
        let fourth = enter(4);
        assert_eq!(fourth.earlier, 2, "one has ended");
        drop((second, third, fourth, other));
        assert!(all.0.lock().is_empty(), "a group without bookings takes no memory");
    }
}
