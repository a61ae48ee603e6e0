use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::*;
use crate::http::route_table::{operator_routes, routes};
use crate::wire::account::ACCOUNT;
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Field, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::pro::PROFESSIONAL;
use crate::wire::vevent::VEVENT;

/// The rights of all routes, by resource and action.
fn rights() -> BTreeMap<(Resource, Verb), Right> {
    let mut rights = BTreeMap::new();
    for route in routes() {
        if let Some(right) = route.right() {
            rights.insert((right.resource, right.verb), right);
        }
    }
    rights
}

#[test]
fn each_route_with_an_apikey_has_a_right() {
    for route in routes() {
        let path = route.path();
        let is_open = !path.starts_with("/api/v1/") || path == "/api/v1/openapi";
        assert_eq!(route.right().is_none(), is_open, "{path}");
    }
}

#[test]
fn routes_with_the_same_resource_and_action_have_the_same_right() {
    let rights = rights();
    for route in routes() {
        if let Some(right) = route.right() {
            assert_eq!(rights[&(right.resource, right.verb)], right, "{}", route.path());
        }
    }
}

#[test]
fn a_higher_role_has_no_fewer_rights() {
    let rank = |extent| match extent {
        Extent::Nothing => 0,
        Extent::BySecret => 1,
        Extent::Allowed => 2,
        Extent::Shown => 3,
        Extent::Own => 4,
        Extent::Operator => 5,
        Extent::All => 6,
    };
    for right in rights().values() {
        let ranks = Role::ALL.map(|role| rank(right.extent(role)));
        assert!(ranks.is_sorted(), "{right:?}");
    }
}

#[test]
fn the_printed_table_is_up_to_date() {
    let printed = print_rights();
    let kept = include_str!("../../../data/rights.md");
    assert!(kept == printed, "write this into data/rights.md:\n{printed}");
}

fn print_rights() -> String {
    let mut text = String::from(
        "# Rights\n\nMade from the rights of the endpoints (`src/http/resources/`) and from the field tables (`src/wire/`).\n\
         A test keeps it up to date.\n\n",
    );
    for (extent, meaning) in [
        (Extent::Nothing, "nothing: 403"),
        (
            Extent::Shown,
            "public data: what the module shows, the groups named on the key, the caller's own login",
        ),
        (
            Extent::Allowed,
            "the same, if the group allows it: `openData`, and for bookings `validateEmail`",
        ),
        (Extent::BySecret, "one appointment, with its secret in the parameter `key`"),
        (
            Extent::Own,
            "the caller's own objects; appointments also with their secret. Of a professional, its own calendars and the \
             clients with an appointment there; it reads the others too if its role says so",
        ),
        (Extent::Operator, "everything, with a key of the operator; else 403"),
        (Extent::All, "everything in the caller's groups"),
    ] {
        writeln!(text, "- **{}**: {meaning}.", word(extent)).expect("memory takes all");
    }
    text.push_str(
        "\n| resource | action | key alone | account | professional | reception | administrator |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for right in rights().values() {
        let extents = Role::ALL.map(|role| word(right.extent(role))).join(" | ");
        let resource = format!("{:?}", right.resource).to_lowercase();
        let verb = format!("{:?}", right.verb).to_lowercase();
        writeln!(text, "| {resource} | {verb} | {extents} |").expect("memory takes all");
    }
    text.push_str(
        "\nThe operator, at the socket `operator.sock` in the data directory, needs no key. It has the rights of an \
         administrator in\nevery group and those of a key of the operator, and these paths, which are 403 for all others:\n\n",
    );
    for (method, path) in operator_routes() {
        writeln!(text, "- {method} `{path}`").expect("memory takes all");
    }
    text.push_str(
        "\nObjects outside a caller's extent are treated as if they did not exist: the same 404, or the same 400 if a query or\n\
         body names them.\n\n## Fields\n\nTo write a field, a caller also needs the right to make or change the resource, or to book. A new \
         e-mail address\nof an account takes effect when the link mailed there has been followed. Professionals read and write all\n\
         customised attributes, other callers those with `user_visible`.\n",
    );
    print_fields(&mut text, &GROUP);
    print_fields(&mut text, &CALENDAR);
    print_fields(&mut text, &CALENDARSET);
    print_fields(&mut text, &INTERVENTION);
    print_fields(&mut text, &INTERVENTIONSET);
    print_fields(&mut text, &CUSTOMFIELD);
    print_fields(&mut text, &FICHE);
    print_fields(&mut text, &VEVENT);
    print_fields(&mut text, &PROFESSIONAL);
    print_fields(&mut text, &ACCOUNT);
    text
}

fn word(extent: Extent) -> &'static str {
    match extent {
        Extent::Nothing => "no",
        Extent::Shown => "shown",
        Extent::Allowed => "allowed",
        Extent::BySecret => "secret",
        Extent::Own => "own",
        Extent::Operator => "operator",
        Extent::All => "all",
    }
}

fn print_fields<R: 'static>(text: &mut String, table: &Table<R>) {
    write!(text, "\n### {}\n\n", table.resource).expect("memory takes all");
    let mut line = |label: &str, is_listed: &dyn Fn(&Field<R>) -> bool| {
        let mut names: Vec<String> = Vec::new();
        for field in &table.fields {
            if is_listed(field) {
                names.push(format!("`{}`", field.name));
            }
        }
        if !names.is_empty() {
            writeln!(text, "- {label}: {}", names.join(", ")).expect("memory takes all");
        }
    };
    let is_for_all = |audience: Audience| audience <= Audience::Account;
    line("read by all callers with the right", &|field| is_for_all(field.readers));
    line("read by professionals only", &|field| field.readers == Audience::Pro);
    line("written by all callers with the right", &|field| field.writers.is_some_and(is_for_all));
    line("written by professionals only", &|field| field.writers == Some(Audience::Pro));
}
