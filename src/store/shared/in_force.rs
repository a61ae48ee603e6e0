//! Formats of records and snapshots and time zone data that are in force in a cluster.
//! Reference 8.11.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_postgres::Row;

use crate::domain::time::zone::tzdata_version;
use crate::planted_faults::PlantedFault;
use crate::store::error::StoreError;
use crate::store::formats::{Formats, RecordFormat};
use crate::store::shared::connection::CallError;

/// The formats and the time zone data in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    /// The newest formats that are written.
    pub(crate) formats: Formats,
    /// The newest time zone data by which a server that decides has resolved appointments, as in
    /// 2025b.
    pub(crate) tzdata: String,
}

impl InForce {
    /// Reads them from three columns of a row, from `first` on.
    ///
    /// # Errors
    /// Numbers that no format has.
    pub(super) fn of_row(row: &Row, first: usize) -> Result<Self, CallError> {
        let formats = formats_of_row(row, first)?;
        Ok(Self { formats, tzdata: row.get(first + 2) })
    }

    /// Refuses formats that this release does not know, or writes no longer.
    ///
    /// # Errors
    /// [`StoreError::NotWritten`], with the remedy.
    pub(crate) fn check_formats(&self) -> Result<(), StoreError> {
        let in_force = self.formats;
        let remedy = if PlantedFault::SharedFormatsUnchecked.is_active() {
            return Ok(());
        } else if !in_force.are_within(Formats::NEWEST) {
            "start the newer release here"
        } else if !Formats::OLDEST_WRITTEN.are_within(in_force) {
            "have all servers run a release between, run `slotbook cluster raise`, and start this \
             one then"
        } else {
            return Ok(());
        };
        Err(StoreError::NotWritten { in_force, remedy })
    }

    /// Whether the time zone data in force are newer than those of this release.
    fn has_newer_zones(&self) -> bool {
        self.tzdata.as_str() > tzdata_version() && !PlantedFault::SharedZonesUncompared.is_active()
    }
}

/// Reads formats from two columns of a row.
///
/// # Errors
/// Numbers that no format has.
pub(super) fn formats_of_row(row: &Row, first: usize) -> Result<Formats, CallError> {
    let records: i32 = row.get(first);
    let snapshots: i32 = row.get(first + 1);
    let (Ok(records), Ok(snapshots)) = (u16::try_from(records), u16::try_from(snapshots)) else {
        let what = format!("a row has the formats {records} and {snapshots}");
        return Err(CallError::Refused(what));
    };
    Ok(Formats { records, snapshots })
}

/// The formats and the time zone data in force, as far as a server knows.
#[derive(Debug)]
pub(crate) struct InForceView {
    newest: Mutex<InForce>,
    /// The format in which the server has its records written while it decides.
    pub(super) record_format: Arc<RecordFormat>,
}

impl InForceView {
    pub(super) fn new(in_force: InForce) -> Self {
        if in_force.has_newer_zones() {
            warn_of_older_zones(&in_force.tzdata);
        }
        let record_format = Arc::new(RecordFormat::new(in_force.formats.records));
        Self { newest: Mutex::new(in_force), record_format }
    }

    /// Notes what a beat has said. Records that are encoded from now on have the format in force.
    pub(super) fn note(&self, in_force: InForce) {
        let mut newest = self.newest.lock();
        if in_force.has_newer_zones() && !newest.has_newer_zones() {
            warn_of_older_zones(&in_force.tzdata);
        }
        self.record_format.raise(in_force.formats.records);
        *newest = in_force;
    }

    /// Does as [`InForce::check_formats`].
    ///
    /// # Errors
    /// [`StoreError::NotWritten`].
    pub(crate) fn check_formats(&self) -> Result<(), StoreError> {
        self.newest.lock().check_formats()
    }

    /// Whether this server may take over as far as time zones go: with older data it would resolve
    /// future appointments back.
    pub(super) fn zones_allow_takeover(&self) -> bool {
        !self.newest.lock().has_newer_zones()
    }
}

fn warn_of_older_zones(in_force: &str) {
    tracing::warn!(
        own = tzdata_version(),
        in_force,
        "this server has older time zone data than the cluster: it follows and forwards, and never \
         takes over; start the newer release here"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_force(records: u16, snapshots: u16, tzdata: &str) -> InForce {
        InForce { formats: Formats { records, snapshots }, tzdata: tzdata.to_owned() }
    }

    #[test]
    fn formats_out_of_the_range_are_refused_with_both_numbers_and_the_remedy() {
        let Formats { records, snapshots } = Formats::NEWEST;
        let own = in_force(records, snapshots, "2025a");
        own.check_formats().expect("this release writes them");
        for (formats, remedy) in [
            ((records + 1, snapshots), "newer release here"),
            ((records, snapshots + 1), "newer release here"),
            ((records - 1, snapshots), "`slotbook cluster raise`"),
            ((records, snapshots - 1), "`slotbook cluster raise`"),
        ] {
            let said = in_force(formats.0, formats.1, "").check_formats().unwrap_err().to_string();
            let named = format!("are records {}, snapshots {};", formats.0, formats.1);
            assert!(said.contains(&named) && said.contains(remedy), "{said}");
            assert!(said.contains(&Formats::NEWEST.to_string()), "{said}");
        }
    }

    #[test]
    fn older_time_zone_data_keep_a_server_from_taking_until_they_are_in_force_no_more() {
        let Formats { records, snapshots } = Formats::NEWEST;
        let view = InForceView::new(in_force(records, snapshots, tzdata_version()));
        assert!(view.zones_allow_takeover());
        view.note(in_force(records, snapshots, "2999z"));
        assert!(!view.zones_allow_takeover());
        view.note(in_force(records, snapshots, "1999z"));
        assert!(view.zones_allow_takeover());
    }

    #[test]
    fn a_raise_reaches_the_format_of_the_next_record_by_a_beat() {
        let Formats { records, snapshots } = Formats::NEWEST;
        let view = InForceView::new(in_force(records - 1, snapshots, ""));
        assert_eq!(view.record_format.get(), records - 1);
        view.note(in_force(records, snapshots, ""));
        assert_eq!(view.record_format.get(), records);
    }
}
