//! Periodic retention: past appointments lose their person, idle clients are erased, and unused
//! accounts are closed. Reference 17.5.

use std::sync::Arc;

use crate::domain::decisions::retention::{
    RETAINED_PER_STEP_MAX, RetentionDue, RetentionMonths, find_due, months_ago,
};
use crate::domain::records::account::AccountMark;
use crate::domain::records::author::Author;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::state::command::{Command, RetentionStep};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::Engine;
use crate::engine::retained::Retained;
use crate::engine::upkeep::give_way;

impl Engine {
    /// Carries the retention of every group out, in events of at most 1,000 rows. What a group
    /// rejects is left to the next call. Does nothing while the clock is in doubt.
    pub async fn retain(&self) -> Retained {
        let mut retained = Retained::default();
        if self.clock_doubt_seconds().is_some() {
            return retained;
        }
        let groups: Vec<GroupId> = self.published().groups().collect();
        for (nth, group) in groups.into_iter().enumerate() {
            give_way(nth).await;
            let Some(state) = self.published().group_state(group) else { continue };
            if state.privacy.counts_from.is_none() {
                self.step(group, RetentionStep::BeginCount).await;
            }
            let months = RetentionMonths::of_group(&state.catalogue.group);
            if !months.keeps_all() {
                self.retain_group(group, state, months, &mut retained).await;
            }
        }
        retained
    }

    async fn retain_group(
        &self,
        group: GroupId,
        state: Arc<GroupState>,
        months: RetentionMonths,
        retained: &mut Retained,
    ) {
        // The steady time is never ahead of the clock, so a step of the clock shortens no life.
        let now = self.steady_now();
        let zone = state.catalogue.zone();
        let scan = tokio::task::spawn_blocking(move || find_due(&state, months, now));
        let Ok(RetentionDue { appointments, clients, accounts }) = scan.await else { return };
        if let Some(before) = months_ago(zone, months.appointments, now) {
            for ids in appointments.chunks(RETAINED_PER_STEP_MAX) {
                let ids = ids.to_vec();
                let count = ids.len();
                if self.step(group, RetentionStep::EmptyAppointments { ids, before }).await {
                    retained.appointments += count;
                }
            }
        }
        if let Some(before) = months_ago(zone, months.clients, now) {
            retained.clients += self.erase_idle_clients(group, &clients, before).await;
        }
        if let Some(before) = months_ago(zone, months.accounts, now) {
            let accounts = self.find_open(group, accounts);
            for accounts in accounts.chunks(RETAINED_PER_STEP_MAX) {
                let accounts = accounts.to_vec();
                let count = accounts.len();
                if self.step(group, RetentionStep::CloseAccounts { accounts, before }).await {
                    retained.accounts += count;
                }
            }
        }
    }

    /// Erases idle clients, with as many in each event as have 1,000 rows together, but at least
    /// one. Returns their number.
    async fn erase_idle_clients(
        &self,
        group: GroupId,
        clients: &[(FicheId, usize)],
        before: Instant,
    ) -> usize {
        let mut erased = 0;
        let mut rest = clients;
        while !rest.is_empty() {
            let mut rows = 0;
            let fitting = rest.iter().take_while(|(_, own)| {
                rows += own;
                rows <= RETAINED_PER_STEP_MAX
            });
            let count = fitting.count().max(1);
            let (step, after) = rest.split_at(count);
            rest = after;
            let ids = step.iter().map(|(id, _)| *id).collect();
            match self.erase_idle(group, ids, before).await {
                Ok(_) => erased += count,
                Err(error) => tracing::warn!(%group, %error, "idle clients were not erased"),
            }
        }
        erased
    }

    /// The accounts that are not closed yet: some went with their clients.
    fn find_open(&self, group: GroupId, mut accounts: Vec<AccountMark>) -> Vec<AccountMark> {
        let Some(state) = self.published().group_state(group) else { return Vec::new() };
        accounts.retain(|account| state.accounts.of_mark(account).is_some());
        accounts
    }

    /// Returns whether a step was carried out. What is rejected now is tried again later.
    async fn step(&self, group: GroupId, step: RetentionStep) -> bool {
        self.write(group, Author::Server, Command::Retain(step)).await.is_ok()
    }

    /// Records that the accounts of a client were used today. What is rejected is left to their
    /// next use.
    pub async fn record_account_use(&self, group: GroupId, client: FicheId) {
        self.step(group, RetentionStep::RecordUse(client)).await;
    }
}
