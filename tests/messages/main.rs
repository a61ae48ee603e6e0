//! Messages as they arrive: over a real SMTP connection and a real HTTP gateway, through restarts and all that goes wrong
//! on the other side. Reference 7.

#[path = "../binary/authority.rs"]
mod authority;
mod bursts;
mod cancels;
mod fake_gateways;
mod fixture;
mod hours;
mod kills;
mod letters;
mod looks;
mod notices;
mod receivers;
mod secrecy;
#[path = "../binary/server.rs"]
#[expect(dead_code, reason = "it is shared with tests that ask more of the program")]
mod server;
mod webhooks;
