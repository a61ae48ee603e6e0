//! The first state of a simulation, and the start from its disk.

use std::sync::{Arc, LazyLock};

use slotbook::domain::directory::professionals::Pro;
use slotbook::domain::directory::{Directory, DirectoryEvent};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::ids::{GroupId, ProId};
use slotbook::domain::records::text::{Bounded, Email, ReminderLead};
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::{Instant, MINUTE};
use slotbook::engine::recovery::{create_simulated, load_simulated};
use slotbook::store::{
    BatchNumber, JournalRecord, SimulatedDisk, SimulatedLog, StoreError, Stream, codec, state,
};

use super::shop::{Shop, booking_of};
use super::simulation_history::{Agenda, Entry, EventKind};

/// Maximum number of operations of one seed.
pub(crate) const OPERATIONS_MAX: u64 = 160;

/// A shop with two calendars, open for six half hours each. Reminders leave a day before.
pub(crate) static SHOP: LazyLock<Shop> = LazyLock::new(|| {
    let shop = Shop::open_on_tuesday();
    shop.opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All).with_group(|group| {
        group.mailreminder = ReminderLead::new(1_440).expect("a lead");
        group.mail_since = Instant(0);
        group.notice_delay_seconds = Bounded::known(1);
    })
});

/// The first start of the day.
pub(crate) static FIRST_START: LazyLock<Instant> = LazyLock::new(|| {
    let first = booking_of("first", "2026-03-03 09:00").date;
    SHOP.group_state.catalogue.zone().instant_of(first)
});

pub(crate) fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

/// Returns the appointments of a state. The name of each client is `c` and its number. Its address
/// begins with the name, and with `r` and a number if it has changed.
pub(crate) fn agenda_of(state: &GroupState) -> Agenda {
    let mut agenda = Agenda::new();
    for row in state.rows.values() {
        let Some(appointment) = row.appointment() else { continue };
        let seconds = appointment.start.seconds_since(*FIRST_START);
        assert_eq!((seconds % (30 * MINUTE), appointment.length_seconds), (0, 1_800));
        let client = &state.fiches[&appointment.fiche_id];
        let email = client.email.as_ref().expect("each client has one").as_str();
        let (address, _) = email.split_once('@').expect("an address");
        let address = address.split_once('r').map_or("0", |(_, address)| address);
        let entry = Entry {
            slot: (seconds / (30 * MINUTE), row.calendar_id.number()),
            is_cancelled: row.deleted,
            client: client.lastname.as_str()[1..].parse().expect("a number"),
            address: address.parse().expect("a number"),
        };
        agenda.insert(row.id, entry);
    }
    agenda
}

/// Whether two states have the same agenda for certain.
fn share_agenda(one: &GroupState, other: &GroupState) -> bool {
    let has_same_rows = one.rows.len() == other.rows.len();
    has_same_rows
        && other.rows.changed_since(&one.rows).is_empty()
        && one.fiches.ptr_eq(&other.fiches)
}

/// The directory before the first start, with every professional that can be the author of an
/// operation.
static FIRST_DIRECTORY: LazyLock<Directory> = LazyLock::new(|| {
    let mut directory = Directory::default();
    SHOP.group_state.claim_ids(&mut directory);
    // As each start does.
    for (kind, id) in SHOP.group_state.catalogue.ids() {
        directory.blocks.claim_imported(kind, id, group());
    }
    for number in 1..=OPERATIONS_MAX {
        let id = ProId::new(number).expect("an id");
        let email = Email::new(&format!("pro{number}@example.org")).expect("an address");
        let pro = Pro { email, ..Pro::blank(id, group(), Instant(0)) };
        directory.apply_in_place(&DirectoryEvent::ProPut { pro: Box::new(pro) });
    }
    directory.sequence = 0;
    directory
});

/// A disk whose first generation holds the first state.
static FIRST_DISK: LazyLock<SimulatedDisk> = LazyLock::new(|| {
    create_simulated(&FIRST_DIRECTORY, std::slice::from_ref(&SHOP.group_state)).expect("a new disk")
});

/// Returns a new disk: with the first state, or with an empty generation.
pub(crate) fn new_disk(has_snapshots: bool) -> SimulatedDisk {
    if has_snapshots { FIRST_DISK.copy() } else { SimulatedDisk::new() }
}

/// The content of the disk after a start.
pub(crate) struct Recovered {
    pub(crate) log: SimulatedLog,
    pub(crate) directory: Directory,
    pub(crate) group_state: GroupState,
    /// The agenda after each event, the empty one first.
    pub(crate) agendas: Vec<Arc<Agenda>>,
    /// The state after each event, the first one first.
    pub(crate) states: Vec<GroupState>,
    /// The author and the kind of each event.
    pub(crate) events: Vec<(Author, EventKind)>,
}

/// The states of a history, from the first one on.
struct HistoryReader {
    directory: Directory,
    agendas: Vec<Arc<Agenda>>,
    states: Vec<GroupState>,
    events: Vec<(Author, EventKind)>,
}

impl HistoryReader {
    fn new() -> Self {
        Self {
            directory: FIRST_DIRECTORY.clone(),
            agendas: vec![Arc::new(agenda_of(&SHOP.group_state))],
            states: vec![SHOP.group_state.clone()],
            events: Vec::new(),
        }
    }

    fn read(&mut self, _: BatchNumber, record: &JournalRecord) -> Result<(), StoreError> {
        if record.stream == Stream::Directory {
            let event = codec::decode::<DirectoryEvent>(&record.bytes)?;
            self.directory = self.directory.apply(&event);
            return Ok(());
        }
        let record: GroupRecord = codec::decode(&record.bytes)?;
        let before = self.states.last().expect("the first one is there");
        let next = before.apply_by(record.author, &record.event);
        let agenda = match self.agendas.last() {
            Some(agenda) if share_agenda(before, &next) => Arc::clone(agenda),
            _ => Arc::new(agenda_of(&next)),
        };
        let carried = record.event.carried();
        let event = carried.first().unwrap_or(&record.event);
        let kind = match event {
            Event::MessagePut { .. } => EventKind::Delivery,
            _ => EventKind::Operation,
        };
        self.events.push((record.author.expect("each record names its author"), kind));
        self.agendas.push(agenda);
        self.states.push(next);
        Ok(())
    }
}

/// Starts from a disk. With snapshots, it compares what a start reads with the whole history.
///
/// # Errors
/// The disk is refused, or what it holds differs from its history.
pub(crate) fn recover(disk: &SimulatedDisk, has_snapshots: bool) -> Result<Recovered, String> {
    let mut history = HistoryReader::new();
    if !has_snapshots {
        let recovered = disk.recover(|batch, record| history.read(batch, &record));
        let (log, _) = recovered.map_err(|error| error.to_string())?;
        let HistoryReader { directory, agendas, states, events } = history;
        let group_state = states.last().expect("the first one is there").clone();
        return Ok(Recovered { log, directory, group_state, agendas, states, events });
    }
    let (directory, groups, log) = load_simulated(disk).map_err(|error| error.to_string())?;
    let [group_state] = <[Arc<GroupState>; 1]>::try_from(groups).expect("one group");
    let read = disk.visit_history(|batch, record| history.read(batch, &record));
    read.map_err(|error| format!("its history is damaged: {error}"))?;
    let HistoryReader { directory: expected, agendas, states, events } = history;
    let last = states.last().expect("the first one is there");
    if state::hash(last) != state::hash(&group_state) {
        let (read, held) = (group_state.sequence, last.sequence);
        return Err(format!(
            "generation {} gives event {read} with {:?}, and its history event {held} \
             with {:?}",
            disk.generation(),
            agenda_of(&group_state),
            agendas.last()
        ));
    }
    if directory != expected {
        return Err(format!(
            "a generation gives another directory than its history: {:?} {:?}",
            directory.blocks, expected.blocks
        ));
    }
    let group_state = Arc::unwrap_or_clone(group_state);
    Ok(Recovered { log, directory, group_state, agendas, states, events })
}

/// Starts from journals that read short by some chunks. Returns the last event of the start; `None`
/// if it is refused.
///
/// # Errors
/// A refusal that changes the disk, or states that the history does not have.
pub(crate) fn start_reading_short(
    disk: &SimulatedDisk,
    chunks: usize,
    has_snapshots: bool,
) -> Result<Option<u64>, String> {
    let before = disk.bytes();
    let refused = || {
        let is_same = disk.bytes() == before;
        if is_same { Ok(None) } else { Err("a refused start has changed the disk".to_owned()) }
    };
    if !has_snapshots {
        disk.shorten_next_read(chunks);
        let Ok(recovered) = recover(disk, false) else { return refused() };
        return Ok(Some(recovered.group_state.sequence));
    }
    let whole = recover(&disk.copy(), true)?;
    disk.shorten_next_read(chunks);
    let Ok((_, mut groups, _)) = load_simulated(disk) else { return refused() };
    let started = groups.remove(0);
    let place = usize::try_from(started.sequence).expect("small");
    match whole.states.get(place) {
        Some(state) if state::hash(state) == state::hash(&started) => Ok(Some(started.sequence)),
        _ => Err(format!("a start that read short gives another event {place}")),
    }
}
