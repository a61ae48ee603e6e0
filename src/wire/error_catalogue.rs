//! The catalogue of errors: the cause and the cure of each code. docs/errors.md and the page
//! /docs/errors are printed from it. Reference 2.2.

use std::fmt::Write as _;

use crate::wire::errors::Problem;

/// One kind of error.
struct Entry {
    problem: Problem,
    cause: &'static str,
    cure: &'static str,
}

const fn entry(problem: Problem, cause: &'static str, cure: &'static str) -> Entry {
    Entry { problem, cause, cure }
}

/// All kinds of errors, by code and status.
static CATALOGUE: [Entry; 23] = [
    entry(
        Problem::Unauthorized,
        "The request has no apikey or an unknown one, lacks credentials, comes from a web page that the key does not name, or its caller's role has no right to this.",
        "Send the key in X-Api-Key, and the credentials of a professional or of the client by HTTP Basic or a session. The message names the right that is missing, or the origins of pages that the key names.",
    ),
    entry(
        Problem::InvalidParameter,
        "A parameter or a field has a value that its rule does not allow, or the body is no JSON.",
        "Correct each field that an entry names by the rule in its message. Prefer: handling=strict also finds misspelt names.",
    ),
    entry(
        Problem::MethodNotAllowed,
        "The path exists, but does not take this method.",
        "Use one of the methods in the header Allow.",
    ),
    entry(
        Problem::NotAcceptable,
        "Another format than JSON was asked for, by the suffix or the parameter format.",
        "Leave the format out, or use .json.",
    ),
    entry(
        Problem::Conflict,
        "The Idempotency-Key came with another body before, a number of bookings to cancel or a list of appointments has changed, two clients have the same externid, or a client to erase has upcoming appointments.",
        "Use a new key for a new request; count the bookings or read the list again; give the clients different external ids; cancel the appointments, or give cancel=1.",
    ),
    entry(
        Problem::Gone,
        "The cursor names a place that the feed of changes no longer has: the row has ended or is another one in this store, or a group was imported or got another time zone since.",
        "Take a new cursor with since=now, read the lists again, and go on from there.",
    ),
    entry(
        Problem::PreconditionFailed,
        "The object has another form than the one whose tag If-Match names: it was changed meanwhile.",
        "Repeat the change on the object in current, with the ETag of the answer.",
    ),
    entry(
        Problem::ContentTooLarge,
        "The body is larger than 256 KiB, or 32 KiB for a form of a page.",
        "Send less in one request.",
    ),
    entry(
        Problem::UnsupportedMediaType,
        "The body is declared as another type than JSON.",
        "Send Content-Type: application/json, or none.",
    ),
    entry(
        Problem::NoResult,
        "The object or the path does not exist, or the caller may not see it. Both get the same answer.",
        "Check the id and the group in the path, and whether the key covers the group.",
    ),
    entry(
        Problem::ServerError,
        "A bug of the server. It was logged, and the answer holds no detail.",
        "Give the X-Request-Id of the answer to the operator, whose log has it.",
    ),
    entry(
        Problem::TooManyRequests,
        "A limit on failures, bookings, holds or requests is used up (docs/limits.md). Nothing was done.",
        "Wait for the seconds in Retry-After. A program that books for many clients needs a key that is held by a server.",
    ),
    entry(
        Problem::ServiceUnavailable,
        "The server is overloaded or starting, its disk is slow or full, or the group is in quarantine or has no space. Nothing was done, unless the message says that this is not known.",
        "Try again after the seconds in Retry-After, with the same Idempotency-Key. If it lasts, the operator has to act.",
    ),
    entry(
        Problem::LoginFailed,
        "E-mail address and password do not belong together, or the person has no login here.",
        "Correct them, or ask for a link to set a new password.",
    ),
    entry(
        Problem::MaxRdvNumber,
        "The client would have more upcoming appointments than the group allows.",
        "Cancel one first.",
    ),
    entry(
        Problem::MintimeBetween,
        "The start is too close to another appointment of the client.",
        "Choose a start at least as far away as the message says.",
    ),
    entry(
        Problem::MaxRdvPeriod,
        "The start is further in the future than the group takes bookings.",
        "Choose an earlier start. The message names the last one.",
    ),
    entry(
        Problem::MintimeRdv,
        "The start is sooner than the group takes bookings.",
        "Choose a later start. The message names the first one.",
    ),
    entry(
        Problem::MintimeAnnulation,
        "It is too late to cancel or to move the appointment online.",
        "Call the group.",
    ),
    entry(
        Problem::EmailAlreadyExists,
        "The e-mail address belongs to a registered client.",
        "Log in as this client, then book.",
    ),
    entry(
        Problem::SameTimeRdv,
        "The client has an appointment at that time.",
        "Choose another start.",
    ),
    entry(
        Problem::EmailNotFound,
        "Only clients whom the group knows may book, and it does not know the e-mail address.",
        "Ask the group to add the client.",
    ),
    entry(
        Problem::NotAvailable,
        "The start is not free: taken, held, outside the open time, or off the grid of starts.",
        "Search again and take a start of the answer. The explanation of a start names each obstacle.",
    ),
];

/// Returns the place of a problem in the catalogue, as a fragment of its address.
pub fn fragment(problem: Problem) -> String {
    let (_, name, status) = problem.code_name_status();
    format!("{status}-{name}")
}

/// Returns the catalogue as a page.
pub fn print_page() -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Errors</title><main><h1>Errors</h1>",
    );
    for Entry { problem, cause, cure } in &CATALOGUE {
        let (code, name, status) = problem.code_name_status();
        let id = fragment(*problem);
        write!(page, "<h2 id=\"{id}\">{status} {name} ({code})</h2><p>{cause}</p><p>{cure}</p>")
            .expect("writing to a String does not fail");
    }
    page.push_str("</main></html>");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_catalogue() {
        let mut printed = String::from(
            "# Errors\n\nEach error answer links its entry here by a header `Link` with `rel=\"help\"`, on the page\n\
             `/docs/errors` of the server. [Reference 2](reference/02-errors.md) has the shape of the body.\n\n\
             | status | code | name | cause | cure |\n| --- | --- | --- | --- | --- |\n",
        );
        for Entry { problem, cause, cure } in &CATALOGUE {
            let (code, name, status) = problem.code_name_status();
            writeln!(printed, "| {status} | {code} | {name} | {cause} | {cure} |")
                .expect("writing to a String does not fail");
        }
        let kept = include_str!("../../docs/errors.md");
        assert!(kept == printed, "write this into docs/errors.md:\n{printed}");
    }

    #[test]
    fn each_problem_has_one_entry_at_a_place_of_its_own() {
        let places: std::collections::BTreeSet<String> =
            CATALOGUE.iter().map(|entry| fragment(entry.problem)).collect();
        assert_eq!(places.len(), CATALOGUE.len());
        let page = print_page();
        assert!(places.iter().all(|place| page.contains(&format!("id=\"{place}\""))));
        let codes: std::collections::BTreeSet<u8> =
            CATALOGUE.iter().map(|entry| entry.problem.code_name_status().0).collect();
        assert_eq!(codes, (1..=14).collect());
    }
}
