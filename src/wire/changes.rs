//! The feed of changes in requests and answers. Reference 18.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema, Type};

use crate::domain::records::fault::Fault;
use crate::domain::state::changes::{Change, ObjectPresence};
use crate::domain::state::history::cursor::ChangeCursor;
use crate::domain::state::history::row::{HistoryVerb, ObjectKind};
use crate::domain::time::zone::Zone;
use crate::wire::datetime::{LocalTime, format_rfc_3339};
use crate::wire::history::author_text;
use crate::wire::params::Params;
use crate::wire::schema::{
    UtcTime, described, list, object_of, of_types, one_of, pattern, schema_names, schema_of,
};

/// Name of the parameter with the place behind which changes are asked for.
pub const SINCE: &str = "since";
/// Value of that parameter for the place behind all changes.
const NOW: &str = "now";
/// Name of the first event of a stream, with the place where it begins.
pub const BEGIN_EVENT: &str = "begin";
/// Name of the event that tells a reader to read anew, with the place where the stream goes on.
pub const RESET_EVENT: &str = "reset";
/// Number of changes of a page without `limit`.
pub const LIMIT_DEFAULT: i64 = 500;
/// Maximum number of changes of a page.
pub const LIMIT_MAX: i64 = 1_000;

/// The place behind which changes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// All changes that the feed has.
    Begin,
    /// None of those so far.
    Now,
    /// Those behind a place.
    Place(ChangeCursor),
}

impl Since {
    /// Parses the parameter `since`.
    ///
    /// # Errors
    /// A value that is neither a cursor nor `now`.
    pub fn parse(params: &Params) -> Result<Self, Fault> {
        match params.value(SINCE) {
            None => Ok(Self::Begin),
            Some(text) => Self::from_text(text),
        }
    }

    /// Parses a cursor, or `now`.
    ///
    /// # Errors
    /// Another text.
    pub fn from_text(text: &str) -> Result<Self, Fault> {
        if text == NOW {
            return Ok(Self::Now);
        }
        let rule = "must be a cursor as answers have it, or now";
        text.parse().map(Self::Place).map_err(|_| Fault::new(SINCE, rule))
    }
}

schema_names! {
    /// A place in the feed.
    ShownCursor => pattern("^[0-9]+-[0-9]+-[0-9a-f]{8}$");
    /// An object of the feed, as its kind and its id.
    ShownFeedObject => {
        let kinds = ObjectKind::ALL.iter().filter(|kind| kind.is_in_feed());
        let names: Vec<&str> = kinds.map(|kind| kind.name()).collect();
        pattern(&format!("^({}):[0-9]+$", names.join("|")))
    };
    /// The act of a change of the feed.
    ShownFeedVerb => one_of(HistoryVerb::ALL.iter().filter(|it| it.is_in_feed()).map(|it| it.name()));
    /// The name of an event of a stream. Readers name one without a name a message.
    ShownEventName => one_of([BEGIN_EVENT, RESET_EVENT, "message"]);
    /// An author.
    ShownChangeAuthor => pattern("^[a-z]+(:[0-9a-f]+)?$");
}

/// A change by ids alone, as streams and webhooks send it: nothing in it tells of a person.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangeNotice {
    /// The place behind this change.
    #[schema(value_type = ShownCursor)]
    cursor: String,
    /// The moment.
    #[schema(value_type = UtcTime)]
    at_utc: String,
    /// The object, as its kind and its id. That of an account is the id of its client.
    #[schema(value_type = ShownFeedObject)]
    object: String,
    /// The act.
    #[schema(value_type = ShownFeedVerb)]
    verb: &'static str,
    /// Whether the object is now marked as deleted, no longer there, or no longer among what the
    /// reader reads.
    deleted: bool,
}

impl ChangeNotice {
    /// The place behind the change.
    pub fn cursor(&self) -> &str {
        &self.cursor
    }

    /// The notice of a change.
    pub fn new(change: &Change) -> Self {
        let row = &change.placed.row;
        Self {
            cursor: change.placed.cursor.to_string(),
            at_utc: format_rfc_3339(row.at),
            object: format!("{}:{}", row.object.kind.name(), row.object.id),
            verb: row.verb.name(),
            deleted: change.presence != ObjectPresence::Live,
        }
    }
}

/// An event of a stream, as readers of server-sent events put its lines together.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its lines are written as text")]
struct ChangeEvent {
    /// The place behind which the stream goes on.
    #[schema(value_type = ShownCursor)]
    id: String,
    /// None for a change; begin with the place where the stream begins, or reset with the place
    /// where it goes on after changes that it leaves out.
    #[schema(value_type = ShownEventName)]
    event: Option<&'static str>,
    /// An object of JSON. That of a change has its cursor, at_utc, object, verb and deleted as the
    /// feed has them; that of begin and reset has a cursor alone.
    #[schema(value_type = String, content_media_type = "application/json")]
    data: String,
}

/// A change, before its object as it is now.
#[derive(Debug, Serialize, ToSchema)]
struct ChangeHead {
    /// The place behind this change.
    #[schema(value_type = ShownCursor)]
    cursor: String,
    /// The moment, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    at: LocalTime,
    /// The same as an instant.
    #[schema(value_type = UtcTime)]
    at_utc: String,
    /// The object, as its kind and its id. That of an account is the id of its client.
    #[schema(value_type = ShownFeedObject)]
    object: String,
    /// The act.
    #[schema(value_type = ShownFeedVerb)]
    verb: &'static str,
    /// The author: server, operator, visitor, professional with its id, account with the id of the
    /// client, application with the id of its key, or unknown.
    #[schema(value_type = ShownChangeAuthor)]
    author: String,
    /// Whether the object is now marked as deleted, no longer there, or no longer among what the
    /// caller reads.
    deleted: bool,
}

/// Appends a change with its object as it is now, if `append_record` appends it.
pub fn append_change(
    change: &Change,
    zone: Zone,
    append_record: Option<impl FnOnce(&mut Vec<u8>)>,
    bytes: &mut Vec<u8>,
) {
    let ChangeNotice { cursor, at_utc, object, verb, deleted } = ChangeNotice::new(change);
    let row = &change.placed.row;
    let at = LocalTime::new(zone, row.at);
    let author = author_text(row.author);
    let head = ChangeHead { cursor, at, at_utc, object, verb, author, deleted };
    serde_json::to_writer(&mut *bytes, &head).expect("writing to memory cannot fail");
    let Some(append_record) = append_record else { return };
    // The record is the last member.
    bytes.pop();
    bytes.extend_from_slice(br#","record":"#);
    if change.presence == ObjectPresence::Gone {
        bytes.extend_from_slice(b"null");
    } else {
        append_record(bytes);
    }
    bytes.push(b'}');
}

/// Returns the beginning of a page, up to the bracket that opens its list.
pub fn page_head(next: ChangeCursor, has_more: bool) -> Vec<u8> {
    format!(r#"{{"next":"{next}","more":{has_more},"changes":["#).into_bytes()
}

/// A page of changes, before them.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is written as text, for its list that follows")]
struct ChangesHead {
    /// The value of since for the next page.
    #[schema(value_type = ShownCursor)]
    next: String,
    /// Whether rows follow. The next page may have no change all the same.
    more: bool,
}

/// The schema of a page.
pub fn page_schema() -> RefOr<Schema> {
    let record = of_types([Type::Object, Type::Null]);
    let text = "The object as it is now; null if it is gone for the caller, and left out with \
                records=0.";
    let change = object_of::<ChangeHead>().property("record", described(record, text));
    let changes = described(list(change), "The changes, in their order.");
    object_of::<ChangesHead>().property("changes", changes).required("changes").into()
}

/// The schema of an event of a stream.
pub fn event_schema() -> RefOr<Schema> {
    schema_of::<ChangeEvent>()
}
