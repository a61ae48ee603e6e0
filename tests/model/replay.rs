//! The events alone make the state again, bit for bit, whether each makes another state or changes the one there is; so
//! does a snapshot. An event names every record that it changes.

use std::sync::Arc;

use proptest::prelude::*;
use slotbook::domain::availability::slot_request::BookingMode;
use slotbook::domain::availability::taken_time::TakenInterval;
use slotbook::domain::decisions::erasure::records_of;
use slotbook::domain::decisions::retention::{RetentionMonths, find_due, months_ago};
use slotbook::domain::decisions::upkeep;
use slotbook::domain::records::account::Account;
use slotbook::domain::records::account_link::LinkToken;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::calendar::{Calendar, Calendarset};
use slotbook::domain::records::calendarfeed::{FeedDetails, FeedTarget};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::{Group, VerifyBookings};
use slotbook::domain::records::hold::HoldId;
use slotbook::domain::records::ids::{
    CalendarfeedId, CalendarsetId, InterventionsetId, MessageId, VeventId, WebhookId,
};
use slotbook::domain::records::image::{Image, ImageDigest, ImageFormat, ImageSlot};
use slotbook::domain::records::intervention::{Intervention, Interventionset};
use slotbook::domain::records::message::{Message, MessageContent};
use slotbook::domain::records::text::{Bounded, Email, Name, Text};
use slotbook::domain::records::vevent::{Permits, Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::changed_records::ChangedRecords;
use slotbook::domain::state::command::{
    CalendarfeedChange, CalendarfeedStep, CancelRight, Command, EmptyCancelled, EraseClients,
    FollowLink, HoldTime, LinkRequest, MergeFiches, Patch, Put, RecordChange, RemoveDeleted,
    RequestLink, RetentionStep,
};
use slotbook::domain::state::delivery_step::{DeliveryOutcome, DeliveryStep, DueItem};
use slotbook::domain::state::editable_record::EditableRecord;
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::history::row::ObjectKind;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::domain::state::refusal::{Refusal, Refusals};
use slotbook::domain::state::unverified_rate::UnverifiedRate;
use slotbook::domain::state::webhooks::settlement::{
    WebhookCommand, WebhookFields, WebhookSettlement, WebhookStart,
};
use slotbook::domain::state::webhooks::url::WebhookUrl;
use slotbook::domain::state::webhooks::webhook::{
    AttemptResult, FailingDelivery, OffReason, WatchedKinds, WebhookAnswer, WebhookProgress,
};
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, DAY, Instant};
use slotbook::store::codec::{self, SNAPSHOT_FORMAT};
use slotbook::store::state;

use super::shop::{
    Draws, Shop, booking_of, by_pro, calendar, civil, event_of, intervention, link_secret, somebody,
};
use super::simulation_history::author_of;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Book {
        client: u8,
        half_hour: i64,
        calendar: Option<u64>,
        pro: bool,
    },
    Cancel(prop::sample::Index),
    Move {
        which: prop::sample::Index,
        minutes: i64,
        calendar: u64,
    },
    Restore(prop::sample::Index),
    /// A client made, or the client of an appointment renamed, deleted or restored.
    Client {
        of: Option<prop::sample::Index>,
        name: u8,
        deleted: bool,
    },
    /// The clients of two appointments made one.
    Merge {
        kept: prop::sample::Index,
        merged: prop::sample::Index,
    },
    /// The client of an appointment erased.
    Erase(prop::sample::Index),
    /// The retention carried out, as if so many days had passed.
    Retain(i64),
    /// A calendar or a set made, changed or removed.
    Offer {
        what: u8,
        which: u64,
    },
    /// A calendar feed made, renewed or revoked; it may be one that is not there.
    Feed {
        what: u8,
        which: u64,
    },
    /// A webhook made, changed or removed, or what it has delivered recorded; it may be one that is not there.
    Hook {
        what: u8,
        which: u64,
    },
    /// Another clock for the group.
    Zone(u8),
    /// A link asked for: for the account of an address, or for another address of the first account there is.
    Link {
        client: u8,
        moves: bool,
    },
    Follow(prop::sample::Index),
    /// A message attempted, and taken by the other side or not.
    Send {
        which: prop::sample::Index,
        taken: bool,
    },
    /// What is deleted removed.
    Remove,
    /// Web bookings that were cancelled emptied.
    Empty,
    /// Time held, or a booking that waits for its code.
    Hold {
        half_hour: i64,
        until_code: bool,
    },
    /// A plage made, or the newest one moved.
    Plage {
        half_hour: i64,
        days: u8,
        makes: bool,
    },
    /// A code given for a booking that waits, or its time given back.
    Confirm {
        which: prop::sample::Index,
        is_right: bool,
        releases: bool,
    },
    Wait(i64),
}

pub(crate) fn a_step() -> impl Strategy<Value = Step> {
    let calendars = prop_oneof![Just(None), (1..3_u64).prop_map(Some)];
    prop_oneof![
        4 => (0..6_u8, 0..10_i64, calendars, any::<bool>())
            .prop_map(|(client, half_hour, calendar, pro)| Step::Book { client, half_hour, calendar, pro }),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        2 => (any::<prop::sample::Index>(), 0..300_i64, 1..3_u64)
            .prop_map(|(which, minutes, calendar)| Step::Move { which, minutes, calendar }),
        1 => any::<prop::sample::Index>().prop_map(Step::Restore),
        1 => (any::<Option<prop::sample::Index>>(), 0..6_u8, any::<bool>())
            .prop_map(|(of, name, deleted)| Step::Client { of, name, deleted }),
        1 => (any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(kept, merged)| Step::Merge { kept, merged }),
        1 => any::<prop::sample::Index>().prop_map(Step::Erase),
        1 => (0..60_i64).prop_map(Step::Retain),
        1 => (0..11_u8, 1..4_u64).prop_map(|(what, which)| Step::Offer { what, which }),
        1 => (0..3_u8, 1..4_u64).prop_map(|(what, which)| Step::Feed { what, which }),
        1 => (0..8_u8, 1..4_u64).prop_map(|(what, which)| Step::Hook { what, which }),
        1 => (0..3_u8).prop_map(Step::Zone),
        2 => (0..6_u8, any::<bool>()).prop_map(|(client, moves)| Step::Link { client, moves }),
        2 => any::<prop::sample::Index>().prop_map(Step::Follow),
        1 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(which, taken)| Step::Send { which, taken }),
        1 => Just(Step::Remove),
        1 => Just(Step::Empty),
        2 => (0..10_i64, any::<bool>()).prop_map(|(half_hour, until_code)| Step::Hold { half_hour, until_code }),
        2 => (any::<prop::sample::Index>(), any::<bool>(), any::<bool>())
            .prop_map(|(which, is_right, releases)| Step::Confirm { which, is_right, releases }),
        1 => (0..10_i64, 2..4_u8, any::<bool>())
            .prop_map(|(half_hour, days, makes)| Step::Plage { half_hour, days, makes }),
        // Clocks go back, too.
        1 => (-600..3_600_i64).prop_map(Step::Wait),
        1 => Just(Step::Wait(30_000)),
    ]
}

pub(crate) fn again(group_state: &GroupState) -> GroupState {
    let mut reader = state::GroupReader::default();
    state::write_group(group_state, |frame| reader.add_frame(frame, SNAPSHOT_FORMAT))
        .expect("what was written is read");
    reader.group_state(group_state.sequence).expect("it has a head")
}

/// What is done to a shop, and what it made.
pub(crate) struct Story {
    pub(crate) shop: Shop,
    /// Appointments, but for those removed.
    made: Vec<VeventId>,
    /// Links, followed or not.
    links: Vec<FollowLink>,
    /// Holds, ended or not.
    holds: Vec<HoldId>,
    /// The newest plage.
    plage: Option<VeventId>,
}

impl Story {
    pub(crate) fn new() -> Self {
        let shop = Shop::open_on_tuesday().opened(
            2,
            "2026-03-03 09:00",
            "2026-03-03 14:00",
            "",
            Permits::All,
        );
        let mut shop = shop.with_group(|group| {
            (group.sendmail, group.open) = (true, true);
            group.notice_delay_seconds = Bounded::known(60);
        });
        shop.announces = true;
        Self { shop, made: Vec::new(), links: Vec::new(), holds: Vec::new(), plage: None }
    }

    fn one_of(&self, which: prop::sample::Index) -> Option<VeventId> {
        (!self.made.is_empty()).then(|| self.made[which.index(self.made.len())])
    }

    /// Merges the clients of two appointments, if these have clients.
    fn merge(&mut self, kept: prop::sample::Index, merged: prop::sample::Index) {
        let client = |which| {
            let rows = &self.shop.group_state.rows;
            self.one_of(which).and_then(|id| rows.get(&id)?.fiche_id())
        };
        if let Some(kept) = client(kept)
            && let Some(merged) = client(merged)
        {
            let merge = MergeFiches { kept, merged, fields: Patch::default() };
            drop(self.shop.changes(&RecordChange::MergeFiches(merge)));
        }
    }

    /// Erases the client of an appointment, if it has one, with its other records.
    fn erase(&mut self, which: prop::sample::Index) {
        let rows = &self.shop.group_state.rows;
        let Some(id) = self.one_of(which).and_then(|id| rows.get(&id)?.fiche_id()) else { return };
        let records = records_of(&self.shop.group_state, &[id]);
        let command =
            EraseClients { ids: vec![id], records, cancels_upcoming: true, idle_since: None };
        let draws = Draws::none(self.shop.now);
        self.shop.does(Command::EraseClients(command), draws).expect("legal");
    }

    /// Carries the retention out, with a month for each kind of record.
    fn retain(&mut self, days: i64) {
        let shop = &mut self.shop;
        let now = shop.now.plus_seconds(days * DAY);
        let months = RetentionMonths { appointments: 1, clients: 1, accounts: 1 };
        let due = find_due(&shop.group_state, months, now);
        let before = months_ago(shop.group_state.catalogue.zone(), 1, now).expect("a month");
        let used = shop.group_state.accounts.values().next().map(|account| account.fiche_id);
        let mut steps = vec![
            RetentionStep::BeginCount,
            RetentionStep::EmptyAppointments { ids: due.appointments, before },
            RetentionStep::CloseAccounts { accounts: due.accounts, before },
        ];
        steps.extend(used.map(RetentionStep::RecordUse));
        for step in steps {
            let fiche = shop.id();
            let draws = Draws { fiche, ..Draws::none(shop.now) };
            shop.does(Command::Retain(step), draws).expect("legal");
        }
    }

    pub(crate) fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        let shop = &mut self.shop;
        match step {
            Step::Book { client, half_hour, calendar: on, pro } => {
                let mut command = booking_of(&format!("client{client}"), "2026-03-03 09:00");
                command.date = command.date.plus_seconds(half_hour * 1_800);
                command.calendar_id = on.map(calendar);
                let command = if pro { by_pro(command, false) } else { command };
                self.made.extend(shop.book(&command).unwrap_or_default());
            }
            Step::Cancel(which) => {
                let Some(id) = self.one_of(which) else { return Ok(()) };
                prop_assert!(self.shop.cancel(id, CancelRight::Pro).is_ok());
            }
            Step::Move { which, minutes, calendar } => {
                let Some(id) = self.one_of(which) else { return Ok(()) };
                let start = format!("2026-03-03 {:02}:{:02}", 9 + minutes / 60, minutes % 60);
                prop_assert!(only_taken(&self.shop.moves(id, calendar, &start)));
            }
            Step::Restore(which) => {
                let Some(id) = self.one_of(which) else { return Ok(()) };
                prop_assert!(only_taken(&self.shop.restores(id)));
            }
            Step::Client { of, name, deleted } => self.put_client(of, name, deleted)?,
            Step::Merge { kept, merged } => self.merge(kept, merged),
            Step::Erase(which) => self.erase(which),
            Step::Retain(days) => self.retain(days),
            Step::Offer { what, which } => drop(shop.changes(&offer(what, which))),
            Step::Feed { what, which } => {
                let command = Command::ChangeCalendarfeed(feed_change(shop, what, which));
                drop(shop.does(command, Draws::none(shop.now)));
            }
            Step::Hook { what, which } => {
                let command = Command::Webhook(Box::new(webhook_command(shop, what, which)));
                let draws = Draws { order: shop.id(), ..Draws::none(shop.now) };
                drop(shop.does(command, draws));
            }
            Step::Zone(which) => {
                let changed =
                    shop.changes(&moved_to(["Paris", "Lima", "Chennai"][usize::from(which)]));
                prop_assert!(changed.is_ok(), "no clock changes that day");
            }
            Step::Link { client, moves } => {
                let asked = shop.asks_link(&wish(&shop.group_state, client, moves));
                self.links.extend(asked.expect("the fiche of an account is there"));
            }
            Step::Follow(which) if !self.links.is_empty() => {
                drop(shop.follows_link(self.links[which.index(self.links.len())].clone()));
            }
            Step::Follow(_) => {}
            Step::Send { which, taken } => send(shop, which, taken),
            Step::Remove => {
                let ids = upkeep::find_deleted_before(&shop.group_state, shop.now);
                self.made.retain(|id| !ids.contains(id));
                let command = RemoveDeleted { ids, before: shop.now };
                shop.does(Command::RemoveDeleted(command), Draws::none(shop.now)).expect("legal");
            }
            Step::Empty => {
                let command = EmptyCancelled { before: shop.now };
                shop.does(Command::EmptyCancelled(command), Draws::none(shop.now)).expect("legal");
            }
            Step::Hold { half_hour, until_code } => self.hold(half_hour, until_code),
            Step::Plage { half_hour, days, makes } => self.close(half_hour, days, makes),
            Step::Confirm { which, is_right, releases } => {
                self.end_hold(which, is_right, releases);
            }
            Step::Wait(seconds) => shop.now = shop.now.plus_seconds(seconds),
        }
        Ok(())
    }
}

impl Story {
    /// Makes or changes a client. A record that was erased refuses it.
    fn put_client(
        &mut self,
        of: Option<prop::sample::Index>,
        name: u8,
        deleted: bool,
    ) -> Result<(), TestCaseError> {
        let row = of.and_then(|which| self.one_of(which));
        let group_state = &self.shop.group_state;
        let appointment =
            row.and_then(|id| group_state.rows.get(&id)).and_then(|row| row.appointment());
        let put = Put {
            id: appointment.map(|appointment| appointment.fiche_id),
            fields: client(name, deleted),
        };
        let fiche = put.id.and_then(|id| group_state.fiches.get(&id));
        let is_erased = fiche.is_some_and(|fiche| fiche.erased_at.is_some());
        let changed = self.shop.changes(&RecordChange::Fiche(put));
        prop_assert!(changed.is_ok() || is_erased, "{changed:?}");
        Ok(())
    }

    /// Gives a code for the booking of a hold, or its time back.
    fn end_hold(&mut self, which: prop::sample::Index, is_right: bool, releases: bool) {
        if self.holds.is_empty() {
            return;
        }
        let hold = self.holds[which.index(self.holds.len())];
        if releases {
            self.shop.releases(hold);
        } else if let Ok(made) = self.shop.confirms(hold, is_right) {
            // A repetition names appointments that may have been removed.
            let rows = &self.shop.group_state.rows;
            self.made.extend(made.into_iter().filter(|id| rows.contains_key(id)));
            self.made.sort();
            self.made.dedup();
        }
    }

    /// Takes an hour of some days by a plage.
    fn close(&mut self, half_hour: i64, days: u8, makes: bool) {
        let shop = &mut self.shop;
        let start = civil("2026-03-02 09:00").plus_seconds(half_hour * 1_800);
        let rule = format!("FREQ=DAILY;COUNT={days}").parse().expect("a rule");
        let zone = shop.group_state.catalogue.zone();
        let end = start.plus_seconds(3_600);
        let series = Series::new(zone, start, end, Some(rule), Exceptions::default());
        let kind = VeventKind::Plage(Box::new(series.expect("no clock changes that day")));
        let before = if makes { None } else { self.plage };
        self.plage = Some(shop.puts(before, 1, kind, false).expect("a plage takes any time"));
    }

    /// Holds time, or books where a code is asked for.
    fn hold(&mut self, half_hour: i64, until_code: bool) {
        let mut booking = booking_of("client7", "2026-03-03 09:00");
        booking.date = booking.date.plus_seconds(half_hour * 1_800);
        let shop = &mut self.shop;
        if until_code {
            let mut asking = Patch::default();
            asking.push(|group: &mut Group| group.verify_bookings = VerifyBookings::Mail);
            drop(shop.changes(&RecordChange::Group(asking)));
            self.holds.extend(shop.book_until_code(&booking));
            if let Some(waiting) = self.holds.last().filter(|_| half_hour % 2 == 1) {
                drop(shop.does(Command::ExtendHold(*waiting), Draws::none(shop.now)));
            }
            let mut open = Patch::default();
            open.push(|group: &mut Group| group.verify_bookings = VerifyBookings::Off);
            drop(shop.changes(&RecordChange::Group(open)));
        } else {
            let wish = HoldTime {
                date: booking.date,
                intervention_ids: booking.intervention_ids,
                calendar_id: None,
                hold: self.holds.last().copied(),
                source: Some([7; 16]),
                is_by_key: half_hour % 2 == 0,
            };
            self.holds.extend(shop.holds(&wish));
        }
    }
}

/// A link for the account of a client's address; or one for another address of the first account.
fn wish(group_state: &GroupState, client: u8, moves: bool) -> RequestLink {
    let email = Email::new(&format!("client{client}@example.org")).expect("an address");
    let secret = Some(link_secret());
    match group_state.accounts.iter().next().filter(|_| moves) {
        None => RequestLink { email, request: LinkRequest::Account { pending_rdv: None, secret } },
        Some((folded, account)) => {
            let mut fields = Patch::default();
            fields.push(move |fiche: &mut Fiche| {
                fiche.firstname = Name::new("moving").expect("a name")
            });
            let put = Put { id: Some(account.fiche_id), fields };
            RequestLink { email, request: LinkRequest::Email { account: folded.clone(), put } }
        }
    }
}

/// Attempts one of the messages that wait.
fn send(shop: &mut Shop, which: prop::sample::Index, taken: bool) {
    let open: Vec<_> = shop.group_state.outbox.open().map(|message| message.id).collect();
    if open.is_empty() {
        return;
    }
    let id = open[which.index(open.len())];
    if shop.delivers(&DeliveryStep::Claim {
        item: DueItem::Message(id),
        quota: MessageQuota { recipient_daily_max: 100, by_key_daily_max: 0 },
        has_gateway: true,
    }) {
        let refused = || DeliveryOutcome::Refused(Text::new("no such mailbox").expect("a text"));
        let outcome = if taken { DeliveryOutcome::Taken } else { refused() };
        shop.delivers(&DeliveryStep::Settle { id, attempt: 1, outcome });
    }
}

/// All that a state says: its hash, and what is kept beside it to be found quickly.
#[derive(Debug, PartialEq)]
struct Said {
    hash: [u8; 32],
    offers: [Vec<Civil>; 2],
    appointments: Vec<Vec<TakenInterval>>,
    /// The space that it takes, and the event that would empty what is cancelled.
    space_bytes: u64,
    emptying: Option<Event>,
    unverified_rate: UnverifiedRate,
    /// By client's number, whether the first account may have a link mailed to the client's address.
    room_for_links: Vec<bool>,
}

fn said(shop: &Shop, group_state: &GroupState) -> Said {
    let mut shop = shop.clone();
    shop.group_state = group_state.clone();
    let offers =
        |on| shop.offers(on, &[1], BookingMode::Module, "2026-03-03 00:00", "2026-03-04 00:00");
    let first = group_state.accounts.keys().next().map_or("", AsRef::as_ref);
    let room = |client: u8| {
        let folded = format!("client{client}@example.org");
        group_state.links.has_room(&folded, first, shop.now)
    };
    let emptying = Command::EmptyCancelled(EmptyCancelled { before: shop.now });
    Said {
        hash: state::hash(group_state),
        offers: [offers(1), offers(2)],
        appointments: group_state
            .fiches
            .keys()
            .map(|fiche| group_state.appointments_of(*fiche).to_vec())
            .collect(),
        space_bytes: group_state.space_bytes(),
        emptying: event_of(group_state, &emptying, shop.now),
        unverified_rate: group_state.unverified_rate.clone(),
        room_for_links: (0..6).map(room).collect(),
    }
}

/// Whether an event holds a client, an account, a group or a message, which later formats gave
/// members.
fn has_later_members(event: &Event) -> bool {
    match event {
        Event::AppointmentsBooked { fiche, .. } | Event::BookingConfirmed { fiche, .. } => {
            fiche.is_some()
        }
        Event::FichePut { .. }
        | Event::AccountPut { .. }
        | Event::FichesMerged { .. }
        | Event::CalendarPut { .. }
        | Event::InterventionPut { .. }
        | Event::GroupChanged { .. }
        | Event::Announced { .. }
        | Event::MessagePut { .. }
        | Event::AccountLinkRequested { .. } => true,
        // Holds and their states have later members too.
        Event::HoldMade { .. } => true,
        other => other.carried().iter().any(has_later_members),
    }
}

/// The index of deleted appointments by calendar finds what a scan of all events finds.
fn finds_what_was_cancelled(state: &GroupState) -> Result<(), TestCaseError> {
    for calendar in state.calendars.keys() {
        for from in [Instant(0), state.last_stamp.plus_seconds(-3_600), state.last_stamp] {
            let mut found: Vec<_> = state.cancelled_times().since(*calendar, from).collect();
            found.sort_unstable();
            let is_meant = |row: &&Arc<Vevent>| {
                row.appointment().is_some() && row.deleted && row.calendar_id == *calendar
            };
            let rows = state.rows.values().filter(is_meant);
            let scanned: Vec<_> =
                rows.filter(|row| row.updated_at >= from).map(|row| row.id).collect();
            prop_assert_eq!(found, scanned);
        }
    }
    Ok(())
}

/// Whether a message differs between two states by the token of its link alone, which is gone.
fn is_token_forgotten(before: &GroupState, after: &GroupState, id: MessageId) -> bool {
    let find = |state: &GroupState| {
        state.outbox.messages().find(|message| message.id == id).map(|it| Message::clone(it))
    };
    let (Some(mut old), Some(new)) = (find(before), find(after)) else { return false };
    let MessageContent::AccountLink { token, .. } = &mut old.content else { return false };
    *token = LinkToken::default();
    old == new
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn replay_and_snapshot_give_the_live_state(
        steps in proptest::collection::vec(a_step(), 1..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut story = Story::new();
        let first = story.shop.group_state.clone();
        let mut last_stamp = first.last_stamp;
        for step in steps {
            story.take(step)?;
            prop_assert!(story.shop.group_state.last_stamp >= last_stamp, "stamps never go back");
            last_stamp = story.shop.group_state.last_stamp;
        }
        let shop = story.shop;
        let live = said(&shop, &shop.group_state);
        let mut events = Vec::new();
        for (place, event) in shop.events.iter().enumerate() {
            let written = GroupRecord::new(author_of(place), event.clone());
            let read: GroupRecord = codec::decode(&codec::encode(&written)).expect("it is read");
            prop_assert_eq!(&read, &written);
            // The formats before held the event alone.
            if !has_later_members(event) {
                let earlier: GroupRecord = codec::decode_format(&codec::encode(event), 3).expect("it is read");
                prop_assert_eq!(&earlier, &GroupRecord { author: None, event: read.event.clone() });
            }
            events.push(read.event);
        }
        let cut = cut.index(events.len() + 1);

        let at_cut = events[..cut].iter().fold(first.clone(), |group_state, event| group_state.apply(event));
        let said_at_cut = said(&shop, &at_cut);
        let replayed = events[cut..].iter().fold(at_cut.clone(), |group_state, event| group_state.apply(event));
        prop_assert_eq!(&said(&shop, &replayed), &live);
        prop_assert_eq!(&said(&shop, &again(&shop.group_state)), &live);

        let mut before = first.clone();
        for event in &events {
            let after = before.apply(event);
            let named = ChangedRecords::by_event(event);
            let changed = ChangedRecords::between(&before, &after);
            prop_assert!(changed.vevents.iter().all(|id| named.vevents.contains(id)), "{event:?}");
            prop_assert!(changed.fiches.iter().all(|id| named.fiches.contains(id)), "{event:?}");
            // A day after a link was given up, whatever message comes next removes its token.
            let forgotten = |id: &&MessageId| is_token_forgotten(&before, &after, **id);
            let mut unnamed = changed.messages.iter().filter(|id| !named.messages.contains(id));
            prop_assert!(unnamed.all(|id| forgotten(&id)), "{event:?}");
            before = after;
        }

        let mut in_place = first;
        events[..cut].iter().for_each(|event| in_place.apply_in_place(None, event));
        let held = in_place.clone();
        events[cut..].iter().for_each(|event| in_place.apply_in_place(None, event));
        prop_assert_eq!(&said(&shop, &in_place), &live);
        prop_assert_eq!(&said(&shop, &held), &said_at_cut, "what is held does not change");

        let mut restored = again(&at_cut);
        drop((held, at_cut));
        events[cut..].iter().for_each(|event| restored.apply_in_place(None, event));
        prop_assert_eq!(&said(&shop, &restored), &live, "a snapshot, and what came after");
        never_overlaps(&shop.group_state)?;
        for state in [&shop.group_state, &again(&shop.group_state)] {
            finds_what_was_cancelled(state)?;
        }
    }
}

/// Folding once made ASCII of the Kelvin sign: an account that changes is named so in older journals.
#[test]
fn an_account_of_an_older_journal_is_found_by_its_address_in_small_letters() {
    let mut shop = Shop::open_on_tuesday();
    let fiche_id = shop.knows("Kim", "\u{212a}im@example.org");
    let account = |email: &str, hash: &str| {
        let (email, password_hash) =
            (Email::new(email).expect("an address"), Text::new(hash).expect("a text"));
        Box::new(Account { email, fiche_id, password_hash, former: Vec::new(), last_login: None })
    };
    let mut put = |was: Option<&str>, account: Box<Account>| {
        let was = was.map(Into::into);
        shop.carry_out(Event::AccountPut {
            at: shop.group_state.stamp_for(shop.now),
            hash: [0; 32],
            was,
            account,
            fiche: None,
        });
        shop.group_state.accounts.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(put(None, account("\u{212a}IM@example.org", "one")), ["\u{212a}im@example.org"]);
    assert_eq!(
        put(Some("kim@example.org"), account("\u{212a}im@example.org", "two")),
        ["\u{212a}im@example.org"]
    );
    assert_eq!(
        put(None, account("kim@example.org", "three")),
        ["kim@example.org", "\u{212a}im@example.org"]
    );
    assert_eq!(
        put(Some("kim@example.org"), account("ada@example.org", "four"))[0],
        "ada@example.org"
    );
    // Once the two spellings of a domain were two addresses. The later account stays, and what
    // follows about the other one is still applied.
    let ada = "ada@example.org";
    let kim = "\u{212a}im@example.org";
    let ann = "ann@b\u{fc}cher.example";
    assert_eq!(put(None, account(ann, "five")), [ada, ann, kim]);
    assert_eq!(put(None, account("ann@xn--bcher-kva.example", "six")), [ada, ann, kim]);
    let eve = "eve@example.org";
    assert_eq!(put(Some("ann@xn--bcher-kva.example"), account(eve, "seven")), [ada, eve, kim]);
    assert_eq!(put(Some(ann), account(ann, "eight")), [ada, ann, eve, kim]);
}

/// A change of what the group offers; it may be of something that is not there.
fn offer(what: u8, which: u64) -> RecordChange {
    let set = CalendarsetId::new(which).expect("an id");
    let category = InterventionsetId::new(which).expect("an id");
    match what {
        0 => RecordChange::Calendarset(named(None, |row: &mut Calendarset, name| row.name = name)),
        1 => RecordChange::RemoveCalendarset(set),
        2 => {
            RecordChange::Calendar(named(Some(calendar(which)), move |row: &mut Calendar, name| {
                (row.calendarset_id, row.name) = (Some(set), name);
            }))
        }
        3 => RecordChange::Calendar(named(None, |row: &mut Calendar, name| row.name = name)),
        4 => RecordChange::Interventionset(named(None, |row: &mut Interventionset, name| {
            row.name = name
        })),
        5 => RecordChange::RemoveInterventionset(category),
        6 => RecordChange::Intervention(named(
            Some(intervention(which)),
            move |row: &mut Intervention, name| {
                (row.interventionset_id, row.name) = (Some(category), name);
            },
        )),
        7 => RecordChange::Customfield(named(None, |_, _| {})),
        8 => RecordChange::SetImage(ImageSlot::Logo, image(which)),
        9 => RecordChange::SetImage(ImageSlot::Calendar(calendar(which)), image(which % 2)),
        _ => RecordChange::RemoveImage(ImageSlot::Logo),
    }
}

/// A change of a calendar feed; it may be of one that is not there.
fn feed_change(shop: &Shop, what: u8, which: u64) -> CalendarfeedChange {
    let id = CalendarfeedId::new(which).expect("an id");
    let mut secret_hash = [0; 32];
    secret_hash[..8].copy_from_slice(&shop.group_state.sequence.to_be_bytes());
    let step = match what {
        0 => CalendarfeedStep::Make {
            target: FeedTarget::Calendar(calendar(which)),
            details: FeedDetails::Busy,
            secret_hash,
        },
        1 => CalendarfeedStep::Renew { id, secret_hash },
        _ => CalendarfeedStep::Revoke { id },
    };
    CalendarfeedChange { author: Author::Operator, step }
}

/// A command about a webhook; it may be one that is not there.
fn webhook_command(shop: &Shop, what: u8, which: u64) -> WebhookCommand {
    let id = WebhookId::new(which).expect("an id");
    let url = |port| WebhookUrl::new(&format!("https://hooks.example.org:{port}/")).ok();
    let fields = match what {
        0 => WebhookFields { url: url(443), ..WebhookFields::default() },
        1 => WebhookFields {
            url: url(8_443),
            objects: Some(WatchedKinds::new(vec![ObjectKind::Vevent, ObjectKind::Fiche])),
            active: Some(shop.group_state.sequence.is_multiple_of(2)),
            since: Some(WebhookStart::After(which)),
        },
        2 => return WebhookCommand::RotateSecret(id),
        3 => return WebhookCommand::EndFormerSecret(id),
        4 => return WebhookCommand::Remove(id),
        result => return WebhookCommand::Settle(settlement(shop, id, result)),
    };
    WebhookCommand::Put { id: (what > 0).then_some(id), fields }
}

/// What a webhook has delivered, or failed to deliver for the first or the last time.
fn settlement(shop: &Shop, id: WebhookId, result: u8) -> WebhookSettlement {
    let last = shop.group_state.history.last();
    let tries = u32::from(result);
    let failing = FailingDelivery { since: shop.now, tries, not_before: shop.now.plus_seconds(60) };
    let status = AttemptResult::Status(if result == 5 { 204 } else { 500 });
    let answer = WebhookAnswer { at: shop.now, result: status, milliseconds: tries };
    WebhookSettlement {
        id,
        round: shop.group_state.webhooks.get(id).map_or(0, |webhook| webhook.round),
        progress: WebhookProgress {
            after: last,
            grouped_to: if result == 5 { 0 } else { last },
            reset: result == 6,
            failing: (result > 5).then_some(failing),
            answers: vec![answer; 30],
        },
        begins_round: result == 6,
        off: (result == 7).then_some(OffReason::Failed),
        recipients: vec![Email::new("ann@example.org").expect("an address")],
    }
}

/// An image of which there are few, so that several slots have the same.
fn image(which: u64) -> Arc<Image> {
    let seed = u8::try_from(which).expect("small");
    let digest = ImageDigest([seed; 32]);
    let bytes = vec![seed; 50].into();
    Arc::new(Image { digest, format: ImageFormat::Png, width: 1, height: 1, bytes })
}

/// Another time zone for the group.
fn moved_to(zone: &str) -> RecordChange {
    let zone = ZoneName::from_name(zone).expect("a zone");
    let mut fields = Patch::default();
    fields.push(move |group: &mut Group| group.timezone = zone);
    RecordChange::Group(fields)
}

fn named<R: EditableRecord>(
    id: Option<R::Id>,
    change: impl Fn(&mut R, Name<255>) + Send + Sync + 'static,
) -> Put<R> {
    let mut fields = Patch::default();
    fields.push(move |row| change(row, Name::new("a name").expect("a name")));
    Put { id, fields }
}

/// A client's address and whether it is deleted.
fn client(name: u8, deleted: bool) -> Patch<Fiche> {
    let mut fields = somebody(&format!("client{name}")).fields;
    fields.push(move |fiche| fiche.deleted = deleted);
    fields
}

/// Whether nothing but a taken time has refused.
fn only_taken(outcome: &Result<bool, Refusals>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(refusals) => matches!(refusals[..], [Refusal::NotAvailable { .. }]),
    }
}

/// No calendar has given an hour away twice.
fn never_overlaps(group_state: &GroupState) -> Result<(), TestCaseError> {
    for view in group_state.calendars.values() {
        let all: Vec<_> = view.taken().iter().collect();
        prop_assert!(all.windows(2).all(|pair| pair[0].interval.end <= pair[1].interval.start));
    }
    Ok(())
}
