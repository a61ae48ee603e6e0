//! The options of the limits on bookings. Reference 6.11.

use crate::http::limits::code_budget::CODES_DAILY_MAX;

/// Maximum numbers of bookings; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookingLimits {
    /// From one source within an hour.
    pub source_hourly_max: u32,
    /// From one source within 24 hours.
    pub source_daily_max: u32,
    /// For one e-mail address, or by one account, within an hour.
    pub client_hourly_max: u32,
    /// With one key in one group within an hour.
    pub key_hourly_max: u32,
    /// Codes of one group within 24 hours that were not given.
    pub codes_daily_max: usize,
}

impl BookingLimits {
    /// The limits without any option.
    pub const DEFAULT: Self = Self {
        source_hourly_max: 10,
        source_daily_max: 30,
        client_hourly_max: 5,
        key_hourly_max: 0,
        codes_daily_max: CODES_DAILY_MAX,
    };
    /// The limits of a demonstration that is served on its own machine only.
    pub const DEMONSTRATION: Self = Self {
        source_hourly_max: 1_000,
        source_daily_max: 1_000,
        client_hourly_max: 1_000,
        key_hourly_max: 0,
        codes_daily_max: 0,
    };
    /// No limit.
    pub const NONE: Self = Self {
        source_hourly_max: 0,
        source_daily_max: 0,
        client_hourly_max: 0,
        key_hourly_max: 0,
        codes_daily_max: 0,
    };
}
