//! The first so many of a long row, without putting all of it in order.

use std::cmp::Ordering;

/// Keeps the first `most` of all it is shown, in an order. It holds at most twice as many, and all it is shown costs
/// about one comparison each once it is full.
pub(super) struct TopK<T, C> {
    /// How many are wanted; at least 1.
    most: usize,
    compare: C,
    /// Those that may be among the first, in no order.
    kept: Vec<T>,
    /// Whether `kept[most - 1]` is the last of the first `most` seen so far: nothing after it counts any more.
    bounded: bool,
}

impl<T, C: Fn(&T, &T) -> Ordering> TopK<T, C> {
    /// Nothing seen yet of so many that may come. Room is made for all that can be kept at once: to grow would hold the
    /// old and the new side by side.
    pub(super) fn new(most: usize, coming: usize, compare: C) -> Self {
        let most = most.max(1);
        let kept = Vec::with_capacity(coming.min(most.saturating_mul(2)));
        Self { most, compare, kept, bounded: false }
    }

    /// Looks at one more.
    pub(super) fn offer(&mut self, item: T) {
        if self.bounded && (self.compare)(&self.kept[self.most - 1], &item).is_le() {
            return;
        }
        self.kept.push(item);
        if self.kept.len() >= self.most.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.most {
            self.kept.select_nth_unstable_by(self.most - 1, &self.compare);
            self.kept.truncate(self.most);
            self.bounded = true;
        }
    }

    /// The first of all that were shown, in order.
    pub(super) fn sorted(mut self) -> Vec<T> {
        self.cut();
        self.kept.sort_unstable_by(&self.compare);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_what_sorting_all_puts_first(
            mut items in prop::collection::vec(0..50_u8, 0..200),
            most in 1..60_usize,
        ) {
            let mut foremost = TopK::new(most, items.len(), u8::cmp);
            items.iter().for_each(|item| foremost.offer(*item));
            items.sort_unstable();
            items.truncate(most);
            prop_assert_eq!(foremost.sorted(), items);
        }
    }
}
