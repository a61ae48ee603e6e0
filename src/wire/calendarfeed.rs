//! Calendar feeds in requests and answers. Reference 19.1.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::Type;

use crate::domain::directory::Directory;
use crate::domain::directory::roles::{ProRole, Sight};
use crate::domain::records::calendarfeed::{Calendarfeed, FeedDetails, FeedTarget};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, GroupId, ProId};
use crate::domain::records::text::InvalidValue;
use crate::domain::state::group_state::GroupState;
use crate::wire::datetime::LocalTime;
use crate::wire::history::{author_name, author_text};
use crate::wire::object_reader::ObjectReader;
use crate::wire::schema::{Count, of_types, one_of, pattern, schema_names};
use crate::wire::value;

/// The name under which a body wraps a feed.
pub const CALENDARFEED: &str = "calendarfeed";

/// The part of a group that the maker of a feed sees.
pub struct FeedMaker<'a> {
    /// The state of the group.
    pub state: &'a GroupState,
    /// The professionals.
    pub directory: &'a Directory,
    /// The calendars.
    pub sight: Sight,
    /// The only professional; `None` for all of the group.
    pub only: Option<ProId>,
}

impl FeedMaker<'_> {
    /// Reads the feed that an object gives: its target, and `busy` unless it gives other details.
    ///
    /// # Errors
    /// Another calendar or professional than those seen, both or none; a professional without
    /// calendars of its own; other details than there are.
    pub fn parse(
        &self,
        object: &Map<String, Value>,
    ) -> Result<(FeedTarget, FeedDetails), Vec<Fault>> {
        let mut reader = ObjectReader::new(object);
        let calendar = reader.read("calendar_id", |given| {
            value::parse_id(given)?.map(|number| self.find_calendar(number)).transpose()
        });
        let pro = reader.read("pro_id", |given| {
            value::parse_id(given)?.map(|number| self.find_pro(number)).transpose()
        });
        let details = reader.read_filled("details", parse_details).unwrap_or(FeedDetails::Busy);
        let target = match (calendar, pro) {
            (Some(calendar), None) => Some(FeedTarget::Calendar(calendar)),
            (None, Some(pro)) => Some(FeedTarget::Pro(pro)),
            (Some(_), Some(_)) => {
                reader.add_fault("pro_id", "is given beside calendar_id: leave one of them out");
                None
            }
            (None, None) => {
                if !reader.has_fault("calendar_id") && !reader.has_fault("pro_id") {
                    reader.add_fault("calendar_id", "is required unless pro_id is given");
                }
                None
            }
        };
        let target = reader.finish(target)?;
        Ok((target.expect("without a fault there is a target"), details))
    }

    fn find_calendar(&self, number: u64) -> Result<CalendarId, InvalidValue> {
        let calendars = &self.state.catalogue.calendars;
        let is_seen = |id: &CalendarId| {
            self.sight.shows_calendar(*id) && calendars.get(id).is_some_and(|row| !row.deleted)
        };
        let rule = || InvalidValue(format!("{number} is not the id of a calendar of the group"));
        CalendarId::new(number).filter(is_seen).ok_or_else(rule)
    }

    fn find_pro(&self, number: u64) -> Result<ProId, InvalidValue> {
        let group: GroupId = self.state.catalogue.group.id;
        let is_seen = |id: &ProId| {
            let works = self.directory.pros.get(id).is_some_and(|pro| pro.works_for(group));
            works && self.only.is_none_or(|only| only == *id)
        };
        let id = ProId::new(number).filter(is_seen);
        let rule = format!("{number} is not the id of a professional of the group");
        let id = id.ok_or(InvalidValue(rule))?;
        match self.directory.roles.role_of(group, id) {
            ProRole::Professional(_) => Ok(id),
            role @ (ProRole::Administrator | ProRole::Reception) => {
                let name = role.name();
                Err(InvalidValue(format!(
                    "{number} has the role {name} and no calendars of its own: give calendar_id"
                )))
            }
        }
    }
}

/// Parses the details of a feed.
///
/// # Errors
/// Another text.
fn parse_details(given: &Value) -> Result<FeedDetails, InvalidValue> {
    let names = FeedDetails::ALL.map(FeedDetails::name).join(", ");
    FeedDetails::from_name(&value::parse_text(given)?)
        .ok_or_else(|| InvalidValue(format!("must be one of {names}")))
}

schema_names! {
    /// The details of a feed.
    ShownDetails => one_of(FeedDetails::ALL.map(FeedDetails::name));
    /// An id, or null.
    ShownTarget => of_types([Type::Integer, Type::Null]).minimum(Some(1));
    /// An author.
    ShownMaker => pattern("^[a-z]+(:[0-9a-f]+)?$");
    /// The names of a person, or null.
    ShownMakerName => of_types([Type::String, Type::Null]);
    /// A link.
    ShownLink => pattern("/ics/[0-9]+-[A-Za-z0-9_-]{43}[.]ics$");
}

/// A calendar feed, without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct CalendarfeedAnswer {
    /// Number of the feed in the group.
    #[schema(value_type = Count)]
    id: u64,
    /// The calendar that it shows; null for those of a professional.
    #[schema(value_type = ShownTarget)]
    calendar_id: Option<u64>,
    /// The professional whose own calendars it shows; null for one calendar.
    #[schema(value_type = ShownTarget)]
    pro_id: Option<u64>,
    /// The details of each event: busy, initials or full.
    #[schema(value_type = ShownDetails)]
    details: &'static str,
    /// The caller who made the link, as in the history.
    #[schema(value_type = ShownMaker)]
    author: String,
    /// The names of that professional; null for others, and for one who has left the group.
    #[schema(value_type = ShownMakerName)]
    author_name: Option<String>,
    /// Whether the link works at present.
    works: bool,
    /// The moment at which the feed was made, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    created_at: LocalTime,
    /// The same of its link, which was renewed since if it is later.
    updated_at: LocalTime,
}

/// The calendar feeds that a caller may change.
#[derive(Debug, Serialize, ToSchema)]
pub struct CalendarfeedsAnswer {
    /// The feeds, the oldest first.
    pub records: Vec<CalendarfeedAnswer>,
}

/// A calendar feed whose link is new.
#[derive(Debug, Serialize, ToSchema)]
pub struct LinkedCalendarfeed {
    /// The feed.
    pub calendarfeed: CalendarfeedAnswer,
    /// The link. It is shown this once.
    #[schema(value_type = ShownLink)]
    pub url: String,
}

impl CalendarfeedAnswer {
    /// The answer about one feed.
    pub fn new(feed: &Calendarfeed, state: &GroupState, directory: &Directory) -> Self {
        let zone = state.catalogue.zone();
        let (calendar_id, pro_id) = match feed.target {
            FeedTarget::Calendar(id) => (Some(id.number()), None),
            FeedTarget::Pro(id) => (None, Some(id.number())),
        };
        Self {
            id: feed.id.number(),
            calendar_id,
            pro_id,
            details: feed.details.name(),
            author: author_text(Some(feed.author)),
            author_name: author_name(Some(feed.author), state, directory),
            works: state.shown_calendars_of(feed, directory).is_some(),
            created_at: LocalTime::new(zone, feed.created_at),
            updated_at: LocalTime::new(zone, feed.updated_at),
        }
    }
}
