//! The login of professionals at their own screens.

use reqwest::Method;

use crate::server::TestServer;
use crate::shop::{ANN, EVE};
use crate::visitor::{Page, Visitor};

/// A professional with a browser that keeps cookies and has no JavaScript.
pub(crate) struct Professional {
    visitor: Visitor,
    /// The cookies of the browser, as it sends them.
    pub(crate) cookies: String,
}

impl Professional {
    /// A browser that is not logged in.
    pub(crate) fn stranger(server: &TestServer) -> Self {
        Self { visitor: Visitor::of(server), cookies: String::new() }
    }

    /// A professional who is logged in.
    pub(crate) async fn logged_in(server: &TestServer, (email, password): (&str, &str)) -> Self {
        let mut professional = Self::stranger(server);
        let page = professional.log_in("/login", email, password, &[]).await;
        assert_eq!(page.status, 303, "{}", page.html);
        professional
    }

    /// Sends the form of the login, and keeps the cookies of the answer.
    pub(crate) async fn log_in(
        &mut self,
        path: &str,
        email: &str,
        password: &str,
        others: &[(&str, &str)],
    ) -> Page {
        let mut pairs = vec![("email", email), ("password", password)];
        pairs.extend(others);
        self.post(path, &pairs).await
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        let request = self.visitor.request(Method::GET, path).header("cookie", &self.cookies);
        self.visitor.send(request).await
    }

    /// The page, which must be there.
    pub(crate) async fn open(&self, path: &str) -> Page {
        let page = self.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.html);
        page
    }

    /// Sends a form, and keeps the cookies of the answer.
    pub(crate) async fn post(&mut self, path: &str, pairs: &[(&str, &str)]) -> Page {
        let owned: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = self.visitor.form(path, &owned).header("cookie", &self.cookies);
        let page = self.visitor.send(request).await;
        for cookie in set_cookies(&page) {
            let pair = cookie.split(';').next().expect("a pair");
            let name = pair.split('=').next().expect("a name");
            let mut kept: Vec<&str> = self.cookies.split("; ").collect();
            kept.retain(|other| !other.is_empty() && other.split('=').next() != Some(name));
            if !pair.ends_with('=') {
                kept.push(pair);
            }
            self.cookies = kept.join("; ");
        }
        page
    }

    /// The cookie of the login alone.
    pub(crate) fn login_cookie(&self) -> &str {
        let mut cookies = self.cookies.split("; ");
        cookies.find(|cookie| cookie.starts_with("_practice=")).expect("a login")
    }
}

/// The cookies that an answer sets, with their attributes.
fn set_cookies(page: &Page) -> Vec<&str> {
    let cookies = page.headers.get_all("set-cookie").iter();
    cookies.map(|cookie| cookie.to_str().expect("a text")).collect()
}

#[tokio::test]
async fn a_professional_logs_in_and_out_and_comes_to_the_page_that_was_asked_for() {
    let server = TestServer::start().await;
    let mut ann = Professional::stranger(&server);
    let asked = ann.get("/p/cut-co/agenda?lang=fr").await;
    let login = asked.location().to_owned();
    assert_eq!(login, "/login?next=%2Fp%2Fcut-co%2Fagenda%3Flang%3Dfr&lang=fr");
    ann.open(&login).await.shows("Se connecter");
    let wrong = ann.log_in(&login, ANN.0, "a wrong one", &[]).await;
    assert_eq!(wrong.status, 401);
    wrong.shows("est faux");
    wrong.shows(ANN.0);
    wrong.hides("a wrong one");
    assert!(set_cookies(&wrong).is_empty());
    let right = ann.log_in(&login, ANN.0, ANN.1, &[]).await;
    assert_eq!(right.location(), "/p/cut-co/agenda?lang=fr");
    let agenda = ann.open("/p/cut-co/agenda").await;
    agenda.shows("Cut &#38; Co");
    agenda.shows("A Pro");
    assert_eq!(ann.get(&login).await.location(), "/p/cut-co/agenda?lang=fr");
    assert_eq!(ann.get("/p").await.location(), "/p/cut-co/agenda");
    assert_eq!(ann.get("/p/cut-co").await.location(), "/p/cut-co/agenda");
    assert_eq!(ann.post("/logout", &[]).await.location(), "/login");
    assert_eq!(ann.get("/p").await.location(), "/login?next=%2Fp");
}

#[tokio::test]
async fn a_group_of_another_has_no_screen_for_a_professional() {
    let server = TestServer::start().await;
    let eve = Professional::logged_in(&server, EVE).await;
    for path in ["/p/cut-co/agenda", "/p/cut-co", "/p/nowhere/agenda"] {
        assert_eq!(eve.get(path).await.status, 404, "{path}");
    }
}
