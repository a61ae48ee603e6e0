//! The records of a group as plain types: settings, calendars, interventions, clients, events,
//! messages, accounts, and the types of their fields.

pub mod account;
pub mod account_link;
pub mod added;
pub mod author;
pub mod booking_origin;
pub mod calendar;
pub mod calendarfeed;
pub mod channel;
pub mod customfield;
pub mod embed_origins;
pub mod fault;
pub mod fiche;
pub mod folding;
pub mod group;
pub mod hold;
pub mod ids;
pub mod image;
pub mod intervention;
pub mod known_appointment;
pub mod mail_domain;
pub mod message;
pub mod nearest;
pub mod phone;
pub(crate) mod secret_text;
mod shop_warning;
pub mod site_origin;
pub(crate) mod slug;
pub mod sms_countries;
pub mod text;
pub mod vevent;
