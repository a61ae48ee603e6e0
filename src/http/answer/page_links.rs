//! The header Link of a page of a list: the addresses of the other pages. Reference 1.4.

use axum::http::header::LINK;
use axum::http::{HeaderValue, Uri};
use axum::response::Response;
use form_urlencoded::Serializer;

use crate::wire::list::PagePlace;
use crate::wire::params::Params;

/// The parameter that says where a page begins.
const START: &str = "startIndex";

/// Adds the header to a response that knows its place in a list of several pages.
pub(crate) fn add_page_links(response: &mut Response, uri: &Uri) {
    let Some(place) = response.extensions().get::<PagePlace>() else { return };
    let links = list_links(*place, uri);
    if let Ok(links) = HeaderValue::from_str(&links)
        && !links.is_empty()
    {
        response.headers_mut().insert(LINK, links);
    }
}

/// Returns the links; an empty text for a list of one page.
fn list_links(place: PagePlace, uri: &Uri) -> String {
    let PagePlace { start, size, total } = place;
    if size == 0 || (start == 0 && total <= size) {
        return String::new();
    }
    let mut links = vec![("first", 0)];
    if start > 0 {
        links.push(("prev", start.saturating_sub(size)));
    }
    if start + size < total {
        links.push(("next", start + size));
    }
    links.push(("last", total.saturating_sub(1) / size * size));
    let given = Params::from_request(uri.query().unwrap_or_default());
    let mut texts = Vec::new();
    for (name, start) in links {
        let mut query = Serializer::new(String::new());
        query.extend_pairs(given.iter().filter(|(name, _)| *name != START));
        query.append_pair(START, &start.to_string());
        texts.push(format!("<{}?{}>; rel=\"{name}\"", uri.path(), query.finish()));
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_links_to_the_others() {
        let uri: Uri = "/list?apikey=k&a[]=%C3%A9&startIndex=4".parse().expect("an address");
        let links = |start, size, total| list_links(PagePlace { start, size, total }, &uri);
        assert_eq!(links(0, 25, 25), "");
        let shown = |start: u64, rel: &str| {
            format!("</list?apikey=k&a%5B%5D=%C3%A9&startIndex={start}>; rel=\"{rel}\"")
        };
        let of_middle = [shown(0, "first"), shown(2, "prev"), shown(6, "next"), shown(8, "last")];
        assert_eq!(links(4, 2, 9), of_middle.join(", "));
        let of_end = [shown(0, "first"), shown(6, "prev"), shown(8, "last")];
        assert_eq!(links(8, 2, 9), of_end.join(", "));
        assert_eq!(
            links(0, 2, 3),
            [shown(0, "first"), shown(2, "next"), shown(2, "last")].join(", ")
        );
    }
}
