//! Request heads and all that may follow them: the raw bytes of a connection.

use crate::harness::{AllocationBound, CaughtPanics, Target};
use crate::server::Shop;

/// The longest page takes a MiB, and a request has some 20 bytes at least.
const BOUND: AllocationBound = AllocationBound { bytes: 4 << 20, per_input_byte: 4 << 10 };

pub(crate) fn target() -> Target {
    let mut shop = Shop::new();
    Target::new(BOUND, CaughtPanics::Never, move |input| drop(shop.exchange(input)))
}
