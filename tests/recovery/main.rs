//! What the store promises, tried on the program as people run it: kills, power cuts, failing and full disks, damage.
//!
//! Each test prints what it did. `SLOTBOOK_LONG=1` makes them long. What a machine does not allow (mounting takes root,
//! injecting faults takes strace) is skipped with a printed reason.

mod accidents;
#[path = "../binary/authority.rs"]
mod authority;
mod authors;
mod cluster;
mod commands;
mod damage;
mod delayed_disk;
mod erasure;
mod every_call;
#[path = "../messages/fake_gateways.rs"]
#[expect(dead_code, reason = "it is shared with tests that ask more of it")]
mod fake_gateways;
mod faults;
mod feed;
mod followers;
mod full;
mod generations;
mod golden;
mod history;
mod idempotency;
mod images;
mod key_uses;
mod kill;
mod owners;
mod power_cut;
mod quarantine;
mod reads;
#[path = "../messages/receivers.rs"]
#[expect(dead_code, reason = "it is shared with tests that ask more of it")]
mod receivers;
mod released;
mod second_reader;
#[path = "../binary/server.rs"]
mod server;
mod syncs;
mod upgrade;
mod witness;

/// How often something is done: a few times in every run of the tests, often where that is asked for.
fn rounds(short: u64, long: u64) -> u64 {
    if std::env::var_os("SLOTBOOK_LONG").is_some_and(|value| value == "1") { long } else { short }
}
