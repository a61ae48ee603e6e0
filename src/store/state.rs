//! States as frames of a snapshot, in one canonical order, and back.
//!
//! Equal states give equal frames, so the hash over them tells whether two states are the same.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::identity::account::Account;
use crate::domain::identity::account_link::{AccountLink, AccountLinks};
use crate::domain::identity::directory::{Apikey, Block, Directory, IdKind, Pro};
use crate::domain::identity::link_secret::LinkSecret;
use crate::domain::messaging::message::Message;
use crate::domain::messaging::outbox::Outbox;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::{GroupState, HighestIds};
use crate::domain::state::idempotency::IdempotencyRecord;
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
    /// Highest ids of rows of the catalogue that are no more.
    Removed(Vec<(IdKind, u64)>),
    Messages(Vec<Arc<Message>>),
    /// The highest id that a message ever had; not there where none was.
    LastMessage(u64),
    /// What is answered again, by age.
    IdempotencyRecords(Vec<Arc<IdempotencyRecord>>),
    /// Links about accounts that can be followed.
    Links(Vec<Arc<AccountLink>>),
    /// Events that could not be carried out when the snapshot was written: the state stands before the first of them.
    Waiting(Vec<Waiting>),
}

/// An event of a group that could not be carried out, kept as it is for a release that can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its place in the group's history.
    pub sequence: u64,
    /// Format of `bytes`.
    pub format: u16,
    /// The event, encoded.
    pub bytes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct GroupHead {
    /// The release of the zone database by which instants were resolved.
    tzdata: String,
    group: Group,
    last_stamp: Instant,
    spent: HighestIds,
}

/// A part of the directory. The order of the variants is the format on disk.
#[derive(Serialize, Deserialize)]
enum DirectoryFrame {
    Apikeys(Vec<([u8; 32], Apikey)>),
    Pros(Vec<Pro>),
    Blocks(Vec<((IdKind, u64), Block)>),
    /// Not there before the store is first served.
    LinkSecret(LinkSecret),
}

fn frames_of<'a, T: Clone + 'a, F: Serialize, E>(
    rows: impl Iterator<Item = &'a T>,
    frame: impl Fn(Vec<T>) -> F,
    write: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut rows = rows.cloned().peekable();
    while rows.peek().is_some() {
        write(&codec::encode(&frame(rows.by_ref().take(FRAME_ROWS).collect())))?;
    }
    Ok(())
}

/// Hands every frame of a group's state to `write`, in order.
///
/// # Errors
/// What `write` returns.
pub fn write_group<E>(
    group_state: &GroupState,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let catalogue = &group_state.catalogue;
    write(&codec::encode(&GroupFrame::Head(Box::new(GroupHead {
        tzdata: group_state.tzdata.to_string(),
        group: catalogue.group.clone(),
        last_stamp: group_state.last_stamp,
        spent: group_state.highest_ids,
    }))))?;
    frames_of(catalogue.calendars.values(), GroupFrame::Calendars, &mut write)?;
    frames_of(catalogue.calendarsets.values(), GroupFrame::Calendarsets, &mut write)?;
    frames_of(catalogue.interventions.values(), GroupFrame::Interventions, &mut write)?;
    frames_of(catalogue.interventionsets.values(), GroupFrame::Interventionsets, &mut write)?;
    frames_of(catalogue.customfields.values(), GroupFrame::Customfields, &mut write)?;
    frames_of(group_state.fiches.values(), GroupFrame::Fiches, &mut write)?;
    frames_of(group_state.accounts.values(), GroupFrame::Accounts, &mut write)?;
    frames_of(group_state.rows.values(), GroupFrame::Vevents, &mut write)?;
    let removed: Vec<_> = group_state.removed.iter().map(|(kind, id)| (*kind, *id)).collect();
    frames_of(removed.iter(), GroupFrame::Removed, &mut write)?;
    frames_of(group_state.idempotency_records.iter(), GroupFrame::IdempotencyRecords, &mut write)?;
    frames_of(group_state.outbox.messages(), GroupFrame::Messages, &mut write)?;
    match group_state.outbox.last_id() {
        0 => {}
        last => write(&codec::encode(&GroupFrame::LastMessage(last)))?,
    }
    frames_of(group_state.links.iter(), GroupFrame::Links, &mut write)
}

/// Hands frames of events that could not be carried out to `write`, to stand behind those of the state before them.
///
/// # Errors
/// What `write` returns.
pub fn write_waiting<E>(
    waiting: &[Waiting],
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    frames_of(waiting.iter(), GroupFrame::Waiting, &mut write)
}

/// Puts a group's state together again, frame by frame.
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
    waiting: Vec<Waiting>,
}

impl GroupReader {
    /// Takes the next frame.
    ///
    /// # Errors
    /// Bytes that are no frame.
    pub fn frame(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        match codec::decode(bytes)? {
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
            GroupFrame::Waiting(events) => self.waiting.extend(events),
        }
        Ok(())
    }

    /// Events that could not be carried out when the snapshot was written, in order: the state stands before them.
    #[must_use]
    pub fn take_waiting(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.waiting)
    }

    /// The state, standing at `sequence`; `None` where its head is missing.
    #[must_use]
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
        group_state.highest_ids = head.spent;
        group_state.removed = self.removed.into_iter().collect();
        group_state.outbox = Outbox::from_messages(self.messages, self.last_message);
        group_state.idempotency_records = self.answers.into_iter().collect();
        group_state.links = AccountLinks::from_links(self.links);
        Some(group_state)
    }
}

/// Hands every frame of the directory's state to `write`, in order.
///
/// # Errors
/// What `write` returns.
pub fn write_directory<E>(
    directory: &Directory,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let apikeys: Vec<_> =
        directory.apikeys.iter().map(|(hash, key)| (*hash, key.clone())).collect();
    let blocks: Vec<_> =
        directory.blocks.iter().map(|(place, block)| (*place, block.clone())).collect();
    frames_of(apikeys.iter(), DirectoryFrame::Apikeys, &mut write)?;
    frames_of(directory.pros.values(), DirectoryFrame::Pros, &mut write)?;
    frames_of(blocks.iter(), DirectoryFrame::Blocks, &mut write)?;
    directory
        .link_secret
        .iter()
        .try_for_each(|seal| write(&codec::encode(&DirectoryFrame::LinkSecret(seal.clone()))))
}

/// Adds a frame of the directory's state to what was read before.
///
/// # Errors
/// Bytes that are no frame.
pub fn read_directory(directory: &mut Directory, bytes: &[u8]) -> Result<(), DecodeError> {
    match codec::decode(bytes)? {
        DirectoryFrame::Apikeys(rows) => directory.apikeys.extend(rows),
        DirectoryFrame::Pros(rows) => {
            directory.pros.extend(rows.into_iter().map(|pro| (pro.id, pro)))
        }
        DirectoryFrame::Blocks(rows) => directory.blocks.extend(rows),
        DirectoryFrame::LinkSecret(seal) => directory.link_secret = Some(seal),
    }
    Ok(())
}

/// SHA-256 over a group's frames and its sequence: equal for equal states, and for nothing else.
#[must_use]
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
