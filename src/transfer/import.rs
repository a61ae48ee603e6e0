//! A document becomes content: everything is checked, what is wrong is named by its place, and nothing of a wrong
//! document is kept. Reference 11.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::identity::directory::{Directory, IdKind};
use crate::domain::messaging::outbox::Outbox;
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::customfield::{CustomName, Customfield, Model};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, FicheId, GroupId, ID_MAX, InterventionId,
    InterventionsetId, VeventId,
};
use crate::domain::records::text::Text;
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::zone_names::ZoneName;
use crate::domain::time::{DAY, Instant};
use crate::engine::randomness::Randomness;
use crate::transfer::document::{Piece, Section, walk};
use crate::transfer::faults::Faults;
use crate::transfer::ids::Ids;
pub use crate::transfer::ids::Taken;
use crate::transfer::people::{self, HashPassword, Pros, objects};
use crate::transfer::slug;
use crate::transfer::{Content, ImportFault, MESSAGES_MADE};
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::datetime;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, ColumnValue, Scope, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::value;
use crate::wire::vevent::{self, VEVENT};

/// How a document is read.
pub struct Import<'a> {
    /// The moment of the import: the stamp of what brings none.
    pub now: Instant,
    /// Makes the hash at rest of a password's SHA-1 in lower-case hex.
    pub hash_password: HashPassword<'a>,
    /// Where the secrets of appointments come from that bring none.
    pub draws: Randomness,
    /// What the store already uses.
    pub taken: Taken,
    /// Is told how many rows of how many have been read.
    pub progress: &'a mut dyn FnMut(usize, usize),
}

/// The content of a document, for an empty store.
///
/// # Errors
/// The first things that are wrong with it, at most twenty.
pub fn read(
    document: &[u8],
    now: Instant,
    hash_password: &dyn Fn(&str) -> Text<255>,
) -> Result<Content, Vec<ImportFault>> {
    let (draws, taken) = (Randomness::from_os(), Taken::default());
    Import { now, hash_password, draws, taken, progress: &mut |_, _| {} }.read(document)
}

/// The document but for its fiches and events.
#[derive(Default)]
struct Outline {
    top: Map<String, Value>,
    groups: Vec<Map<String, Value>>,
    rows: usize,
}

/// What a document is made of.
const PARTS: [&str; 2] = ["apikeys", "groups"];
/// The short lists of a group whose rows have ids, and those of people.
const SECTIONS: [&str; 7] = [
    "pros",
    "accounts",
    "calendarsets",
    "calendars",
    "interventionsets",
    "interventions",
    "customfields",
];

impl Outline {
    /// Refuses sections that nobody reads: lists and objects that are none of the document's or of a group's. What else is
    /// unknown is ignored, as it is in every resource.
    fn check_sections(&self, faults: &mut Faults) {
        let is_section = |value: &Value| value.is_array() || value.is_object();
        for (name, _) in self
            .top
            .iter()
            .filter(|(name, value)| !PARTS.contains(&name.as_str()) && is_section(value))
        {
            faults.add(quoted(name), "is no part of a document: those are apikeys and groups");
        }
        for (index, group) in self.groups.iter().enumerate() {
            for (name, value) in group {
                let known = SECTIONS.contains(&name.as_str()) || GROUP.field(name).is_some();
                if known || !is_section(value) {
                    continue;
                }
                let rule = format!(
                    "is no section of a group: those are {}, fiches and vevents",
                    SECTIONS.join(", ")
                );
                faults.add(format!("groups[{index}].{}", quoted(name)), rule);
            }
        }
    }
}

/// A name that a document gives, short enough to be read.
fn quoted(name: &str) -> String {
    name.chars().take(100).collect()
}

/// A group as far as it has been read.
struct Draft {
    path: String,
    /// The group without events, in which references are looked up.
    state: GroupState,
    /// How many messages it has made elsewhere.
    messages_made: u64,
    fiches: Vec<Arc<Fiche>>,
    /// Each with its place in the document.
    vevents: Vec<(usize, Arc<Vevent>)>,
}

impl Import<'_> {
    /// The content of a document.
    ///
    /// # Errors
    /// The first things that are wrong with it, at most twenty.
    pub fn read(mut self, document: &[u8]) -> Result<Content, Vec<ImportFault>> {
        let mut ids = Ids::after(&self.taken);
        let outline = outline(document, &mut ids).map_err(|fault| vec![fault])?;
        let mut faults = Faults::default();
        outline.check_sections(&mut faults);
        let mut drafts = self.catalogues(&outline, &mut ids, &mut faults);
        faults.none_or(())?;
        let mut done = 0;
        walk(document, Some(Section::Fiches), &mut |piece| {
            let Piece::Row(group, index, row) = piece else { return };
            if !faults.full() {
                drafts[group].fiche(index, &row, self.now, &mut ids, &mut faults);
            }
            self.tick(&mut done, outline.rows);
        })
        .map_err(|fault| vec![fault])?;
        faults.none_or(())?;
        for draft in &mut drafts {
            draft.settle_fiches();
        }
        walk(document, Some(Section::Vevents), &mut |piece| {
            let Piece::Row(group, index, row) = piece else { return };
            if !faults.full() {
                self.vevent(&mut drafts[group], index, &row, &mut ids, &mut faults);
            }
            self.tick(&mut done, outline.rows);
        })
        .map_err(|fault| vec![fault])?;
        let content = self.people(&outline, &drafts, &mut ids, &mut faults);
        drafts.iter().for_each(|draft| draft.check_overlaps(&mut faults));
        faults.none_or(())?;
        Ok(finish(content, drafts))
    }

    fn tick(&mut self, done: &mut usize, total: usize) {
        const STEP: usize = 10_000;
        *done += 1;
        if *done == total || done.is_multiple_of(STEP) {
            (self.progress)(*done, total);
        }
    }

    /// The groups with all but their rows, accounts and professionals.
    fn catalogues(&mut self, outline: &Outline, ids: &mut Ids, faults: &mut Faults) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for (index, fields) in outline.groups.iter().enumerate() {
            let path = format!("groups[{index}]");
            let id = ids.claim("groups", fields, &path, faults).and_then(GroupId::new);
            // A group whose id or zone is wrong is read on, to find what else is.
            let id = id.unwrap_or_else(|| GroupId::new(1).expect("1 is an id"));
            let zone = fields.get("timezone").and_then(Value::as_str).and_then(ZoneName::from_name);
            let zone =
                zone.unwrap_or_else(|| ZoneName::from_name("UTC").expect("the table has UTC"));
            let mut group = Group::new(id, zone, self.now);
            (group.mail_since, group.sms_since) = ALWAYS;
            let state = GroupState::new(Catalogue::new(group.clone()));
            match GROUP.parse_new(fields, &Scope::of(&state), Audience::Store) {
                Ok(patch) => {
                    stamps(&GROUP, fields, &Scope::of(&state), self.now, &path, faults);
                    patch.apply_to(&mut group);
                }
                Err(wrong) => faults.extend(&path, wrong),
            }
            self.name_in_addresses(&mut group, &path, faults);
            let catalogue =
                Sections { fields, path: &path, now: self.now, ids, faults }.catalogue(group);
            let messages_made = messages_made(fields, &path, faults);
            let state = GroupState::new(catalogue);
            drafts.push(Draft {
                path,
                state,
                messages_made,
                fiches: Vec::new(),
                vevents: Vec::new(),
            });
        }
        drafts
    }

    /// Gives the group a `urlname` of its own.
    fn name_in_addresses(&mut self, group: &mut Group, path: &str, faults: &mut Faults) {
        if group.urlname.is_blank() {
            let taken =
                |slug: &str| self.taken.urlnames.get(slug).is_some_and(|owner| *owner != group.id);
            let slug = slug::unique(group.name.as_str(), group.id.number(), taken);
            group.urlname = Text::new(&slug).expect("a slug is short");
        }
        let owner =
            self.taken.urlnames.entry(group.urlname.as_str().to_owned()).or_insert(group.id);
        if *owner != group.id {
            faults.add(
                format!("{path}.urlname"),
                "belongs to another group; leave it out to have one made",
            );
        }
    }

    fn vevent(
        &mut self,
        draft: &mut Draft,
        index: usize,
        row: &Value,
        ids: &mut Ids,
        faults: &mut Faults,
    ) {
        let path = format!("{}.vevents[{index}]", draft.path);
        let Some(object) = row.as_object() else { return faults.add(path, "must be an object") };
        let scope = Scope::of(&draft.state);
        let id = ids.claim("vevents", object, &path, faults).and_then(VeventId::new);
        let input = vevent::parse(object, &scope, Audience::Store);
        let stamps = stamps(&VEVENT, object, &scope, self.now, &path, faults);
        let (id, input, (created_at, updated_at)) = match (id, input, stamps) {
            (Some(id), Ok(input), Some(stamps)) => (id, input, stamps),
            (_, Ok(_), _) => return,
            (_, Err(wrong), _) => return faults.extend(&path, wrong),
        };
        let mut row = input.vevent(id, self.draws.key(), created_at, updated_at);
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            pass_over_past_reminders(appointment, &scope, self.now);
        }
        draft.vevents.push((index, Arc::new(row)));
    }

    fn people(
        &self,
        outline: &Outline,
        drafts: &[Draft],
        ids: &mut Ids,
        faults: &mut Faults,
    ) -> People {
        let mut pros = Pros::default();
        let mut accounts = Vec::new();
        for (draft, fields) in drafts.iter().zip(&outline.groups) {
            let scope = Scope::of(&draft.state);
            let (path, section) = (&draft.path, fields.get("pros"));
            pros.add_group(section, path, &scope, self.now, self.hash_password, (ids, faults));
            accounts.push(people::accounts(
                fields.get("accounts"),
                path,
                &draft.state,
                self.hash_password,
                faults,
            ));
        }
        let groups: Vec<GroupId> =
            drafts.iter().map(|draft| draft.state.catalogue.group.id).collect();
        let apikeys = people::apikeys(outline.top.get("apikeys"), &groups, &self.taken, faults);
        let directory = Directory {
            apikeys: apikeys.into(),
            pros: pros.finish().into(),
            ..Directory::default()
        };
        People { directory, accounts }
    }
}

struct People {
    directory: Directory,
    /// Those of each group, in the order of the groups.
    accounts: Vec<Vec<Arc<crate::domain::identity::account::Account>>>,
}

/// Reads everything but the rows, and notes all ids.
fn outline(document: &[u8], ids: &mut Ids) -> Result<Outline, ImportFault> {
    let mut outline = Outline::default();
    walk(document, None, &mut |piece| match piece {
        Piece::Top(key, value) => drop(outline.top.insert(key, value)),
        Piece::Group => outline.groups.push(Map::new()),
        Piece::Field(group, key, value) => drop(outline.groups[group].insert(key, value)),
        Piece::RowId(section, id) => {
            outline.rows += 1;
            ids.note(section.name(), id.as_ref());
        }
        Piece::Row(..) => {}
    })?;
    for group in &outline.groups {
        ids.note("groups", group.get("id"));
        for section in SECTIONS {
            let rows = group.get(section).and_then(Value::as_array);
            rows.into_iter().flatten().for_each(|row| ids.note(section, row.get("id")));
        }
    }
    Ok(outline)
}

/// Reads the short lists of one group.
struct Sections<'a> {
    fields: &'a Map<String, Value>,
    path: &'a str,
    now: Instant,
    ids: &'a mut Ids,
    faults: &'a mut Faults,
}

impl Sections<'_> {
    /// The group with its sets, calendars, interventions and customised attributes; what is referred to comes first.
    fn catalogue(&mut self, group: Group) -> Catalogue {
        let mut state = GroupState::new(Catalogue::new(group));
        let now = self.now;
        macro_rules! section {
            ($name:ident, $table:expr, $id:ident, $blank:expr) => {
                let rows =
                    self.rows(stringify!($name), &state, $table, |id| $id::new(id).map($blank));
                let mut catalogue = Catalogue::clone(&state.catalogue);
                catalogue.$name =
                    rows.into_iter().map(|(_, row)| (row.id, Arc::new(row))).collect();
                state.catalogue = catalogue.into();
            };
        }
        section!(calendarsets, &CALENDARSET, CalendarsetId, |id| {
            crate::domain::records::calendar::Calendarset::new(id, now)
        });
        section!(calendars, &CALENDAR, CalendarId, |id| {
            crate::domain::records::calendar::Calendar::new(id, now)
        });
        section!(interventionsets, &INTERVENTIONSET, InterventionsetId, |id| {
            crate::domain::records::intervention::Interventionset::new(id, now)
        });
        section!(interventions, &INTERVENTION, InterventionId, |id| {
            crate::domain::records::intervention::Intervention::new(id, now)
        });
        let str0 = CustomName::new("str0").expect("a custom name");
        let blank =
            |id| CustomfieldId::new(id).map(|id| Customfield::new(id, Model::Fiche, str0, now));
        let customfields = self.rows("customfields", &state, &CUSTOMFIELD, blank);
        self.check_definitions(&customfields);
        let mut catalogue = Catalogue::clone(&state.catalogue);
        catalogue.customfields =
            customfields.into_iter().map(|(_, row)| (row.id, Arc::new(row))).collect();
        catalogue
    }

    /// The rows of a section, each with its path.
    fn rows<R: 'static>(
        &mut self,
        section: &'static str,
        state: &GroupState,
        table: &Table<R>,
        blank: impl Fn(u64) -> Option<R>,
    ) -> Vec<(String, R)> {
        let scope = Scope::of(state);
        let mut rows = Vec::new();
        let mut last_sort = 0;
        for (path, object) in
            objects(self.fields.get(section), &format!("{}.{section}", self.path), self.faults)
        {
            let mut object = object.clone();
            if table.field("sort").is_some() && object.get("sort").is_none_or(value::is_empty) {
                object.insert("sort".into(), (last_sort + 1).into());
            }
            let id = self.ids.claim(section, &object, &path, self.faults);
            match table.parse_new(&object, &scope, Audience::Store) {
                Ok(patch) => {
                    let Some(mut row) = id.and_then(&blank) else { continue };
                    stamps(table, &object, &scope, self.now, &path, self.faults);
                    patch.apply_to(&mut row);
                    if let Some(ColumnValue::Integer(sort)) =
                        table.field("sort").map(|field| field.cell(&row, &scope))
                    {
                        last_sort = last_sort.max(sort);
                    }
                    rows.push((path, row));
                }
                Err(wrong) => self.faults.extend(&path, wrong),
            }
        }
        rows
    }

    /// A name is defined once for a model.
    fn check_definitions(&mut self, rows: &[(String, Customfield)]) {
        let mut defined: BTreeMap<(Model, CustomName), &str> = BTreeMap::new();
        for (path, row) in rows.iter().filter(|(_, row)| !row.deleted) {
            let first = *defined.entry((row.model, row.name)).or_insert(path);
            if first != path {
                let rule =
                    format!("{} of {} is defined by {first} already", row.name, row.model.name());
                self.faults.add(format!("{path}.name"), rule);
            }
        }
    }
}

impl Draft {
    fn fiche(
        &mut self,
        index: usize,
        row: &Value,
        now: Instant,
        ids: &mut Ids,
        faults: &mut Faults,
    ) {
        let path = format!("{}.fiches[{index}]", self.path);
        let Some(object) = row.as_object() else { return faults.add(path, "must be an object") };
        let id = ids.claim("fiches", object, &path, faults).and_then(FicheId::new);
        match (FICHE.parse_new(object, &Scope::of(&self.state), Audience::Store), id) {
            (Ok(patch), Some(id)) => {
                stamps(&FICHE, object, &Scope::of(&self.state), now, &path, faults);
                let mut fiche = Fiche::new(id, now);
                (fiche.mail_since, fiche.sms_since) = ALWAYS;
                // A deleted fiche's last name is given as it is shown, with a `$`.
                fiche.deleted =
                    object.get("deleted").is_some_and(|given| value::boolean(given) == Ok(true));
                patch.apply_to(&mut fiche);
                self.fiches.push(Arc::new(fiche));
            }
            (Ok(_), None) => {}
            (Err(wrong), _) => faults.extend(&path, wrong),
        }
    }

    /// Puts the fiches where events and accounts look for them.
    fn settle_fiches(&mut self) {
        let catalogue = Catalogue::clone(&self.state.catalogue);
        self.state =
            GroupState::from_records(catalogue, self.fiches.clone(), Vec::new(), Vec::new());
    }

    /// Names both of any two live appointments that take the same time of a calendar.
    fn check_overlaps(&self, faults: &mut Faults) {
        let live = self.vevents.iter().filter(|(_, row)| !row.deleted);
        let mut taken: Vec<(CalendarId, Instant, Instant, usize)> = live
            .filter_map(|(index, row)| {
                let time = row.appointment()?.interval();
                Some((row.calendar_id, time.start, time.end, *index))
            })
            .collect();
        taken.sort_unstable();
        let zone = self.state.catalogue.zone();
        // The one that ends last so far; whoever starts before that end overlaps it.
        let mut last: Option<(CalendarId, Instant, Instant, usize)> = None;
        for next in taken {
            let (calendar, start, end, index) = next;
            if let Some((_, _, _, other)) = last.filter(|last| last.0 == calendar && start < last.2)
            {
                let (id, other_id) = (self.id_at(index), self.id_at(other));
                let at = datetime::local_text(zone, start);
                let rule = format!(
                    "appointments {other_id} and {id} overlap on calendar {calendar} at {at}; the other is {}.vevents[{other}]",
                    self.path
                );
                faults.add(format!("{}.vevents[{index}].start", self.path), rule);
            }
            if last.is_none_or(|last| last.0 != calendar || last.2 < end) {
                last = Some(next);
            }
        }
    }

    fn id_at(&self, index: usize) -> VeventId {
        let at = self.vevents.partition_point(|(other, _)| *other < index);
        self.vevents[at].1.id
    }
}

/// When a row was made and changed: given, or now. Later changes would have to be stamped later still, so neither may lie
/// ahead.
fn stamps<R: 'static>(
    table: &Table<R>,
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    now: Instant,
    path: &str,
    faults: &mut Faults,
) -> Option<(Instant, Instant)> {
    match table.parse_stamps(object, scope) {
        Ok((created_at, updated_at)) => {
            for (name, at) in [("created_at", created_at), ("updated_at", updated_at)] {
                if at.is_some_and(|at| at > now.plus_seconds(DAY)) {
                    faults
                        .add(format!("{path}.{name}"), "lies in the future: leave it out for now");
                }
            }
            Some((created_at.unwrap_or(now), updated_at.unwrap_or(now)))
        }
        Err(wrong) => {
            faults.extend(path, wrong);
            None
        }
    }
}

/// Since when mails and text messages reach whom they are for, as far as an import knows: what is past is passed over with
/// each appointment.
const ALWAYS: (Instant, Instant) = (Instant(0), Instant(0));

/// A reminder whose time is past is not sent any more, and has not been unless the document says so. Reference 11. Nothing
/// but its own time is kept of that, so that the day of the import makes no difference.
fn pass_over_past_reminders(appointment: &mut Appointment, scope: &Scope<'_>, now: Instant) {
    let group = &scope.state.catalogue.group;
    let lead =
        |minutes: Option<i64>| minutes.and_then(|minutes| u32::try_from(minutes).ok()).unwrap_or(0);
    let mail = crate::domain::messaging::reminder::mail_time(
        appointment.start,
        lead(group.mailreminder.minutes()),
    );
    let sms = crate::domain::messaging::reminder::sms_time(
        scope.zone,
        appointment.start,
        lead(group.smsreminder.minutes()),
    );
    let since = |due: Option<Instant>| {
        let passed = due.filter(|due| *due <= now);
        passed.map_or(Instant(0), |due| due.plus_seconds(1))
    };
    appointment.reminders.mail.since = since(mail);
    appointment.reminders.sms.since = since(sms);
}

/// How many messages a group has made elsewhere; so many that numbers are left for those to come.
fn messages_made(fields: &Map<String, Value>, path: &str, faults: &mut Faults) -> u64 {
    const MOST: u64 = ID_MAX / 2;
    match fields.get(MESSAGES_MADE).map_or(Ok(None), value::id) {
        Ok(number) if number.is_none_or(|number| number <= MOST) => number.unwrap_or(0),
        Ok(_) | Err(_) => {
            faults.add(
                format!("{path}.{MESSAGES_MADE}"),
                format!("must be a whole number from 0 to {MOST}"),
            );
            0
        }
    }
}

/// Puts the groups together, and notes whose their ids are.
fn finish(people: People, drafts: Vec<Draft>) -> Content {
    let People { mut directory, accounts } = people;
    let mut group_states = Vec::new();
    for (draft, accounts) in drafts.into_iter().zip(accounts) {
        let catalogue = Catalogue::clone(&draft.state.catalogue);
        let group = catalogue.group.id;
        let vevents: Vec<Arc<Vevent>> = draft.vevents.into_iter().map(|(_, row)| row).collect();
        draft
            .fiches
            .iter()
            .for_each(|fiche| directory.claim_imported_id(IdKind::Fiche, fiche.id.number(), group));
        vevents
            .iter()
            .for_each(|row| directory.claim_imported_id(IdKind::Vevent, row.id.number(), group));
        let stamps = vevents.iter().map(|row| row.updated_at.max(row.created_at));
        let stamps =
            stamps.chain(draft.fiches.iter().map(|fiche| fiche.updated_at.max(fiche.created_at)));
        let last_stamp = stamps.max().unwrap_or_default().max(last_stamp(&catalogue));
        let mut state = GroupState::from_records(catalogue, draft.fiches, accounts, vevents);
        state.last_stamp = last_stamp;
        state.outbox = Outbox::from_messages(Vec::new(), draft.messages_made);
        group_states.push(state);
    }
    Content { directory, group_states }
}

/// The latest stamp of what changes seldom.
fn last_stamp(catalogue: &Catalogue) -> Instant {
    let group = catalogue.group.updated_at.max(catalogue.group.created_at);
    let rest = catalogue.calendars.values().map(|row| row.updated_at);
    let rest = rest.chain(catalogue.calendarsets.values().map(|row| row.updated_at));
    let rest = rest.chain(catalogue.interventions.values().map(|row| row.updated_at));
    let rest = rest.chain(catalogue.interventionsets.values().map(|row| row.updated_at));
    let rest = rest.chain(catalogue.customfields.values().map(|row| row.updated_at));
    rest.fold(group, Instant::max)
}
