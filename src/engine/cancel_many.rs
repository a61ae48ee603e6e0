//! Cancellation of many appointments, and the end of many holds, by an operator or a professional.
//! Reference 6.13.
//!
//! Each has a command and an event of its own, so no event grows with their number. If the server
//! stops in between, a repetition finds those that are left.

use tokio::task::JoinSet;

use crate::domain::records::author::Author;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::state::command::{CancelAppointment, CancelRight, Command};
use crate::engine::write::Rejection;
use crate::engine::{Engine, confirmation};

/// Maximum number of commands of one request under way at once. It leaves the group's capacity to
/// others.
const UNDER_WAY_MAX: usize = 64;

impl Engine {
    /// Cancels appointments by the right of a professional, and waits until all of them are
    /// durable. Those that were cancelled or removed meanwhile stay so. Quiet cancellations cause
    /// no messages.
    ///
    /// # Errors
    /// The first rejection. The cancellations before it stand.
    pub async fn cancel_many(
        &self,
        group: GroupId,
        author: Author,
        ids: &[VeventId],
        is_quiet: bool,
    ) -> Result<(), Rejection> {
        let mut commands = Vec::with_capacity(ids.len());
        for id in ids {
            let cancel = CancelAppointment { id: *id, right: CancelRight::Pro };
            let command = Command::CancelAppointment(cancel);
            commands.push(if is_quiet { Command::Quietly(Box::new(command)) } else { command });
        }
        self.write_each(group, author, commands).await.map(drop)
    }

    /// Ends holds, and returns the number of those that had not ended meanwhile.
    ///
    /// # Errors
    /// The first rejection. Those that ended before it stay so.
    pub async fn end_holds(
        &self,
        group: GroupId,
        author: Author,
        ids: &[HoldId],
    ) -> Result<usize, Rejection> {
        let commands = ids.iter().map(|id| Command::ReleaseHold(*id)).collect();
        self.write_each(group, author, commands).await
    }

    /// Carries commands out in any order, but for those that are refused. Returns the number of the
    /// others.
    async fn write_each(
        &self,
        group: GroupId,
        author: Author,
        commands: Vec<Command>,
    ) -> Result<usize, Rejection> {
        let mut carried_out = 0;
        for part in commands.chunks(UNDER_WAY_MAX) {
            let mut under_way = JoinSet::new();
            for command in part {
                let engine = self.clone();
                let command = command.clone();
                let written = async move { engine.write(group, author, command).await };
                under_way.spawn(confirmation::noted_here(written));
            }
            for done in under_way.join_all().await {
                match done {
                    Ok(_) => carried_out += 1,
                    Err(Rejection::Refused(_)) => {}
                    Err(rejection) => return Err(rejection),
                }
            }
        }
        Ok(carried_out)
    }
}
