//! The checker of linearizability: an order of the calls, within their times, that the
//! specification explains.
//!
//! It is the search of Wing and Gong with the memory of Lowe: a set of calls that are in order, with
//! the state after them, is looked at once. Three reductions keep it small, and lose no order:
//!
//! - A call that changes nothing is put in order as soon as the state gives its answer. An order
//!   that has it later stays one if it is moved to here, since no state changes.
//! - A lost call is left out only when its time ends. Leaving it out earlier changes no state.
//! - A state is given up if a search or a list that comes later shows it otherwise, and no call that
//!   may come before touches what differs.
//!
//! Groups share nothing, so a history is linearizable if that of each group is (the locality of
//! Herlihy and Wing). Within a group, a booking touches a calendar and a client, and a move two
//! calendars. So calendars and clients alone are no objects in the sense of the theorem. Their
//! histories are necessary conditions: an order of all calls of the group is one of each part. They
//! are checked first, as they are small and name the fault best. They leave one thing open: an order
//! for each part, and none for all. So the whole of a group is checked then, if it has few clients.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::call::{Answer, Call, Caller, HalfHour, Request, Slots, Span};
use super::specification::{NOT_AVAILABLE, Scope, Shop, Specification, State};

/// Largest number of steps of one check. A check that needs more is undecided.
pub(crate) const STEPS_MAX: u64 = 1_000_000;

/// Result of a check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is an order; the number of steps to find it.
    Linearizable(u64),
    Violated,
    /// The bound on steps was reached.
    Undecided,
}

/// A set of calls, by their place.
#[derive(Clone, Hash)]
struct CallSet(Vec<u64>);

impl CallSet {
    fn none(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn has(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn add(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }
}

/// Calls that are in order, and the state after them.
#[derive(Clone)]
struct Position {
    done: CallSet,
    /// Every call before this place is done.
    first: usize,
    state: State,
}

impl Position {
    /// Returns 128 bits that tell the position from others.
    fn fingerprint(&self) -> u128 {
        let mut halves = [DefaultHasher::new(), DefaultHasher::new()];
        for (number, half) in halves.iter_mut().enumerate() {
            (number, &self.done, &self.state).hash(half);
        }
        u128::from(halves[0].finish()) << 64 | u128::from(halves[1].finish())
    }
}

/// Half hours of calendars.
type CellSet = BTreeSet<(u64, HalfHour)>;
/// Half hours at which each appointment may ever stand.
type Places = BTreeMap<u64, CellSet>;
/// Half hours of each hold.
type HoldCells = BTreeMap<usize, Vec<(u64, HalfHour)>>;
/// Half hours of calendars, as bits.
type Cells = u128;

/// A call with all that is derived from it once.
struct Step<'a> {
    call: &'a Call,
    is_pure: bool,
    /// Whether it follows a list of the same thread at once: it belongs to an audit.
    is_audit: bool,
    /// Half hours that it may take, and that it may give back.
    takes: Cells,
    gives: Cells,
    /// Half hours that are free, and taken, in each state that gives its answer.
    free: Cells,
    taken: Cells,
    /// What the answer depends on: half hours, the appointments of a client, one appointment.
    reads: Cells,
    client: Option<u64>,
    appointment: Option<u64>,
}

/// A search for an order.
struct Search<'a> {
    specification: Specification<'a>,
    steps: Vec<Step<'a>>,
    /// Bits of the half hours that any call names.
    cells: BTreeMap<(u64, HalfHour), u32>,
    /// Places of the lists.
    lists: Vec<usize>,
    /// Fingerprints of the positions that were looked at. Of a million positions, two have the same
    /// one with a probability below 2⁻⁸⁰.
    visited: BTreeSet<u128>,
    count: u64,
}

/// Checks the calls of a scope, which may stand in any order.
pub(crate) fn check(calls: &[Call], shop: &Shop, scope: &Scope, steps_max: u64) -> Verdict {
    let mut concerned: Vec<&Call> = Vec::new();
    for call in calls {
        if let Request::Book { calendar: None, .. } = call.request
            && call.answer == Answer::Lost
        {
            // Lists decide these before: the specification would have to guess the calendar.
            return Verdict::Undecided;
        }
        let tells_nothing =
            call.answer == Answer::Nothing || (call.answer == Answer::Lost && call.is_pure());
        if !tells_nothing && scope.concerns(call) {
            concerned.push(call);
        }
    }
    concerned.sort_by_key(|call| call.began);
    let mut search = Search::new(concerned, Specification { shop, scope });
    search.run(steps_max)
}

impl<'a> Search<'a> {
    fn new(calls: Vec<&'a Call>, specification: Specification<'a>) -> Self {
        let mut search = Self {
            specification,
            steps: Vec::new(),
            cells: BTreeMap::new(),
            lists: Vec::new(),
            visited: BTreeSet::new(),
            count: 0,
        };
        let places = places_of(&calls);
        let holds = holds_of(&calls);
        let clients = clients_of(&calls);
        for call in calls {
            let (takes, gives) = touched(call, &places, &holds);
            let (takes, gives) = (search.cells_of(takes), search.cells_of(gives));
            let (free, taken) = search.shown(call, &holds);
            let is_pure = call.is_pure();
            if let Answer::Rows(_) = call.answer {
                search.lists.push(search.steps.len());
            }
            let is_audit = match search.steps.last() {
                Some(before) => {
                    let is_list = matches!(before.call.request, Request::List);
                    (is_list || before.is_audit) && before.call.thread == call.thread
                }
                None => false,
            };
            let reads = search.reads_of(call, &places, &holds);
            let appointment = call.appointment();
            let client = match (&call.request, appointment) {
                (Request::Book { client, .. }, _) => Some(*client),
                (_, Some(id)) => clients.get(&id).copied(),
                (_, None) => None,
            };
            search.steps.push(Step {
                call,
                is_pure,
                is_audit,
                takes,
                gives,
                free,
                taken,
                reads,
                client,
                appointment,
            });
        }
        search
    }

    /// Returns the bit of a half hour; none of a calendar outside the scope.
    fn cell(&mut self, cell: (u64, HalfHour)) -> Cells {
        if !self.specification.scope.calendars.contains(&cell.0) {
            return 0;
        }
        let next = u32::try_from(self.cells.len()).expect("few half hours");
        let bit = *self.cells.entry(cell).or_insert(next);
        1_u128.checked_shl(bit).expect("a history has at most 128 half hours")
    }

    fn cells_of(&mut self, cells: impl IntoIterator<Item = (u64, HalfHour)>) -> Cells {
        let mut bits = 0;
        for cell in cells {
            bits |= self.cell(cell);
        }
        bits
    }

    /// Returns the half hours that are free, and taken, in each state that gives a call's answer.
    /// The caller's own hold hides what is under it. Professionals do not notice holds.
    fn shown(&mut self, call: &Call, holds: &HoldCells) -> (Cells, Cells) {
        if call.may_be_left_out() {
            return (0, 0);
        }
        let is_not_available = match &call.answer {
            Answer::Refused(codes) => codes.len() == 1 && codes.contains(&NOT_AVAILABLE),
            _ => false,
        };
        match (&call.request, &call.answer) {
            (Request::Search { calendar, open, length: 1, hold }, Answer::Free(slots)) => {
                self.shown_by_search(*calendar, *open, *hold, slots, holds)
            }
            (
                Request::Book { caller: Caller::Public, start, length, hold: None, .. },
                Answer::Booked { calendar, .. },
            ) => {
                let span = Span { calendar: *calendar, start: *start, length: *length };
                (self.cells_of(span.cells()), 0)
            }
            (Request::Hold(span), Answer::Done) => (self.cells_of(span.cells()), 0),
            (Request::Hold(span), _) if is_not_available && span.length == 1 => {
                (0, self.cells_of(span.cells()))
            }
            (
                Request::Book {
                    caller: Caller::Public,
                    calendar: Some(calendar),
                    start,
                    length: 1,
                    hold: None,
                    ..
                },
                _,
            ) if is_not_available => (0, self.cell((*calendar, *start))),
            _ => (0, 0),
        }
    }

    /// Returns the half hours that an answer depends on.
    fn reads_of(&mut self, call: &Call, places: &Places, holds: &HoldCells) -> Cells {
        let mut cells: CellSet = BTreeSet::new();
        let (calendar, times) = match &call.request {
            Request::Book { calendar, start, length, .. } => (*calendar, *start..start + length),
            Request::Search { calendar, open, .. } => (*calendar, open.0..open.1),
            Request::Hold(span) => (Some(span.calendar), span.start..span.start + span.length),
            Request::Release { hold, .. } => {
                cells.extend(holds.get(hold).into_iter().flatten());
                (None, 0..0)
            }
            Request::Move { id, .. } | Request::Shift { id, .. } => {
                cells.extend(places.get(id).into_iter().flatten());
                (None, 0..0)
            }
            Request::Cancel { .. } | Request::Read { .. } | Request::List => (None, 0..0),
        };
        for id in self.specification.scope.calendars.clone() {
            if calendar.is_none_or(|named| named == id) {
                cells.extend(times.clone().map(|at| (id, at)));
            }
        }
        self.cells_of(cells)
    }

    fn shown_by_search(
        &mut self,
        calendar: Option<u64>,
        open: (HalfHour, HalfHour),
        hold: Option<usize>,
        slots: &Slots,
        holds: &HoldCells,
    ) -> (Cells, Cells) {
        let (mut free, mut taken) = (0, 0);
        for id in self.specification.scope.calendars.clone() {
            if calendar.is_some_and(|named| named != id) {
                continue;
            }
            for start in open.0..open.1 {
                let is_own = hold.is_some_and(|hold| holds[&hold].contains(&(id, start)));
                let cell = if is_own { 0 } else { self.cell((id, start)) };
                if slots.get(&start).is_some_and(|calendars| calendars.contains(&id)) {
                    free |= cell;
                } else {
                    taken |= cell;
                }
            }
        }
        (free, taken)
    }

    fn run(&mut self, steps_max: u64) -> Verdict {
        let done = CallSet::none(self.steps.len());
        let mut stack = vec![Position { done, first: 0, state: State::default() }];
        while let Some(mut position) = stack.pop() {
            self.count += 1;
            if self.count > steps_max {
                return Verdict::Undecided;
            }
            let Some(open) = self.settle(&mut position) else {
                return Verdict::Linearizable(self.count);
            };
            if self.is_hopeless(&position, &open) || !self.visited.insert(position.fingerprint()) {
                continue;
            }
            // The last one pushed is tried first: that which ended first.
            let mut next = Vec::new();
            for place in &open {
                let step = &self.steps[*place];
                if !step.is_pure
                    && let Some(state) = self.specification.apply(&position.state, step.call)
                {
                    let mut after = Position { state, ..position.clone() };
                    after.done.add(*place);
                    next.push((step.call.ended, after));
                }
            }
            next.sort_by_key(|(ended, _)| std::cmp::Reverse(*ended));
            if let Some(last) = self.ending_first(&open)
                && self.steps[last].call.may_be_left_out()
            {
                let mut without = position.clone();
                without.done.add(last);
                stack.push(without);
            }
            stack.extend(next.into_iter().map(|(_, after)| after));
        }
        Verdict::Violated
    }

    /// Puts every call in order that changes nothing and has its answer by the state. Returns the
    /// calls that may come next, or `None` if all are in order.
    fn settle(&self, position: &mut Position) -> Option<Vec<usize>> {
        loop {
            let open = self.open(position);
            if open.is_empty() {
                return None;
            }
            let mut is_settled = true;
            for place in &open {
                let step = &self.steps[*place];
                if step.is_pure && self.specification.explains(&position.state, step.call) {
                    position.done.add(*place);
                    is_settled = false;
                }
            }
            if is_settled {
                return Some(open);
            }
        }
    }

    /// Returns the calls that may come next: those that began before the first of the others ended.
    fn open(&self, position: &mut Position) -> Vec<usize> {
        while position.first < self.steps.len() && position.done.has(position.first) {
            position.first += 1;
        }
        let mut open: Vec<usize> = Vec::new();
        let mut deadline = u64::MAX;
        for (place, step) in self.steps.iter().enumerate().skip(position.first) {
            if step.call.began > deadline {
                break;
            }
            if !position.done.has(place) {
                deadline = deadline.min(step.call.ended);
                open.push(place);
            }
        }
        open.retain(|place| self.steps[*place].call.began < deadline);
        open
    }

    fn ending_first(&self, open: &[usize]) -> Option<usize> {
        open.iter().copied().min_by_key(|place| self.steps[*place].call.ended)
    }

    /// Returns whether an open search, or a read of the next audit, can never have its answer from
    /// here. An answer that the state does not give needs a change first.
    fn is_hopeless(&self, position: &Position, open: &[usize]) -> bool {
        let mut taken = 0;
        for span in position.state.taken() {
            for cell in span.cells() {
                if let Some(bit) = self.cells.get(&cell) {
                    taken |= 1 << bit;
                }
            }
        }
        let is_wrong = |place: usize| {
            let step = &self.steps[place];
            let (wrongly_taken, wrongly_free) = (step.free & taken, step.taken & !taken);
            if wrongly_taken | wrongly_free == 0 {
                return false;
            }
            let (takes, gives) = self.touched_before(position, place);
            (wrongly_taken & !gives) | (wrongly_free & !takes) != 0
        };
        let is_stuck = |place: usize| self.is_stuck(position, place);
        if open.iter().any(|place| is_wrong(*place) || is_stuck(*place)) {
            return true;
        }
        let Some(list) = self.lists.iter().find(|place| !position.done.has(**place)) else {
            return false;
        };
        let searches = *list + 1..self.steps.len();
        self.is_list_hopeless(position, &self.steps[*list])
            || searches.take_while(|place| self.steps[*place].is_audit).any(is_wrong)
    }

    /// Returns whether a call that changes nothing has not its answer by this state, and no call that
    /// may come before it changes what the answer depends on.
    fn is_stuck(&self, position: &Position, place: usize) -> bool {
        let step = &self.steps[place];
        if !step.is_pure || matches!(step.call.request, Request::List) {
            return false;
        }
        for (other_place, other) in self.steps.iter().enumerate().skip(position.first) {
            if other.call.began > step.call.ended {
                break;
            }
            let is_same = |one: Option<u64>, two: Option<u64>| one.is_some() && one == two;
            if !other.is_pure
                && !position.done.has(other_place)
                && ((other.takes | other.gives) & step.reads != 0
                    || is_same(other.client, step.client)
                    || is_same(other.appointment, step.appointment))
            {
                return false;
            }
        }
        true
    }

    /// Returns whether a list shows an appointment otherwise that no call before it touches.
    fn is_list_hopeless(&self, position: &Position, list: &Step<'_>) -> bool {
        let Answer::Rows(rows) = &list.call.answer else { return false };
        let mut differing = position.state.differing(rows);
        for (place, step) in self.steps.iter().enumerate().skip(position.first) {
            if step.call.began > list.call.ended || differing.is_empty() {
                break;
            }
            if !step.is_pure
                && !position.done.has(place)
                && let Some(id) = step.call.appointment()
            {
                differing.remove(&id);
            }
        }
        !differing.is_empty()
    }

    /// Returns the half hours that calls may take and give back which may come before a call.
    fn touched_before(&self, position: &Position, before: usize) -> (Cells, Cells) {
        let (mut takes, mut gives) = (0, 0);
        for (place, step) in self.steps.iter().enumerate().skip(position.first) {
            if step.call.began > self.steps[before].call.ended {
                break;
            }
            if !step.is_pure && place != before && !position.done.has(place) {
                takes |= step.takes;
                gives |= step.gives;
            }
        }
        (takes, gives)
    }
}

/// Returns every half hour at which each appointment may ever stand.
fn places_of(calls: &[&Call]) -> Places {
    // An appointment moves within a calendar, of which its request says nothing. So every start is
    // taken with every calendar of the appointment.
    let mut spots: BTreeMap<u64, (BTreeSet<u64>, BTreeSet<HalfHour>, u64)> = BTreeMap::new();
    for call in calls {
        let Some(id) = call.appointment() else { continue };
        let (calendars, starts, length) = spots.entry(id).or_default();
        match (&call.request, &call.answer) {
            (Request::Book { start, length: booked, .. }, Answer::Booked { calendar, .. })
            | (
                Request::Book { start, length: booked, calendar: Some(calendar), .. },
                Answer::Lost,
            ) => {
                calendars.insert(*calendar);
                starts.insert(*start);
                *length = *booked;
            }
            (Request::Move { start, .. }, _) => drop(starts.insert(*start)),
            (Request::Shift { calendar, start, .. }, _) => {
                calendars.insert(*calendar);
                starts.insert(*start);
            }
            _ => {}
        }
    }
    let mut places = Places::new();
    for (id, (calendars, starts, length)) in spots {
        let cells = places.entry(id).or_default();
        for calendar in calendars {
            for start in &starts {
                cells.extend((*start..start + length).map(|at| (calendar, at)));
            }
        }
    }
    places
}

/// Returns the client of each appointment.
fn clients_of(calls: &[&Call]) -> BTreeMap<u64, u64> {
    let mut clients = BTreeMap::new();
    for call in calls {
        if let (Request::Book { client, .. }, Some(id)) = (&call.request, call.appointment()) {
            clients.insert(id, *client);
        }
    }
    clients
}

/// Returns the half hours of each hold.
fn holds_of(calls: &[&Call]) -> HoldCells {
    let mut holds = BTreeMap::new();
    for call in calls {
        match &call.request {
            Request::Hold(span) => drop(holds.insert(call.number, span.cells().collect())),
            Request::Search { hold: Some(hold), .. } => drop(holds.entry(*hold).or_default()),
            _ => {}
        }
    }
    holds
}

/// Returns the half hours that a call may take, and those that it may give back. An appointment ends
/// the holds that it meets.
fn touched(call: &Call, places: &Places, holds: &HoldCells) -> (CellSet, CellSet) {
    let mut takes = BTreeSet::new();
    let mut gives = BTreeSet::new();
    let own = call.appointment().and_then(|id| places.get(&id));
    match &call.request {
        Request::Hold(span) => takes.extend(span.cells()),
        Request::Release { hold, .. } => gives.extend(holds.get(hold).into_iter().flatten()),
        Request::Cancel { .. } => gives.extend(own.into_iter().flatten()),
        Request::Book { start, length, .. } => {
            let times = *start..start + length;
            takes.extend(own.into_iter().flatten().filter(|(_, at)| times.contains(at)));
        }
        Request::Move { .. } | Request::Shift { .. } => {
            takes.extend(own.into_iter().flatten());
            gives.extend(own.into_iter().flatten());
        }
        Request::Search { .. } | Request::Read { .. } | Request::List => {}
    }
    if !matches!(call.request, Request::Hold(_)) {
        for held in holds.values() {
            if held.iter().any(|cell| takes.contains(cell)) {
                gives.extend(held);
            }
        }
    }
    (takes, gives)
}
