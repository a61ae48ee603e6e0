//! Webhooks in requests and answers, and the bodies of their deliveries. Reference 18.4.

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{GroupId, WebhookId};
use crate::domain::records::text::InvalidValue;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::History;
use crate::domain::state::history::row::ObjectKind;
use crate::domain::state::webhooks::delivery::{Delivery, DeliveryContent};
use crate::domain::state::webhooks::settlement::WebhookFields;
use crate::domain::state::webhooks::url::{URL_CHARACTERS_MAX, WebhookUrl};
use crate::domain::state::webhooks::webhook::{
    AttemptResult, OffReason, WatchedKinds, Webhook, WebhookAnswer,
};
use crate::domain::time::Instant;
use crate::wire::changes::{ChangeNotice, SINCE, Since};
use crate::wire::datetime::format_rfc_3339;
use crate::wire::object_reader::ObjectReader;
use crate::wire::schema::{
    Count, UtcTime, described, instant, list, object_of, of_types, one_of, pattern, schema_names,
    schema_of,
};
use crate::wire::value;

/// The fields of a webhook that a caller gives.
const FIELDS: [&str; 4] = ["url", "objects", "active", SINCE];

/// The kinds of objects that a webhook may be limited to, by their names.
pub fn webhook_kinds() -> impl Iterator<Item = ObjectKind> {
    ObjectKind::ALL.iter().copied().filter(|kind| kind.is_in_feed())
}

fn kind_names() -> Vec<&'static str> {
    webhook_kinds().map(ObjectKind::name).collect()
}

schema_names! {
    /// The address of a receiver.
    pub GivenWebhookUrl => pattern("^[hH][tT][tT][pP][sS]?://[!-~]+$");
    /// Kinds of objects.
    pub GivenWebhookObjects => list(one_of(kind_names()));
    /// A place in the feed of changes, or `now`.
    pub GivenSince => pattern("^(now|[0-9]+-[0-9]+-[0-9a-f]{8})$");
    /// The address of a receiver.
    ShownWebhookUrl => pattern("^https?://[!-~]+$");
    /// Kinds of objects.
    ShownWebhookObjects => list(one_of(kind_names()));
    /// A reason for which a webhook is off, or nothing.
    ShownOffReason => one_of_or_null(OffReason::ALL.map(OffReason::name));
    /// A place in the feed, or nothing.
    ShownPlace => of_types([Type::String, Type::Null]);
    /// A kind of failure, or nothing.
    ShownFailure => one_of_or_null(FAILURES.map(AttemptResult::name));
    /// A status of HTTP, or nothing.
    ShownStatus => of_types([Type::Integer, Type::Null]);
    /// An instant, or nothing.
    ShownUtcTime => instant(true);
}

/// The results of attempts without an answer of the receiver.
const FAILURES: [AttemptResult; 6] = [
    AttemptResult::Unresolved,
    AttemptResult::AddressRefused,
    AttemptResult::Unreachable,
    AttemptResult::Tls,
    AttemptResult::TimedOut,
    AttemptResult::Broken,
];

/// One of some names, or null.
fn one_of_or_null<const N: usize>(names: [&'static str; N]) -> ObjectBuilder {
    let values = names.into_iter().map(Value::from).chain([Value::Null]);
    of_types([Type::String, Type::Null]).enum_values(Some(values))
}

/// The fields of a webhook.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
pub struct WebhookBody {
    /// The address of the receiver: https, at most 1,024 characters.
    #[schema(value_type = Option<GivenWebhookUrl>, nullable = false)]
    url: Option<String>,
    /// The kinds of objects whose changes it gets; empty for all.
    #[schema(value_type = Option<GivenWebhookObjects>, nullable = false)]
    objects: Option<Vec<String>>,
    /// Whether it is on.
    #[schema(nullable = false)]
    active: Option<bool>,
    /// The cursor behind which it goes on, or now.
    #[schema(value_type = Option<GivenSince>, nullable = false)]
    since: Option<String>,
}

/// The fields given for a webhook, before its place is looked for.
#[derive(Debug)]
pub struct GivenWebhook {
    /// The fields; their place is not set.
    pub fields: WebhookFields,
    /// The place.
    pub since: Option<Since>,
}

/// Parses the fields of a webhook. `check_url` tells which rule a well-formed address breaks.
///
/// # Errors
/// A fault for each wrong field.
pub fn parse_webhook(
    object: &Map<String, Value>,
    is_new: bool,
    check_url: impl Fn(&WebhookUrl) -> Result<(), &'static str>,
) -> Result<GivenWebhook, Vec<Fault>> {
    let mut reader = ObjectReader::new(object);
    for field in object.keys().filter(|field| !FIELDS.contains(&field.as_str())) {
        reader.add_fault(field, format!("is no field of a webhook: give {}", FIELDS.join(", ")));
    }
    let url = reader.read("url", |given| {
        let url = WebhookUrl::new(&value::parse_text(given)?)?;
        check_url(&url).map_err(|rule| InvalidValue(rule.to_owned()))?;
        Ok(Some(url))
    });
    if is_new && url.is_none() && !reader.has_fault("url") {
        reader.add_fault(
            "url",
            format!("must be given, with at most {URL_CHARACTERS_MAX} characters"),
        );
    }
    let objects = reader.read("objects", |given| parse_kinds(given).map(Some));
    let active = reader.read("active", |given| value::parse_boolean(given).map(Some));
    let since = match object.get(SINCE) {
        None | Some(Value::Null) => None,
        Some(given) => {
            let text = value::parse_text(given).map_err(|rule| Fault::new(SINCE, rule.0));
            let since = text.and_then(|text| Since::from_text(&text));
            reader.keep_faults(since.map_err(|fault| vec![fault]))
        }
    };
    reader
        .finish(GivenWebhook { fields: WebhookFields { url, objects, active, since: None }, since })
}

fn parse_kinds(given: &Value) -> Result<WatchedKinds, InvalidValue> {
    let rule = || InvalidValue(format!("must be a list of kinds: {}", kind_names().join(", ")));
    let Value::Array(list) = given else { return Err(rule()) };
    let mut kinds = Vec::with_capacity(list.len().min(16));
    for name in list {
        let kind = name.as_str().and_then(ObjectKind::from_name).filter(|kind| kind.is_in_feed());
        kinds.push(kind.ok_or_else(rule)?);
    }
    Ok(WatchedKinds::new(kinds))
}

/// A webhook.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookView {
    /// Its number in the group.
    #[schema(value_type = Count)]
    id: u64,
    /// The address of the receiver.
    #[schema(value_type = ShownWebhookUrl)]
    url: String,
    /// The kinds of objects whose changes it gets; empty for all.
    #[schema(value_type = ShownWebhookObjects)]
    objects: Vec<&'static str>,
    /// Whether it is on.
    active: bool,
    /// Reason why it is off: by_hand, failed after three days of failures, or gone after an
    /// answer 410.
    #[schema(value_type = ShownOffReason)]
    off_reason: Option<&'static str>,
    /// The time since which it is off.
    #[schema(value_type = ShownUtcTime)]
    off_since_utc: Option<String>,
    /// The place behind the last change that was delivered; null if it is no longer kept.
    #[schema(value_type = ShownPlace)]
    since: Option<String>,
    /// The time since which its next delivery fails.
    #[schema(value_type = ShownUtcTime)]
    failing_since_utc: Option<String>,
    /// Number of failures of its next delivery.
    #[schema(value_type = Count)]
    failures: u32,
    /// The next try of a delivery that has failed.
    #[schema(value_type = ShownUtcTime)]
    next_try_utc: Option<String>,
    /// The moment to which the secret before signs too.
    #[schema(value_type = ShownUtcTime)]
    former_secret_until_utc: Option<String>,
    /// The time when it was made.
    #[schema(value_type = UtcTime)]
    created_at_utc: String,
    /// The time when it was last changed.
    #[schema(value_type = UtcTime)]
    updated_at_utc: String,
}

/// The webhooks of a group.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhooksAnswer {
    /// The webhooks, ascending by number.
    pub records: Vec<WebhookView>,
}

/// Returns the schema of a webhook with its last answers.
pub fn details_schema() -> RefOr<Schema> {
    let answers = described(list(schema_of::<AnswerView>()), "The last 50 answers, latest first.");
    object_of::<WebhookView>().property("answers", answers).required("answers").into()
}

/// Returns the schema of a webhook with its secret.
pub fn secret_schema() -> RefOr<Schema> {
    let secret = pattern("^whsec_[A-Za-z0-9+/]{43}=$");
    let secret = described(secret, "The secret of its signatures, which is not shown again.");
    object_of::<WebhookView>().property("secret", secret).required("secret").into()
}

/// The end of an attempt.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerView {
    /// The time when it ended.
    #[schema(value_type = UtcTime)]
    at_utc: String,
    /// The status of the receiver's answer; null without one.
    #[schema(value_type = ShownStatus)]
    status: Option<u16>,
    /// Reason why there is no answer; null with one.
    #[schema(value_type = ShownFailure)]
    failure: Option<&'static str>,
    /// Whether the receiver has taken the delivery: a status of 200 to 299.
    taken: bool,
    /// Duration in milliseconds.
    #[schema(value_type = Count)]
    milliseconds: u32,
}

impl WebhookView {
    /// Returns a webhook as the state has it.
    pub fn new(webhook: &Webhook, state: &GroupState, steady_now: Instant) -> Self {
        let failing = webhook.progress.failing.filter(|_| webhook.is_on());
        let former = webhook.former.as_ref().filter(|former| steady_now < former.ends_at);
        Self {
            id: webhook.id.number(),
            url: webhook.url.as_str().to_owned(),
            objects: webhook.objects.kinds().iter().map(|kind| kind.name()).collect(),
            active: webhook.is_on(),
            off_reason: webhook.off.map(|off| off.reason.name()),
            off_since_utc: webhook.off.map(|off| format_rfc_3339(off.since)),
            since: cursor_text(&state.history, state.sequence, webhook.progress.after),
            failing_since_utc: failing.map(|failing| format_rfc_3339(failing.since)),
            failures: failing.map_or(0, |failing| failing.tries),
            next_try_utc: failing.map(|failing| format_rfc_3339(failing.not_before)),
            former_secret_until_utc: former.map(|former| format_rfc_3339(former.ends_at)),
            created_at_utc: format_rfc_3339(webhook.created_at),
            updated_at_utc: format_rfc_3339(webhook.updated_at),
        }
    }
}

/// Returns a webhook with its last answers.
pub fn with_answers(webhook: &Webhook, state: &GroupState, steady_now: Instant) -> Value {
    let answers = webhook.progress.answers.iter().rev().map(AnswerView::new).collect::<Vec<_>>();
    with_member(&WebhookView::new(webhook, state, steady_now), "answers", &answers)
}

/// Returns a webhook with its secret.
pub fn with_secret(webhook: &Webhook, state: &GroupState, steady_now: Instant) -> Value {
    let view = WebhookView::new(webhook, state, steady_now);
    with_member(&view, "secret", &webhook.secret.to_text())
}

fn with_member(view: &WebhookView, name: &str, member: &impl Serialize) -> Value {
    let json = |it: Result<Value, serde_json::Error>| it.expect("answers are JSON");
    let mut object = json(serde_json::to_value(view));
    object[name] = json(serde_json::to_value(member));
    object
}

impl AnswerView {
    /// Returns the end of an attempt.
    pub fn new(answer: &WebhookAnswer) -> Self {
        let status =
            if let AttemptResult::Status(status) = answer.result { Some(status) } else { None };
        Self {
            at_utc: format_rfc_3339(answer.at),
            status,
            failure: if status.is_some() { None } else { Some(answer.result.name()) },
            taken: answer.result.is_success(),
            milliseconds: answer.milliseconds,
        }
    }
}

/// Returns the cursor behind a row; `None` if the row is no longer kept.
fn cursor_text(history: &History, sequence: u64, number: u64) -> Option<String> {
    if number == history.last() {
        return Some(history.end(sequence).to_string());
    }
    let placed = history.rows_after(number.checked_sub(1)?).next()?;
    (placed.number == number).then(|| placed.cursor.to_string())
}

/// Returns the body of a delivery: ids, and nothing that tells of a person. `now` counts for a
/// delivery without changes.
pub fn delivery_body(
    delivery: &Delivery,
    group: GroupId,
    webhook: WebhookId,
    now: Instant,
) -> Vec<u8> {
    let mut data = Map::new();
    data.insert("group".into(), group.number().into());
    data.insert("webhook".into(), webhook.number().into());
    let mut at = now;
    if let DeliveryContent::Changes(changes) = &delivery.content {
        at = changes.last().map_or(now, |change| change.placed.row.at);
        let notices: Vec<ChangeNotice> = changes.iter().map(ChangeNotice::new).collect();
        let notices = serde_json::to_value(notices).expect("notices are JSON");
        data.insert("changes".into(), notices);
    }
    let kind = delivery.content.name();
    let body = json!({ "type": kind, "timestamp": format_rfc_3339(at), "data": data });
    body.to_string().into_bytes()
}
