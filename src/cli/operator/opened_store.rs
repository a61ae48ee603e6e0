//! The API of a store on which no server runs. Reference 11.1.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use tokio::sync::oneshot;

use crate::cli::error::CommandError;
use crate::cli::runtime::start_thread;
use crate::cli::service_parts::{engine_parts, served_store};
use crate::engine::Engine;
use crate::engine::journal::JournalError;
use crate::engine::metrics::EngineMetrics;
use crate::engine::randomness::Randomness;
use crate::engine::recovery::{self, Loaded};
use crate::http::{HttpService, Server};
use crate::notify::Gateways;
use crate::store::{
    BatchNumber, Checkpoint, JournalRecord, Log, RecoveredStore, SledLog, StoreError,
};

/// Settings of a server that a command needs where none runs.
#[derive(Debug, Default)]
pub(crate) struct OfflineSettings<'s> {
    /// Free space that a backup leaves on the disk of the data directory, in MiB.
    pub(crate) reserve_mib: u64,
    /// The beginning of links in messages.
    pub(crate) public_url: &'s str,
}

/// A store, and the engine and the service over it. It sends no messages and serves no connection.
pub(crate) struct OpenedStore {
    service: HttpService,
    engine: Engine,
    /// The journal's writer; `None` after it has failed.
    journal: Option<oneshot::Receiver<Result<(), JournalError>>>,
}

impl OpenedStore {
    /// Reads the store of a data directory, and starts an engine over it.
    ///
    /// # Errors
    /// The store is missing, in use or damaged.
    pub(crate) async fn open(
        data: &Path,
        settings: &OfflineSettings<'_>,
    ) -> Result<Self, CommandError> {
        let Loaded { directory, group_states, quarantined, store } = recovery::load(data)?;
        let link_secret = directory.link_secret.clone();
        let gateways = Gateways { link_secret, ..Gateways::unconfigured(settings.public_url) };
        let parts =
            engine_parts(directory, group_states.into_iter().collect(), Randomness::from_os());
        let log = LazyLog { unwritten: Some(store), log: None };
        let (engine, journal) =
            Engine::start_with_quarantined(quarantined, parts, log, EngineMetrics::default()).await;
        let journal = Some(start_thread("journal", move || journal.run())?);
        let server = Server::new(engine.clone(), 1)
            .with_gateways(Arc::new(gateways))
            .with_store(served_store(data, None, settings.reserve_mib));
        let service = HttpService::new(server, |_| Router::new());
        Ok(Self { service, engine, journal })
    }

    /// Returns the service over the store.
    pub(crate) fn service(&self) -> HttpService {
        self.service.clone()
    }

    /// Completes an exchange with the service, unless the store fails before: then nothing is
    /// answered any more.
    ///
    /// # Errors
    /// That of the exchange, or of the store.
    pub(crate) async fn complete(
        &mut self,
        exchange: impl Future<Output = Result<(), CommandError>>,
    ) -> Result<(), CommandError> {
        let journal = self.journal.as_mut().expect("a failure ends the command");
        let ended = tokio::select! {
            biased;
            done = exchange => return done,
            ended = journal => ended,
        };
        self.journal = None;
        Ok(ended.unwrap_or(Err(JournalError::Panicked))?)
    }

    /// Ends the engine, and then the journal, when all writes are answered.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) async fn close(self) -> Result<(), CommandError> {
        // Writes without a journal are never answered, so there is nothing to wait for.
        let Some(journal) = self.journal else { return Ok(()) };
        self.engine.shut_down().await;
        Ok(journal.await.unwrap_or(Err(JournalError::Panicked))?)
    }
}

/// A log that leaves the store alone until the first record, so that commands that only read change
/// no byte of it.
struct LazyLog {
    /// The store, until the first record.
    unwritten: Option<RecoveredStore>,
    /// The log, from the first record.
    log: Option<SledLog>,
}

impl LazyLog {
    /// The log, which is begun if need be.
    fn begun(&mut self) -> Result<&mut SledLog, StoreError> {
        if let Some(store) = self.unwritten.take() {
            self.log = Some(store.into_log()?);
        }
        Ok(self.log.as_mut().expect("the first failure ends the journal"))
    }
}

impl Log for LazyLog {
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        self.begun()?.append(records)
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        self.begun()?.checkpoint()
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        match &mut self.log {
            Some(log) => log.sync_watermark(),
            None => Ok(()),
        }
    }

    fn close(self) -> Result<(), StoreError> {
        match self.log {
            Some(log) => log.close(),
            None => Ok(()),
        }
    }
}
