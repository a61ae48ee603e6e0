//! The servers that have joined a cluster, and the formats that they allow to be in force.

use std::time::Duration;

use tokio_postgres::Row;

use crate::store::formats::Formats;
use crate::store::shared::connection::CallError;
use crate::store::shared::in_force::{InForce, formats_of_row};

/// Silence after which a server that has not left counts as lost.
const LONG_SILENCE: Duration = Duration::from_secs(10);

/// A server that has joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterNode {
    /// Address at which others reach it.
    pub(crate) url: String,
    /// Its release.
    pub(crate) version: String,
    /// The newest formats that it knows.
    pub(crate) formats: Formats,
    /// Its time zone data, as in 2025b.
    pub(crate) tzdata: String,
    /// Time since its last beat.
    pub(crate) silent: Duration,
    /// Whether it decides.
    pub(crate) is_holder: bool,
    /// Whether it has left the cluster, by an end in order.
    pub(crate) has_left: bool,
    /// Rows of the journal that it had not applied at its last beat.
    pub(crate) lag: u64,
}

impl ClusterNode {
    pub(super) fn of_row(row: &Row) -> Result<Self, CallError> {
        Ok(Self {
            url: row.get(0),
            version: row.get(1),
            formats: formats_of_row(row, 2)?,
            tzdata: row.get(4),
            silent: Duration::from_millis(u64::try_from(row.get::<_, i64>(5)).unwrap_or(0)),
            is_holder: row.get(6),
            has_left: row.get(7),
            lag: u64::try_from(row.get::<_, i64>(8)).unwrap_or(0),
        })
    }

    /// Returns the reason why it may not take over; `None` if it may.
    pub(crate) fn obstacle(&self, in_force: &InForce) -> Option<&'static str> {
        if !in_force.formats.are_within(self.formats) {
            return Some("it does not know the formats in force");
        }
        (self.tzdata < in_force.tzdata).then_some("its time zone data are older")
    }

    fn describe(&self) -> String {
        format!(
            "\n  {} (slotbook {}, {}, last beat {} s ago)",
            self.url,
            self.version,
            self.formats,
            self.silent.as_secs()
        )
    }
}

/// Returns the formats to be put in force: the newest that all servers know, except those of
/// `without`, which are gone for good. `None` if these are in force.
///
/// # Errors
/// The servers that are in the way, with the remedy.
pub(crate) fn plan_raise(
    in_force: Formats,
    nodes: &[ClusterNode],
    without: &[String],
) -> Result<Option<Formats>, String> {
    for url in without {
        match nodes.iter().find(|node| node.url == *url) {
            Some(node) if node.has_left || node.silent >= LONG_SILENCE => {}
            Some(_) => return Err(format!("{url} was heard just now: stop it first")),
            None => return Err(format!("{url} is the address of no server in the cluster")),
        }
    }
    let mut present = nodes.to_vec();
    present.retain(|node| !node.has_left && !without.contains(&node.url));
    let mut silent = String::new();
    for node in &present {
        if node.silent >= LONG_SILENCE {
            silent += &node.describe();
        }
    }
    if !silent.is_empty() {
        return Err(format!(
            "these servers are silent and have not left: start them again, or, if they are gone \
             for good, name each by --without URL:{silent}"
        ));
    }
    let known = present.iter().map(|node| node.formats);
    let Some(common) = known.clone().reduce(oldest_of) else {
        return Err("no server is there to say what it knows: start all of them".to_owned());
    };
    let newest = known.fold(common, newest_of);
    let raised = newest_of(in_force, common);
    if raised != in_force {
        return Ok(Some(raised));
    }
    if newest.are_within(in_force) {
        return Ok(None);
    }
    let mut too_old = String::new();
    for node in &present {
        if !newest.are_within(node.formats) {
            too_old += &node.describe();
        }
    }
    Err(format!(
        "these servers are too old for {newest}: start the newer release on each:{too_old}"
    ))
}

fn oldest_of(one: Formats, other: Formats) -> Formats {
    Formats {
        records: one.records.min(other.records),
        snapshots: one.snapshots.min(other.snapshots),
    }
}

fn newest_of(one: Formats, other: Formats) -> Formats {
    Formats {
        records: one.records.max(other.records),
        snapshots: one.snapshots.max(other.snapshots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(records: u16, snapshots: u16) -> Formats {
        Formats { records, snapshots }
    }

    fn node(url: &str, records: u16, snapshots: u16) -> ClusterNode {
        ClusterNode {
            url: url.to_owned(),
            version: "0.3.0".to_owned(),
            formats: formats(records, snapshots),
            tzdata: "2025b".to_owned(),
            silent: Duration::from_millis(300),
            is_holder: false,
            has_left: false,
            lag: 0,
        }
    }

    fn silent(url: &str, records: u16) -> ClusterNode {
        ClusterNode { silent: LONG_SILENCE, ..node(url, records, 7) }
    }

    #[test]
    fn a_raise_goes_to_the_newest_that_all_servers_know_and_never_down() {
        for (nodes, raised) in [
            (vec![node("a", 8, 7), node("b", 8, 7)], Some(formats(8, 7))),
            (vec![node("a", 9, 8), node("b", 8, 9)], Some(formats(8, 8))),
            (vec![node("a", 7, 7), node("b", 7, 7)], None),
            (vec![node("a", 6, 7), node("b", 6, 7)], None),
            (vec![node("a", 8, 6), node("b", 8, 6)], Some(formats(8, 7))),
        ] {
            assert_eq!(plan_raise(formats(7, 7), &nodes, &[]), Ok(raised), "{nodes:?}");
        }
    }

    #[test]
    fn a_server_that_is_too_old_is_named() {
        let nodes = [node("http://a", 8, 7), node("http://b", 7, 7), node("http://c", 8, 7)];
        let said = plan_raise(formats(7, 7), &nodes, &[]).unwrap_err();
        assert!(said.contains("http://b (slotbook 0.3.0, records 7, snapshots 7"), "{said}");
        assert!(!said.contains("http://a") && said.contains("too old for records 8"), "{said}");
    }

    #[test]
    fn a_silent_server_is_in_the_way_unless_it_has_left_or_is_gone_for_good() {
        let gone = ["http://b".to_owned()];
        let nodes = [node("http://a", 8, 7), silent("http://b", 7)];
        let said = plan_raise(formats(7, 7), &nodes, &[]).unwrap_err();
        assert!(said.contains("http://b") && said.contains("--without URL"), "{said}");
        assert_eq!(plan_raise(formats(7, 7), &nodes, &gone), Ok(Some(formats(8, 7))));
        let left = ClusterNode { has_left: true, ..silent("http://b", 7) };
        let nodes = [node("http://a", 8, 7), left];
        assert_eq!(plan_raise(formats(7, 7), &nodes, &[]), Ok(Some(formats(8, 7))));
    }

    #[test]
    fn a_server_that_beats_or_is_unknown_cannot_be_left_out() {
        let nodes = [node("http://a", 8, 7), node("http://b", 7, 7)];
        let said = plan_raise(formats(7, 7), &nodes, &["http://b".to_owned()]).unwrap_err();
        assert!(said.contains("stop it first"), "{said}");
        let said = plan_raise(formats(7, 7), &nodes, &["http://c".to_owned()]).unwrap_err();
        assert!(said.contains("no server in the cluster"), "{said}");
        let said = plan_raise(formats(7, 7), &[], &[]).unwrap_err();
        assert!(said.contains("start all of them"), "{said}");
    }

    #[test]
    fn older_formats_or_time_zone_data_keep_a_server_from_taking_over() {
        let in_force = |records, tzdata: &str| InForce {
            formats: formats(records, 7),
            tzdata: tzdata.to_owned(),
        };
        let node = node("a", 7, 7);
        assert_eq!(node.obstacle(&in_force(7, "2025b")), None);
        assert_eq!(node.obstacle(&in_force(6, "2025a")), None);
        assert!(node.obstacle(&in_force(8, "2025b")).is_some_and(|why| why.contains("formats")));
        assert!(node.obstacle(&in_force(7, "2025c")).is_some_and(|why| why.contains("zone")));
    }
}
