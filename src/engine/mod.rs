//! The engine: actors around the pure rules of `domain`. It fixes the order of decisions, and
//! releases an answer only when its event is durable.
//!
//! A write takes a permit, and goes to its group's actor, which the supervisor starts for the first
//! one. The group asks one calendar after another, and hands its event to the journal. The journal
//! sends the answer. A read takes a published state and waits for no actor.

mod account_index;
pub mod admission;
pub mod backup;
mod calendar;
mod cancel_many;
pub mod change_wakeups;
pub mod check;
pub mod compaction;
mod compaction_requests;
pub(crate) mod confirmation;
mod due_reminders;
mod erasure;
mod erasure_cleanup;
mod fair_queue;
mod forgotten_list;
pub mod group;
mod group_commit;
mod group_map;
mod group_routes;
mod group_states;
mod handle;
pub mod health;
pub mod hold_stats;
pub mod journal;
pub mod mailbox;
mod message_scheduler;
mod message_sender;
mod messages;
mod messaging;
pub mod metrics;
pub mod outbox_stats;
pub mod published;
pub mod quarantine;
pub mod queue;
pub mod randomness;
pub mod recovery;
mod replay;
mod retained;
mod retention;
mod shared_compaction;
pub(crate) mod steady_clock;
mod supervisor;
mod upkeep;
mod used_blocks;
pub mod webhooks;
mod write;

pub use self::compaction_requests::PairOutcome;
pub use self::forgotten_list::ErasureError;
pub use self::group_states::GroupStates;
pub use self::handle::{Engine, EngineParts};
pub use self::messaging::{MessagingHandle, MessagingOptions};
pub use self::replay::{RecoveredStates, StateRebuilder};
pub use self::retained::Retained;
pub(crate) use self::shared_compaction::SharedCompactor;
pub use self::shared_compaction::SharedSizes;
pub use self::write::{
    AcceptanceHook, AccessError, Committed, IdempotentRequest, Rejection, ShopAnswer, WriteResult,
};
pub use crate::store::ForgottenClient;
pub(crate) use crate::store::codec::{PassedError, decode_passed, encode_passed};
pub(crate) use crate::store::{LEASE_TIME, Lease, SavedSession};
