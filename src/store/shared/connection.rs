//! One connection to a shared store, for one thread. It sets apart what was refused and what is
//! unknown.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use crate::planted_faults::PlantedFault;
use crate::store::error::StoreError;
use crate::store::shared::address::SharedAddress;
use crate::store::shared::hosts::connect_to_first;

/// Condition of a writer over whose row another server has taken.
const FENCED: &str = "SB001";
/// Condition of PostgreSQL for a key that is there already.
const KEY_TAKEN: &str = "23505";
/// Condition of a server whose address another one has joined with.
const REPLACED: &str = "SB004";
/// Condition of a server that is older than what is in force.
const OUTDATED: &str = "SB007";
/// Read behind each commit, in the same round trip: whether it has waited for a standby.
const IS_SYNCHRONOUS: &str = "SELECT slotbook.is_synchronous()";

/// Reason why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The connection is lost, or its answer says nothing of standbys: the call may have been
    /// carried out, now or later, or not.
    Unknown(String),
    /// Another server has taken over. Nothing was changed.
    Fenced,
    /// The row is there already, of another server or of an earlier call. Nothing was changed.
    KeyTaken,
    /// Another server has joined with the same address.
    Replaced,
    /// This server does not know the formats in force, or has older time zone data. Nothing was
    /// changed.
    Outdated,
    /// PostgreSQL refuses, and may not later. Nothing was changed.
    Refused(String),
}

impl CallError {
    /// Returns the error for a call that is not tried again.
    pub(crate) fn into_store_error(self, doing: &'static str) -> StoreError {
        match self {
            Self::Unknown(reason) | Self::Refused(reason) => StoreError::shared(doing, reason),
            Self::Fenced | Self::KeyTaken => StoreError::Fenced,
            Self::Outdated => StoreError::shared(
                doing,
                "this server is older than what is in force: start the newer release here",
            ),
            Self::Replaced => StoreError::shared(
                doing,
                "another server has joined with the same --advertise: give each its own",
            ),
        }
    }
}

/// Longest time to find the host that takes writes, and to log in there.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Slowest way to PostgreSQL by which a batch of any size arrives in its time.
const BYTES_A_SECOND_MIN: usize = 128 << 10;

/// A parameter of a call.
pub(crate) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// A connection that is made anew when it was lost. It blocks its thread: never use it in a task.
pub(crate) struct SharedConnection {
    address: SharedAddress,
    /// Longest time of a call. PostgreSQL's own limit does not end a wait for standbys.
    deadline: Duration,
    /// It polls the connection; `Some` until this is dropped.
    runtime: Option<Runtime>,
    open: Option<OpenConnection>,
}

impl Drop for SharedConnection {
    fn drop(&mut self) {
        self.open = None;
        // It may be dropped in a task, where no runtime may be waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn running(runtime: &Option<Runtime>) -> &Runtime {
    runtime.as_ref().expect("it is there until it is dropped")
}

struct OpenConnection {
    client: Client,
    statements: BTreeMap<&'static str, Statement>,
    /// Whether a warning came: a wait for standbys that was ended is reported as success with one.
    warned: Arc<AtomicBool>,
}

impl SharedConnection {
    /// Creates a connection that is made with the first call.
    ///
    /// # Errors
    /// The runtime cannot be made.
    pub(crate) fn new(address: SharedAddress, deadline: Duration) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::shared("reach", error.to_string()))?;
        Ok(Self { address, deadline, runtime: Some(runtime), open: None })
    }

    pub(crate) fn address(&self) -> &SharedAddress {
        &self.address
    }

    /// Returns the rows of a statement that changes nothing that is relied on.
    ///
    /// # Errors
    /// [`CallError`].
    pub(crate) fn call(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, CallError> {
        self.run(statement, parameters, None)
    }

    /// Returns the rows of a statement whose changes are on a standby as well.
    ///
    /// # Errors
    /// [`CallError`].
    pub(crate) fn commit(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, CallError> {
        self.commit_bytes(statement, parameters, 0)
    }

    /// Does as [`SharedConnection::commit`], with more time for a batch of this size.
    ///
    /// # Errors
    /// [`CallError`].
    pub(crate) fn commit_bytes(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
        bytes: usize,
    ) -> Result<Vec<Row>, CallError> {
        let seconds = u64::try_from(bytes / BYTES_A_SECOND_MIN).expect("a 64-bit machine");
        self.run(statement, parameters, Some(Duration::from_secs(seconds)))
    }

    /// Connects, and prepares a statement that is called later.
    ///
    /// # Errors
    /// [`CallError`].
    pub(crate) fn prepare(&mut self, statement: &'static str) -> Result<(), CallError> {
        self.connect()?;
        let Self { deadline, runtime, open, .. } = self;
        let preparing = open.as_mut().expect("it was opened").prepare(statement);
        let prepared = running(runtime).block_on(async { timeout(*deadline, preparing).await });
        let prepared = prepared.unwrap_or_else(|_| Err(late(*deadline)));
        self.close_if_unknown(prepared.map(drop))
    }

    /// Runs statements without parameters, as a script.
    ///
    /// # Errors
    /// [`CallError`].
    pub(crate) fn run_script(&mut self, script: &str) -> Result<(), CallError> {
        self.connect()?;
        let Self { deadline, runtime, open, .. } = self;
        let client = &open.as_ref().expect("it was opened").client;
        let run = running(runtime)
            .block_on(async { timeout(*deadline, client.batch_execute(script)).await });
        let run =
            run.map_err(|_| late(*deadline)).and_then(|run| run.map_err(|error| judge(&error)));
        self.close_if_unknown(run)
    }

    /// Closes the connection: the next call makes a new one.
    pub(crate) fn close(&mut self) {
        self.open = None;
        // Lets the task of the connection end.
        running(&self.runtime).block_on(tokio::task::yield_now());
    }

    /// Waits, and lets the connection answer meanwhile.
    pub(crate) fn pause(&self, time: Duration) {
        running(&self.runtime).block_on(async { tokio::time::sleep(time).await });
    }

    fn run(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
        commit_more: Option<Duration>,
    ) -> Result<Vec<Row>, CallError> {
        let answered = self.connect().and_then(|()| {
            let Self { deadline, runtime, open, .. } = self;
            let deadline = *deadline + commit_more.unwrap_or_default();
            let open = open.as_mut().expect("it was opened");
            let answer = open.answer(statement, parameters, commit_more.is_some());
            let answered = running(runtime).block_on(async { timeout(deadline, answer).await });
            match answered {
                Ok(answered) => answered,
                Err(_) if commit_more.is_some() => Err(late_commit(deadline)),
                Err(_) => Err(late(deadline)),
            }
        });
        self.close_if_unknown(answered)
    }

    fn close_if_unknown<T>(&mut self, answered: Result<T, CallError>) -> Result<T, CallError> {
        if matches!(answered, Err(CallError::Unknown(_))) {
            self.close();
        }
        answered
    }

    fn connect(&mut self) -> Result<(), CallError> {
        if self.open.as_ref().is_some_and(|open| !open.client.is_closed()) {
            return Ok(());
        }
        self.open = None;
        let Self { address, runtime, open, .. } = self;
        let runtime = running(runtime);
        let connect =
            async |host: usize| address.connect(host).await.map_err(|error| describe(&error));
        let connecting = connect_to_first(address.host_count(), connect);
        let connected = runtime.block_on(async { timeout(CONNECT_DEADLINE, connecting).await });
        // Without a connection nothing was sent, so nothing was done.
        let connected = connected.unwrap_or_else(|_| Err("it does not answer".to_owned()));
        let (client, mut connection) = connected.map_err(CallError::Refused)?;
        let warned = Arc::new(AtomicBool::new(false));
        let has_warned = Arc::clone(&warned);
        runtime.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message
                    && notice.code().code().starts_with("01")
                {
                    tracing::warn!(notice = notice.message(), "PostgreSQL warns");
                    has_warned.store(true, Ordering::SeqCst);
                }
            }
        });
        *open = Some(OpenConnection { client, statements: BTreeMap::new(), warned });
        Ok(())
    }
}

impl OpenConnection {
    async fn answer(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
        is_commit: bool,
    ) -> Result<Vec<Row>, CallError> {
        let prepared = self.prepare(statement).await?;
        if !is_commit {
            return self.client.query(&prepared, parameters).await.map_err(|error| judge(&error));
        }
        let behind = self.prepare(IS_SYNCHRONOUS).await?;
        // Warnings from before, as of the start of the connection, say nothing of this commit.
        self.warned.store(false, Ordering::SeqCst);
        // Both are sent before the first is answered.
        let (rows, settings) = tokio::join!(
            self.client.query(&prepared, parameters),
            self.client.query_one(&behind, &[])
        );
        let rows = rows.map_err(|error| judge(&error))?;
        let is_synchronous: bool =
            settings.map_err(|error| CallError::Unknown(describe(&error)))?.get(0);
        if !is_synchronous {
            let what = "a commit no longer waits for a standby: set synchronous_standby_names";
            return Err(CallError::Unknown(what.to_owned()));
        }
        if self.warned.load(Ordering::SeqCst) && !PlantedFault::SharedNoticeIgnored.is_active() {
            let what = "PostgreSQL has warned: the wait for a standby may have been ended";
            return Err(CallError::Unknown(what.to_owned()));
        }
        Ok(rows)
    }

    /// Prepares a statement once. Nothing is changed by that, so that a failure is a refusal.
    async fn prepare(&mut self, statement: &'static str) -> Result<Statement, CallError> {
        if let Some(prepared) = self.statements.get(statement) {
            return Ok(prepared.clone());
        }
        let prepared = self.client.prepare(statement).await;
        let prepared = prepared.map_err(|error| CallError::Refused(describe(&error)))?;
        self.statements.insert(statement, prepared.clone());
        Ok(prepared)
    }
}

fn late(deadline: Duration) -> CallError {
    CallError::Unknown(format!("no answer within {} s", deadline.as_secs()))
}

fn late_commit(deadline: Duration) -> CallError {
    CallError::Unknown(format!(
        "no answer within {} s: a commit waits for a synchronous standby, is one connected?",
        deadline.as_secs()
    ))
}

/// Tells a refusal, after which nothing was done, from an unknown end.
fn judge(error: &tokio_postgres::Error) -> CallError {
    let Some(code) = error.code() else { return CallError::Unknown(describe(error)) };
    match code.code() {
        FENCED => CallError::Fenced,
        KEY_TAKEN => CallError::KeyTaken,
        REPLACED => CallError::Replaced,
        OUTDATED => CallError::Outdated,
        // Shutdown of the server or its connection, which may be after the commit.
        code if code.starts_with("57P") || code.starts_with("08") => {
            CallError::Unknown(describe(error))
        }
        _ => CallError::Refused(describe(error)),
    }
}

/// Returns the message of an error with what the database says.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(database) => match database.hint() {
            Some(hint) => format!("{}; {hint}", database.message()),
            None => database.message().to_owned(),
        },
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
