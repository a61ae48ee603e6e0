//! Callers: applications, professionals, client accounts and the links that confirm accounts.

pub mod access;
pub mod account;
pub mod account_link;
pub mod confirmation_code;
pub mod directory;
pub mod enrolment;
pub mod link_secret;
pub mod password_link;
pub(crate) mod secret_text;
pub mod site_origin;
