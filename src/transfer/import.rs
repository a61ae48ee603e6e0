//! Import: a document becomes content. All of it is checked, faults are reported by path, and a
//! document with faults is refused as a whole. Reference 11.2.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use strum::IntoEnumIterator as _;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::directory::Directory;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{GroupId, ID_MAX};
use crate::domain::records::slug::unique_slug;
use crate::domain::records::text::{Bounded, Text};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone_names::ZoneName;
use crate::engine::randomness::Randomness;
use crate::transfer::document::{DocumentPart, RowSection, walk_document};
use crate::transfer::faults::ImportFaults;
use crate::transfer::group_draft::{ALWAYS, GroupCounters, GroupDraft, MESSAGES_MADE_MAX};
pub use crate::transfer::ids::UsedIds;
use crate::transfer::ids::{GIVEN_MAX, IdAllocator, section_name};
use crate::transfer::images::{IMAGES, read_images};
use crate::transfer::people::{self, HashPassword, ImportedPros};
use crate::transfer::rows::parse_stamps;
use crate::transfer::section_reader::SectionReader;
use crate::transfer::{HIGHEST_IDS, ImportFault, MESSAGES_MADE, StoreContent};
use crate::wire::field::{Audience, Scope};
use crate::wire::group::GROUP;
use crate::wire::value;

/// Rows between two reports of the progress.
const PROGRESS_ROWS: usize = 10_000;

/// Members of a document.
const PARTS: [&str; 2] = ["apikeys", "groups"];
/// Short lists of a group; its long lists are fiches, vevents and messages.
const SECTIONS: [&str; 8] = [
    "pros",
    "accounts",
    "calendarsets",
    "calendars",
    "interventionsets",
    "interventions",
    "customfields",
    IMAGES,
];

/// Settings of an import.
pub struct Import<'a> {
    /// Time of the import: the stamp of rows without one.
    pub now: Instant,
    /// Hashes a password for storage, from its SHA-1 in lower-case hex.
    pub hash_password: HashPassword<'a>,
    /// Source of the secrets of appointments without one.
    pub draws: Randomness,
    /// Ids that the store already uses.
    pub used_ids: UsedIds,
    /// Called with the number of rows read, and the number of all rows.
    pub progress: &'a mut dyn FnMut(usize, usize),
}

/// Reads the content of a document for an empty store.
///
/// # Errors
///
/// The first faults of the document, at most twenty.
pub fn read_document(
    document: &[u8],
    now: Instant,
    hash_password: &dyn Fn(&str) -> Text<255>,
) -> Result<StoreContent, Vec<ImportFault>> {
    let draws = Randomness::from_os();
    let used_ids = UsedIds::default();
    Import { now, hash_password, draws, used_ids, progress: &mut |_, _| {} }.read_document(document)
}

/// The document without its fiches, vevents and messages.
#[derive(Default)]
struct DocumentOutline {
    /// Members of the document other than `groups`.
    top: Map<String, Value>,
    /// Members of each group other than its fiches, vevents and messages.
    groups: Vec<Map<String, Value>>,
    /// Number of fiches, vevents and messages.
    rows: usize,
}

impl DocumentOutline {
    /// Reads everything but the rows, and notes all given ids.
    fn read(document: &[u8], ids: &mut IdAllocator) -> Result<Self, ImportFault> {
        let mut outline = Self::default();
        walk_document(document, None, &mut |part| match part {
            DocumentPart::Top(key, value) => drop(outline.top.insert(key, value)),
            DocumentPart::Group => outline.groups.push(Map::new()),
            DocumentPart::Field(group, key, value) => {
                outline.groups[group].insert(key, value);
            }
            // The number of a message is unique in its group only.
            DocumentPart::RowId(RowSection::Messages, _) => outline.rows += 1,
            DocumentPart::RowId(section, id) => {
                outline.rows += 1;
                ids.note(section.name(), id.as_ref());
            }
            DocumentPart::Row(..) => {}
        })?;
        for group in &outline.groups {
            ids.note("groups", group.get("id"));
            if let Some(Value::Object(highest_ids)) = group.get(HIGHEST_IDS) {
                for kind in IdKind::iter() {
                    ids.note(section_name(kind), highest_ids.get(section_name(kind)));
                }
            }
            for section in SECTIONS {
                let Some(Value::Array(rows)) = group.get(section) else { continue };
                for row in rows {
                    ids.note(section, row.get("id"));
                }
            }
        }
        Ok(outline)
    }

    /// Refuses unknown lists and objects, whose rows would be lost. Other unknown fields are
    /// ignored, as in every resource.
    fn check_sections(&self, faults: &mut ImportFaults) {
        for (name, value) in &self.top {
            if !PARTS.contains(&name.as_str()) && is_section(value) {
                faults.add(shorten(name), "is no part of a document: those are apikeys and groups");
            }
        }
        for (index, group) in self.groups.iter().enumerate() {
            for (name, value) in group {
                let known = SECTIONS.contains(&name.as_str())
                    || name == HIGHEST_IDS
                    || GROUP.field(name).is_some();
                if known || !is_section(value) {
                    continue;
                }
                let rule = format!(
                    "is no section of a group: those are {}, fiches, vevents and messages",
                    SECTIONS.join(", ")
                );
                faults.add(format!("groups[{index}].{}", shorten(name)), rule);
            }
        }
    }
}

fn is_section(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// Shortens a name of the document for a message.
fn shorten(name: &str) -> String {
    name.chars().take(100).collect()
}

impl Import<'_> {
    /// Reads the content of a document.
    ///
    /// # Errors
    ///
    /// The first faults of the document, at most twenty.
    pub fn read_document(mut self, document: &[u8]) -> Result<StoreContent, Vec<ImportFault>> {
        let mut ids = IdAllocator::after(&self.used_ids);
        let outline = DocumentOutline::read(document, &mut ids).map_err(|fault| vec![fault])?;
        let mut faults = ImportFaults::default();
        outline.check_sections(&mut faults);
        let mut drafts = self.read_groups(&outline, &mut ids, &mut faults);
        let mut done = 0;
        // Each section refers to those before it.
        for section in [RowSection::Fiches, RowSection::Vevents, RowSection::Messages] {
            faults.begin_dependent_part();
            walk_document(document, Some(section), &mut |part| {
                let DocumentPart::Row(group, index, row) = part else { return };
                if !faults.is_full() {
                    let draft = &mut drafts[group];
                    let now = self.now;
                    match section {
                        RowSection::Fiches => {
                            draft.read_fiche(index, &row, now, &mut ids, &mut faults);
                        }
                        RowSection::Vevents => {
                            let draws = &mut self.draws;
                            draft.read_vevent(index, &row, now, draws, &mut ids, &mut faults);
                        }
                        RowSection::Messages => draft.read_message(index, &row, now, &mut faults),
                    }
                }
                self.count_row(&mut done, outline.rows);
            })
            .map_err(|fault| vec![fault])?;
            // What a wrong fiche would be merged into, or overlap with, is unknown.
            if section == RowSection::Fiches && faults.is_empty() {
                drafts.iter_mut().for_each(GroupDraft::settle_fiches);
                drafts.iter().for_each(|draft| draft.check_merged(&mut faults));
            }
        }
        faults.begin_dependent_part();
        let mut directory = self.read_people(&outline, &mut drafts, &mut ids, &mut faults);
        faults.check_none()?;
        for draft in &drafts {
            draft.check_overlaps(&mut faults);
        }
        faults.check_none()?;
        let finish = |draft: GroupDraft| draft.finish(&mut directory);
        let group_states = drafts.into_iter().map(finish).collect();
        Ok(StoreContent { directory, group_states })
    }

    fn count_row(&mut self, done: &mut usize, total: usize) {
        *done += 1;
        if *done == total || done.is_multiple_of(PROGRESS_ROWS) {
            (self.progress)(*done, total);
        }
    }

    /// Reads the groups without their rows, accounts and professionals.
    fn read_groups(
        &mut self,
        outline: &DocumentOutline,
        ids: &mut IdAllocator,
        faults: &mut ImportFaults,
    ) -> Vec<GroupDraft> {
        let mut drafts = Vec::new();
        for (index, fields) in outline.groups.iter().enumerate() {
            let path = format!("groups[{index}]");
            // Stands for a wrong id, and is no other group's: it is higher than all that are given.
            let stand_in = ID_MAX - u64::try_from(index).unwrap_or_default();
            let group = self.read_group(fields, &path, stand_in, ids, faults);
            let mut sections = SectionReader { fields, path: &path, now: self.now, ids, faults };
            let catalogue = sections.read_catalogue(group);
            let counters = GroupCounters {
                messages_made: read_messages_made(fields, &path, faults),
                highest_ids: read_highest_ids(fields, &path, faults),
            };
            let images = read_images(fields, &path, &catalogue, faults);
            let mut state = GroupState::new(catalogue);
            state.images = images;
            drafts.push(GroupDraft::new(path, state, counters));
        }
        drafts
    }

    /// Reads the record of a group. A wrong id or time zone is replaced, so that further faults are
    /// found.
    fn read_group(
        &mut self,
        fields: &Map<String, Value>,
        path: &str,
        stand_in: u64,
        ids: &mut IdAllocator,
        faults: &mut ImportFaults,
    ) -> Group {
        let id = ids.claim("groups", fields, path, faults).and_then(GroupId::new);
        let id = id.unwrap_or_else(|| GroupId::new(stand_in).expect("it is not 0"));
        let zone = fields.get("timezone").and_then(Value::as_str).and_then(ZoneName::from_name);
        let zone = zone.unwrap_or_else(|| ZoneName::from_name("UTC").expect("the table has UTC"));
        let mut group = Group::new(id, zone, self.now);
        group.mail_since = ALWAYS;
        group.sms_since = ALWAYS;
        // Documents of earlier releases do not name it.
        group.notice_delay_seconds = const { Bounded::known(0) };
        let state = GroupState::new(Catalogue::new(group.clone()));
        let scope = Scope::for_group(&state);
        let parsed = GROUP.parse_new(fields, &scope, Audience::Store);
        if let Some(patch) = faults.keep(path, parsed) {
            parse_stamps(&GROUP, fields, &scope, self.now, path, faults);
            patch.apply_to(&mut group);
        }
        self.assign_urlname(&mut group, path, faults);
        group
    }

    /// Gives the group a `urlname` that no other group has.
    fn assign_urlname(&mut self, group: &mut Group, path: &str, faults: &mut ImportFaults) {
        let urlnames = &mut self.used_ids.urlnames;
        if group.urlname.is_blank() {
            let taken = |slug: &str| urlnames.get(slug).is_some_and(|owner| *owner != group.id);
            let slug = unique_slug(group.name.as_str(), group.id.number(), taken);
            group.urlname = Text::new(&slug).expect("a slug is short");
        }
        let owner = urlnames.entry(group.urlname.as_str().to_owned()).or_insert(group.id);
        if *owner != group.id {
            faults.add(
                format!("{path}.urlname"),
                "belongs to another group; leave it out to have one made",
            );
        }
    }

    /// Reads the accounts of the groups, and returns the keys and the professionals.
    fn read_people(
        &self,
        outline: &DocumentOutline,
        drafts: &mut [GroupDraft],
        ids: &mut IdAllocator,
        faults: &mut ImportFaults,
    ) -> Directory {
        // Passwords of a document that is refused are not hashed, which takes long.
        let no_hash = |_: &str| Text::default();
        let hash: HashPassword<'_> = if faults.is_empty() { self.hash_password } else { &no_hash };
        let mut pros = ImportedPros::default();
        let mut groups = Vec::new();
        for (draft, fields) in drafts.iter_mut().zip(&outline.groups) {
            pros.add_group(fields.get("pros"), draft, self.now, hash, ids, faults);
            let section = fields.get("accounts");
            draft.accounts =
                people::read_accounts(section, &draft.path, &draft.state, hash, faults);
            groups.push(draft.state.catalogue.group.id);
        }
        let section = outline.top.get("apikeys");
        let apikeys = people::read_apikeys(section, &groups, &self.used_ids, faults);
        let mut directory = Directory::default();
        directory.apikeys.extend(apikeys);
        pros.add_to(&mut directory);
        directory
    }
}

/// Reads the number of messages that a group has made elsewhere; 0 without one.
fn read_messages_made(fields: &Map<String, Value>, path: &str, faults: &mut ImportFaults) -> u64 {
    match fields.get(MESSAGES_MADE).map(value::parse_id) {
        None | Some(Ok(None)) => 0,
        Some(Ok(Some(number))) if number <= MESSAGES_MADE_MAX => number,
        Some(Ok(Some(_)) | Err(_)) => {
            faults.add(
                format!("{path}.{MESSAGES_MADE}"),
                format!("must be a whole number from 0 to {MESSAGES_MADE_MAX}"),
            );
            0
        }
    }
}

/// Reads the highest ids that a group ever used, by kind; none without the field.
fn read_highest_ids(
    fields: &Map<String, Value>,
    path: &str,
    faults: &mut ImportFaults,
) -> BTreeMap<IdKind, u64> {
    let mut highest_ids = BTreeMap::new();
    let path = format!("{path}.{HIGHEST_IDS}");
    let given = match fields.get(HIGHEST_IDS) {
        None | Some(Value::Null) => return highest_ids,
        Some(Value::Object(given)) => given,
        Some(_) => {
            faults.add(path, "must be an object of ids, such as {\"calendarsets\":7}");
            return highest_ids;
        }
    };
    for (name, value) in given {
        let Some(kind) = IdKind::iter().find(|kind| section_name(*kind) == name) else {
            let names = IdKind::iter().map(section_name).collect::<Vec<_>>().join(", ");
            faults.add(format!("{path}.{}", shorten(name)), format!("must be one of {names}"));
            continue;
        };
        match value::parse_id(value) {
            Ok(None) => {}
            Ok(Some(highest)) if highest <= GIVEN_MAX => {
                highest_ids.insert(kind, highest);
            }
            Ok(Some(_)) | Err(_) => {
                let rule = format!("must be a whole number from 0 to {GIVEN_MAX}");
                faults.add(format!("{path}.{name}"), rule);
            }
        }
    }
    highest_ids
}
