//! Availability: the catalogue of a group, open and taken time, the test of one start
//! ([`bookable`](bookable::bookable)) and the search for all starts. Reference 4.

pub mod bookable;
pub mod catalogue;
pub(crate) mod civil_day;
pub(crate) mod client_time;
pub(crate) mod day_table;
pub(crate) mod free_days;
pub mod free_places;
pub(crate) mod kept_search;
pub mod merged_starts;
pub mod module_offer;
pub mod obstacle;
pub mod open_time;
pub mod postal_address;
#[cfg(test)]
pub(crate) mod searched;
pub mod series_index;
pub mod slot_request;
pub mod slots;
pub mod taken_time;
pub mod timetable;
pub(crate) mod unverified_share;
pub mod weekly_hours;
