//! What comes between a professional and a change on the grid: another one, mails, a login that is
//! over, no connection. Reference 15.10.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::message::{Message, Progress, SuppressionReason};
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::engine::MessagingOptions;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::notify::Gateways;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::browser::{Browser, Look, PHONE};
use crate::clients::state;
use crate::login::Professional;
use crate::practice_grid::{
    DAY, DESKTOP, DOWN, ENTER, PAGE_DOWN, RIGHT, book, drag, focus, is_focused, link, open, place,
    point, row, said, shop,
};
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, clock};

/// A mail server that counts what it takes.
async fn mail_sink() -> (u16, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let counter = Arc::clone(&taken);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(take_mails(stream, &counter).await);
        }
    });
    (port, taken)
}

async fn take_mails(stream: TcpStream, taken: &AtomicUsize) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 test\r\n").await?;
    let mut line = String::new();
    let mut is_data = false;
    while stream.read_line(&mut line).await? > 0 {
        let answer: &[u8] = match line.get(..4).unwrap_or_default() {
            _ if is_data && line != ".\r\n" => b"",
            _ if is_data => {
                is_data = false;
                taken.fetch_add(1, Ordering::SeqCst);
                b"250 taken\r\n"
            }
            "DATA" => {
                is_data = true;
                b"354 go on\r\n"
            }
            "QUIT" => b"221 bye\r\n",
            _ => b"250 ok\r\n",
        };
        stream.write_all(answer).await?;
        line.clear();
    }
    Ok(())
}

/// Lets a server send its mails to a port.
async fn send_mails(server: &TestServer, port: u16) {
    let mail = SmtpClient::new(&SmtpServer {
        host: "127.0.0.1".to_owned(),
        port,
        tls_mode: TlsMode::None,
        root_certificates: None,
        login: None,
        from: "shop@example.org".to_owned(),
        timeout: Duration::from_secs(10),
    });
    let gateways = Gateways {
        mail: Some(mail.expect("legal options")),
        link_secret: Some(LinkSecret::new([3; 32])),
        ..Gateways::unconfigured("https://shop.example/")
    };
    let sending = MessagingOptions {
        gateways: Arc::new(gateways),
        quota: MessageQuota { recipient_daily_max: 100, by_key_daily_max: 0 },
        randomness: Randomness::seeded([8; 32]),
        transport: Transport::direct(),
        poll_interval_max: Duration::from_millis(5),
        concurrent_attempts_max: 4,
    };
    let _running = server.engine.send_messages(sending).await;
}

/// Waits until a message about an appointment is as it should be.
async fn await_messages(server: &TestServer, id: u64, is_right: impl Fn(&Message) -> bool) {
    let id = VeventId::new(id).expect("an id");
    for _ in 0..1_000 {
        if state(server).outbox.messages_about(id).any(|message| is_right(message)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{:?}", state(server).outbox.messages_about(id).collect::<Vec<_>>());
}

#[tokio::test]
async fn of_two_professionals_the_second_is_shown_both_versions() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let elsewhere = json!({"vevent": {"start": "2025-06-03 09:30:00"}});
    let api = format!("/groups/4/vevents/{id}");
    // In the hand, so that the change of the other one is not shown first.
    focus(&browser, id).await;
    browser.press(&format!("g{RIGHT}{PAGE_DOWN}")).await;
    browser.await_element(".ghost").await;
    answer(server.by_pro(Method::PUT, &api).json(&elsewhere)).await.is(200);
    browser.press(ENTER).await;
    browser.await_element("dialog.sheet[open] [role=alert]:focus").await;
    let text = browser.run("return document.querySelector('.sheet').textContent").await;
    let text = text.as_str().expect("a text").to_owned();
    for part in ["from 09:30 to 10:00 · A", "from 11:00 to 11:30 · B", "Keep it as it is now"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    browser.assert_accessible("overtaken").await;
    browser.picture("grid-overtaken").await;
    // Reload: the grid shows what the other one did.
    browser.click(".sheet > p button.quiet").await;
    said(&browser, "Back in its place").await;
    browser.await_element(&format!("{}[data-t='09:30']", link(id))).await;
    // Mine: the second press moves it all the same.
    focus(&browser, id).await;
    browser.press(&format!("g{RIGHT}{PAGE_DOWN}{DOWN}{DOWN}")).await;
    browser.await_element(".ghost").await;
    let elsewhere = json!({"vevent": {"start": "2025-06-03 10:00:00"}});
    answer(server.by_pro(Method::PUT, &api).json(&elsewhere)).await.is(200);
    browser.press(ENTER).await;
    browser.await_element("dialog.sheet[open]").await;
    browser.click(".sheet form button").await;
    said(&browser, "Moved: 11:00–11:30, B").await;
    assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 12");
    // What another one has changed since is not taken back.
    let elsewhere = json!({"vevent": {"start": "2025-06-03 09:15:00"}});
    answer(server.by_pro(Method::PUT, &api).json(&elsewhere)).await.is(200);
    browser.press("z").await;
    said(&browser, "Changed meanwhile: nothing was taken back").await;
    assert_eq!(place(&server, id).await, "06-03 09:15:00 06-03 09:45:00 12");
    browser.press("z").await;
    said(&browser, "Nothing to take back").await;
}

#[tokio::test]
async fn four_quick_moves_leave_one_mail_and_undone_ones_none() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let (port, taken) = mail_sink().await;
    send_mails(&server, port).await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    focus(&browser, id).await;
    for keys in ["g", DOWN, ENTER] {
        browser.press(keys).await;
    }
    said(&browser, "Moved: 10:15–10:45, A").await;
    browser.press("z").await;
    said(&browser, "Your last change is taken back").await;
    assert!(is_focused(&browser, id).await);
    server.at(server.engine.clock().now().plus_seconds(60));
    await_messages(&server, id, |message| {
        let why = SuppressionReason::Unchanged;
        matches!(message.progress, Progress::Suppressed { why: found, .. } if found == why)
    })
    .await;
    for (keys, told) in [(DOWN, "10:15"), (DOWN, "10:30"), (RIGHT, "10:30"), (DOWN, "10:45")] {
        for keys in ["g", keys, ENTER] {
            browser.press(keys).await;
        }
        said(&browser, &format!("Moved: {told}")).await;
    }
    server.at(server.engine.clock().now().plus_seconds(60));
    await_messages(&server, id, |it| matches!(it.progress, Progress::Sent { .. })).await;
    assert_eq!(taken.load(Ordering::SeqCst), 1, "four moves are one mail, undone ones none");
    assert_eq!(place(&server, id).await, "06-03 10:45:00 06-03 11:15:00 12");
}

/// Ends the logins of all browsers.
async fn end_logins(server: &TestServer) {
    let mut ann = Professional::logged_in(server, ANN).await;
    ann.post("/p/cut-co/logins", &[("end", "others")]).await.location();
}

async fn log_in_on_top(browser: &Browser) {
    browser.await_element("dialog.sheet[open] #sheet-password").await;
    browser.type_into("#sheet-email", ANN.0).await;
    browser.type_into("#sheet-password", "a wrong one\u{e007}").await;
    browser.await_element("#sheet-wrong").await;
    browser.assert_accessible("login on top").await;
    browser.type_into("#sheet-password", &format!("{}{ENTER}", ANN.1)).await;
}

#[tokio::test]
async fn a_login_that_is_over_is_asked_for_on_top_and_nothing_is_lost() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    end_logins(&server).await;
    let from = point(&browser, 0, "10:10").await;
    drag(&browser, from, point(&browser, 1, "11:10").await).await;
    browser.await_element("dialog.sheet[open]").await;
    browser.picture("grid-login").await;
    log_in_on_top(&browser).await;
    said(&browser, "Moved: 11:00–11:30, B").await;
    assert_eq!(place(&server, id).await, "06-03 11:00:00 06-03 11:30:00 12");
    // While a record is typed.
    browser.goto(&format!("/p/cut-co/events/{id}")).await;
    browser.type_into("#internal_comments", "typed for a long time").await;
    end_logins(&server).await;
    browser.click("#details button").await;
    log_in_on_top(&browser).await;
    browser.await_element("p.done").await;
    let kept = "return document.querySelector('#internal_comments').value";
    assert_eq!(browser.run(kept).await, json!("typed for a long time"));
    assert_eq!(row(&server, id).await["internal_comments"], "typed for a long time");
    assert!(!browser.console().await.contains("Content Security Policy"));
}

#[tokio::test]
async fn without_scripts_a_form_is_sent_again_after_a_login_that_was_over() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    browser.without_scripts().await;
    browser.goto(&format!("/p/cut-co/events/{id}")).await;
    browser.type_into("#internal_comments", "typed for a long time").await;
    end_logins(&server).await;
    browser.click("#details button").await;
    let typed_in = browser.client.window().await.expect("a window");
    browser.await_element("main ol a[target=_blank]").await;
    browser.click("main ol a").await;
    let windows = browser.client.windows().await.expect("windows");
    let other = windows.into_iter().find(|it| *it != typed_in).expect("a new one");
    browser.client.switch_to_window(other).await.expect("a window");
    browser.type_into("#email", ANN.0).await;
    browser.type_into("#password", &format!("{}{ENTER}", ANN.1)).await;
    browser.arrive_at("/p/cut-co/agenda").await;
    browser.client.switch_to_window(typed_in).await.expect("a window");
    browser.client.refresh().await.expect("it is sent again");
    browser.await_element("p.done").await;
    assert_eq!(row(&server, id).await["internal_comments"], "typed for a long time");
}

#[tokio::test]
async fn without_a_connection_the_grid_is_read_only_and_says_how_old_it_is() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let Some(browser) = open(&server, DESKTOP, DAY).await else { return };
    let network = |is_offline: bool| json!({"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
    browser.devtools("Network.enable", json!({})).await;
    browser.devtools("Network.emulateNetworkConditions", network(true)).await;
    let from = point(&browser, 0, "10:10").await;
    let to = point(&browser, 1, "11:10").await;
    browser.await_element("#lost:not([hidden])").await;
    let text = browser.run("return document.getElementById('lost').textContent").await;
    assert!(text.as_str().expect("a text").contains("(0 min ago)"), "{text}");
    browser.assert_accessible("no connection").await;
    browser.picture("grid-lost").await;
    drag(&browser, from, to).await;
    said(&browser, "No connection: nothing can be changed").await;
    let elsewhere = json!({"vevent": {"start": "2025-06-03 09:30:00"}});
    let api = format!("/groups/4/vevents/{id}");
    answer(server.by_pro(Method::PUT, &api).json(&elsewhere)).await.is(200);
    browser.devtools("Network.emulateNetworkConditions", network(false)).await;
    browser.await_element("#lost[hidden]").await;
    browser.await_element(&format!("{}[data-t='09:30']", link(id))).await;
    let from = point(&browser, 0, "09:40").await;
    let to = point(&browser, 1, "11:10").await;
    drag(&browser, from, to).await;
    said(&browser, "Moved: 11:00–11:30, B").await;
}

#[tokio::test]
async fn a_newer_agenda_is_asked_for_by_the_tag_of_what_is_shown() {
    let server = shop().await;
    let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let ann = Professional::logged_in(&server, ANN).await;
    let shown = ann.open(DAY).await;
    let tag = shown.headers["etag"].to_str().expect("a text").to_owned();
    let again = ann.get_known(DAY, &tag).await;
    assert_eq!((again.status, again.html.as_str()), (304, ""));
    server.at(clock(8, 30));
    assert_eq!(ann.get_known(DAY, &tag).await.status, 304, "time alone changes nothing");
    let elsewhere = json!({"vevent": {"start": "2025-06-03 09:30:00"}});
    let api = format!("/groups/4/vevents/{id}");
    answer(server.by_pro(Method::PUT, &api).json(&elsewhere)).await.is(200);
    let changed = ann.get_known(DAY, &tag).await;
    assert_eq!(changed.status, 200);
    changed.shows("data-t=\"09:30\"");
    let stranger = Professional::stranger(&server);
    assert_eq!(stranger.get_known(DAY, &tag).await.status, 303, "a tag is no login");
}

/// Checks the present state in each width and scheme of colours.
async fn look_at(browser: &Browser, look: Look, name: &str) {
    for (width, is_dark) in [(320, false), (320, true), (1_280, false), (1_280, true)] {
        browser.emulate(Look { width, is_dark, ..look }).await;
        let scheme = if is_dark { "dark" } else { "light" };
        let what = format!("grid-{name}-{}-{width}-{scheme}", look.language);
        browser.assert_accessible(&what).await;
        browser.picture(&what).await;
    }
    browser.emulate(Look { width: 320, ..look }).await;
    browser.assert_fits(&format!("{name} {}", look.language)).await;
    let small = "const box = document.querySelector('dialog[open]') ?? document;
        return [...box.querySelectorAll('a, button, select, input:not([type=hidden])')]
        .filter((one) => one.offsetParent && !one.matches('.skip'))
        .map((one) => one.type === 'checkbox' ? one.closest('label') : one)
        .filter((one) => one.getBoundingClientRect().height < 44)
        .map((one) => one.outerHTML);";
    assert_eq!(browser.run(small).await, json!([]), "{name} {}", look.language);
}

#[tokio::test]
async fn what_is_asked_on_top_is_accessible_in_each_look() {
    for language in ["en", "fr"] {
        let server = shop().await;
        let id = book(&server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
        book(&server, CALENDAR, "2025-06-03 10:30:00", "2025-06-03 11:00:00").await;
        let look = Look { language, ..PHONE };
        let Some(browser) = open(&server, look, DAY).await else { return };
        focus(&browser, id).await;
        browser.press("g").await;
        browser.press(DOWN).await;
        look_at(&browser, look, "held").await;
        browser.press(ENTER).await;
        browser.await_element("dialog.sheet[open] [role=alert]:focus").await;
        look_at(&browser, look, "taken").await;
        let escape = "\u{e00c}";
        browser.press(escape).await;
        browser.await_element(&format!("{}:focus", link(id))).await;
        browser.press("?").await;
        browser.await_element("#keys[open]").await;
        look_at(&browser, look, "keys").await;
        browser.press(escape).await;
        focus(&browser, id).await;
        end_logins(&server).await;
        for keys in ["g", DOWN, ENTER] {
            browser.press(keys).await;
        }
        browser.await_element("dialog.sheet[open] #sheet-email:focus").await;
        look_at(&browser, look, "login").await;
        let logs = browser.console().await;
        assert!(!logs.contains("Content Security Policy"), "{logs}");
    }
}
