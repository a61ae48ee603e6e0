//! Messages to clients, read from the state: their times, their recipients and the reasons against
//! them. Reference 7.

pub mod client_knowledge;
pub mod planning;
pub mod recipient;
pub mod reminder;
pub mod send_time;
pub mod suppression;
