//! Pages of strangers that show pages of the practice in a frame, for clicks that their visitors
//! believe to make elsewhere.

use reqwest::Method;
use serde_json::json;

use crate::fixture::{ANNA, Practice, answer};
use crate::public_paths::public_paths;

const HOME: &str = "/b/cabinet-de-sante-des-tilleuls";
const SITE: &str = "https://shop.example";

/// The screens of a practice, and its forms that need a login.
const SCREENS: [&str; 6] = ["/agenda", "/clients", "/hours", "/settings", "/history", "/logins"];

/// Asserts that every page names the sites that may show it, and returns the number of those that
/// some site may show.
async fn count_framed(practice: &Practice, paths: &[String], cookies: &str) -> usize {
    let visitor = practice.visitor("127.0.0.3");
    let mut framed = 0;
    for path in paths {
        // An address of a frame is no right to show it.
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}o=https%3A%2F%2Fevil.example");
        let request = visitor.at_root(Method::GET, &path).header("cookie", cookies);
        let page = answer(request.header("referer", "https://evil.example/")).await;
        let media_type = page.headers.get("content-type").map(|value| value.to_str());
        if !media_type.is_some_and(|it| it.is_ok_and(|it| it.starts_with("text/html"))) {
            continue;
        }
        assert!(!page.text.contains("evil.example\""), "{path}");
        let policies: Vec<_> = page.headers.get_all("content-security-policy").iter().collect();
        assert_eq!(policies.len(), 1, "{path}");
        let policy = policies[0].to_str().expect("ASCII");
        let (_, ancestors) = policy.split_once("frame-ancestors ").expect("the sites are named");
        if ancestors == "'none'" {
            assert_eq!(page.headers["x-frame-options"], "DENY", "{path}");
        } else {
            assert_eq!(ancestors, SITE, "{path}");
            assert!(!page.headers.contains_key("x-frame-options"), "{path}");
            assert!(path.starts_with(HOME), "{path}");
            framed += 1;
        }
    }
    framed
}

#[tokio::test]
async fn no_site_but_those_that_are_listed_shows_a_page_in_a_frame() {
    for origins in ["", SITE] {
        let list = |document: &mut serde_json::Value| {
            document["groups"][0]["embed_origins"] = json!(origins);
        };
        let practice = Practice::with(list, |server| server).await;
        let login = [("email", ANNA.0), ("password", ANNA.1)];
        let logged_in = answer(practice.visitor("127.0.0.3").form("/login", &login)).await;
        let cookies: Vec<_> = logged_in.headers.get_all("set-cookie").iter().collect();
        let cookies: Vec<_> =
            cookies.iter().filter_map(|cookie| cookie.to_str().ok()?.split(';').next()).collect();
        assert!(!cookies.is_empty(), "{}", logged_in.text);
        let mut paths = public_paths(&practice).await;
        for screen in SCREENS {
            paths.push(format!("/p/cabinet-de-sante-des-tilleuls{screen}"));
        }
        paths.extend([format!("{HOME}/done"), "/b/nowhere".to_owned(), "/m/nothing".to_owned()]);
        let framed = count_framed(&practice, &paths, &cookies.join("; ")).await;
        // Service, time, details, and both states of what is booked.
        assert_eq!(framed, if origins.is_empty() { 0 } else { 5 });
    }
}
