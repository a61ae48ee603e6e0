//! The HTML pages of links in mails, which stand beside the API's endpoints. Reference 7.4.

use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, PathsBuilder, Required, Response};

use crate::http::openapi::operations::describe_operation;
use crate::http::openapi::texts::operation_text;
use crate::notify::links::{MOVE_PATH, PATH};
use crate::wire::schema::{object, text};

/// The tag of the pages.
pub(crate) const TAG: &str = "pages";

/// Adds the page of a link, and the action of its button.
pub(crate) fn add_pages(paths: PathsBuilder) -> PathsBuilder {
    let show = page_operation("ShowLink", "Show the page of a mailed link; this changes nothing");
    let act = page_operation(
        "FollowMailedLink",
        "Follow a mailed link, by the button of its page or by a mail program that unsubscribes",
    )
    .request_body(Some(form()))
    .response("400", html("the action is refused, with the reason"))
    .response("503", html("the server is overloaded; nothing was done"));
    let times = page_operation(
        "ShowLinkTimes",
        "Show the times that the appointment of a mailed link can move to",
    )
    .response("400", html("it is too late to move, or the time is taken"))
    .response("503", html("the server is overloaded"));
    let start = text().description(Some("the new start, YYYY-MM-DDTHH:MM"));
    let move_it = page_operation("MoveByLink", "Move the appointment of a mailed link")
        .request_body(Some(form_of(object().property("t", start))))
        .response("303", html("the appointment was moved; its page shows it"))
        .response("400", html("the move is refused, with the reason and the nearest times"))
        .response(
            "429",
            html("too many moves, or too many that were refused; `Retry-After` in seconds"),
        )
        .response("503", html("the server is overloaded; nothing was done"));
    paths
        .path(MOVE_PATH, PathItem::new(HttpMethod::Get, times))
        .path(MOVE_PATH, PathItem::new(HttpMethod::Post, move_it))
        .path(PATH, PathItem::new(HttpMethod::Get, show))
        .path(PATH, PathItem::new(HttpMethod::Post, act))
}

fn page_operation(operation_id: &str, summary: &str) -> OperationBuilder {
    let example = &operation_text(operation_id).example;
    let token = ParameterBuilder::new()
        .name("token")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("the token in the mailed link"))
        .schema(Some(text().min_length(Some(1))));
    OperationBuilder::new()
        .operation_id(Some(operation_id))
        .tag(TAG)
        .summary(Some(summary))
        .description(Some(describe_operation(operation_id, "For every caller with the link.")))
        .securities(Some([SecurityRequirement::default()]))
        .parameter(token.example(example.path.get("token").cloned()))
        .response("200", html("the question, or the result"))
        .response("400", html("the request is malformed"))
        .response("404", html("the link is unknown or no longer valid"))
}

/// The form of the button. Only a link that sets a password needs a field.
fn form() -> RequestBody {
    form_of(object().property("password", text().description(Some("the new password, plain"))))
}

fn form_of(fields: ObjectBuilder) -> RequestBody {
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
