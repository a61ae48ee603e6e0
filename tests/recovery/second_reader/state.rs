//! The state of each group from its snapshot and its records, and the rules of a sound store.
//! Reference 8.7, 8.8.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::files::{Files, Snapshot};
use super::grammar::Value;

/// Seconds for which a hold stays after it was made.
const HOLD_SECONDS: i64 = 3_600;
/// The same for the hold of a confirmed booking.
const CONFIRMED_SECONDS: i64 = 86_400;
/// Holds that one event removes at most.
const REMOVED_MAX: usize = 16;
/// Wrong codes that end a booking.
const WRONG_CODES_MAX: i64 = 5;
/// Ids of a block.
const BLOCK: u64 = 1_024;

/// The time that an appointment takes, and its client.
#[derive(Clone, Debug)]
struct Taken {
    start: i64,
    length: i64,
    client: u64,
}

/// An event of a calendar.
#[derive(Clone, Debug)]
struct Row {
    calendar: u64,
    is_deleted: bool,
    appointment: Option<Taken>,
}

impl Row {
    fn of(row: &Value) -> Self {
        let (kind, members) = row.at("kind").variant();
        let appointment = (kind == "Appointment").then(|| {
            let members = &members.items()[0];
            let [start, length] = ["start", "length_seconds"].map(|name| members.at(name).number());
            Taken { start, length, client: members.at("fiche_id").id() }
        });
        let is_deleted = row.at("deleted").number() == 1;
        Self { calendar: row.at("calendar_id").id(), is_deleted, appointment }
    }

    /// The time of a live appointment, from its start to its end.
    fn live_time(&self) -> Option<(i64, i64)> {
        let taken = self.appointment.as_ref().filter(|_| !self.is_deleted)?;
        Some((taken.start, taken.start + taken.length))
    }
}

/// The use of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoldUse {
    Kept,
    Unconfirmed(i64),
    Confirmed(i64),
    Ended,
}

#[derive(Clone, Debug)]
struct Hold {
    calendar: u64,
    start: i64,
    end: i64,
    made_at: i64,
    state: HoldUse,
}

impl Hold {
    fn of(hold: &Value) -> Self {
        let start = hold.at("start").number();
        let legs = hold.at("legs").items().iter();
        let length: i64 = legs.map(|leg| leg.at("length_seconds").number()).sum();
        let (state, members) = hold.at("state").variant();
        let state = match state {
            "Chosen" => HoldUse::Kept,
            "Unconfirmed" => HoldUse::Unconfirmed(members.items()[0].at("wrong_codes").number()),
            "Confirmed" => HoldUse::Confirmed(members.at("wrong_codes").number()),
            "Overwritten" | "Guessed" => HoldUse::Ended,
            other => panic!("the state {other} of a hold"),
        };
        let made_at = hold.at("made_at").number();
        Self { calendar: hold.at("calendar_id").id(), start, end: start + length, made_at, state }
    }

    fn keeps_time(&self) -> bool {
        matches!(self.state, HoldUse::Kept | HoldUse::Unconfirmed(_))
    }

    fn removed_from(&self) -> i64 {
        let is_confirmed = matches!(self.state, HoldUse::Confirmed(_));
        self.made_at + if is_confirmed { CONFIRMED_SECONDS } else { HOLD_SECONDS }
    }
}

/// A group as far as its rules are checked.
#[derive(Debug, Default)]
pub(super) struct Group {
    sequence: u64,
    last_stamp: i64,
    calendars: BTreeSet<u64>,
    clients: BTreeSet<u64>,
    rows: BTreeMap<u64, Row>,
    holds: BTreeMap<Vec<u8>, Hold>,
    highest_client: u64,
    highest_row: u64,
}

/// Keys, professionals and blocks of ids.
#[derive(Debug, Default)]
struct Directory {
    keys: BTreeSet<Vec<u8>>,
    pros: BTreeSet<u64>,
    /// The groups of each block, by kind and number.
    blocks: BTreeMap<(String, u64), Vec<u64>>,
}

/// What the reader has found.
#[derive(Debug)]
pub(crate) struct Findings {
    /// The lines of `slotbook check`, without the hash of a state.
    pub(super) lines: String,
    /// Live appointments and holds of all groups.
    pub(super) appointments: usize,
    pub(super) holds: usize,
    /// Broken rules.
    pub(super) broken: Vec<String>,
}

impl Group {
    fn of_snapshot(snapshot: &Snapshot) -> Result<Self, String> {
        let mut group = Self { sequence: snapshot.sequence, ..Self::default() };
        for frame in &snapshot.frames {
            let (kind, members) = frame.variant();
            let content = &members.items()[0];
            match kind {
                "Head" => {
                    group.last_stamp = content.at("last_stamp").number();
                    let highest = content.at("highest_ids");
                    group.highest_client = highest.at("fiche").id();
                    group.highest_row = highest.at("vevent").id();
                }
                "Calendars" => group.calendars.extend(ids(content)),
                "Fiches" => group.clients.extend(ids(content)),
                "Vevents" => {
                    for row in content.items() {
                        group.rows.insert(row.at("id").id(), Row::of(row));
                    }
                }
                "Holds" => content.items().iter().for_each(|hold| group.put_hold(hold)),
                "Quarantined" => return Err("a group is set aside".to_owned()),
                _ => {}
            }
        }
        Ok(group)
    }

    /// Applies a record, whose event may carry others.
    fn apply(&mut self, sequence: u64, event: &Value) -> Result<(), String> {
        if sequence != self.sequence + 1 {
            return Err(format!("record {sequence} follows {}", self.sequence));
        }
        self.sequence = sequence;
        self.apply_carried(event)
    }

    fn apply_carried(&mut self, event: &Value) -> Result<(), String> {
        let (kind, members) = event.variant();
        let carried: Vec<&Value> = match kind {
            "Announced" | "DoneOnce" => vec![members.at("event")],
            "AccountLinkRequested" => members.at("change").optional().into_iter().collect(),
            "BatchDone" => members.at("events").items().iter().collect(),
            _ => Vec::new(),
        };
        for event in &carried {
            self.apply_carried(event)?;
        }
        // Announced and DoneOnce have the stamp of the event in them.
        let Some(at) = members.member("at").map(Value::number) else { return Ok(()) };
        if at < self.last_stamp {
            return Err(format!("the stamp {at} goes back behind {}", self.last_stamp));
        }
        self.last_stamp = at;
        if carried.is_empty() {
            self.remove_old_holds(at);
        }
        self.change(kind, members)
    }

    fn change(&mut self, kind: &str, members: &Value) -> Result<(), String> {
        match kind {
            "AppointmentsBooked" => self.book(members)?,
            "BookingConfirmed" => {
                self.change_hold(members.at("id").bytes(), confirm);
                self.book(members)?;
            }
            "AppointmentCancelled" => self.cancel(members.at("id").id())?,
            "VeventPut" => {
                let row = members.at("row");
                self.put_row(row.at("id").id(), Row::of(row));
                self.end_holds(members.items_at("ended_holds"));
            }
            "FichePut" => self.put_client(members.at("fiche").at("id").id()),
            "AccountPut" => self.put_optional_client(members.at("fiche")),
            "CalendarPut" => drop(self.calendars.insert(members.at("row").at("id").id())),
            "GroupChanged" | "InstantsResolved" => {
                self.set_starts(members.at("resolved").items())?;
                self.end_holds(members.items_at("ended_holds"));
            }
            "VeventsRemoved" => {
                members.at("ids").items().iter().try_for_each(|id| self.remove_row(id.id()))?;
            }
            "FichesMerged" => {
                let kept = members.at("kept").at("id").id();
                self.put_client(kept);
                self.give_to(kept, members.at("vevents").items())?;
            }
            "ClientsErased" => self.erase(members.at("erasure"))?,
            "AppointmentsEmptied" => {
                let placeholder = members.at("placeholder").id();
                self.put_client(placeholder);
                self.give_to(placeholder, members.at("parts").at("vevents").items())?;
                self.erase(members.at("parts"))?;
            }
            "GroupFounded" => return Err("a group is founded twice".to_owned()),
            _ => self.change_holds(kind, members),
        }
        Ok(())
    }

    fn change_holds(&mut self, kind: &str, members: &Value) {
        match kind {
            "HoldMade" => {
                if let Some(replaced) = members.at("replaced").optional() {
                    self.holds.remove(replaced.bytes());
                }
                self.put_hold(members.at("hold"));
            }
            "HoldReleased" => drop(self.holds.remove(members.at("id").bytes())),
            "CodeRefused" => self.change_hold(members.at("id").bytes(), |hold| {
                hold.state = match hold.state {
                    HoldUse::Unconfirmed(wrong) | HoldUse::Confirmed(wrong)
                        if wrong + 1 >= WRONG_CODES_MAX =>
                    {
                        HoldUse::Ended
                    }
                    HoldUse::Unconfirmed(wrong) => HoldUse::Unconfirmed(wrong + 1),
                    HoldUse::Confirmed(wrong) => HoldUse::Confirmed(wrong + 1),
                    other => other,
                }
            }),
            _ => {}
        }
    }

    fn book(&mut self, members: &Value) -> Result<(), String> {
        self.put_optional_client(members.at("fiche"));
        for leg in members.at("legs").items() {
            let id = leg.at("id").id();
            if self.rows.contains_key(&id) {
                return Err(format!("appointment {id} is booked twice"));
            }
            self.put_row(id, Row::of(leg));
        }
        Ok(())
    }

    fn row(&mut self, id: u64) -> Result<&mut Row, String> {
        self.rows.get_mut(&id).ok_or_else(|| format!("event {id} is changed, but does not exist"))
    }

    fn remove_row(&mut self, id: u64) -> Result<(), String> {
        let removed = self.rows.remove(&id);
        let was_deleted = removed.is_some_and(|row| row.is_deleted);
        if was_deleted { Ok(()) } else { Err(format!("{id} is removed, but no deleted event")) }
    }

    /// Gives appointments to another client.
    fn give_to(&mut self, client: u64, rows: &[Value]) -> Result<(), String> {
        for id in rows {
            if let Some(taken) = &mut self.row(id.id())?.appointment {
                taken.client = client;
            }
        }
        Ok(())
    }

    fn cancel(&mut self, id: u64) -> Result<(), String> {
        let row = self.row(id)?;
        if row.live_time().is_none() {
            return Err(format!("{id} is cancelled, but no live appointment"));
        }
        row.is_deleted = true;
        Ok(())
    }

    fn erase(&mut self, parts: &Value) -> Result<(), String> {
        for id in parts.at("cancelled").items() {
            self.cancel(id.id())?;
        }
        for hold in parts.at("holds").items() {
            self.holds.remove(hold.bytes());
        }
        Ok(())
    }

    fn set_starts(&mut self, resolved: &[Value]) -> Result<(), String> {
        for pair in resolved {
            let [id, start] = pair.items() else { return Err(format!("{pair:?} is no pair")) };
            let mut row = self.row(id.id())?.clone();
            if let Some(taken) = &mut row.appointment {
                taken.start = start.number();
                self.put_row(id.id(), row);
            }
        }
        Ok(())
    }

    fn put_optional_client(&mut self, client: &Value) {
        if let Some(client) = client.optional() {
            self.put_client(client.at("id").id());
        }
    }

    fn put_client(&mut self, id: u64) {
        self.clients.insert(id);
        self.highest_client = self.highest_client.max(id);
    }

    fn put_row(&mut self, id: u64, row: Row) {
        if let Some((start, end)) = row.live_time() {
            for hold in self.holds.values_mut() {
                let meets = hold.calendar == row.calendar && hold.start < end && start < hold.end;
                if meets && hold.keeps_time() {
                    hold.state = HoldUse::Ended;
                }
            }
        }
        self.highest_row = self.highest_row.max(id);
        self.rows.insert(id, row);
    }

    fn put_hold(&mut self, hold: &Value) {
        let id = Sha256::digest(hold.at("token").bytes()).to_vec();
        self.holds.insert(id, Hold::of(hold));
    }

    fn change_hold(&mut self, id: &[u8], change: impl FnOnce(&mut Hold)) {
        if let Some(hold) = self.holds.get_mut(id) {
            change(hold);
        }
    }

    fn end_holds(&mut self, ids: &[Value]) {
        for id in ids {
            self.change_hold(id.bytes(), |hold| hold.state = HoldUse::Ended);
        }
    }

    fn remove_old_holds(&mut self, stamp: i64) {
        let due = self.holds.iter().filter(|(_, hold)| hold.removed_from() <= stamp);
        let mut due: Vec<_> = due.map(|(id, hold)| (hold.removed_from(), id.clone())).collect();
        due.sort();
        for (_, id) in due.into_iter().take(REMOVED_MAX) {
            self.holds.remove(&id);
        }
    }

    fn live(&self) -> impl Iterator<Item = (u64, u64, (i64, i64))> {
        self.rows.iter().filter_map(|(id, row)| Some((*id, row.calendar, row.live_time()?)))
    }

    /// Finds the broken rules of the group alone.
    fn find_broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        let mut by_calendar: BTreeMap<u64, Vec<(i64, i64, u64)>> = BTreeMap::new();
        for (id, calendar, (start, end)) in self.live() {
            by_calendar.entry(calendar).or_default().push((start, end, id));
        }
        for (calendar, taken) in &mut by_calendar {
            taken.sort_unstable();
            let mut latest: Option<(i64, u64)> = None;
            for (start, end, id) in taken {
                if let Some((until, other)) = latest
                    && *start < until
                {
                    broken.push(format!("appointments {other} and {id} of {calendar} overlap"));
                }
                if latest.is_none_or(|(until, _)| until < *end) {
                    latest = Some((*end, *id));
                }
            }
        }
        for hold in self.holds.values().filter(|hold| hold.keeps_time()) {
            let taken = by_calendar.get(&hold.calendar).into_iter().flatten();
            for (start, end, id) in taken {
                if *start < hold.end && hold.start < *end {
                    broken.push(format!("appointment {id} takes the time of a hold"));
                }
            }
        }
        for (id, row) in &self.rows {
            if !self.calendars.contains(&row.calendar) {
                broken.push(format!("event {id} is of no calendar"));
            }
            if row.appointment.as_ref().is_some_and(|it| !self.clients.contains(&it.client)) {
                broken.push(format!("appointment {id} is of no client"));
            }
        }
        let highest = [self.clients.last().copied(), self.rows.keys().last().copied()];
        if highest[0] > Some(self.highest_client) || highest[1] > Some(self.highest_row) {
            broken.push(format!("ids {highest:?} are above the highest"));
        }
        broken
    }
}

/// Makes the hold of a booking that of a confirmed one.
fn confirm(hold: &mut Hold) {
    let wrong = if let HoldUse::Unconfirmed(wrong) = hold.state { wrong } else { 0 };
    hold.state = HoldUse::Confirmed(wrong);
}

fn ids(rows: &Value) -> impl Iterator<Item = u64> {
    rows.items().iter().map(|row| row.at("id").id())
}

impl Directory {
    fn of_snapshot(snapshot: &Snapshot) -> Self {
        let mut directory = Self::default();
        for frame in &snapshot.frames {
            let (kind, members) = frame.variant();
            let content = &members.items()[0];
            match kind {
                "Apikeys" => {
                    let keys = content.items().iter();
                    directory.keys.extend(keys.map(|pair| pair.items()[0].bytes().to_vec()));
                }
                "Pros" => directory.pros.extend(ids(content)),
                "Blocks" => {
                    for pair in content.items() {
                        let [place, block] = pair.items() else { panic!("{pair:?}") };
                        directory.put_block(place, block);
                    }
                }
                _ => {}
            }
        }
        directory
    }

    fn put_block(&mut self, place: &Value, block: &Value) {
        let [kind, number] = place.items() else { panic!("{place:?}") };
        let (owner, members) = block.variant();
        let groups = match owner {
            "Granted" => vec![members.items()[0].id()],
            _ => members.items()[0].items().iter().map(Value::id).collect(),
        };
        self.blocks.insert((kind.variant().0.to_owned(), number.id()), groups);
    }

    fn apply(&mut self, event: &Value) {
        let (kind, members) = event.variant();
        let put = |pro: &Value| pro.at("id").id();
        match kind {
            "Authored" => self.apply(members.at("event")),
            "ApikeyAdded" => drop(self.keys.insert(members.at("hash").bytes().to_vec())),
            "ApikeyRevoked" => drop(self.keys.remove(members.at("hash").bytes())),
            "ProPut" => drop(self.pros.insert(put(members.at("pro")))),
            "RolePut" => self.pros.extend(members.at("pro").optional().map(put)),
            "InvitationEnded" => self.pros.extend(members.at("accepted_by").optional().map(put)),
            "ProRemoved" => drop(self.pros.remove(&members.at("id").id())),
            "BlockGranted" => {
                let kind = members.at("kind").variant().0.to_owned();
                let group = members.at("group").id();
                self.blocks.insert((kind, members.at("block").id()), vec![group]);
            }
            _ => {}
        }
    }

    /// Finds ids that two groups have, or that are of no block of their group.
    fn find_foreign_ids(&self, groups: &BTreeMap<u64, Group>) -> Vec<String> {
        let mut broken = Vec::new();
        let mut seen = BTreeSet::new();
        for (number, group) in groups {
            let rows = group.rows.keys().map(|id| ("Vevent", *id));
            let clients = group.clients.iter().map(|id| ("Fiche", *id));
            let calendars = group.calendars.iter().map(|id| ("Calendar", *id));
            for (kind, id) in rows.chain(clients).chain(calendars) {
                if !seen.insert((kind, id)) {
                    broken.push(format!("{kind} {id} is of two groups"));
                }
                // Blocks of imported calendars follow from the calendars, and are not stored.
                if kind == "Calendar" {
                    continue;
                }
                let owners = self.blocks.get(&(kind.to_owned(), id / BLOCK));
                if !owners.is_some_and(|owners| owners.contains(number)) {
                    broken.push(format!("{kind} {id} is in no block of group {number}"));
                }
            }
        }
        broken
    }
}

/// Rebuilds all states, and checks them.
pub(super) fn examine(files: &Files) -> Result<Findings, String> {
    let mut directory = Directory::default();
    let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
    for (stream, snapshot) in &files.snapshots {
        if *stream == 0 {
            directory = Directory::of_snapshot(snapshot);
        } else {
            groups.insert(*stream, Group::of_snapshot(snapshot)?);
        }
    }
    for record in &files.records {
        if record.stream == 0 {
            directory.apply(&record.content);
            continue;
        }
        let event = record.content.at("event");
        if let Some(group) = groups.get_mut(&record.stream) {
            let done = group.apply(record.sequence, event);
            done.map_err(|what| format!("group {}: {what}", record.stream))?;
        } else if let ("GroupFounded", members) = event.variant() {
            let last_stamp = members.at("at").number();
            let founded = Group { sequence: record.sequence, last_stamp, ..Group::default() };
            groups.insert(record.stream, founded);
        } else {
            return Err(format!("group {} begins with another event", record.stream));
        }
    }
    let lines = format!(
        "generation {}, {} snapshots, {} batches with {} records since\n\
         {} application keys, {} professionals\n",
        files.generation,
        files.snapshots.len(),
        files.batches,
        files.records.len(),
        directory.keys.len(),
        directory.pros.len()
    );
    let broken = directory.find_foreign_ids(&groups);
    Ok(summarize(lines, broken, &groups))
}

/// Adds the lines and the broken rules of the groups.
fn summarize(
    mut lines: String,
    mut broken: Vec<String>,
    groups: &BTreeMap<u64, Group>,
) -> Findings {
    let (mut appointments, mut holds) = (0, 0);
    for (number, group) in groups {
        let live = group.live().count();
        writeln!(
            lines,
            "group {number}: {} calendars, {} clients, {} events, {live} live appointments, \
             after event {}",
            group.calendars.len(),
            group.clients.len(),
            group.rows.len(),
            group.sequence
        )
        .expect("a string takes all");
        let found = group.find_broken();
        broken.extend(found.into_iter().map(|what| format!("group {number}: {what}")));
        appointments += live;
        holds += group.holds.len();
    }
    Findings { lines, appointments, holds, broken }
}
