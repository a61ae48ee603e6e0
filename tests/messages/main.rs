//! Messages as they arrive: over a real SMTP connection and a real HTTP gateway, through restarts and all that goes wrong
//! on the other side. Contract 7.

mod cancels;
mod hours;
mod house;
mod letters;
mod post;
mod storms;
