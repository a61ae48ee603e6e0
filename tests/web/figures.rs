//! The figures of docs/benchmarks.md, from the program on its demonstration. They are printed and
//! not asserted, except for those that no machine changes.

use std::time::Instant;

use serde_json::{Value, json};
use slotbook::clock::{Clock as _, SystemClock};
use slotbook::domain::time::zone;
use slotbook::wire::datetime;

use crate::browser::{Browser, Look, PHONE};
use crate::manage::link_of;
use crate::program::{Served, booking, half_hour, practice, store_of};
use crate::visitor::{Visitor, set};

const HOME: &str = "/b/cabinet-de-sante-des-tilleuls";
/// Requests for the time of one page.
const REQUESTS: usize = 500;
/// Visits of one page, of which the fastest counts: what else the machine does only slows them.
const VISITS: usize = 4;

/// The pages of one booking, by name.
async fn pages(visitor: &Visitor) -> Vec<(&'static str, String)> {
    let mut week = visitor.open(&format!("{HOME}/time?s=1")).await;
    // Far enough ahead that the appointment can be moved.
    for _ in 0..2 {
        let next = week.html.split("class=\"next\" href=\"").nth(1).expect("a next week");
        let next = next.split('"').next().expect("a URL").replace("&#38;", "&");
        week = visitor.open(&next).await;
    }
    let offered = week.offered();
    let you = |time: &str| format!("{HOME}/you?s=1&t={time}");
    let mut form = visitor.open(&you(&offered[0])).await.hidden();
    set(&mut form, "fiche.lastname", "Durand");
    set(&mut form, "fiche.email", "zoe@example.org");
    let done = visitor.post(&format!("{HOME}/you"), &form).await.location().to_owned();
    let link = link_of(&visitor.open(&done).await);
    vec![
        ("service", HOME.to_owned()),
        ("time", format!("{HOME}/time?s=1")),
        ("details of the client", you(offered.last().expect("a time"))),
        ("done", done),
        ("behind the link in a mail", link.clone()),
        ("another time", format!("{link}/move")),
    ]
}

/// Milliseconds of the server for a page, over a kept connection: median and 99th of 100.
async fn server_times(visitor: &Visitor, path: &str) -> (f64, f64) {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let began = Instant::now();
        visitor.get(path).await;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    times.sort_by(f64::total_cmp);
    (times[REQUESTS / 2], times[REQUESTS * 99 / 100])
}

/// Opens a page with an empty cache on a slow phone: what it loaded, and when it was painted.
async fn open_slowly(browser: &Browser, path: &str) -> Value {
    browser.devtools("Network.enable", json!({})).await;
    let slow = json!({"offline": false, "latency": 150, "downloadThroughput": 200_000,
        "uploadThroughput": 93_750});
    browser.devtools("Network.emulateNetworkConditions", slow).await;
    browser.devtools("Emulation.setCPUThrottlingRate", json!({"rate": 4})).await;
    browser.goto(path).await;
    browser
        .run(
            "return new Promise((done) => { let paint = 0; let shift = 0;
            new PerformanceObserver((list) => {
                for (const one of list.getEntries()) paint = one.startTime; })
                .observe({type: 'largest-contentful-paint', buffered: true});
            new PerformanceObserver((list) => {
                for (const one of list.getEntries()) shift += one.value; })
                .observe({type: 'layout-shift', buffered: true});
            const sum = (some) => some.reduce((all, one) => all + one.transferSize, 0);
            const tell = () => {
                if (paint === 0 || document.readyState !== 'complete') {
                    requestAnimationFrame(tell);
                    return;
                }
                const entries = [...performance.getEntriesByType('navigation'),
                    ...performance.getEntriesByType('resource')];
                done({
                    paint, shift, bytes: sum(entries), requests: entries.length,
                    script: sum(entries.filter((one) => one.name.endsWith('.js'))),
                    elsewhere: entries.filter((one) => !one.name.startsWith(location.origin)).length,
                });
            };
            requestAnimationFrame(tell); });",
        )
        .await
}

#[tokio::test]
async fn figures_of_each_step() {
    if std::env::var_os("SLOTBOOK_LONG").is_none() {
        println!("skipped: set SLOTBOOK_LONG=1 to measure");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = Served::on(&folder.path().join("data"), &["--demo"]);
    let address = server.base.trim_start_matches("http://").to_owned();
    let visitor = Visitor::at(&address);
    println!("| page | bytes | of them script | requests | LCP in s | shift | server, ms | p99 |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (name, path) in pages(&visitor).await {
        let (median, slow) = server_times(&visitor, &path).await;
        let mut seen = Value::Null;
        let mut paint = f64::INFINITY;
        for _ in 0..VISITS {
            // A browser of its own for each visit, so that nothing is in its cache.
            let Some(browser) = Browser::open(&address, PHONE).await else { return };
            seen = open_slowly(&browser, &path).await;
            paint = paint.min(seen["paint"].as_f64().expect("a number") / 1_000.0);
        }
        println!(
            "| {name} | {} | {} | {} | {paint:.2} | {} | {median:.2} | {slow:.2} |",
            seen["bytes"], seen["script"], seen["requests"], seen["shift"],
        );
        assert_eq!(seen["elsewhere"], json!(0), "{name}: {seen}");
        assert!(seen["bytes"].as_u64() <= Some(20_000), "{name}: {seen}");
        assert!(seen["script"].as_u64() <= Some(6_000), "{name}: {seen}");
        assert!(seen["requests"].as_u64() <= Some(4), "{name}: {seen}");
    }
}

/// Appointments of each day of three weeks: 301 a week.
const DAILY: u64 = 43;

/// A practice whose calendar has 301 appointments in each of the three weeks from 7 January 2030.
fn full_weeks() -> Value {
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["urlname"] = json!("practice");
    let client =
        |id: u64| json!({"id": id, "firstname": "Zoé", "lastname": format!("Client {id}")});
    group["fiches"] = (1..=DAILY).map(client).collect();
    let vevents = group["vevents"].as_array_mut().expect("a list");
    for day in 7..28 {
        for nth in 0..DAILY {
            let minute = 6 * 60 + nth * 20;
            let at =
                |minute: u64| format!("2030-01-{day:02} {:02}:{:02}:00", minute / 60, minute % 60);
            vevents.push(json!({"calendar_id": 1, "fiche_id": nth + 1, "intervention_id": 1,
                "start": at(minute), "end": at(minute + 20)}));
        }
    }
    document
}

/// Milliseconds from the begin of the present navigation to its largest paint, with the number of
/// events; and the bytes of style and script over the wire.
async fn drawn(browser: &Browser) -> Value {
    let script = "return new Promise((done) => {
        const sum = (end) => performance.getEntriesByType('resource')
            .filter((one) => one.name.endsWith(end))
            .reduce((all, one) => all + one.transferSize, 0);
        const tell = (list) => done({
            paint: list.getEntries().at(-1).startTime,
            answered: performance.getEntriesByType('navigation')[0].responseEnd,
            events: document.querySelectorAll('.grid a.event').length,
            style: sum('.css'), script: sum('.js')});
        new PerformanceObserver(tell)
            .observe({type: 'largest-contentful-paint', buffered: true}); });";
    browser.run(script).await
}

/// Milliseconds from the press of the key `j` until the week that begins on a day is painted.
async fn turned(browser: &Browser, monday: &str) -> Value {
    let script = "return new Promise((done) => {
        const began = performance.now();
        const tell = () => {
            if (!location.search.includes('MONDAY')) {
                requestAnimationFrame(tell);
                return;
            }
            // The frame that is made after this function has the week, and the message follows it.
            const port = new MessageChannel();
            port.port1.onmessage = () => done({
                paint: performance.now() - began,
                events: document.querySelectorAll('.grid a.event').length});
            port.port2.postMessage(0);
        };
        requestAnimationFrame(tell);
        document.querySelector('a[data-key=j]').click(); });";
    browser.run(&script.replace("MONDAY", monday)).await
}

/// Half a second of looking at what is shown.
async fn watch(browser: &Browser) {
    browser.run("return new Promise((done) => setTimeout(done, 500));").await;
}

#[tokio::test]
async fn figures_of_the_grid() {
    if std::env::var_os("SLOTBOOK_LONG").is_none() {
        println!("skipped: set SLOTBOOK_LONG=1 to measure");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = Served::on(&store_of(folder.path(), &full_weeks()), &[]);
    let address = server.base.trim_start_matches("http://").to_owned();
    let look = Look { width: 1_280, height: 900, ..PHONE };
    let mut first = Vec::new();
    let mut next = Vec::new();
    let mut after = Vec::new();
    let mut weight = Value::Null;
    for _ in 0..VISITS {
        let Some(browser) = Browser::open(&address, look).await else { return };
        browser.goto("/login").await;
        browser.type_into("#email", "pro@example.org").await;
        browser.type_into("#password", "secret").await;
        weight = drawn(&browser).await;
        browser.click("main button").await;
        browser.arrive_at("/p/practice/agenda").await;
        browser.devtools("Emulation.setCPUThrottlingRate", json!({"rate": 4})).await;
        browser.goto("/p/practice/agenda?v=week&d=2030-01-07").await;
        first.push(drawn(&browser).await);
        watch(&browser).await;
        next.push(turned(&browser, "2030-01-14").await);
        // At once, so nothing is fetched ahead.
        after.push(turned(&browser, "2030-01-21").await);
    }
    for (name, seen) in
        [("301 events", &first), ("the next week", &next), ("the week after, at once", &after)]
    {
        assert!(seen.iter().all(|one| one["events"] == json!(7 * DAILY)), "{name}: {seen:?}");
        let least = |key: &str| {
            seen.iter()
                .map(|one| one[key].as_f64().expect("a number"))
                .fold(f64::INFINITY, f64::min)
        };
        println!("| {name} | {:.0} |", least("paint"));
    }
    println!("| style | {} |", weight["style"]);
    println!("| script | {} |", weight["script"]);
    assert!(weight["script"].as_u64() <= Some(20_480), "{weight}");
    assert!(weight["style"].as_u64() <= Some(10_240), "{weight}");
}

/// Changes whose way to another browser is measured.
const CHANGES: u64 = 40;

#[tokio::test]
async fn figures_of_another_browser() {
    if std::env::var_os("SLOTBOOK_LONG").is_none() {
        println!("skipped: set SLOTBOOK_LONG=1 to measure");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["urlname"] = json!("practice");
    let server = Served::on(&store_of(folder.path(), &document), &[]);
    let address = server.base.trim_start_matches("http://").to_owned();
    let Some(browser) = open_day(&address).await else { return };
    let http = reqwest::Client::new();
    let mut taken = Vec::new();
    for number in 0..CHANGES {
        let client = format!("Client{number}end");
        let script = "self.shown = new Promise((done) => new MutationObserver(() => {
            if (document.querySelector('.grid').textContent.includes('CLIENT'))
                requestAnimationFrame(() => done(Date.now()));
        }).observe(document.querySelector('main'), {childList: true, subtree: true}));
        return Date.now();";
        let began = browser.run(&script.replace("CLIENT", &client)).await;
        let wish = booking(&client, &half_hour(number), 1, &[1]);
        let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
        let booked = http.post(url).json(&wish).send().await.expect("an answer");
        assert_eq!(booked.status(), 201);
        let shown = browser.run("return self.shown").await;
        taken.push(shown.as_i64().expect("a time") - began.as_i64().expect("a time"));
        // A view that was just read is read again after half a second.
        watch(&browser).await;
        watch(&browser).await;
    }
    taken.sort_unstable();
    let (median, most) = (taken[taken.len() / 2], taken[taken.len() - 1]);
    println!("| a booking of others, from its request until it is drawn | {median} | {most} |");
}

/// Reads of a calendar's file, fewer than a link is allowed in an hour.
const FILE_READS: u32 = 50;

#[tokio::test]
async fn figures_of_a_calendar_file() {
    if std::env::var_os("SLOTBOOK_LONG").is_none() {
        println!("skipped: set SLOTBOOK_LONG=1 to measure");
        return;
    }
    println!("| appointments | bytes | ms of processor time |");
    for count in [100, 1_000, 10_000] {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Served::on(&store_of(folder.path(), &days_ahead(count)), &[]);
        let http = reqwest::Client::new();
        let url = format!("{}/api/v1/groups/1/calendarfeeds?apikey=test-key", server.base);
        let feed = json!({"calendarfeed": {"calendar_id": 1, "details": "full"}});
        let made = http.post(url).basic_auth("pro@example.org", Some("secret")).json(&feed).send();
        let made: Value = made.await.expect("an answer").json().await.expect("JSON");
        let link = made["url"].as_str().and_then(|url| url.split_once("/ics/"));
        let link = format!("{}/ics/{}", server.base, link.expect("a link").1);
        let mut bytes = 0;
        let before = processor_ticks(server.pid());
        for _ in 0..FILE_READS {
            let answer = http.get(&link).send().await.expect("an answer");
            assert_eq!(answer.status(), 200);
            bytes = answer.bytes().await.expect("a file").len();
        }
        let ticks = processor_ticks(server.pid()) - before;
        println!(
            "| {count} | {bytes} | {:.2} |",
            f64::from(ticks * TICK_MS) / f64::from(FILE_READS)
        );
    }
}

/// Milliseconds of a tick, as Linux counts processor time.
const TICK_MS: u32 = 10;

/// The processor time of a process so far, in ticks.
fn processor_ticks(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("Linux");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("a name").split(' ').collect();
    // Fields 14 and 15 of all, of which the two before the state are left out.
    [11, 12].map(|field| fields[field].parse::<u32>().expect("ticks")).iter().sum()
}

/// A practice with appointments of half an hour from tomorrow on, one behind the other.
fn days_ahead(count: i64) -> Value {
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["fiches"] = json!([{"id": 1, "firstname": "Zoé", "lastname": "Durand"}]);
    let vevents = group["vevents"].as_array_mut().expect("a list");
    let midnight = zone::utc_of(SystemClock.now()).day().plus_days(1).midnight();
    for nth in 0..count {
        let at = |nth| datetime::format_civil(midnight.plus_seconds(1_800 * nth));
        vevents.push(json!({"calendar_id": 1, "fiche_id": 1, "intervention_id": 1,
            "start": at(nth), "end": at(nth + 1)}));
    }
    document
}

/// A browser with the first day of 2030 of the practice.
pub(crate) async fn open_day(address: &str) -> Option<Browser> {
    let look = Look { width: 1_280, height: 900, ..PHONE };
    let browser = Browser::open(address, look).await?;
    browser.goto("/login").await;
    browser.type_into("#email", "pro@example.org").await;
    browser.type_into("#password", "secret").await;
    browser.click("main button").await;
    browser.arrive_at("/p/practice/agenda").await;
    browser.goto("/p/practice/agenda?v=day&d=2030-01-01").await;
    browser.await_element(".grid").await;
    Some(browser)
}
