//! A real browser: Chromium by WebDriver, with a profile of its own. Most tests drive the shell of it
//! that has no window, settings or services of its own: the same engine for a third of the
//! processor time. Where it is not installed, they drive the whole browser.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use axum::http::Method;
use fantoccini::elements::Element;
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use reqwest::Url;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The axe rules of WCAG 2.2, levels A and AA.
const AXE: &str = include_str!("axe/axe.min.js");

/// The browser without a window, as Debian's package `chromium-headless-shell` installs it. Its script
/// of that name on the path would not pass on the signal by which a driver ends it.
const SHELL: &str = "/usr/lib/chromium/chromium-headless-shell";

/// The name of the whole browser. That of the shell has more characters, and no person has it.
const USER_AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                          Chrome/156.0.0.0 Safari/537.36";

/// Time after which a page that does not come is missed, on the busiest machine.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);

/// Browsers that run at once. A browser that starts beside many others on a busy machine misses its
/// driver's limit of 60 seconds. One test alone needs two of them.
static BROWSERS: Semaphore = Semaphore::const_new(2);

/// Attempts to start a driver on a port that is free. With a tenth of all ports taken, one in ten
/// fails.
const DRIVER_STARTS_MAX: u32 = 20;

/// A browser, which ends with its test.
pub(crate) struct Browser {
    pub(crate) client: Client,
    base: String,
    driver: Child,
    port: u16,
    _directory: tempfile::TempDir,
    _permit: SemaphorePermit<'static>,
}

/// The properties of a browser that a test chooses.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_dark: bool,
    pub(crate) language: &'static str,
    /// The IANA name of its time zone.
    pub(crate) zone: &'static str,
    /// Points of the screen for each pixel of CSS.
    pub(crate) scale: u8,
}

pub(crate) const PHONE: Look = Look {
    width: 360,
    height: 740,
    is_dark: false,
    language: "en",
    zone: "Europe/Paris",
    scale: 1,
};

impl Browser {
    /// Opens a browser on the pages of a server. `None` if the machine has none, which the test
    /// then prints; a run that requires browsers fails.
    pub(crate) async fn open(address: &str, look: Look) -> Option<Self> {
        if !Path::new(SHELL).exists() {
            return Self::open_whole(address, look, &[]).await;
        }
        let mut args = args(look);
        args.push(format!("--accept-lang={}", look.language));
        // As the whole browser draws letters, and names itself.
        args.push("--font-render-hinting=none".to_owned());
        args.push(format!("--user-agent={USER_AGENT}"));
        Self::start(address, look, |_| json!({"binary": SHELL, "args": args})).await
    }

    /// The same with the whole browser, which has a clipboard, restores forms on the way back and
    /// blocks cookies of third parties as people do, and with more arguments of it.
    pub(crate) async fn open_whole(address: &str, look: Look, more: &[String]) -> Option<Self> {
        let mut args = args(look);
        args.extend_from_slice(more);
        Self::start(address, look, |directory| {
            args.push(format!("--user-data-dir={}", directory.join("profile").display()));
            // No page needs cookies of third parties, and people block them.
            let prefs =
                json!({"intl.accept_languages": look.language, "profile.cookie_controls_mode": 1});
            json!({"args": args, "prefs": prefs})
        })
        .await
    }

    /// Starts a browser with the options that a directory for its files gives.
    async fn start(
        address: &str,
        look: Look,
        options: impl FnOnce(&Path) -> Value,
    ) -> Option<Self> {
        let permit = BROWSERS.acquire().await.expect("the semaphore is never closed");
        let directory = tempfile::tempdir().expect("a directory");
        let Ok((driver, port)) = start_driver(look.zone, directory.path()) else {
            let is_required = std::env::var_os("SLOTBOOK_REQUIRE_BROWSER").is_some();
            assert!(!is_required, "chromedriver is missing: install chromium and chromium-driver");
            eprintln!("skipped: chromedriver is missing; install chromium and chromium-driver");
            return None;
        };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities(options(directory.path())))
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("a session");
        let base = format!("http://{address}");
        let browser = Self { client, base, driver, port, _directory: directory, _permit: permit };
        browser.emulate(look).await;
        Some(browser)
    }

    /// Sets the width and the scheme of colours of the present window.
    pub(crate) async fn emulate(&self, look: Look) {
        let scheme = if look.is_dark { "dark" } else { "light" };
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": look.width, "height": look.height, "deviceScaleFactor": look.scale, "mobile": look.width < 600}),
        )
        .await;
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
        self.devtools("Emulation.setTimezoneOverride", json!({"timezoneId": look.zone})).await;
    }

    /// Turns scripts of pages off.
    pub(crate) async fn without_scripts(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    }

    /// Calls the browser's own interface.
    pub(crate) async fn devtools(&self, method: &str, params: Value) -> Value {
        self.client
            .issue_cmd(DevTools { method: method.to_owned(), params })
            .await
            .expect("the browser answers")
    }

    pub(crate) async fn goto(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.base)).await.expect("the page opens");
    }

    /// Waits until the present page has a path, since a click does not wait for the page that it
    /// leads to.
    pub(crate) async fn arrive_at(&self, path: &str) {
        let begin = Instant::now();
        loop {
            let url = self.client.current_url().await.expect("a URL");
            if url.path() == path {
                return;
            }
            assert!(begin.elapsed() < ARRIVAL_MAX, "the page is {url}, and not {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.expect("the script runs")
    }

    /// Waits until a script returns true on the present page.
    pub(crate) async fn await_truth(&self, script: &str) {
        let begin = Instant::now();
        while self.client.execute(script, Vec::new()).await.ok() != Some(json!(true)) {
            assert!(begin.elapsed() < ARRIVAL_MAX, "never true: {script}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for the first element of a selector. A click does not wait for the page that it leads
    /// to, so that the next element has to be one that the present page does not have.
    pub(crate) async fn await_element(&self, selector: &str) -> Element {
        let begin = Instant::now();
        loop {
            match self.client.wait().for_element(Locator::Css(selector)).await {
                Ok(element) => return element,
                // The page that was left meanwhile.
                Err(_) if begin.elapsed() < ARRIVAL_MAX => {}
                Err(error) => panic!("{selector}: {error}"),
            }
        }
    }

    /// Clicks the first element of a selector.
    pub(crate) async fn click(&self, selector: &str) {
        self.await_element(selector).await.click().await.expect("a click");
    }

    /// Types into the first element of a selector.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        self.await_element(selector).await.send_keys(text).await.expect("keys");
    }

    /// Presses keys where the focus is.
    pub(crate) async fn press(&self, keys: &str) {
        let begin = Instant::now();
        loop {
            let element = self.client.active_element().await.expect("an element");
            match element.send_keys(keys).await {
                Ok(()) => return,
                // The grid was replaced meanwhile, and the focus is on the same place of the new one.
                Err(_) if begin.elapsed() < ARRIVAL_MAX => {}
                Err(error) => panic!("keys: {error}"),
            }
        }
    }

    /// Moves the focus by the key Tab until a selector matches.
    pub(crate) async fn tab_to(&self, selector: &str) {
        for _ in 0..120 {
            let script = format!("return document.activeElement.matches({})", json!(selector));
            if self.run(&script).await == json!(true) {
                return;
            }
            self.press("\u{e004}").await;
        }
        panic!("the key Tab does not reach {selector}");
    }

    /// Asserts that axe finds nothing on the present page.
    pub(crate) async fn assert_accessible(&self, what: &str) {
        if self.run("return typeof axe === 'undefined'").await == json!(true) {
            self.client.execute(AXE, Vec::new()).await.expect("axe loads");
        }
        let script = "const done = arguments[arguments.length - 1];
            axe.run(document, {runOnly: ['wcag2a','wcag2aa','wcag21a','wcag21aa','wcag22aa']})
               .then((found) => done(found.violations.map((one) =>
                   one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join(' | '))));";
        let found = self.client.execute_async(script, Vec::new()).await.expect("axe runs");
        assert_eq!(found, json!([]), "{what}");
    }

    /// Asserts that nothing on the present page scrolls sideways.
    pub(crate) async fn assert_fits(&self, what: &str) {
        let script = "const root = document.documentElement;
            return [...document.querySelectorAll('*')]
                .filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1
                    && !one.closest('.sr, .skip'))
                .map((one) => one.outerHTML.slice(0, 120));";
        assert_eq!(self.run(script).await, json!([]), "{what}");
        let widths = "const root = document.documentElement;
            return root.scrollWidth <= root.clientWidth;";
        assert_eq!(self.run(widths).await, json!(true), "{what}");
    }

    /// Asserts all that holds for a screen of the practice, as it is shown now: no violation of
    /// accessibility in narrow and wide windows, light and dark; at 320 pixels it fits, and its
    /// targets are large enough; and nothing breaks the policy of contents. Keeps pictures.
    pub(crate) async fn assert_screen(&self, look: Look, name: &str) {
        let name = format!("{name} {}", look.language);
        for (width, is_dark) in [(320, false), (320, true), (1_280, true), (1_920, false)] {
            self.emulate(Look { width, is_dark, ..look }).await;
            self.assert_accessible(&format!("{name} {width}")).await;
            self.picture(&format!("practice-{name}-{width}").replace(' ', "-")).await;
        }
        self.emulate(Look { width: 320, ..look }).await;
        self.assert_fits(&name).await;
        self.assert_targets(&name).await;
        let logs = self.console().await;
        assert!(!logs.contains("Content Security Policy"), "{name}: {logs}");
    }

    /// Asserts that what can be pressed is at least 44 pixels high and wide.
    pub(crate) async fn assert_targets(&self, what: &str) {
        let script = "return [...document.querySelectorAll('a, button, summary, select, input:not([type=hidden])')]
            .filter((one) => !one.matches('.skip, .default') && one.offsetParent)
            .map((one) => ['checkbox', 'radio'].includes(one.type) ? one.closest('label') : one)
            .filter((one) => { const box = one.getBoundingClientRect();
                return box.width < 44 || box.height < 44; })
            .map((one) => one.outerHTML.slice(0, 120));";
        assert_eq!(self.run(script).await, json!([]), "{what}");
    }

    /// Asserts that no word of the present page is broken across lines.
    pub(crate) async fn assert_words_whole(&self, what: &str) {
        let script = r"const broken = [];
            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            for (let text; (text = texts.nextNode()); ) {
                const parent = text.parentElement;
                if (!parent.offsetParent || parent.closest('.sr, .skip, noscript, script')) continue;
                for (const word of text.data.matchAll(/[\p{L}\p{N}]+/gu)) {
                    const range = document.createRange();
                    range.setStart(text, word.index);
                    range.setEnd(text, word.index + word[0].length);
                    const rows = [...range.getClientRects()].map((box) => Math.round(box.bottom));
                    if (Math.max(...rows) - Math.min(...rows) > 8) broken.push(word[0]);
                }
            }
            return broken;";
        assert_eq!(self.run(script).await, json!([]), "{what}");
    }

    /// The messages of the console since the browser was opened.
    pub(crate) async fn console(&self) -> String {
        let logs = self.client.issue_cmd(ConsoleLog).await.expect("the log");
        logs.to_string()
    }

    /// Keeps a picture of the present page, if a directory for pictures is named.
    pub(crate) async fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os("SLOTBOOK_SCREENSHOTS") else { return };
        let png = self.client.screenshot().await.expect("a picture");
        let path = std::path::Path::new(&directory).join(format!("{name}.png"));
        std::fs::write(path, png).expect("the picture is written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to stop, the driver ends its browser first. Killed, it would leave it behind.
        let asked = TcpStream::connect(("127.0.0.1", self.port)).and_then(|mut stream| {
            stream.write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")?;
            stream.read(&mut [0; 64])
        });
        if asked.is_err() {
            drop(self.driver.kill());
        }
        drop(self.driver.wait());
    }
}

/// Starts a driver on a port of its own, whose files and those of its browser stay in a directory.
/// The driver lets the system choose a port of IPv6, takes the same one of IPv4, and ends where a
/// server or a connection of another test has that one.
fn start_driver(zone: &str, directory: &Path) -> io::Result<(Child, u16)> {
    for _ in 0..DRIVER_STARTS_MAX {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("TZ", zone)
            .env("TMPDIR", directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = BufReader::new(driver.stdout.take().expect("it is piped"));
        let port = output.lines().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("started successfully on port ")?;
            rest.trim_end_matches('.').parse::<u16>().ok()
        });
        if let Some(port) = port {
            return Ok((driver, port));
        }
        driver.wait()?;
    }
    panic!("none of {DRIVER_STARTS_MAX} drivers says its port");
}

/// The arguments of each browser.
fn args(look: Look) -> Vec<String> {
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--force-device-scale-factor=1",
        "--hide-scrollbars",
    ];
    let language = format!("--lang={}", look.language);
    fixed.map(str::to_owned).into_iter().chain([language]).collect()
}

fn capabilities(options: Value) -> Capabilities {
    let mut capabilities = Capabilities::new();
    capabilities.insert("goog:chromeOptions".to_owned(), options);
    capabilities.insert("goog:loggingPrefs".to_owned(), json!({"browser": "ALL"}));
    capabilities.insert("timeouts".to_owned(), json!({"script": 120_000, "pageLoad": 120_000}));
    capabilities
}

/// A call of the browser's own interface through its driver.
#[derive(Debug)]
struct DevTools {
    method: String,
    params: Value,
}

impl fantoccini::wd::WebDriverCompatibleCommand for DevTools {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, <Url as FromStr>::Err> {
        base.join(&format!("session/{}/goog/cdp/execute", session.expect("a session")))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        let body = json!({"cmd": self.method, "params": self.params}).to_string();
        (Method::POST, Some(body))
    }
}

/// Reads the log of the console.
#[derive(Debug)]
struct ConsoleLog;

impl fantoccini::wd::WebDriverCompatibleCommand for ConsoleLog {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, <Url as FromStr>::Err> {
        base.join(&format!("session/{}/se/log", session.expect("a session")))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({"type": "browser"}).to_string()))
    }
}
