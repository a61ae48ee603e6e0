//! Limits on what callers may do and cost.

pub(crate) mod body_limits;
pub(crate) mod booking_limit;
pub(crate) mod enumeration_limit;
pub(crate) mod guarded_write;
pub(crate) mod limited_move;
pub(crate) mod login_limit;
pub(crate) mod sliding_window;
pub(crate) mod source_shares;
pub(crate) mod write_capacity;
