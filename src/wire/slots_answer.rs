//! The answer to a search of `availabletimeslots`. Reference 4.7.
//!
//! Slots are written by hand, and copied where they differ in their time only: serde_json took 2.1
//! to 3.5 times as long before they were copied (measured 2026-11-22, 10,000 slots of 1 to 10
//! calendars).

use utoipa::openapi::{RefOr, Schema};

use crate::domain::availability::free_places::{DayStarts, FreePlaces};
use crate::domain::records::ids::{CalendarId, GroupId};
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, Instant};
use crate::wire::column_value::{FieldType, append_value};
use crate::wire::datetime::{LocalTimes, append_rfc_3339, overwrite_utc_time};
use crate::wire::schema::{
    all_required, at_least, described, filled_list, id, instant, list, shown, whole,
};
use crate::wire::slots::SlotSearch;

/// The part of a slot before its start.
const SLOT_HEAD: &[u8] = br#"{"start":""#;
/// The parts of a slot with instants between its times.
const TO_START_UTC: &[u8] = br#"","start_utc":""#;
const TO_END: &[u8] = br#"","end":""#;
const TO_END_UTC: &[u8] = br#"","end_utc":""#;
/// The places of the times within such a slot.
const START_AT: usize = SLOT_HEAD.len();
const START_UTC_AT: usize = START_AT + "YYYY-MM-DD HH:MM:SS".len() + TO_START_UTC.len();
const END_AT: usize = START_UTC_AT + "YYYY-MM-DDTHH:MM:SSZ".len() + TO_END.len();
const END_UTC_AT: usize = END_AT + "YYYY-MM-DD HH:MM:SS".len() + TO_END_UTC.len();
/// Bytes of a slot with its comma, for less than a thousand calendars and without their ids.
const SLOT_BYTES: usize = 66;
/// Bytes of its end, and of its start and end as instants.
const INSTANT_BYTES: usize = 98;
/// Bytes of an answer without slots, beside the parameters that it repeats.
const ANSWER_BYTES: usize = 128;
/// Maximum number of calendars of a slot for which room is made.
const RESERVED_CALENDARS_MAX: usize = 32;

const SLOT_START: &str = "Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.";

/// The schema of the answer, which no struct describes because it is written by hand.
pub fn slots_schema() -> RefOr<Schema> {
    let slot = all_required([
        ("start", shown(FieldType::Moment, false).into(), SLOT_START),
        ("capacity", whole(1, i64::from(i32::MAX)).into(), "Number of calendars that are free."),
        ("calendar_ids", filled_list(id().build()).into(), "Ids of the calendars that are free."),
    ])
    .property("start_utc", described(instant(false), "The start as an instant, with instants."))
    .property(
        "end",
        described(
            shown(FieldType::Moment, false),
            "End, YYYY-MM-DD HH:MM:SS on the clocks of the group, with instants.",
        ),
    )
    .property("end_utc", described(instant(false), "The end as an instant, with instants."))
    .property("count", described(at_least(1), "Number of free slots of the day, with by=day."));
    all_required([
        ("group_id", id().into(), "Id of the group."),
        (
            "firstSlot",
            shown(FieldType::Moment, true).into(),
            "First start, YYYY-MM-DD HH:MM:SS on the clocks of the group; null if there is none.",
        ),
        (
            "intervention_ids",
            list(id()).into(),
            "Ids of the interventions of the search, in order.",
        ),
        (
            "calendar_id",
            shown(FieldType::Reference, true).into(),
            "The calendar of the search; null if it named none.",
        ),
        ("calendar_ids", list(id()).into(), "The calendars of the search; empty if it named none."),
        ("availabletimeslots", list(slot).into(), "The free slots, ascending by start."),
    ])
    .property("firstSlot_utc", described(instant(true), "firstSlot as an instant, with instants."))
    .into()
}

/// Answer to a search, written slot by slot.
#[derive(Debug)]
pub struct SlotsAnswer {
    out: Vec<u8>,
    times: LocalTimes,
    /// JSON before `firstSlot`'s value, which is known with the first slot.
    head: Vec<u8>,
    /// JSON between `firstSlot`'s value and the first slot.
    middle: Vec<u8>,
    /// The texts of the ids of the searched calendars, one after the other in the order of the
    /// search, each with a comma.
    id_texts: Vec<u8>,
    /// The places in `id_texts` where they end.
    id_ends: Vec<usize>,
    /// The words of the free calendars of the last slot; empty without one.
    last_free: Vec<(u32, u64)>,
    /// The last slot that is no copy, with its comma.
    last_slot: Vec<u8>,
    /// The place in it after its start.
    last_end: usize,
    /// The day of the last slot with instants, in days since 1970 in UTC, if it starts and ends on
    /// one day of UTC and on one of the zone.
    last_utc_day: Option<i64>,
    /// Whether no slot has been written yet.
    empty: bool,
    /// Whether the end of each slot is written, and both in UTC.
    instants: bool,
    /// Seconds from the start of a slot to its end.
    length_seconds: i64,
}

impl SlotsAnswer {
    /// Creates an answer without slots.
    pub fn new(search: &SlotSearch, group: GroupId, zone: Zone) -> Self {
        let mut head = br#"{"group_id":"#.to_vec();
        append_value(&group.number(), &mut head);
        head.extend_from_slice(br#","firstSlot":"#);
        let mut middle = Vec::with_capacity(128);
        middle.extend_from_slice(br#","intervention_ids":["#);
        append_ids(search.chain.legs().iter().map(|leg| leg.intervention_id.number()), &mut middle);
        middle.extend_from_slice(br#","calendar_id":"#);
        append_value(&search.calendar_id.map(CalendarId::number), &mut middle);
        middle.extend_from_slice(br#","calendar_ids":["#);
        append_ids(search.calendar_ids.iter().map(|id| id.number()), &mut middle);
        middle.extend_from_slice(br#","availabletimeslots":["#);
        let mut id_texts = Vec::with_capacity(8 * search.calendars.len());
        let mut id_ends = Vec::with_capacity(search.calendars.len());
        for id in &search.calendars {
            append_value(&id.number(), &mut id_texts);
            id_texts.push(b',');
            id_ends.push(id_texts.len());
        }
        Self {
            out: Vec::new(),
            times: LocalTimes::new(zone),
            head,
            middle,
            id_texts,
            id_ends,
            last_free: Vec::new(),
            last_slot: Vec::new(),
            last_end: 0,
            last_utc_day: None,
            empty: true,
            instants: search.instants,
            length_seconds: search.chain.length_seconds(),
        }
    }

    /// Makes room for about this many further slots, so that the answer is not copied as it grows.
    pub fn reserve(&mut self, slots: usize) {
        let ids = self.id_ends.iter().take(RESERVED_CALENDARS_MAX).next_back();
        let mut slot = SLOT_BYTES + ids.copied().unwrap_or(0);
        if self.instants {
            slot += INSTANT_BYTES;
        }
        let head = if self.empty { ANSWER_BYTES + self.middle.len() } else { 0 };
        self.out.reserve(head + slots * slot);
    }

    /// Appends starts, which must ascend and be later than all previous ones.
    ///
    /// `free` holds the places of their free calendars in the list of searched calendars.
    pub fn append_slots(&mut self, starts: impl Iterator<Item = Instant>, free: FreePlaces<'_>) {
        // Neighbouring slots mostly have the same free calendars, and the same date.
        let mut has_same_calendars = free.has_words(&self.last_free);
        for start in starts {
            if has_same_calendars && self.append_copy(start) {
                continue;
            }
            self.append_slot(start, free, has_same_calendars);
            has_same_calendars = true;
        }
    }

    /// Appends a slot that is no copy of the last one.
    fn append_slot(&mut self, start: Instant, free: FreePlaces<'_>, has_same_calendars: bool) {
        let begin = self.append_start(start);
        let end = self.out.len() - begin;
        if has_same_calendars {
            self.out.extend_from_slice(&self.last_slot[self.last_end..]);
        } else {
            self.last_free.clear();
            self.last_free.extend(free.words());
            self.append_end(free.count(), free.iter());
        }
        self.last_slot.clear();
        self.last_slot.extend_from_slice(&self.out[begin..]);
        self.last_end = end;
    }

    /// Appends a copy of the last slot with another time of its day. Returns false, and appends
    /// nothing, if more than that differs.
    #[inline]
    fn append_copy(&mut self, start: Instant) -> bool {
        if !self.times.has_date(start) {
            return false;
        }
        if self.instants && (self.last_utc_day.is_none() || self.last_utc_day != self.day(start)) {
            return false;
        }
        let begin = self.out.len();
        self.out.extend_from_slice(&self.last_slot);
        let slot = &mut self.out[begin..];
        self.times.overwrite_time(start, &mut slot[START_AT..]);
        if self.instants {
            let end = start.plus_seconds(self.length_seconds);
            overwrite_utc_time(start, &mut slot[START_UTC_AT..]);
            self.times.overwrite_time(end, &mut slot[END_AT..]);
            overwrite_utc_time(end, &mut slot[END_UTC_AT..]);
        }
        true
    }

    /// The day in UTC of a slot that starts and ends on it, and on the day of the zone whose date
    /// was appended last.
    fn day(&self, start: Instant) -> Option<i64> {
        let end = start.plus_seconds(self.length_seconds);
        let [day, last] = [start, end].map(|instant| instant.0.div_euclid(DAY));
        let is_one_day = self.times.has_date(start) && self.times.has_date(end);
        if day == last && is_one_day { Some(day) } else { None }
    }

    /// Appends the first start of a day, with the number of the day's starts.
    pub fn append_day(&mut self, day: &DayStarts) {
        // It is no slot to copy.
        self.last_free.clear();
        self.append_start(day.first);
        self.append_end(day.places.len(), day.places.iter().copied());
        // The count comes before the brace and the comma that end the slot.
        self.out.truncate(self.out.len() - 2);
        self.out.extend_from_slice(br#","count":"#);
        append_value(&day.count, &mut self.out);
        self.out.extend_from_slice(b"},");
    }

    /// Appends the part of a slot before the end of its start. Returns the place where it begins.
    fn append_start(&mut self, start: Instant) -> usize {
        if self.empty {
            self.empty = false;
            self.out.reserve(ANSWER_BYTES + self.middle.len() + SLOT_BYTES);
            self.out.extend_from_slice(&self.head);
            self.out.push(b'"');
            self.times.append_local(start, &mut self.out);
            self.out.push(b'"');
            if self.instants {
                self.out.extend_from_slice(br#","firstSlot_utc":""#);
                append_rfc_3339(start, &mut self.out);
                self.out.push(b'"');
            }
            self.out.extend_from_slice(&self.middle);
        }
        let begin = self.out.len();
        self.out.extend_from_slice(SLOT_HEAD);
        self.times.append_local(start, &mut self.out);
        if self.instants {
            let end = start.plus_seconds(self.length_seconds);
            self.out.extend_from_slice(TO_START_UTC);
            append_rfc_3339(start, &mut self.out);
            self.out.extend_from_slice(TO_END);
            self.times.append_local(end, &mut self.out);
            self.out.extend_from_slice(TO_END_UTC);
            append_rfc_3339(end, &mut self.out);
            self.last_utc_day = self.day(start);
        }
        begin
    }

    /// Appends the part of a slot after its start, and a comma.
    fn append_end(&mut self, count: usize, places: impl Iterator<Item = usize>) {
        self.out.extend_from_slice(br#"","capacity":"#);
        append_value(&count, &mut self.out);
        self.out.extend_from_slice(br#","calendar_ids":["#);
        for place in places {
            let begin = if place == 0 { 0 } else { self.id_ends[place - 1] };
            self.out.extend_from_slice(&self.id_texts[begin..self.id_ends[place]]);
        }
        // The comma of the last id; each slot has one.
        self.out.pop();
        self.out.extend_from_slice(b"]},");
    }

    /// Returns the complete JSON.
    pub fn finish(mut self) -> Vec<u8> {
        if self.empty {
            self.out.extend_from_slice(&self.head);
            self.out.extend_from_slice(b"null");
            if self.instants {
                self.out.extend_from_slice(br#","firstSlot_utc":null"#);
            }
            self.out.extend_from_slice(&self.middle);
        } else {
            // The comma after the last slot.
            self.out.pop();
        }
        self.out.extend_from_slice(b"]}");
        self.out
    }
}

/// Appends ids with commas between them, and the end of their list.
fn append_ids(ids: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
    for (nth, id) in ids.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        append_value(&id, out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::availability::free_places::MergedStarts;
    use crate::domain::availability::slot_request::{BookingMode, Chain, Leg, OwnTime};
    use crate::domain::records::ids::InterventionId;
    use crate::domain::time::interval_set::Interval;
    use crate::wire::datetime::{format_local, format_rfc_3339};
    use crate::wire::slots::SearchGoal;

    fn search(ids: &[u64], instants: bool, length_seconds: i64) -> SlotSearch {
        let intervention_id = InterventionId::new(21).expect("an id");
        let calendars: Vec<CalendarId> = ids.iter().filter_map(|id| CalendarId::new(*id)).collect();
        SlotSearch {
            chain: Chain::new(vec![Leg { intervention_id, length_seconds }]).expect("a leg"),
            mode: BookingMode::Module,
            calendars: calendars.clone(),
            window: Interval { start: Instant(0), end: Instant(1) },
            at_least: 1,
            goal: SearchGoal::All,
            own: OwnTime::default(),
            calendar_id: None,
            calendar_ids: calendars,
            instants,
        }
    }

    proptest! {
        #[test]
        fn an_answer_is_the_same_as_its_tree_of_values(
            // Four days around the autumn change of 2025, in steps that stay on one day mostly.
            calendars in prop_oneof![
                prop::collection::vec(prop::collection::btree_set(0..200_u32, 0..150), 1..4),
                prop::collection::vec(prop::collection::btree_set(0..200_u32, 0..9), 64..70),
            ],
            second_step in 0..200_u32,
            step_seconds in prop_oneof![Just(900_u32), Just(1_800), Just(1_801)],
            // Up to slots that end on the next day.
            length_seconds in prop_oneof![Just(900_i64), Just(21_600)],
            instants: bool,
        ) {
            let zone = Zone::from_iana("Europe/Paris").expect("a zone");
            let first = Instant(1_761_350_400);
            let ids: Vec<u64> = (98..).take(calendars.len()).collect();
            let mut steps = [MergedStarts::default(), MergedStarts::default()];
            let mut expected: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
            for (place, starts) in calendars.iter().enumerate() {
                let (first, second) =
                    (starts.range(..second_step), starts.range(second_step..));
                steps[0].add(place, first.map(|nth| nth * step_seconds));
                steps[1].add(place, second.map(|nth| nth * step_seconds));
                for nth in starts {
                    expected.entry(nth * step_seconds).or_default().insert(ids[place]);
                }
            }
            let group = GroupId::new(4).expect("an id");
            let mut answer = SlotsAnswer::new(&search(&ids, instants, length_seconds), group, zone);
            for step in &mut steps {
                step.finish();
                answer.reserve(step.count_max());
                let mut starts = step.iter().peekable();
                while let Some((seconds, free)) = starts.next() {
                    let mut run = vec![first.plus_seconds(i64::from(seconds))];
                    let words: Vec<_> = free.words().collect();
                    while let Some((next, _)) = starts.next_if(|next| next.1.has_words(&words)) {
                        run.push(first.plus_seconds(i64::from(next)));
                    }
                    answer.append_slots(run.into_iter(), free);
                }
            }
            let mut slots = Vec::new();
            for (seconds, free) in expected {
                let start = first.plus_seconds(i64::from(seconds));
                let mut slot = json!({ "start": format_local(zone, start) });
                if instants {
                    let end = start.plus_seconds(length_seconds);
                    slot["start_utc"] = json!(format_rfc_3339(start));
                    slot["end"] = json!(format_local(zone, end));
                    slot["end_utc"] = json!(format_rfc_3339(end));
                }
                slot["capacity"] = json!(free.len());
                slot["calendar_ids"] = json!(free);
                slots.push(slot);
            }
            let first_of = |name: &str| slots.first().map_or(Value::Null, |slot| slot[name].clone());
            let mut tree = json!({ "group_id": 4, "firstSlot": first_of("start") });
            if instants {
                tree["firstSlot_utc"] = first_of("start_utc");
            }
            tree["intervention_ids"] = json!([21]);
            tree["calendar_id"] = Value::Null;
            tree["calendar_ids"] = json!(ids);
            tree["availabletimeslots"] = json!(slots);
            let answer = String::from_utf8(answer.finish()).expect("text");
            prop_assert_eq!(answer, tree.to_string());
        }
    }
}
