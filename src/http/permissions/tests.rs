use std::fmt::Write as _;

use super::*;
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Field, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::pro::PROFESSIONAL;
use crate::wire::vevent::VEVENT;

#[test]
fn every_route_falls_under_one_line_and_every_line_has_a_route() {
    for route in routes()
        .filter(|route| route.path.starts_with("/api/v1/") && route.path != "/api/v1/openapi")
    {
        assert!(route.right.is_some(), "{}", route.path);
    }
    for line in RIGHTS {
        let same = |other: &&Right| other.resource == line.resource && other.verb == line.verb;
        assert_eq!(RIGHTS.iter().filter(same).count(), 1, "{line:?}");
        assert!(routes().any(|route| route.right == Some(*line)), "{line:?}");
    }
}

#[test]
fn whoever_is_more_may_no_less() {
    let rank = |extent| match extent {
        Extent::Nothing => 0,
        Extent::BySecret => 1,
        Extent::Allowed => 2,
        Extent::Shown => 3,
        Extent::Own => 4,
        Extent::All => 5,
    };
    for line in RIGHTS {
        let ranks = Role::ALL.map(|role| rank(line.of(role)));
        assert!(ranks.is_sorted(), "{line:?}");
    }
}

#[test]
fn the_printed_table_is_this_one() {
    let printed = printed();
    let kept = include_str!("../../../data/rights.md");
    assert!(kept == printed, "write this into data/rights.md:\n{printed}");
}

fn printed() -> String {
    let mut text = String::from(
        "# Who may do what\n\nMade from the table that requests are judged by (`src/http/rights.rs`) and from the tables of \
         fields (`src/wire/`);\na test keeps it so.\n\n",
    );
    for (extent, meaning) in [
        (Extent::Nothing, "not at all: 403"),
        (
            Extent::Shown,
            "what is shown to everybody: what the module shows, the groups named on the key, one's own login",
        ),
        (
            Extent::Allowed,
            "the same, where the group allows it: `openData`, and for bookings `validateEmail`",
        ),
        (Extent::BySecret, "one appointment, by its secret in the parameter `key`"),
        (Extent::Own, "what is one's own; appointments by their secret too"),
        (Extent::All, "all of one's groups"),
    ] {
        writeln!(text, "- **{}**: {meaning}.", word(extent)).expect("memory takes all");
    }
    text.push_str(
        "\n| what | | key alone | account | professional |\n| --- | --- | --- | --- | --- |\n",
    );
    for line in RIGHTS {
        let [application, account, pro] = Role::ALL.map(|role| word(line.of(role)));
        let (resource, verb) = (
            format!("{:?}", line.resource).to_lowercase(),
            format!("{:?}", line.verb).to_lowercase(),
        );
        writeln!(text, "| {resource} | {verb} | {application} | {account} | {pro} |")
            .expect("memory takes all");
    }
    text.push_str(
        "\nWhat is not one's own is as absent as what is not there: the same 404, or the same 400 where a query or body \
         names it.\n\n## Fields\n\nWho writes a field of a resource needs the right to make or change it, or to book. An \
         account's new e-mail address counts\nonce a link mailed there has been followed. Customised attributes are read \
         and written by professionals, and by\neverybody else where `user_visible` is set.\n",
    );
    fields(&mut text, &GROUP);
    fields(&mut text, &CALENDAR);
    fields(&mut text, &CALENDARSET);
    fields(&mut text, &INTERVENTION);
    fields(&mut text, &INTERVENTIONSET);
    fields(&mut text, &CUSTOMFIELD);
    fields(&mut text, &FICHE);
    fields(&mut text, &VEVENT);
    fields(&mut text, &PROFESSIONAL);
    text
}

fn word(extent: Extent) -> &'static str {
    match extent {
        Extent::Nothing => "no",
        Extent::Shown => "shown",
        Extent::Allowed => "allowed",
        Extent::BySecret => "secret",
        Extent::Own => "own",
        Extent::All => "all",
    }
}

fn fields<R: 'static>(text: &mut String, table: &Table<R>) {
    write!(text, "\n### {}\n\n", table.resource).expect("memory takes all");
    let mut line = |what: &str, is: &dyn Fn(&Field<R>) -> bool| {
        let names: Vec<String> = table
            .fields
            .iter()
            .filter(|field| is(field))
            .map(|field| format!("`{}`", field.name))
            .collect();
        if !names.is_empty() {
            writeln!(text, "- {what}: {}", names.join(", ")).expect("memory takes all");
        }
    };
    let everybody = |audience: Audience| audience <= Audience::Account;
    line("read by everybody who may", &|field| everybody(field.readers));
    line("read by professionals alone", &|field| field.readers == Audience::Pro);
    line("written by everybody who may", &|field| field.writers.is_some_and(everybody));
    line("written by professionals alone", &|field| field.writers == Some(Audience::Pro));
}
