//! The delivery of changes to webhooks. Reference 18.5.
//!
//! A webhook is a place in the history of its group, and nothing waits in memory. Each that is on
//! has a task, which sends what follows its place, and records the place about once a second.
//! Publishing only wakes, so that a slow receiver holds back no write and no other webhook.

mod dispatch;
mod runner;
mod sender;
mod stats;
pub(crate) mod wakeups;

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};

pub use self::dispatch::WebhookOptions;
pub use self::sender::{RenderBody, TestOutcome, WebhookSender};
pub use self::stats::WebhookStats;

use crate::domain::records::ids::{GroupId, WebhookId};
use crate::engine::handle::Engine;
use crate::engine::upkeep::give_way;
use crate::engine::webhooks::dispatch::{Dispatch, WebhookPlace};
use crate::engine::webhooks::runner::Runner;

/// Held by each task. All have ended once all copies are dropped.
type LivenessToken = mpsc::Sender<Infallible>;

/// Handle to the running delivery.
pub struct WebhooksHandle {
    stop: watch::Sender<bool>,
    /// Closed when all tasks have ended.
    liveness: mpsc::Receiver<Infallible>,
}

impl WebhooksHandle {
    /// Begins no more attempts, and waits until those under way have ended and the places are
    /// recorded. An attempt ends within 5 seconds: one that is dropped is repeated later.
    pub async fn stop(mut self) {
        // Without tasks there is no listener.
        let _ = self.stop.send(true);
        while self.liveness.recv().await.is_some() {}
    }
}

impl Engine {
    /// Delivers changes to webhooks from now on. Call it once.
    pub fn deliver_webhooks(&self, options: WebhookOptions) -> WebhooksHandle {
        let (stop, stopped) = watch::channel(false);
        let (token, liveness) = mpsc::channel(1);
        let dispatch = Dispatch::new(self.clone(), options, stopped);
        tokio::spawn(run(Arc::new(dispatch), token));
        WebhooksHandle { stop, liveness }
    }
}

/// Starts a task for each webhook that is on, and wakes those of groups with new states.
async fn run(dispatch: Arc<Dispatch>, token: LivenessToken) {
    let published = dispatch.engine.published_arc();
    for (nth, group) in published.groups().enumerate() {
        update_group(&dispatch, group, &token);
        give_way(nth).await;
    }
    let mut stopped = dispatch.stopped.clone();
    loop {
        let woken = published.webhook_wakeups().wait();
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => break,
            () = woken => {}
        }
        for group in published.webhook_wakeups().take() {
            update_group(&dispatch, group, &token);
        }
    }
}

/// Wakes the tasks of a group's webhooks, and starts those that are missing.
fn update_group(dispatch: &Arc<Dispatch>, group: GroupId, token: &LivenessToken) {
    let Some(state) = dispatch.engine.published().group_state(group) else { return };
    let mut running = dispatch.running.lock();
    let first = (group, WebhookId::new(1).expect("1 is an id"));
    for (_, wakes) in running.range(first..).take_while(|((of, _), _)| *of == group) {
        wakes.notify_one();
    }
    for webhook in state.webhooks.iter().filter(|webhook| webhook.is_on()) {
        let place = (group, webhook.id);
        if running.contains_key(&place) {
            continue;
        }
        let wakes = Arc::new(Notify::new());
        running.insert(place, Arc::clone(&wakes));
        let task = RunningTask { dispatch: Arc::clone(dispatch), place, _token: token.clone() };
        let runner = Runner::new(Arc::clone(dispatch), wakes, &state, webhook);
        tokio::spawn(async move {
            let _task = task;
            runner.run().await;
        });
    }
}

/// Removes a task from those that run when it ends, so also after a panic. A webhook that was
/// turned on again meanwhile gets another one.
struct RunningTask {
    dispatch: Arc<Dispatch>,
    place: WebhookPlace,
    _token: LivenessToken,
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        self.dispatch.running.lock().remove(&self.place);
        // Looked at after the removal: the state may have turned it on before that.
        self.dispatch.engine.published().webhook_wakeups().add(self.place.0);
    }
}
