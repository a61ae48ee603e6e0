//! Encoding of states as snapshot frames, in one canonical order, and decoding.
//!
//! Equal states give equal frames, so a hash of the frames compares states.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::directory::Directory;
use crate::domain::directory::access_history::AccessRow;
use crate::domain::directory::apikeys::Apikey;
use crate::domain::directory::id_blocks::{Block, IdKind};
use crate::domain::directory::invitations::Invitation;
use crate::domain::directory::known_logins::LoginPlace;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::pro_logins::{LoginHash, ProLogin};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::ProRole;
use crate::domain::directory::second_factor::SecondFactor;
use crate::domain::records::account::Account;
use crate::domain::records::account_link::{AccountLink, AccountLinks};
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::calendarfeed::Calendarfeed;
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::hold::Hold;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::image::{Image, ImageDigest, ImageSlot};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::message::Message;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::calendarfeeds::Calendarfeeds;
use crate::domain::state::cancelled_bookings::DeletionPlace;
use crate::domain::state::closed_addresses::{ClosedAddress, ClosedAddresses};
use crate::domain::state::erasure::PrivacyMarks;
use crate::domain::state::group_images::GroupImages;
use crate::domain::state::group_state::{GroupState, HighestIds};
use crate::domain::state::history::settings::SettingsChange;
use crate::domain::state::history::{History, HistoryChunk};
use crate::domain::state::idempotency::IdempotencyRecord;
use crate::domain::state::outbox::Outbox;
use crate::domain::state::webhooks::Webhooks;
use crate::domain::state::webhooks::webhook::Webhook;
use crate::domain::time::Instant;
use crate::store::codec::{self, DecodeError};

/// Rows of one frame.
const FRAME_ROWS: usize = 256;

/// A part of a group's state. The order of the variants is the format on disk.
#[derive(Serialize, Deserialize)]
enum GroupFrame {
    /// First, and once.
    Head(Box<GroupHead>),
    Calendars(Vec<Arc<Calendar>>),
    Calendarsets(Vec<Arc<Calendarset>>),
    Interventions(Vec<Arc<Intervention>>),
    Interventionsets(Vec<Arc<Interventionset>>),
    Customfields(Vec<Arc<Customfield>>),
    Fiches(Vec<Arc<Fiche>>),
    Accounts(Vec<Arc<Account>>),
    Vevents(Vec<Arc<Vevent>>),
    /// Highest ids of removed rows of the catalogue.
    Removed(Vec<(IdKind, u64)>),
    Messages(Vec<Arc<Message>>),
    /// The highest id that a message ever had; absent without messages.
    LastMessage(u64),
    /// Answers kept for Idempotency-Keys, by age. Reference 6.6.
    IdempotencyRecords(Vec<Arc<IdempotencyRecord>>),
    /// Account links that are still valid.
    Links(Vec<Arc<AccountLink>>),
    /// Events that could not be applied when the snapshot was written. The state in the other
    /// frames precedes the first of them.
    Quarantined(Vec<QuarantinedEvent>),
    /// The last deleted web booking that upkeep has emptied; absent before the first.
    EmptiedUntil(DeletionPlace),
    /// Holds, live or not removed yet. Reference 6.7.
    Holds(Vec<Arc<Hold>>),
    /// Rows of the history, in order. Reference 16.
    History(Vec<Arc<HistoryChunk>>),
    /// The settings of rows of the history, by the number of the row.
    HistorySettings(Vec<(u64, Arc<SettingsChange>)>),
    /// The number of the last row that the history ever had; absent without one.
    LastHistoryRow(u64),
    /// Marks of the privacy of the group's clients; absent without any. Reference 17.
    Privacy(PrivacyMarks),
    /// The addresses whose accounts were closed, ascending by time. Reference 3.12.
    ClosedAddresses(Vec<ClosedAddress>),
    /// An image. Each has a frame of its own, since it is long.
    Image(Arc<Image>),
    /// The digests of the images in slots. Reference 12.10.
    ImageSlots(Vec<(ImageSlot, ImageDigest)>),
    /// Calendar feeds, ascending by number. Reference 19.1.
    Calendarfeeds(Vec<Arc<Calendarfeed>>),
    /// The highest number that a calendar feed ever had; absent before the first.
    LastCalendarfeed(u64),
    /// The webhooks. Reference 18.
    Webhooks(Vec<Arc<Webhook>>),
    /// The highest number that a webhook ever had; absent without one.
    LastWebhook(u64),
}

/// An event of a group that could not be applied, kept unchanged for a release that can apply it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantinedEvent {
    /// Its number in the group's stream.
    pub sequence: u64,
    /// Format of `bytes`.
    pub format: u16,
    /// The event, encoded.
    pub bytes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct GroupHead {
    /// Release of the zone database that resolved the instants.
    tzdata: String,
    group: Group,
    last_stamp: Instant,
    highest_ids: HighestIds,
}

/// A part of the directory. The order of the variants is the format on disk.
#[derive(Serialize, Deserialize)]
enum DirectoryFrame {
    Apikeys(Vec<([u8; 32], Apikey)>),
    Pros(Vec<Pro>),
    Blocks(Vec<((IdKind, u64), Block)>),
    /// Absent before the first start of the server.
    LinkSecret(LinkSecret),
    KnownLogins(Vec<(LoginPlace, Instant)>),
    /// Logins of professionals at their screens.
    ProLogins(Vec<(LoginHash, ProLogin)>),
    /// Roles of professionals below administrator.
    Roles(Vec<((GroupId, ProId), ProRole)>),
    /// Open invitations to groups.
    Invitations(Vec<((GroupId, u64), Invitation)>),
    /// Rows of the history of access, by number.
    AccessRows(Vec<(u64, Arc<AccessRow>)>),
    /// The number of the last such row; absent without one.
    LastAccessRow(u64),
    /// Second factors of professionals.
    SecondFactors(Vec<(ProId, SecondFactor)>),
    /// The begin of the UTC day on which keys were last used.
    KeysUsed(Vec<([u8; 32], Instant)>),
    /// The highest id that a professional ever had; absent without one.
    LastPro(u64),
}

fn write_frames<T, F: Serialize, E>(
    rows: impl Iterator<Item = T>,
    frame: impl Fn(Vec<T>) -> F,
    write: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        write(&codec::encode(&frame(rows.by_ref().take(FRAME_ROWS).collect())))?;
    }
    Ok(())
}

/// Passes every frame of a group's state to `write`, in order.
///
/// # Errors
/// The first error of `write`.
pub fn write_group<E>(
    group_state: &GroupState,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let catalogue = &group_state.catalogue;
    write(&codec::encode(&GroupFrame::Head(Box::new(GroupHead {
        tzdata: group_state.tzdata.to_string(),
        group: catalogue.group.clone(),
        last_stamp: group_state.last_stamp,
        highest_ids: group_state.highest_ids,
    }))))?;
    write_frames(catalogue.calendars.values().cloned(), GroupFrame::Calendars, &mut write)?;
    write_frames(catalogue.calendarsets.values().cloned(), GroupFrame::Calendarsets, &mut write)?;
    write_frames(catalogue.interventions.values().cloned(), GroupFrame::Interventions, &mut write)?;
    write_frames(
        catalogue.interventionsets.values().cloned(),
        GroupFrame::Interventionsets,
        &mut write,
    )?;
    write_frames(catalogue.customfields.values().cloned(), GroupFrame::Customfields, &mut write)?;
    write_frames(group_state.fiches.values().cloned(), GroupFrame::Fiches, &mut write)?;
    write_frames(group_state.accounts.values().cloned(), GroupFrame::Accounts, &mut write)?;
    write_frames(group_state.rows.values().cloned(), GroupFrame::Vevents, &mut write)?;
    let removed = group_state.removed.iter().map(|(kind, id)| (*kind, *id));
    write_frames(removed, GroupFrame::Removed, &mut write)?;
    let answers = group_state.idempotency_records.iter().cloned();
    write_frames(answers, GroupFrame::IdempotencyRecords, &mut write)?;
    write_frames(group_state.outbox.messages().cloned(), GroupFrame::Messages, &mut write)?;
    match group_state.outbox.last_id() {
        0 => {}
        last => write(&codec::encode(&GroupFrame::LastMessage(last)))?,
    }
    write_frames(group_state.links.iter().cloned(), GroupFrame::Links, &mut write)?;
    write_frames(group_state.holds().iter().cloned(), GroupFrame::Holds, &mut write)?;
    write_history(&group_state.history, &mut write)?;
    write_frames(group_state.closed_addresses.iter(), GroupFrame::ClosedAddresses, &mut write)?;
    for image in group_state.images.rows() {
        write(&codec::encode(&GroupFrame::Image(Arc::clone(image))))?;
    }
    write_frames(group_state.images.slots(), GroupFrame::ImageSlots, &mut write)?;
    write_calendarfeeds(&group_state.calendarfeeds, &mut write)?;
    write_frames(group_state.webhooks.iter().cloned(), GroupFrame::Webhooks, &mut write)?;
    match group_state.webhooks.last() {
        0 => {}
        last => write(&codec::encode(&GroupFrame::LastWebhook(last)))?,
    }
    if group_state.privacy != PrivacyMarks::default() {
        write(&codec::encode(&GroupFrame::Privacy(group_state.privacy)))?;
    }
    match group_state.cancelled().emptied_until() {
        Some(until) => write(&codec::encode(&GroupFrame::EmptiedUntil(until))),
        None => Ok(()),
    }
}

fn write_calendarfeeds<E>(
    feeds: &Calendarfeeds,
    write: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    write_frames(feeds.iter().cloned(), GroupFrame::Calendarfeeds, write)?;
    match feeds.last() {
        0 => Ok(()),
        last => write(&codec::encode(&GroupFrame::LastCalendarfeed(last))),
    }
}

fn write_history<E>(
    history: &History,
    write: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    write_frames(history.chunks().cloned(), GroupFrame::History, write)?;
    let settings = history.settings().map(|(number, change)| (number, Arc::clone(change)));
    write_frames(settings, GroupFrame::HistorySettings, write)?;
    match history.last() {
        0 => Ok(()),
        last => write(&codec::encode(&GroupFrame::LastHistoryRow(last))),
    }
}

/// Passes frames of events that could not be applied to `write`. They follow the frames of the
/// state before them.
///
/// # Errors
/// The first error of `write`.
pub fn write_quarantined<E>(
    events: &[QuarantinedEvent],
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    write_frames(events.iter().cloned(), GroupFrame::Quarantined, &mut write)
}

/// Decodes a group's state, frame by frame.
#[derive(Default)]
pub struct GroupReader {
    head: Option<Box<GroupHead>>,
    calendars: Vec<Arc<Calendar>>,
    calendarsets: Vec<Arc<Calendarset>>,
    interventions: Vec<Arc<Intervention>>,
    interventionsets: Vec<Arc<Interventionset>>,
    customfields: Vec<Arc<Customfield>>,
    fiches: Vec<Arc<Fiche>>,
    accounts: Vec<Arc<Account>>,
    vevents: Vec<Arc<Vevent>>,
    removed: Vec<(IdKind, u64)>,
    messages: Vec<Arc<Message>>,
    last_message: u64,
    answers: Vec<Arc<IdempotencyRecord>>,
    links: Vec<Arc<AccountLink>>,
    quarantined: Vec<QuarantinedEvent>,
    emptied_until: Option<DeletionPlace>,
    holds: Vec<Arc<Hold>>,
    history: Vec<Arc<HistoryChunk>>,
    history_settings: Vec<(u64, Arc<SettingsChange>)>,
    last_history_row: u64,
    privacy: PrivacyMarks,
    closed_addresses: ClosedAddresses,
    images: Vec<Arc<Image>>,
    image_slots: Vec<(ImageSlot, ImageDigest)>,
    calendarfeeds: Vec<Arc<Calendarfeed>>,
    last_calendarfeed: u64,
    webhooks: Vec<Arc<Webhook>>,
    last_webhook: u64,
}

impl GroupReader {
    /// Adds the next frame of a snapshot of format `format`.
    ///
    /// # Errors
    /// Bytes that are no frame.
    pub fn add_frame(&mut self, bytes: &[u8], format: u16) -> Result<(), DecodeError> {
        match codec::decode_format(bytes, format)? {
            GroupFrame::Head(head) => self.head = Some(head),
            GroupFrame::Calendars(rows) => self.calendars.extend(rows),
            GroupFrame::Calendarsets(rows) => self.calendarsets.extend(rows),
            GroupFrame::Interventions(rows) => self.interventions.extend(rows),
            GroupFrame::Interventionsets(rows) => self.interventionsets.extend(rows),
            GroupFrame::Customfields(rows) => self.customfields.extend(rows),
            GroupFrame::Fiches(rows) => self.fiches.extend(rows),
            GroupFrame::Accounts(rows) => self.accounts.extend(rows),
            GroupFrame::Vevents(rows) => self.vevents.extend(rows),
            GroupFrame::Removed(rows) => self.removed.extend(rows),
            GroupFrame::Messages(rows) => self.messages.extend(rows),
            GroupFrame::LastMessage(id) => self.last_message = id,
            GroupFrame::IdempotencyRecords(rows) => self.answers.extend(rows),
            GroupFrame::Links(rows) => self.links.extend(rows),
            GroupFrame::Quarantined(events) => self.quarantined.extend(events),
            GroupFrame::EmptiedUntil(until) => self.emptied_until = Some(until),
            GroupFrame::Holds(rows) => self.holds.extend(rows),
            GroupFrame::History(chunks) => self.history.extend(chunks),
            GroupFrame::HistorySettings(rows) => self.history_settings.extend(rows),
            GroupFrame::LastHistoryRow(last) => self.last_history_row = last,
            GroupFrame::Privacy(marks) => self.privacy = marks,
            GroupFrame::ClosedAddresses(rows) => self.closed_addresses.extend(rows),
            GroupFrame::Image(image) => self.images.push(image),
            GroupFrame::ImageSlots(rows) => self.image_slots.extend(rows),
            GroupFrame::Calendarfeeds(rows) => self.calendarfeeds.extend(rows),
            GroupFrame::LastCalendarfeed(last) => self.last_calendarfeed = last,
            GroupFrame::Webhooks(rows) => self.webhooks.extend(rows),
            GroupFrame::LastWebhook(last) => self.last_webhook = last,
        }
        Ok(())
    }

    /// Takes the events that could not be applied when the snapshot was written, in order. The
    /// state precedes them.
    #[must_use]
    pub fn take_quarantined(&mut self) -> Vec<QuarantinedEvent> {
        std::mem::take(&mut self.quarantined)
    }

    /// Returns the state at `sequence`; `None` when its first frame is missing.
    pub fn group_state(self, sequence: u64) -> Option<GroupState> {
        let head = *self.head?;
        let catalogue = Catalogue {
            group: head.group,
            calendars: self.calendars.into_iter().map(|row| (row.id, row)).collect(),
            calendarsets: self.calendarsets.into_iter().map(|row| (row.id, row)).collect(),
            interventions: self.interventions.into_iter().map(|row| (row.id, row)).collect(),
            interventionsets: self.interventionsets.into_iter().map(|row| (row.id, row)).collect(),
            customfields: self.customfields.into_iter().map(|row| (row.id, row)).collect(),
        };
        let mut group_state =
            GroupState::from_records(catalogue, self.fiches, self.accounts, self.vevents);
        group_state.sequence = sequence;
        group_state.tzdata = head.tzdata.into();
        group_state.last_stamp = head.last_stamp;
        group_state.highest_ids = head.highest_ids;
        group_state.removed = self.removed.into_iter().collect();
        group_state.outbox = Outbox::from_messages(self.messages, self.last_message);
        group_state.idempotency_records = self.answers.into_iter().collect();
        group_state.links = AccountLinks::from_links(self.links);
        if let Some(until) = self.emptied_until {
            group_state.set_emptied_until(until);
        }
        for hold in self.holds {
            group_state.put_hold(hold);
        }
        group_state.history =
            History::from_stored(self.history, self.history_settings, self.last_history_row);
        group_state.privacy = self.privacy;
        group_state.closed_addresses = self.closed_addresses;
        group_state.images = GroupImages::from_stored(self.images, self.image_slots);
        group_state.calendarfeeds =
            Calendarfeeds::from_stored(self.calendarfeeds, self.last_calendarfeed);
        group_state.webhooks = Webhooks::from_stored(self.webhooks, self.last_webhook);
        Some(group_state)
    }
}

/// Passes every frame of the directory's state to `write`, in order.
///
/// # Errors
/// The first error of `write`.
pub fn write_directory<E>(
    directory: &Directory,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let apikeys = directory.apikeys.iter().map(|(hash, key)| (*hash, key.clone()));
    let blocks = directory.blocks.iter().map(|(place, block)| (*place, block.clone()));
    write_frames(apikeys, DirectoryFrame::Apikeys, &mut write)?;
    write_frames(directory.pros.values().cloned(), DirectoryFrame::Pros, &mut write)?;
    write_frames(blocks, DirectoryFrame::Blocks, &mut write)?;
    write_frames(directory.known_logins.iter(), DirectoryFrame::KnownLogins, &mut write)?;
    let logins = directory.pro_logins.iter().map(|(hash, login)| (hash, login.clone()));
    write_frames(logins, DirectoryFrame::ProLogins, &mut write)?;
    let roles = directory.roles.iter().map(|(place, role)| (place, role.clone()));
    write_frames(roles, DirectoryFrame::Roles, &mut write)?;
    let invitations = directory.invitations.iter().map(|(place, one)| (place, one.clone()));
    write_frames(invitations, DirectoryFrame::Invitations, &mut write)?;
    let rows = directory.access_history.iter().map(|(number, row)| (number, Arc::clone(row)));
    write_frames(rows, DirectoryFrame::AccessRows, &mut write)?;
    match directory.access_history.last() {
        0 => {}
        last => write(&codec::encode(&DirectoryFrame::LastAccessRow(last)))?,
    }
    let factors = directory.second_factors.iter().map(|(pro, factor)| (*pro, factor.clone()));
    write_frames(factors, DirectoryFrame::SecondFactors, &mut write)?;
    let used = directory.keys_used.iter().map(|(hash, day)| (*hash, *day));
    write_frames(used, DirectoryFrame::KeysUsed, &mut write)?;
    match directory.pros.last_id() {
        0 => {}
        last => write(&codec::encode(&DirectoryFrame::LastPro(last)))?,
    }
    match &directory.link_secret {
        Some(secret) => write(&codec::encode(&DirectoryFrame::LinkSecret(secret.clone()))),
        None => Ok(()),
    }
}

/// Adds a frame of the directory's state to `directory`. `format` is that of the snapshot.
///
/// # Errors
/// Bytes that are no frame.
pub fn read_directory(
    directory: &mut Directory,
    bytes: &[u8],
    format: u16,
) -> Result<(), DecodeError> {
    match codec::decode_format(bytes, format)? {
        DirectoryFrame::Apikeys(rows) => directory.apikeys.extend(rows),
        DirectoryFrame::Pros(rows) => {
            directory.pros.extend(rows.into_iter().map(|pro| (pro.id, pro)))
        }
        DirectoryFrame::Blocks(rows) => directory.blocks.extend(rows),
        DirectoryFrame::LinkSecret(secret) => directory.link_secret = Some(secret),
        DirectoryFrame::KnownLogins(rows) => directory.known_logins.extend(rows),
        DirectoryFrame::ProLogins(rows) => directory.pro_logins.extend(rows),
        DirectoryFrame::Roles(rows) => directory.roles.extend(rows),
        DirectoryFrame::Invitations(rows) => directory.invitations.extend(rows),
        DirectoryFrame::AccessRows(rows) => directory.access_history.extend(rows),
        DirectoryFrame::LastAccessRow(last) => directory.access_history.set_last(last),
        DirectoryFrame::SecondFactors(rows) => directory.second_factors.extend(rows),
        DirectoryFrame::KeysUsed(rows) => directory.keys_used.extend(rows),
        DirectoryFrame::LastPro(last) => directory.pros.spend_ids_to(last),
    }
    Ok(())
}

/// Returns the SHA-256 of a group's sequence and frames: equal for equal states only.
pub fn hash(group_state: &GroupState) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(group_state.sequence.to_be_bytes());
    let written: Result<(), std::convert::Infallible> = write_group(group_state, |frame| {
        hasher.update(frame);
        Ok(())
    });
    match written {
        Ok(()) => hasher.finalize().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::author::Author;
    use crate::domain::state::history::row::{HistoryObject, HistoryRow, HistoryVerb};
    use crate::domain::state::history::settings::Versions;
    use crate::domain::time::zone_names::ZoneName;
    use crate::store::codec::SNAPSHOT_FORMAT;

    fn new_group() -> GroupState {
        let zone = ZoneName::from_name("Paris").unwrap();
        let group = Group::new(GroupId::new(1).unwrap(), zone, Instant(0));
        GroupState::new(Catalogue::new(group))
    }

    fn reader_of(frames: &[Vec<u8>]) -> GroupReader {
        let mut reader = GroupReader::default();
        frames.iter().for_each(|frame| reader.add_frame(frame, SNAPSHOT_FORMAT).unwrap());
        reader
    }

    #[test]
    fn the_history_is_read_back_with_its_settings_and_its_last_number() {
        let mut state = new_group();
        let after = Some(Arc::new(state.catalogue.group.clone()));
        for sequence in 1..=300 {
            let row = HistoryRow {
                at: Instant(1_800_000_000),
                sequence,
                author: Some(Author::Server),
                object: HistoryObject::of_group(GroupId::new(1).unwrap()),
                verb: HistoryVerb::Changed,
                fields: Vec::new(),
            };
            let settings = Versions { before: None, after: after.clone() };
            state.history.add(row, Some(SettingsChange::Group(settings)));
        }
        let mut frames = Vec::new();
        let written: Result<(), DecodeError> = write_group(&state, |frame| {
            frames.push(frame.to_vec());
            Ok(())
        });
        written.unwrap();
        let read = reader_of(&frames).group_state(0).unwrap();
        assert_eq!(read.history, state.history);
        assert_eq!(hash(&read), hash(&state));
    }

    #[test]
    fn events_that_could_not_be_applied_are_read_back_in_order() {
        let events: Vec<QuarantinedEvent> = (1..=300)
            .map(|sequence| QuarantinedEvent { sequence, format: 3, bytes: vec![7, 0, 255] })
            .collect();
        let mut frames = Vec::new();
        let written: Result<(), DecodeError> = write_quarantined(&events, |frame| {
            frames.push(frame.to_vec());
            Ok(())
        });
        written.unwrap();
        let mut reader = reader_of(&frames);
        assert_eq!(reader.take_quarantined(), events);
        assert_eq!(reader.take_quarantined(), [], "they are taken once");
    }
}
