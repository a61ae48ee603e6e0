//! The task of one webhook: one attempt after another. Reference 18.5.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant as Stopwatch;

use crate::domain::directory::roles::ProRole;
use crate::domain::records::author::Author;
use crate::domain::records::ids::{GroupId, ProId, WebhookId};
use crate::domain::records::text::Email;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::webhooks::delivery::{Delivery, NextDelivery, find_group_end, find_next};
use crate::domain::state::webhooks::settlement::{WebhookCommand, WebhookSettlement};
use crate::domain::state::webhooks::url::WebhookUrl;
use crate::domain::state::webhooks::webhook::{
    ANSWERS_MAX, FailingDelivery, OffReason, Webhook, WebhookAnswer, WebhookProgress,
};
use crate::domain::time::{DAY, HOUR, Instant};
use crate::engine::webhooks::dispatch::Dispatch;

/// Time for which a delivery is tried again, in seconds.
const RETRY_SECONDS_MAX: i64 = 3 * DAY;
/// Pause after the first failure, in seconds. It doubles with each.
const FIRST_PAUSE_SECONDS: i64 = 1;
/// Longest pause, in seconds.
const PAUSE_SECONDS_MAX: i64 = 2 * HOUR;
/// Time for which an attempt under way may go on after the signal to stop.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);
/// Pause before another look while this server does not decide.
const NOT_DECIDING_PAUSE: Duration = Duration::from_secs(1);
/// Number of rows that the webhook does not get, from which its place is recorded within a minute.
const SKIPPED_ROWS: u64 = 5_000;
const SKIPPED_TIME: Duration = Duration::from_mins(1);
/// Time within which each place is recorded: rows are kept for days.
const RECORD_TIME_MAX: Duration = Duration::from_hours(12);
/// Number of intervals between two records, after which a failure is recorded.
const FAILURE_INTERVALS: u32 = 5;
/// Number of rows behind the recorded place that are delivered one by one before the next record.
const SINGLE_ROWS_MAX: u64 = 16;
/// Maximum number of administrators who get a mail.
const RECIPIENTS_MAX: usize = 20;

/// The task of one webhook that is on.
pub(super) struct Runner {
    dispatch: Arc<Dispatch>,
    wakes: Arc<Notify>,
    group: GroupId,
    id: WebhookId,
    /// The round of `progress`.
    round: u32,
    /// The receiver that `progress.failing` is about.
    url: WebhookUrl,
    /// The progress; its answers are those that are not recorded yet.
    progress: WebhookProgress,
    /// The place that is recorded.
    recorded_after: u64,
    /// The end of the groups that are recorded.
    recorded_to: u64,
    /// The row before which no group begins: up to it, the server before this one may have
    /// delivered changes one by one.
    first_group_after: u64,
    /// Whether more than the place is to be recorded.
    is_due: bool,
    /// The reason for which the webhook is to be turned off.
    off: Option<OffReason>,
    /// The time of the last record, or of the last try of one.
    recorded_at: Stopwatch,
}

/// End of a turn of the task.
enum Turn {
    /// There may be more to do at once.
    Again,
    /// Nothing is to be done before a change, or before a time has passed.
    Wait(Option<Duration>),
    /// The webhook is off or removed.
    End,
}

impl Runner {
    pub(super) fn new(
        dispatch: Arc<Dispatch>,
        wakes: Arc<Notify>,
        state: &GroupState,
        webhook: &Webhook,
    ) -> Self {
        let WebhookProgress { after, grouped_to, .. } = webhook.progress;
        Self {
            dispatch,
            wakes,
            group: state.catalogue.group.id,
            id: webhook.id,
            round: webhook.round,
            url: webhook.url.clone(),
            progress: WebhookProgress { answers: Vec::new(), ..webhook.progress.clone() },
            recorded_after: after,
            recorded_to: grouped_to,
            first_group_after: single_end(after, grouped_to).min(state.history.last()),
            is_due: false,
            off: None,
            recorded_at: Stopwatch::now(),
        }
    }

    /// Delivers until the webhook is off or the server stops.
    pub(super) async fn run(mut self) {
        let mut stopped = self.dispatch.stopped.clone();
        while !*self.dispatch.stopped.borrow() {
            match self.take_turn().await {
                Turn::Again => tokio::task::yield_now().await,
                Turn::End => return,
                Turn::Wait(time) => {
                    let wakes = Arc::clone(&self.wakes);
                    let time = time.unwrap_or(RECORD_TIME_MAX);
                    tokio::select! {
                        biased;
                        _ = stopped.wait_for(|stopped| *stopped) => {}
                        () = wakes.notified() => {}
                        () = tokio::time::sleep(time) => {}
                    }
                }
            }
        }
        if self.is_due {
            self.record(false).await;
        }
    }

    async fn take_turn(&mut self) -> Turn {
        let Some((state, webhook)) = self.follow() else { return Turn::End };
        let until_record = self.until_record();
        if self.off.is_some() {
            return match until_record {
                Duration::ZERO => self.record(false).await,
                time => Turn::Wait(Some(time)),
            };
        }
        // A failure waits longer: its record would keep the delivery after it from joining a group.
        let until_due = match self.progress.failing {
            Some(_) => self.until(FAILURE_INTERVALS),
            None => until_record,
        };
        if self.must_record() && until_due.is_zero() && !self.plans_group(&state) {
            return self.record(false).await;
        }
        let record = self.must_record().then_some(until_due);
        if let Some(pause) = self.pause() {
            return Turn::Wait(Some(record.map_or(pause, |record| record.min(pause))));
        }
        match find_next(&state, &webhook, &self.progress) {
            NextDelivery::Nothing => Turn::Wait(record),
            NextDelivery::Skip(covers_to) => {
                self.progress.after = covers_to;
                Turn::Again
            }
            NextDelivery::Begin(after) => match until_record {
                Duration::ZERO => self.begin_round(after).await,
                time => Turn::Wait(Some(time)),
            },
            NextDelivery::Send(_) if self.plans_group(&state) && until_record.is_zero() => {
                self.plan_group(&state).await
            }
            NextDelivery::Send(delivery) if self.lets_send(&delivery) => {
                self.send(&webhook, &delivery).await
            }
            NextDelivery::Send(_) => match until_record {
                Duration::ZERO => self.record(false).await,
                time => Turn::Wait(Some(time)),
            },
        }
    }

    /// Whether a delivery belongs to a recorded group, or is near enough to the recorded place.
    fn lets_send(&self, delivery: &Delivery) -> bool {
        let is_grouped = self.progress.after < self.progress.grouped_to;
        is_grouped || delivery.covers_to <= single_end(self.recorded_after, self.recorded_to)
    }

    /// Takes over what was changed by hand. `None` if the webhook is off or removed.
    fn follow(&mut self) -> Option<(Arc<GroupState>, Arc<Webhook>)> {
        let state = self.dispatch.engine.published().group_state(self.group)?;
        let webhook = state.webhooks.get(self.id).filter(|webhook| webhook.is_on())?;
        let webhook = Arc::clone(webhook);
        if webhook.round != self.round {
            self.round = webhook.round;
            let answers = std::mem::take(&mut self.progress.answers);
            self.progress = WebhookProgress { answers, ..webhook.progress.clone() };
            self.recorded_after = self.progress.after;
            self.recorded_to = self.progress.grouped_to;
            self.first_group_after = 0;
            self.off = None;
        }
        if webhook.url != self.url {
            self.url = webhook.url.clone();
            self.progress.failing = None;
            self.off = None;
        }
        Some((state, webhook))
    }

    /// The time until the progress may be recorded again.
    fn until_record(&self) -> Duration {
        self.until(1)
    }

    /// The time until a number of intervals has passed since the last record.
    fn until(&self, intervals: u32) -> Duration {
        let time = self.dispatch.options.record_interval * intervals;
        time.saturating_sub(self.recorded_at.elapsed())
    }

    /// Whether the progress is to be recorded. Rows that the webhook does not get are no hurry.
    fn must_record(&self) -> bool {
        let skipped = self.progress.after - self.recorded_after;
        let elapsed = self.recorded_at.elapsed();
        self.is_due
            || (skipped >= SKIPPED_ROWS && elapsed >= SKIPPED_TIME)
            || (skipped > 0 && elapsed >= RECORD_TIME_MAX)
    }

    /// The time until a delivery that has failed is tried again; `None` if it may be now.
    fn pause(&self) -> Option<Duration> {
        let failing = self.progress.failing?;
        let clock = self.dispatch.engine.clock();
        let seconds = failing.not_before.seconds_since(clock.now());
        // A pause that is longer than any came from a clock that was ahead.
        if seconds <= 0 || seconds > 2 * PAUSE_SECONDS_MAX {
            return None;
        }
        let time = Duration::from_secs(seconds.unsigned_abs()).saturating_sub(clock.subsecond());
        Some(time.min(self.dispatch.options.poll_interval_max))
    }

    /// Whether several rows wait that no recorded group holds. A delivery that was tried keeps its
    /// content, so it joins no group.
    fn plans_group(&self, state: &GroupState) -> bool {
        let progress = &self.progress;
        !progress.reset
            && progress.failing.is_none()
            && progress.grouped_to <= progress.after
            && self.first_group_after <= progress.after
            && find_group_end(state, progress).is_some()
    }

    /// Records that the rows that wait are delivered in groups. Until that is durable, nothing is
    /// sent: a server that ends would repeat it in other groups.
    async fn plan_group(&mut self, state: &GroupState) -> Turn {
        let before = self.progress.grouped_to;
        self.progress.grouped_to = find_group_end(state, &self.progress).unwrap_or(before);
        if !self.record_progress(false).await {
            self.progress.grouped_to = before;
        }
        Turn::Again
    }

    /// Begins another round, whose first delivery says that changes are missing.
    async fn begin_round(&mut self, after: u64) -> Turn {
        let before = self.progress.clone();
        self.progress.after = after;
        self.progress.grouped_to = 0;
        self.progress.reset = true;
        self.progress.failing = None;
        if !self.record_progress(true).await {
            let answers = std::mem::take(&mut self.progress.answers);
            self.progress = WebhookProgress { answers, ..before };
        }
        Turn::Again
    }

    async fn send(&mut self, webhook: &Arc<Webhook>, delivery: &Delivery) -> Turn {
        let dispatch = Arc::clone(&self.dispatch);
        let sender = &dispatch.options.sender;
        let mut stopped = dispatch.stopped.clone();
        let place = tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => return Turn::Again,
            place = sender.take_place(&webhook.url) => place,
        };
        // It may have been changed while it waited for its place.
        match self.follow() {
            None => return Turn::End,
            Some((_, now)) if !Arc::ptr_eq(&now, webhook) => return Turn::Again,
            Some(_) => {}
        }
        let stop = async {
            let _ = stopped.wait_for(|stopped| *stopped).await;
            tokio::time::sleep(STOP_TIME_MAX).await;
        };
        let answer = tokio::select! {
            answer = sender.attempt(&dispatch.engine, self.group, webhook, delivery, &place) => answer,
            () = stop => return Turn::Again,
        };
        let Some(answer) = answer else { return Turn::Wait(Some(NOT_DECIDING_PAUSE)) };
        self.settle(delivery, answer);
        Turn::Again
    }

    /// Notes the end of an attempt, to be recorded later.
    fn settle(&mut self, delivery: &Delivery, answer: WebhookAnswer) {
        self.is_due = true;
        let progress = &mut self.progress;
        progress.answers.push(answer);
        if progress.answers.len() > ANSWERS_MAX {
            progress.answers.remove(0);
        }
        if answer.result.is_success() {
            progress.after = delivery.covers_to;
            progress.reset = false;
            progress.failing = None;
            return;
        }
        let engine = &self.dispatch.engine;
        let now = engine.clock().now();
        let draw = self.dispatch.options.sender.draw();
        let failing = next_failure(progress.failing, now, draw);
        progress.failing = Some(failing);
        let (group, webhook) = (self.group, self.id);
        let result = answer.result;
        tracing::debug!(%group, %webhook, ?result, tries = failing.tries, "a delivery was not taken");
        let is_too_long = now.seconds_since(failing.since) >= RETRY_SECONDS_MAX;
        if result.is_gone() {
            self.off = Some(OffReason::Gone);
        } else if is_too_long && engine.clock_doubt_seconds().is_none() {
            self.off = Some(OffReason::Failed);
        }
        if let Some(reason) = self.off {
            tracing::warn!(%group, %webhook, ?reason, "a webhook is turned off");
        }
    }

    async fn record(&mut self, begins_round: bool) -> Turn {
        self.record_progress(begins_round).await;
        Turn::Again
    }

    /// Records the progress, and returns whether it is durable. Otherwise nothing was recorded.
    async fn record_progress(&mut self, begins_round: bool) -> bool {
        self.recorded_at = Stopwatch::now();
        let is_mailed = self.off.is_some() && self.dispatch.options.sends_mail;
        let recipients = if is_mailed { self.administrators() } else { Vec::new() };
        let settlement = WebhookSettlement {
            id: self.id,
            round: self.round,
            progress: self.progress.clone(),
            begins_round,
            off: self.off,
            recipients,
        };
        let command = Command::Webhook(Box::new(WebhookCommand::Settle(settlement)));
        let written = self.dispatch.engine.write(self.group, Author::Server, command).await;
        self.recorded_at = Stopwatch::now();
        match written {
            Ok(done) => {
                // One that was set to another place meanwhile has another round, which is followed
                // by the next turn.
                if begins_round && !Arc::ptr_eq(&done.before, &done.group_state) {
                    self.round = self.round.wrapping_add(1);
                    self.first_group_after = 0;
                }
                self.recorded_after = self.progress.after;
                self.recorded_to = self.progress.grouped_to;
                self.progress.answers.clear();
                self.is_due = false;
                true
            }
            Err(rejection) => {
                let (group, webhook) = (self.group, self.id);
                tracing::warn!(%group, %webhook, ?rejection, "the place of a webhook is recorded later");
                self.is_due = true;
                false
            }
        }
    }

    /// The addresses of the administrators of the group.
    fn administrators(&self) -> Vec<Email> {
        let directory = self.dispatch.engine.published().directory();
        let pros = directory.pros.of_group(self.group);
        let role = |pro: ProId| directory.roles.role_of(self.group, pro);
        let administrators = pros.filter(|pro| *role(pro.id) == ProRole::Administrator);
        administrators.take(RECIPIENTS_MAX).map(|pro| pro.email.clone()).collect()
    }
}

/// Returns the last row that may be delivered by itself after what is recorded. A server that ends
/// before the next record leaves no delivery behind it unknown.
const fn single_end(after: u64, grouped_to: u64) -> u64 {
    let known = if after < grouped_to { grouped_to } else { after };
    known.saturating_add(SINGLE_ROWS_MAX)
}

/// Returns the state of a delivery after one more failure. The pauses grow from a second to two
/// hours; `draw` is a random number, by which each is up to a quarter shorter or longer.
fn next_failure(before: Option<FailingDelivery>, now: Instant, draw: u64) -> FailingDelivery {
    let tries = before.map_or(0, |before| before.tries).saturating_add(1);
    let since = before.map_or(now, |before| before.since.min(now));
    let doubled = FIRST_PAUSE_SECONDS << (tries - 1).min(20);
    let pause = doubled.min(PAUSE_SECONDS_MAX);
    let spread = pause / 2;
    let jitter = i64::try_from(draw % (spread.unsigned_abs() + 1)).expect("it is small");
    FailingDelivery { since, tries, not_before: now.plus_seconds(pause - spread / 2 + jitter) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_a_second_to_two_hours() {
        let mut failing = None;
        let mut now = Instant(1_000_000);
        let mut pauses = Vec::new();
        while failing
            .is_none_or(|it: FailingDelivery| now.seconds_since(it.since) < RETRY_SECONDS_MAX)
        {
            let next = next_failure(failing, now, pauses.len() as u64 * 7_919);
            pauses.push(next.not_before.seconds_since(now));
            now = next.not_before;
            failing = Some(next);
        }
        assert_eq!(pauses[0], 1);
        assert!(pauses.iter().all(|pause| (1..=PAUSE_SECONDS_MAX * 5 / 4).contains(pause)));
        assert!((40..60).contains(&pauses.len()), "{}", pauses.len());
        assert_eq!(failing.expect("it fails").since, Instant(1_000_000));
    }
}
