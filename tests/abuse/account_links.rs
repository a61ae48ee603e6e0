//! Space and memory that strangers take by asking for links to accounts.

use reqwest::Method;
use serde_json::json;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::http::Server;

use crate::fixture::{Answer, Practice, Visitor, answer};
use crate::mailbox::Mailbox;

/// A client with an account, one without, and an unknown address.
const ADDRESSES: [&str; 3] =
    ["louise.thomas@example.org", "ines.mathieu@example.org", "nobody@example.org"];
/// The longest pendingRdv, as JSON a text of 8,192 bytes.
const PENDING_BYTES: usize = 8_190;
/// Bytes that one such link takes until it has left, about.
const LINK_BYTES: u64 = 11_500;

/// Asks for a link with the longest pendingRdv.
async fn ask(visitor: &Visitor, email: &str) -> Answer {
    ask_with(visitor, email, PENDING_BYTES).await
}

async fn ask_with(visitor: &Visitor, email: &str, pending_bytes: usize) -> Answer {
    let pending = "x".repeat(pending_bytes);
    let account = json!({"account": {"email": email, "group_id": 1, "pendingRdv": pending}});
    answer(visitor.request(Method::POST, "/accounts").json(&account)).await
}

/// What the practice keeps: its events so far, its messages, and the bytes of its records.
fn kept(practice: &Practice) -> (u64, usize, u64) {
    let state = practice.state();
    (state.sequence, state.outbox.messages().len(), practice.engine.largest_group_bytes())
}

/// A practice with a mail server to which nothing is carried yet, so that all mails wait.
async fn with_waiting_mails(configure: impl FnOnce(Server) -> Server) -> Practice {
    let mailbox = Mailbox::open().await;
    Practice::with(|_| {}, |server| configure(server.with_gateways(mailbox.gateways()))).await
}

#[tokio::test]
async fn an_ask_that_cannot_be_mailed_leaves_nothing() {
    let practice = Practice::open().await;
    let before = kept(&practice);
    for number in 0..20 {
        let stranger = practice.forwarded(&format!("2001:db8:0:{number:x}::1"));
        for email in ADDRESSES {
            let asked = ask(&stranger, email).await.is(201);
            assert_eq!(asked, json!({"account": {"email": email, "group_id": 1}}));
        }
    }
    assert_eq!(kept(&practice), before, "neither in the journal nor in memory");
}

#[tokio::test]
async fn an_ask_that_cannot_be_mailed_is_still_answered_once_for_its_idempotency_key() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let (_, messages, bytes) = kept(&practice);
    let ask = async |pending: &str| {
        let account = json!({"account": {"email": ADDRESSES[2], "pendingRdv": pending}});
        let request = stranger.request(Method::POST, "/accounts").json(&account);
        answer(request.header("idempotency-key", "0123456789abcdef")).await
    };
    let first = ask("a").await;
    first.is(201);
    assert_eq!(ask("a").await.text, first.text);
    ask("b").await.refused(409, 2);
    let (_, messages_now, bytes_now) = kept(&practice);
    assert_eq!(messages_now, messages);
    assert!(bytes_now - bytes < 512, "its answer, which has a share of its own");
}

#[tokio::test]
async fn links_that_wait_for_the_mail_server_are_bounded_by_network() {
    // The group gives 1 MiB to links that wait.
    let practice = with_waiting_mails(|server| server.with_group_bytes_max(Some(16 << 20))).await;
    let (_, _, before) = kept(&practice);
    let waiting = || kept(&practice).2 - before;
    // The first asks of a source until it is refused.
    let fill = async |address: &str| {
        let stranger = practice.forwarded(address);
        let mut number = 0;
        while ask(&stranger, &format!("a{number}@{}.example", waiting())).await.status == 201 {
            number += 1;
            assert!(number < 50, "{address}");
        }
    };
    for (address, kib) in [
        ("2001:db8:0:100::1", 128),
        ("2001:db8:0:101::1", 256),
        ("2001:db8:0:102::1", 256),
        ("2001:db8:0:200::1", 384),
        ("2001:db8:0:201::1", 512),
        ("2001:db8:0:300::1", 512),
        ("203.0.113.7", 640),
        ("203.0.113.8", 768),
    ] {
        fill(address).await;
        let most = kib << 10;
        assert!(waiting() <= most && waiting() > most - 8 * LINK_BYTES, "{address} {}", waiting());
    }
    let refused = ask(&practice.forwarded("2001:db8:0:300::2"), ADDRESSES[0]).await;
    refused.refused(429, 4);
    assert!(refused.headers.contains_key("retry-after"));
    let unknown = ask(&practice.forwarded("2001:db8:0:300::2"), ADDRESSES[2]).await;
    assert_eq!((unknown.status, &unknown.text), (refused.status, &refused.text));
    // A newcomer from elsewhere gets a link.
    let (_, messages, _) = kept(&practice);
    let newcomer = practice.forwarded("198.51.100.1");
    ask_with(&newcomer, ADDRESSES[2], 300).await.is(201);
    assert_eq!(kept(&practice).1, messages + 1);
    // However many networks ask, the group keeps its space.
    for network in 0..5 {
        let stranger = practice.forwarded(&format!("2001:db8:{}::1", network + 1));
        for number in 0..11 {
            ask(&stranger, &format!("b{number}@{network}.example")).await.is(201);
        }
    }
    assert!(waiting() <= (1 << 20) + LINK_BYTES, "{}", waiting());
}

#[tokio::test]
async fn no_more_links_wait_than_the_daily_maximum_lets_leave() {
    let quota = MessageQuota { recipient_daily_max: 20, by_key_daily_max: 4 };
    let practice = with_waiting_mails(|server| server.with_message_quota(quota)).await;
    let stranger = practice.visitor("127.0.0.2");
    let messages = || kept(&practice).1;
    let before = messages();
    for number in 0..10 {
        ask(&stranger, &format!("a{number}@example.org")).await.is(201);
    }
    assert_eq!(messages(), before + 2, "half of it for links");
    ask(&stranger, ADDRESSES[0]).await.is(201);
    assert_eq!(messages(), before + 3, "the public keeps no client from another password");
}

#[tokio::test]
async fn what_a_link_carries_has_8_192_bytes_at_most_and_counts_as_space() {
    let practice = with_waiting_mails(|server| server).await;
    let stranger = practice.visitor("127.0.0.2");
    ask_with(&stranger, ADDRESSES[2], PENDING_BYTES + 1).await.refused(400, 2);
    let (_, _, before) = kept(&practice);
    ask(&stranger, ADDRESSES[2]).await.is(201);
    let taken = kept(&practice).2 - before;
    assert!((PENDING_BYTES as u64..LINK_BYTES).contains(&taken), "{taken}");
}
