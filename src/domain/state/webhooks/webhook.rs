//! A webhook of a group: its settings, its secrets, and how far it has got. Reference 18.4.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::domain::records::ids::WebhookId;
use crate::domain::state::history::row::ObjectKind;
use crate::domain::state::webhooks::url::WebhookUrl;
use crate::domain::time::{DAY, Instant};

/// Number of answers that are kept of each webhook.
pub const ANSWERS_MAX: usize = 50;
/// Time for which a secret stays valid beside the next one, in seconds.
pub const FORMER_SECRET_SECONDS: i64 = DAY;

/// A webhook. The order of the members is the format on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Its number in the group, which no other one gets.
    pub id: WebhookId,
    /// The address of the receiver.
    pub url: WebhookUrl,
    /// The kinds of objects whose changes it gets; all kinds if there are none.
    pub objects: WatchedKinds,
    /// The secret of its signatures.
    pub secret: WebhookSecret,
    /// The secret before, while both are valid.
    pub former: Option<FormerSecret>,
    /// The time when it was made.
    pub created_at: Instant,
    /// The time when it was last changed by hand.
    pub updated_at: Instant,
    /// Number of times that its position was set anew. It is part of the ids of deliveries, so that
    /// what is delivered once more on purpose has other ids.
    pub round: u32,
    /// The reason why it is off; `None` while it is on.
    pub off: Option<WebhookOff>,
    /// The state of its deliveries.
    pub progress: WebhookProgress,
}

/// The state of the deliveries of a webhook. The order of the members is the format on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookProgress {
    /// The number of the last row of the history that was delivered, or that it does not get.
    pub after: u64,
    /// The rows up to this number are delivered in groups that begin after `after`. Later ones are
    /// delivered one by one.
    pub grouped_to: u64,
    /// Whether the receiver must learn that rows are missing before the next one.
    pub reset: bool,
    /// The failures of the next delivery; `None` without any.
    pub failing: Option<FailingDelivery>,
    /// The last answers, the oldest first, at most [`ANSWERS_MAX`].
    pub answers: Vec<WebhookAnswer>,
}

/// A delivery that has failed and is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingDelivery {
    /// The time of its first failure.
    pub since: Instant,
    /// Number of failures, at least 1.
    pub tries: u32,
    /// The time of the next try.
    pub not_before: Instant,
}

/// The end of one attempt. Nothing that the receiver has sent is kept but its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAnswer {
    /// The time when the attempt ended.
    pub at: Instant,
    /// Its result.
    pub result: AttemptResult,
    /// Its duration in milliseconds.
    pub milliseconds: u32,
}

/// The result of an attempt. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptResult {
    /// The status of the receiver's answer.
    Status(u16),
    /// The name of the host could not be resolved.
    Unresolved,
    /// An address of the host is not allowed.
    AddressRefused,
    /// No connection could be made.
    Unreachable,
    /// The receiver's certificate is not trusted, or TLS failed otherwise.
    Tls,
    /// The receiver did not answer in time.
    TimedOut,
    /// The connection broke, or the answer was no HTTP.
    Broken,
}

impl AttemptResult {
    /// Whether the receiver has taken the delivery.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Status(200..=299))
    }

    /// Whether the receiver wants no more deliveries.
    pub const fn is_gone(self) -> bool {
        matches!(self, Self::Status(410))
    }

    /// The name in answers and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Unresolved => "unresolved",
            Self::AddressRefused => "address_refused",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::TimedOut => "timed_out",
            Self::Broken => "broken",
        }
    }
}

/// The reason why a webhook is off. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OffReason {
    /// An administrator has turned it off.
    ByHand,
    /// A delivery has failed for three days.
    Failed,
    /// The receiver has answered 410.
    Gone,
}

impl OffReason {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::ByHand, Self::Failed, Self::Gone];

    /// The name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByHand => "by_hand",
            Self::Failed => "failed",
            Self::Gone => "gone",
        }
    }
}

/// The end of deliveries until an administrator turns them on again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookOff {
    /// The reason.
    pub reason: OffReason,
    /// The time since which it is off.
    pub since: Instant,
}

/// A secret that stays valid for a while after the next one was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerSecret {
    /// The secret.
    pub secret: WebhookSecret,
    /// The steady time from which it signs no more.
    pub ends_at: Instant,
}

/// The secret of the signatures of a webhook: 256 random bits. It is shown once, and in no list,
/// log, export, history or error.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecret([u8; 32]);

impl WebhookSecret {
    /// Makes a secret of random bits, which must not be guessable.
    pub const fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// The bits, as the key of signatures.
    pub const fn bits(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text for the receiver, as Standard Webhooks write it: `whsec_` and the bits in Base64.
    pub fn to_text(&self) -> String {
        format!("whsec_{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// Kinds of objects, ascending, each once; all kinds if there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct WatchedKinds(Vec<ObjectKind>);

impl WatchedKinds {
    /// Returns these kinds.
    pub fn new(mut kinds: Vec<ObjectKind>) -> Self {
        kinds.sort_unstable();
        kinds.dedup();
        Self(kinds)
    }

    /// Whether changes of a kind of object belong to it.
    pub fn has(&self, kind: ObjectKind) -> bool {
        self.0.is_empty() || self.0.contains(&kind)
    }

    /// The kinds; none stands for all.
    pub fn kinds(&self) -> &[ObjectKind] {
        &self.0
    }
}

impl From<WatchedKinds> for Vec<u8> {
    fn from(watched: WatchedKinds) -> Self {
        watched.0.into_iter().map(ObjectKind::code).collect()
    }
}

impl TryFrom<Vec<u8>> for WatchedKinds {
    type Error = String;

    fn try_from(codes: Vec<u8>) -> Result<Self, String> {
        let kind = |code: u8| ObjectKind::from_code(code).ok_or(format!("no kind {code}"));
        Ok(Self(codes.into_iter().map(kind).collect::<Result<_, _>>()?))
    }
}

impl Webhook {
    /// Whether it delivers changes.
    pub const fn is_on(&self) -> bool {
        self.off.is_none()
    }

    /// The secrets that sign at a steady time: one, or two while the secret is changed.
    pub fn secrets(&self, steady_now: Instant) -> impl Iterator<Item = &WebhookSecret> {
        let former = self.former.iter().filter(move |former| steady_now < former.ends_at);
        std::iter::once(&self.secret).chain(former.map(|former| &former.secret))
    }

    /// Goes on after a row, in a new round.
    pub fn go_on_after(&mut self, after: u64, reset: bool) {
        let progress = &mut self.progress;
        progress.after = after;
        progress.grouped_to = 0;
        progress.reset = reset;
        progress.failing = None;
        self.round = self.round.wrapping_add(1);
    }

    /// Adds what has happened since the progress was last recorded; `next` has only new answers.
    pub fn settle(&mut self, next: &WebhookProgress) {
        let WebhookProgress { after, grouped_to, reset, failing, answers } = next;
        let progress = &mut self.progress;
        progress.after = *after;
        progress.grouped_to = *grouped_to;
        progress.reset = *reset;
        progress.failing = *failing;
        progress.answers.extend(answers);
        let excess = progress.answers.len().saturating_sub(ANSWERS_MAX);
        progress.answers.drain(..excess);
    }
}
