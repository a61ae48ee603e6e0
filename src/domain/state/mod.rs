//! The state of a group: commands, events, the fold of events into state, the outbox and the
//! invariants.

pub mod account_table;
pub mod agenda_window;
pub mod booking_permission;
pub mod cancelled_bookings;
pub mod changed_records;
pub mod changes;
mod client_access;
mod client_index;
pub mod closed_addresses;
pub mod command;
pub mod delivery_step;
pub mod editable_record;
pub mod erasure;
pub mod event;
pub mod group_images;
pub mod group_record;
pub mod group_state;
pub mod history;
pub mod holds;
pub mod idempotency;
pub mod invariants;
pub mod login_notice;
pub mod outbox;
pub mod patch;
pub mod precondition;
pub mod privacy_commands;
pub mod put_vevent;
pub mod read_note;
pub mod recipient_quota;
pub mod refusal;
pub mod space;
pub mod space_quota;
pub mod unverified_rate;
pub mod vevent_rows;
