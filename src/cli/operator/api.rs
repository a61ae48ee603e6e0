//! The API as the operator's commands use it. Reference 11.1.

use std::io::Write;
use std::path::Path;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::runtime::Builder;

use crate::cli::error::CommandError;
pub(crate) use crate::cli::operator::opened_store::OfflineSettings;
use crate::cli::operator::opened_store::OpenedStore;
use crate::cli::operator::socket;
use crate::cli::runtime::CommandRuntime;

/// The API of the server that runs on a data directory, or of the store there.
pub(crate) struct OperatorApi {
    runtime: CommandRuntime,
    way: Way,
}

enum Way {
    Server(SendRequest<Full<Bytes>>),
    Store(Box<OpenedStore>),
}

/// Opens the API of a data directory, calls `act` with it, and closes it. Without a running server
/// the store is locked until then.
///
/// # Errors
/// The store cannot be read or written, or the error of `act`.
pub(crate) fn with_api<T>(
    data: &Path,
    settings: &OfflineSettings<'_>,
    act: impl FnOnce(&mut OperatorApi) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let runtime = CommandRuntime::start(Builder::new_current_thread())?;
    let way = runtime.block_on(Way::open(data, settings))?;
    let mut api = OperatorApi { runtime, way };
    let done = act(&mut api);
    if let Way::Store(store) = api.way {
        // A failed store matters more than an answer that is missing because of it.
        api.runtime.block_on(store.close())?;
    }
    done
}

impl Way {
    async fn open(data: &Path, settings: &OfflineSettings<'_>) -> Result<Self, CommandError> {
        let Some(stream) = socket::connect(data)? else {
            return Ok(Self::Store(Box::new(OpenedStore::open(data, settings).await?)));
        };
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(server_left)?;
        // Its errors are those of the requests too.
        tokio::spawn(connection);
        Ok(Self::Server(sender))
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        match self {
            Self::Server(sender) => {
                sender.ready().await.map_err(server_left)?;
                let response = sender.send_request(request).await.map_err(server_left)?;
                copy_answer(response.map(Body::new), out).await
            }
            Self::Store(store) => {
                let service = store.service();
                let answer =
                    async { copy_answer(service.respond_to_operator(request).await, out).await };
                store.complete(answer).await
            }
        }
    }
}

impl OperatorApi {
    /// Sends a request, and writes the body of its answer to `out` as it arrives.
    ///
    /// # Errors
    /// The request is refused, the store failed, or the server went away. In the last case the
    /// request may have been carried out.
    pub(crate) fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let request = Request::builder().method(method).uri(path).header(HOST, "localhost");
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.header(CONTENT_TYPE, "application/json").body(Full::from(body));
        let request = request.expect("paths of commands are legal");
        self.runtime.block_on(self.way.exchange(request, out))
    }

    /// Sends a request, and returns the JSON values of its answer: one, or one for each line.
    ///
    /// # Errors
    /// As [`OperatorApi::send`].
    pub(crate) fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Vec<Value>, CommandError> {
        let mut bytes = Vec::new();
        self.send(method, path, body, &mut bytes)?;
        let values = serde_json::Deserializer::from_slice(&bytes).into_iter();
        values.collect::<Result<_, _>>().map_err(server_left)
    }
}

/// Writes the body of an answer to `out`.
///
/// # Errors
/// The answer is an error, or it breaks off.
async fn copy_answer(response: Response<Body>, out: &mut dyn Write) -> Result<(), CommandError> {
    let status = response.status();
    let mut body = response.into_body();
    if !status.is_success() {
        let bytes = body.collect().await.map_err(server_left)?.to_bytes();
        let answer = serde_json::from_slice(&bytes).map_err(server_left)?;
        return Err(refusal(status, &answer));
    }
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(server_left)?.into_data() {
            out.write_all(&bytes)?;
        }
    }
    Ok(())
}

/// Returns the error of an error answer: the messages of all its entries.
pub(crate) fn refusal(status: StatusCode, answer: &Value) -> CommandError {
    let entries = answer["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let messages = entries.iter().filter_map(|entry| entry["message"].as_str());
    let reason = messages.collect::<Vec<_>>().join("\n");
    if status == StatusCode::NOT_FOUND {
        CommandError::NotFound(reason)
    } else {
        CommandError::Refused(reason)
    }
}

/// Returns the error of a connection that ended before the answer.
fn server_left<E>(_: E) -> CommandError {
    CommandError::Refused(
        "the server went away before it had answered: check whether the request was executed"
            .into(),
    )
}
