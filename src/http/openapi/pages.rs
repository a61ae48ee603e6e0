//! The pages that links in mails lead to, beside the table of routes. Reference 7.

use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::{Content, PathsBuilder, Required, Response};

use crate::http::openapi::schema::{object, text};

/// The path of every such page.
pub(crate) const PATH: &str = "/m/{token}";
/// What they stand under.
pub(crate) const TAG: &str = "pages";

/// The page of a link, and what its button does.
pub(crate) fn all(paths: PathsBuilder) -> PathsBuilder {
    let show = page("ShowLink", "the page of a mailed link; opening it does nothing");
    let act = page(
        "FollowMailedLink",
        "what the button of the page does, or a mail program that unsubscribes",
    )
    .request_body(Some(form()))
    .response("400", html("what is asked for cannot be done, and why"))
    .response("503", html("too much is under way; nothing was done"));
    paths
        .path(PATH, PathItem::new(HttpMethod::Get, show))
        .path(PATH, PathItem::new(HttpMethod::Post, act))
}

fn page(name: &str, summary: &str) -> OperationBuilder {
    let token = ParameterBuilder::new()
        .name("token")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("what the mail holds"))
        .schema(Some(text().min_length(Some(1))));
    OperationBuilder::new()
        .operation_id(Some(name))
        .tag(TAG)
        .summary(Some(summary))
        .description(Some("For whoever has the link, without an apikey."))
        .securities(Some([crate::http::openapi::for_everybody()]))
        .parameter(token)
        .response("200", html("what is asked, or what was done"))
        .response("404", html("the link leads nowhere, or not any more"))
}

/// The form of the button; only a link that sets a password needs anything of it.
fn form() -> RequestBody {
    let fields = object().property("password", text().description(Some("the new one, plain")));
    RequestBodyBuilder::new()
        .required(Some(Required::False))
        .content("application/x-www-form-urlencoded", Content::new(Some(fields.build())))
        .build()
}

fn html(description: &str) -> Response {
    ResponseBuilder::new()
        .description(description)
        .content("text/html", Content::new(Some(text().build())))
        .build()
}
