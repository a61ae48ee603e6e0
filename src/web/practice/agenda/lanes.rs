//! Events that overlap stand side by side, each in a lane. Reference 15.3.

use crate::web::grid_style::LANES_MAX;

/// The rows of a column that an event takes: from `first` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowSpan {
    pub(crate) first: u32,
    pub(crate) end: u32,
}

/// The lane of an event among those that it stands beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// From 0 on.
    pub(crate) index: usize,
    /// The number of lanes there, at most [`LANES_MAX`]. Events beyond share the last one.
    pub(crate) count: usize,
}

/// Returns the lane of each event of a column. The rows ascend by their first. Of two events whose
/// rows overlap, the lanes differ, unless more than [`LANES_MAX`] overlap.
pub(crate) fn assign_lanes(rows: &[RowSpan]) -> Vec<Lane> {
    let mut lanes = Vec::with_capacity(rows.len());
    // The end of the last event of each lane of the present cluster: events that overlap one after
    // another.
    let mut ends: Vec<u32> = Vec::new();
    let mut cluster_from = 0;
    for (at, span) in rows.iter().enumerate() {
        if ends.iter().all(|end| *end <= span.first) {
            close_cluster(&mut lanes[cluster_from..], ends.len());
            ends.clear();
            cluster_from = at;
        }
        let index = match ends.iter().position(|end| *end <= span.first) {
            Some(free) => free,
            None if ends.len() < LANES_MAX => {
                ends.push(0);
                ends.len() - 1
            }
            None => LANES_MAX - 1,
        };
        ends[index] = ends[index].max(span.end);
        lanes.push(Lane { index, count: 0 });
    }
    close_cluster(&mut lanes[cluster_from..], ends.len());
    lanes
}

/// Sets the number of lanes of a cluster.
fn close_cluster(lanes: &mut [Lane], count: usize) {
    for lane in lanes {
        lane.count = count;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lanes(rows: &[(u32, u32)]) -> Vec<(usize, usize)> {
        let rows: Vec<RowSpan> =
            rows.iter().map(|(first, end)| RowSpan { first: *first, end: *end }).collect();
        assign_lanes(&rows).iter().map(|lane| (lane.index, lane.count)).collect()
    }

    #[test]
    fn events_share_the_width_only_with_those_that_they_meet() {
        assert_eq!(lanes(&[]), []);
        assert_eq!(lanes(&[(0, 6), (6, 12)]), [(0, 1), (0, 1)]);
        assert_eq!(lanes(&[(0, 12), (6, 9), (9, 15), (15, 18)]), [(0, 2), (1, 2), (1, 2), (0, 1)]);
        let many = [(0, 6); LANES_MAX + 2];
        assert_eq!(lanes(&many).last(), Some(&(LANES_MAX - 1, LANES_MAX)));
    }

    proptest! {
        #[test]
        fn no_two_events_of_a_lane_overlap(
            mut rows in proptest::collection::vec((0..40_u32, 1..9_u32), 0..30)
        ) {
            rows.sort_unstable();
            let spans: Vec<(u32, u32)> = rows.iter().map(|(at, long)| (*at, at + long)).collect();
            let found = lanes(&spans);
            for (a, first) in spans.iter().enumerate() {
                for (b, second) in spans.iter().enumerate().skip(a + 1) {
                    let is_full = found[a].1 == LANES_MAX;
                    if first.0 < second.1 && second.0 < first.1 && !is_full {
                        prop_assert_ne!(found[a].0, found[b].0);
                        prop_assert_eq!(found[a].1, found[b].1);
                    }
                    prop_assert!(found[a].0 < found[a].1);
                }
            }
        }
    }
}
