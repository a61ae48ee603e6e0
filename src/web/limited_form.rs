//! The answer to a form whose booking a limit refuses: the form again with everything that was
//! typed, the time from which on it may be sent again, and the telephone number. Reference 14.4.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;

use crate::domain::records::hold::HoldId;
use crate::http::{ApiError, GuardedRejection};
use crate::web::code_step::code_again;
use crate::web::message_page;
use crate::web::reason_text::Reasons;
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::web::you_step::{Request, respond_with_notice};
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// Returns the response to a form that was not carried out. `waiting` is the hold whose code the
/// visitor asked for again.
pub(crate) fn respond_to_rejection(
    visit: &Visit,
    request: &Request,
    given: &Params,
    waiting: Option<HoldId>,
    rejection: GuardedRejection,
) -> Response {
    let reasons = Reasons::in_language(visit.language());
    let (sentence, seconds) = match rejection {
        GuardedRejection::NoCode { retry_seconds: Some(seconds), .. } => {
            (fill(reasons.code_from, "when", &message_page::when_after(visit, seconds)), seconds)
        }
        GuardedRejection::NoCode { retry_seconds: None, .. } => {
            return message_page::no_code(visit);
        }
        GuardedRejection::Limited(error) => match find_wait(&error) {
            Some(seconds) => {
                let when = message_page::when_after(visit, seconds);
                (fill(reasons.retry_from, "when", &when), seconds)
            }
            None => return message_page::failed(visit, &error),
        },
        GuardedRejection::Rejected(rejection) => {
            let error = ApiError::from_rejection(rejection, visit.zone(), Audience::Application);
            return message_page::failed(visit, &error);
        }
    };
    let mut lines = message_page::lines_with_call(visit, sentence);
    let earlier = waiting.and_then(|id| visit.state.holds().get(id));
    let mut response = match earlier.filter(|hold| hold.is_live(visit.now)) {
        Some(hold) => {
            lines.push(reasons.still_good.to_owned());
            code_again(visit, request, given, hold, &lines.join(" "))
        }
        None => respond_with_notice(visit, request, given, lines),
    };
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}

/// The seconds after which a limit may allow the same again; `None` for other errors.
fn find_wait(error: &ApiError) -> Option<i64> {
    let is_limit = error.status() == StatusCode::TOO_MANY_REQUESTS.as_u16();
    error.retry_seconds().filter(|_| is_limit).map(i64::from)
}
