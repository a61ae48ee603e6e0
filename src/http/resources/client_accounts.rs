//! The accounts of a group's clients, for administrators: a list, closing, and the end of their
//! sessions. Reference 3.12, 13.11.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::directory::access_history::{AccessAct, LoginPerson};
use crate::domain::directory::roles::ProRole;
use crate::domain::records::account::{Account, AccountMark};
use crate::domain::records::author::Author;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::Rejection;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{ADMINISTRATORS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::fiches::note_list;
use crate::http::resources::pagination::{PageAnswer, compute_page};
use crate::http::response::{HandlerResult, ok_response};
use crate::http::server::Server;
use crate::wire::account::ACCOUNT;
use crate::wire::field::Scope;
use crate::wire::list::Query;
use crate::wire::schema::{Count, schema_of};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/accounts");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/accounts/{id}");
const SESSIONS: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/accounts/{id}/sessions");

const CLOSED: Answer = Answer::json(
    200,
    "the number of accounts that were closed",
    Shape::Named("AccountsClosed", schema_of::<AccountsClosed>),
);
const ENDED: Answer = Answer::json(
    200,
    "the number of sessions that have ended",
    Shape::Named("AccountSessionsEnded", schema_of::<AccountSessionsEnded>),
);

/// The endpoints of this file. `{id}` is the client that the accounts book for.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::list(&[ALL], handler!(InGroup, list))
        .named("ListAccounts", "List the accounts of clients")
        .right(Resource::Account, Verb::List, ADMINISTRATORS),
    Endpoint::delete(&[ONE], handler!(InGroup, close))
        .named("CloseAccount", "Close the account of a client")
        .right(Resource::Account, Verb::Delete, ADMINISTRATORS)
        .without_body()
        .without_if_match()
        .answers(&[CLOSED]),
    Endpoint::delete(&[SESSIONS], handler!(InGroup, end_sessions))
        .named("EndAccountSessions", "Log the account of a client out everywhere")
        .right(Resource::Account, Verb::Delete, ADMINISTRATORS)
        .without_body()
        .without_if_match()
        .answers(&[ENDED]),
];

/// The closing of a client's accounts.
#[derive(Serialize, ToSchema)]
struct AccountsClosed {
    /// Number of accounts that were closed; 0 if the client has none.
    #[schema(value_type = Count)]
    closed: usize,
}

/// The end of the sessions of a client's accounts.
#[derive(Serialize, ToSchema)]
struct AccountSessionsEnded {
    /// Number of sessions that have ended.
    #[schema(value_type = Count)]
    ended: usize,
}

/// GET /api/v1/groups/{group_id}/accounts. A page in the list's own order costs what it and the
/// pages before it hold.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let query = Query::parse(&request.params, &ACCOUNT, &request.scope(), audience)?;
    let state = Arc::clone(&request.state);
    let count = state.accounts.len();
    let plain = query.plain_places(count);
    let cost = match &plain {
        Some(places) => places.end,
        None => count.saturating_mul(query.cost_per_record()),
    };
    let listed = compute_page(&request.server, cost, move || {
        let (page, total): (Vec<AccountMark>, usize) = match plain {
            Some(places) => {
                let all = state.accounts.by_client().skip(places.start).take(places.len());
                (all.map(|account| account.mark()).collect(), count)
            }
            None => {
                let all = state.accounts.values().map(AsRef::as_ref).collect();
                let page = query.select_page(all, &Scope::for_group(&state));
                (page.records.iter().map(|account| account.mark()).collect(), page.total)
            }
        };
        let head = query.envelope_head(page.len(), total);
        let places = (0..page.len() as u64).collect();
        PageAnswer::new(head, places, move |place, bytes| {
            let mark = usize::try_from(place).ok().and_then(|place| page.get(place));
            let account = mark.and_then(|mark| state.accounts.of_mark(mark));
            let account = account.expect("the page is from this state");
            ACCOUNT.append(account, &Scope::for_group(&state), audience, bytes);
            0
        })
    });
    let listed = listed.await?;
    note_list(&request, &listed);
    Ok(listed)
}

/// DELETE /api/v1/groups/{group_id}/accounts/{id}. Sent again, it closes nothing.
async fn close(request: GroupRequest) -> HandlerResult {
    match closing(&request).close(request.id(FicheId::new)?).await {
        Ok(closed) => Ok(ok_response(&AccountsClosed { closed })),
        Err(rejection) => {
            Err(ApiError::from_rejection(rejection, request.zone(), request.audience()))
        }
    }
}

/// DELETE /api/v1/groups/{group_id}/accounts/{id}/sessions.
async fn end_sessions(request: GroupRequest) -> HandlerResult {
    let ended = closing(&request).end_sessions(&request.state, request.id(FicheId::new)?).await?;
    Ok(ok_response(&AccountSessionsEnded { ended }))
}

fn closing(request: &GroupRequest) -> AccountClosing<'_> {
    AccountClosing {
        server: &request.server,
        group: request.state.catalogue.group.id,
        author: request.identity.author(),
        role: request.role(),
        now: request.now,
    }
}

/// The means by which an administrator closes accounts and ends sessions.
pub(crate) struct AccountClosing<'s> {
    pub(crate) server: &'s Server,
    pub(crate) group: GroupId,
    pub(crate) author: Author,
    /// The role of the author.
    pub(crate) role: &'s ProRole,
    pub(crate) now: Instant,
}

impl AccountClosing<'_> {
    /// Closes the accounts that book for a client: their sessions and links end. Returns their
    /// number.
    ///
    /// # Errors
    /// NoResult for an unknown client; the engine's rejection.
    pub(crate) async fn close(&self, client: FicheId) -> Result<usize, Rejection> {
        let command = Command::CloseAccounts(client).within(self.role);
        let done = self.server.engine.write(self.group, self.author, command).await?;
        let client = done.before.kept_client(client);
        let mut closed = 0;
        for account in done.before.accounts.of_client(client) {
            if done.group_state.accounts.of_mark(&account.mark()).is_none() {
                closed += 1;
                // None of them counts any more. Their room is for others.
                self.end(account);
            }
        }
        Ok(closed)
    }

    /// Ends all sessions of the accounts that book for a client. Returns their number.
    ///
    /// # Errors
    /// 404 for an unknown client. 503 if the history takes no row about it, or if the ends cannot
    /// be saved in a cluster.
    pub(crate) async fn end_sessions(
        &self,
        state: &GroupState,
        client: FicheId,
    ) -> Result<usize, ApiError> {
        if !state.fiches.contains_key(&client) {
            return Err(ApiError::no_result());
        }
        let client = state.kept_client(client);
        // First the row, so that no end of a session is without one.
        if state.accounts.of_client(client).any(|account| self.has_sessions(account)) {
            let act = AccessAct::LoggedOut(LoginPerson::Account(self.group, client));
            let log = &self.server.authenticator.access_log;
            let noted = log.note_act(Some(vec![self.group]), self.author, act, self.now).await;
            noted.map_err(ApiError::from_store)?;
        }
        let ended = state.accounts.of_client(client).map(|account| self.end(account)).sum();
        self.server.authenticator.sessions.saved().await?;
        Ok(ended)
    }

    fn has_sessions(&self, account: &Account) -> bool {
        let directory = self.server.engine.published().directory();
        let sessions = &self.server.authenticator.sessions;
        sessions.has_account(self.group, account, &directory, self.now)
    }

    fn end(&self, account: &Account) -> usize {
        let directory = self.server.engine.published().directory();
        let sessions = &self.server.authenticator.sessions;
        sessions.end_account(self.group, account, &directory, self.now)
    }
}
