//! The records of a group: settings, calendars, interventions, clients, events and their fields.

pub mod added;
pub mod calendar;
pub mod catalogue;
pub mod customfield;
pub mod editable_record;
pub mod fiche;
pub mod folding;
pub mod group;
pub mod hold;
pub mod ids;
pub mod intervention;
pub mod mail_domain;
pub mod postal_address;
pub mod record_change;
pub(crate) mod slug;
pub mod text;
pub mod vevent;
pub mod web_origin;
