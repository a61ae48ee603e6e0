//! `slotbook compact`. Reference 17.3.

use std::path::Path;

use axum::http::Method;
use serde_json::json;
use tokio::runtime::Builder;

use crate::cli::error::CommandError;
use crate::cli::operator::api::{OfflineSettings, with_api};
use crate::cli::operator::socket;
use crate::cli::runtime::{CommandRuntime, start_thread};
use crate::cli::service_parts::engine_parts;
use crate::cli::terminal::print;
use crate::engine::journal::JournalError;
use crate::engine::metrics::EngineMetrics;
use crate::engine::randomness::Randomness;
use crate::engine::recovery::{self, Loaded};
use crate::engine::{Engine, PairOutcome};

const DONE: &str = "two generations were made: no file of the store holds what was erased before\n";

/// Makes two generations of a store, by the server that runs on it or in this process. The
/// reserve in MiB stays free.
///
/// # Errors
/// The store cannot be read or written, or its disk has too little room.
pub(crate) fn compact(data: &Path, reserve_mib: u64) -> Result<(), CommandError> {
    if socket::has_server(data)? {
        with_api(data, &OfflineSettings::default(), |api| {
            api.call(Method::POST, "/api/v1/operator/compactions", Some(&json!({})))
        })?;
    } else {
        let runtime = CommandRuntime::start(Builder::new_current_thread())?;
        runtime.block_on(compact_offline(data, reserve_mib << 20))?;
    }
    print(DONE);
    Ok(())
}

async fn compact_offline(data: &Path, reserve_bytes: u64) -> Result<(), CommandError> {
    let Loaded { directory, group_states, quarantined, store } = recovery::load(data)?;
    let log = store.into_log()?;
    let generations = log.generations()?;
    let parts = engine_parts(directory, group_states.into_iter().collect(), Randomness::from_os());
    let (engine, journal) =
        Engine::start_with_quarantined(quarantined, parts, log, EngineMetrics::default()).await;
    let journal = start_thread("journal", move || journal.run())?;
    let mut compactor = engine.new_compactor(generations, 0, reserve_bytes);
    let made = start_thread("compactor", move || compactor.compact_twice())?.await;
    engine.shut_down().await;
    journal.await.unwrap_or(Err(JournalError::Panicked))?;
    match made {
        Ok(Ok(PairOutcome::Made)) => Ok(()),
        Ok(Err(error)) => Err(error.into()),
        Ok(Ok(PairOutcome::Failed)) | Err(_) => {
            Err(CommandError::Refused("the generations were not made: the log says why".into()))
        }
    }
}
