//! Cancellation of many appointments by an operator or a professional. Reference 6.13.
//!
//! Each appointment is cancelled by a command and an event of its own, so no event grows with their
//! number. If the server stops in between, a repetition finds those that are left.

use tokio::task::JoinSet;

use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::state::command::{CancelAppointment, CancelRight, Command};
use crate::engine::Engine;
use crate::engine::write::Rejection;

/// Maximum number of cancellations of one request under way at once. It leaves the group's capacity
/// to others.
const UNDER_WAY_MAX: usize = 64;

impl Engine {
    /// Cancels appointments by the right of a professional, and waits until all of them are
    /// durable. Those that were cancelled meanwhile stay so. Quiet cancellations cause no messages.
    ///
    /// # Errors
    /// The first rejection. The cancellations before it stand.
    pub async fn cancel_many(
        &self,
        group: GroupId,
        ids: &[VeventId],
        is_quiet: bool,
    ) -> Result<(), Rejection> {
        for part in ids.chunks(UNDER_WAY_MAX) {
            let mut under_way = JoinSet::new();
            for id in part {
                let cancel = CancelAppointment { id: *id, right: CancelRight::Pro };
                let mut command = Command::CancelAppointment(cancel);
                if is_quiet {
                    command = Command::Quietly(Box::new(command));
                }
                let engine = self.clone();
                under_way.spawn(async move { engine.write(group, command).await });
            }
            for done in under_way.join_all().await {
                done?;
            }
        }
        Ok(())
    }
}
