//! Retention: what a group keeps no longer than some months. Reference 17.5.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::erasure::find_appointment_parts;
use crate::domain::decisions::idle_clients::find_idle;
use crate::domain::records::account::{Account, AccountMark};
use crate::domain::records::group::Group;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::RetentionStep;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::zone::Zone;
use crate::domain::time::{CivilDay, Instant, days_in_month};

/// Maximum number of rows that one event changes.
pub const RETAINED_PER_STEP_MAX: usize = 1_000;

/// The months after which records go; 0 keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionMonths {
    /// After its end an appointment loses its person.
    pub appointments: u32,
    /// A client who was idle so long is erased.
    pub clients: u32,
    /// An account that was not used so long is closed.
    pub accounts: u32,
}

impl RetentionMonths {
    /// The settings of a group.
    pub fn of_group(group: &Group) -> Self {
        let months = |number: i64| u32::try_from(number).unwrap_or(0);
        Self {
            appointments: months(group.retention_appointments_months.number()),
            clients: months(group.retention_clients_months.number()),
            accounts: months(group.retention_accounts_months.number()),
        }
    }

    /// Whether everything is kept.
    pub fn keeps_all(&self) -> bool {
        *self == Self::default()
    }
}

/// The records whose time is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionDue {
    /// Past appointments that still have their person, ascending.
    pub appointments: Vec<VeventId>,
    /// Idle clients, ascending; of merged records the kept ones. The number counts the rows that
    /// its erasure changes.
    pub clients: Vec<(FicheId, usize)>,
    /// Unused accounts.
    pub accounts: Vec<AccountMark>,
}

/// Finds the records whose time is over by some settings. The cost is that of all records.
pub fn find_due(state: &GroupState, months: RetentionMonths, now: Instant) -> RetentionDue {
    let mut due = RetentionDue::default();
    if let Some(before) = months_ago(state.catalogue.zone(), months.appointments, now) {
        let rows = state.rows.values().filter(|row| is_over(state, row, before));
        due.appointments = rows.map(|row| row.id).collect();
    }
    if let Some(before) = months_ago(state.catalogue.zone(), months.clients, now) {
        due.clients = find_idle(state, before);
    }
    if let Some(before) = months_ago(state.catalogue.zone(), months.accounts, now) {
        let accounts = state.accounts.values().filter(|it| is_unused(state, it, before));
        due.accounts = accounts.map(|account| account.mark()).collect();
    }
    due
}

/// Returns the moment some months before now, on the clocks of the group; `None` for 0 months. A
/// day that the month does not have is its last one.
pub fn months_ago(zone: Zone, months: u32, now: Instant) -> Option<Instant> {
    if months == 0 {
        return None;
    }
    let civil = zone.civil_of(now);
    let (year, month, day) = civil.day().ymd();
    let number = i64::from(year) * 12 + i64::from(month) - 1 - i64::from(months);
    let year = i32::try_from(number.div_euclid(12)).ok()?;
    let month = u32::try_from(number.rem_euclid(12)).ok()? + 1;
    let day = CivilDay::from_ymd(year, month, day.min(days_in_month(year, month)))?;
    Some(zone.instant_of(day.midnight().plus_seconds(civil.second_of_day())))
}

/// Whether an appointment ended before a moment and still has its person, or texts that were
/// written after it had lost the person.
fn is_over(state: &GroupState, row: &Vevent, before: Instant) -> bool {
    let Some(appointment) = row.appointment() else { return false };
    let fiche = state.fiches.get(&appointment.fiche_id);
    let has_person = fiche.is_some_and(|fiche| fiche.erased_at.is_none());
    appointment.interval().end < before && (has_person || row.rare.is_some())
}

/// Whether an account was not used since a moment. One whose last use is not known counts from the
/// moment at which counting began.
fn is_unused(state: &GroupState, account: &Account, before: Instant) -> bool {
    let Some(counts_from) = state.privacy.counts_from else { return false };
    let used = account
        .last_login
        .map(|day| state.catalogue.zone().instant_of(day.plus_days(1).midnight()));
    used.map_or(counts_from, |used| used.max(counts_from)) < before
}

/// Decides a step. What does not hold any more is left as it is.
pub fn decide(context: &mut Context<'_>, step: &RetentionStep) -> Decision {
    let state = context.state;
    let at = context.stamp();
    let event = match step {
        RetentionStep::BeginCount => {
            state.privacy.counts_from.is_none().then_some(Event::RetentionCountBegan { at })
        }
        RetentionStep::RecordUse(client) => {
            let day = state.catalogue.zone().civil_of(context.now).day();
            let mut own = state.accounts.of_client(*client);
            let is_used = own.any(|account| account.last_login.is_none_or(|last| last < day));
            is_used.then_some(Event::AccountUsed { at, client: *client, day })
        }
        RetentionStep::EmptyAppointments { ids, before } => {
            let is_due =
                |id: &&VeventId| state.rows.get(id).is_some_and(|row| is_over(state, row, *before));
            let ids: Vec<VeventId> = ids.iter().filter(is_due).copied().collect();
            if ids.is_empty() {
                None
            } else {
                let placeholder =
                    state.privacy.placeholder.unwrap_or_else(|| context.environment.fiche_id());
                let parts = Box::new(find_appointment_parts(state, ids));
                Some(Event::AppointmentsEmptied { at, placeholder, parts })
            }
        }
        RetentionStep::CloseAccounts { accounts, before } => {
            let is_due = |mark: &&AccountMark| {
                let account = state.accounts.of_mark(mark);
                account.is_some_and(|account| is_unused(state, account, *before))
            };
            let accounts: Vec<AccountMark> = accounts.iter().filter(is_due).copied().collect();
            if accounts.is_empty() { None } else { Some(Event::AccountsClosed { at, accounts }) }
        }
    };
    Decision::new(event, Outcome::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Civil;

    #[test]
    fn months_end_at_the_last_day_of_a_short_month() {
        let zone = Zone::from_iana("Europe/Paris").expect("a zone");
        let at = |y, m, d| Civil::from_ymd_hms(y, m, d, 12, 0, 0).expect("a time");
        for (now, months, then) in [
            (at(2026, 3, 31), 1, at(2026, 2, 28)),
            (at(2024, 3, 31), 1, at(2024, 2, 29)),
            (at(2026, 1, 15), 1, at(2025, 12, 15)),
            (at(2026, 1, 15), 13, at(2024, 12, 15)),
            (at(2026, 7, 15), 600, at(1976, 7, 15)),
        ] {
            let found = months_ago(zone, months, zone.instant_of(now));
            assert_eq!(found, Some(zone.instant_of(then)), "{months}");
        }
        assert_eq!(months_ago(zone, 0, zone.instant_of(at(2026, 1, 1))), None);
    }
}
