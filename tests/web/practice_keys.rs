//! The keys of a group on a screen of the practice. Reference 15.15.

use reqwest::Method;
use sha2::{Digest as _, Sha256};
use slotbook::domain::directory::group_keys::is_own_key;
use slotbook::domain::records::ids::GroupId;

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, KEY};

const KEYS: &str = "/p/cut-co/settings/keys";

/// Makes a key by the form, and returns it.
async fn make(ann: &mut Professional, label: &str, origins: &str) -> String {
    let made = ann.post(KEYS, &[("label", label), ("origins", origins)]).await;
    assert_eq!(made.status, 200, "{}", made.html);
    let rest = made.html.split("<code id=\"key\">").nth(1).expect("a key");
    rest.split('<').next().expect("a key").to_owned()
}

#[tokio::test]
async fn a_key_is_made_shown_once_used_and_revoked() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let origins = "https://shop.example\r\n\r\nhttps://www.shop.example:8443\r\n";
    let key = make(&mut ann, "Site <b>", origins).await;
    assert_eq!(key.len(), 40);
    let list = ann.open(KEYS).await;
    list.hides(&key);
    list.shows("<bdi>Site &#60;b&#62;</bdi>");
    list.shows("https://www.shop.example:8443");
    list.shows("Last used: not known");
    let by_key = |path: &str| server.bare(Method::GET, &format!("/api/v1{path}?apikey={key}"));
    answer(by_key("/groups/4")).await.is(200);
    answer(by_key("/groups/5")).await.refused(404, 3, None);
    let hash: [u8; 32] = Sha256::digest(&key).into();
    // The first use of the day is written with others after a second.
    for _ in 0..600 {
        if server.engine.published().directory().keys_used.contains_key(&hash) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    ann.open(KEYS).await.shows("Last used: 2 June 2025");
    let sequence = server.engine.published().directory().sequence;
    for _ in 0..20 {
        answer(by_key("/groups/4")).await.is(200);
    }
    assert_eq!(server.engine.published().directory().sequence, sequence, "once a day");
    let hash = data_encoding::HEXLOWER.encode(&hash);
    let revoked = ann.post(KEYS, &[("revoke", &hash)]).await;
    assert_eq!(revoked.location(), "/p/cut-co/settings/keys?revoked=1");
    answer(by_key("/groups/4")).await.refused(403, 1, None);
    assert_eq!(ann.post(KEYS, &[("revoke", &hash)]).await.location(), KEYS);
}

#[tokio::test]
async fn keys_of_the_operator_have_no_button_and_are_not_revoked_here() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let list = ann.open(KEYS).await;
    list.shows("The operator of the server keeps this key.");
    let directory = server.engine.published().directory();
    let group = GroupId::new(4).expect("an id");
    for (hash, apikey) in directory.apikeys.iter() {
        if is_own_key(apikey, group) {
            continue;
        }
        let hash = data_encoding::HEXLOWER.encode(hash);
        list.hides(&hash);
        assert_eq!(ann.post(KEYS, &[("revoke", &hash)]).await.location(), KEYS);
    }
    answer(server.bare(Method::GET, &format!("/api/v1/groups/4?apikey={KEY}"))).await.is(200);
    assert_eq!(server.engine.published().directory().apikeys, directory.apikeys);
    assert_eq!(ann.post(KEYS, &[("revoke", "nothing")]).await.status, 404);
}

#[tokio::test]
async fn wrong_forms_name_the_field_and_a_group_makes_50_keys_at_most() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    for (label, origins, fault) in [
        (" ", "", "id=\"label-fault\""),
        ("a", "https://shop.example/path", "id=\"origins-fault\""),
        ("a", &*"https://shop.example\n".repeat(21), "id=\"origins-fault\""),
    ] {
        let refused = ann.post(KEYS, &[("label", label), ("origins", origins)]).await;
        assert_eq!(refused.status, 400);
        refused.shows(fault);
    }
    // The shop has one key.
    for number in 1..50 {
        make(&mut ann, &number.to_string(), "").await;
    }
    let refused = ann.post(KEYS, &[("label", "one more")]).await;
    assert_eq!(refused.status, 409);
    refused.shows("There are 50 keys already.");
    refused.shows("value=\"one more\"");
}

#[tokio::test]
async fn the_keys_are_accessible() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    make(&mut ann, "Site", "https://shop.example").await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        for name in ["keys", "keys-wrong", "keys-made"] {
            if name == "keys" {
                browser.goto(KEYS).await;
            } else {
                let label = if name == "keys-made" { "Site" } else { " " };
                browser.type_into("#label", label).await;
                browser.click("main form.narrow button").await;
                let shown = if name == "keys-made" { "#key" } else { "#label-fault" };
                browser.await_element(shown).await;
            }
            browser.assert_screen(look, name).await;
        }
    }
}
