//! A server without its HTTP: a group, an engine over a disk that outlives it, and the timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use slotbook::clock::{Clock, ManualClock};
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::directory::{Directory, DirectoryEvent};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId, VeventId};
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::message::{Message, Progress};
use slotbook::domain::records::text::{Bounded, Email, Name, Text};
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Reminders, State, Vevent, VeventKind,
};
use slotbook::domain::state::command::{CancelAppointment, CancelRight, Command};
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, Instant};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts, MessagingOptions};
use slotbook::notify::Gateways;
use slotbook::notify::sms::SmsGateway;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};
use slotbook::store::codec;
use slotbook::store::{SimulatedDisk, Stream};

use super::fake_gateways::Post;

/// How long one attempt may take, where a test does not say otherwise.
const PATIENCE: Duration = Duration::from_millis(400);

pub(crate) fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

pub(crate) fn vevent(id: u64) -> VeventId {
    VeventId::new(id).expect("an id")
}

/// `YYYY-MM-DD HH:MM` as a wall clock shows it.
pub(crate) fn civil(text: &str) -> Civil {
    let numbers: Vec<u32> =
        text.split(['-', ' ', ':']).map(|part| part.parse().expect("a number")).collect();
    let year = i32::try_from(numbers[0]).expect("a year");
    Civil::from_ymd_hms(year, numbers[1], numbers[2], numbers[3], numbers[4], 0)
        .expect("a civil time")
}

/// The clock of a house, which breaks whoever reads it as often as a test wants.
pub(crate) struct Breaking {
    clock: Arc<ManualClock>,
    /// How many readings are still to break.
    left: AtomicU32,
}

impl Clock for Breaking {
    fn now(&self) -> Instant {
        let broken = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_ok();
        assert!(!broken, "a bug, as a test wants it");
        self.clock.now()
    }

    fn monotonic(&self) -> tokio::time::Instant {
        self.clock.monotonic()
    }
}

/// The group, its disk, its clock, and the other side.
pub(crate) struct House {
    pub(crate) first: GroupState,
    disk: SimulatedDisk,
    pub(crate) clock: Arc<ManualClock>,
    breaking: Arc<Breaking>,
    pub(crate) post: Post,
    /// Whether anybody carries messages.
    pub(crate) carried: bool,
    /// How long one attempt may take.
    pub(crate) decision_timeout: Duration,
}

impl House {
    /// A group in a zone, as a test wants it, at a time.
    pub(crate) fn new(zone: &str, now: &str, change: impl FnOnce(&mut Group)) -> Self {
        let zone = ZoneName::from_name(zone).expect("a zone");
        let now = zone.zone().instant_of(civil(now));
        let mut group = Group::new(group(), zone, now);
        group.name = Name::new("Cut & Co").expect("a name");
        group.validate_email = false;
        group.notice_delay_seconds = Bounded::known(0);
        change(&mut group);
        let mut catalogue = Catalogue::new(group);
        for id in 1..=40 {
            let mut calendar = Calendar::new(CalendarId::new(id).expect("an id"), now);
            calendar.publicname = Name::new("Ann").expect("a name");
            catalogue.calendars.insert(calendar.id, calendar.into());
        }
        let mut intervention = Intervention::new(InterventionId::new(1).expect("an id"), now);
        intervention.publicname = Name::new("Coupe, soin").expect("a name");
        intervention.length = Bounded::new(30).expect("a length");
        catalogue.interventions.insert(intervention.id, intervention.into());
        let clock = Arc::new(ManualClock::at(now));
        let post = Post::open(&clock);
        let breaking = Arc::new(Breaking { clock: Arc::clone(&clock), left: AtomicU32::new(0) });
        let (first, disk) = (GroupState::new(catalogue), SimulatedDisk::new());
        Self { first, disk, clock, breaking, post, carried: true, decision_timeout: PATIENCE }
    }

    /// Breaks whoever reads the clock next, so often: while nothing is written, that is the timer. Returns once all broke.
    pub(crate) async fn breaks_the_timer(&self, times: u32) {
        self.breaking.left.store(times, Ordering::SeqCst);
        while self.breaking.left.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Calls the intervention and every calendar so.
    pub(crate) fn calls(&mut self, intervention: &str, calendar: &str) {
        let catalogue = Arc::make_mut(&mut self.first.catalogue);
        for row in catalogue.interventions.iter_mut().map(|(_, row)| Arc::make_mut(row)) {
            row.publicname = Name::new(intervention).expect("a name");
        }
        for row in catalogue.calendars.iter_mut().map(|(_, row)| Arc::make_mut(row)) {
            row.publicname = Name::new(calendar).expect("a name");
        }
    }

    /// Changes the calendar of that number.
    pub(crate) fn places(&mut self, calendar: u64, change: impl FnOnce(&mut Calendar)) {
        let id = CalendarId::new(calendar).expect("an id");
        let row =
            Arc::make_mut(&mut self.first.catalogue).calendars.get_mut(&id).expect("a calendar");
        change(Arc::make_mut(row));
    }

    /// A client of that number.
    pub(crate) fn knows(&mut self, number: u64, change: impl FnOnce(&mut Fiche)) {
        let mut fiche = Fiche::new(FicheId::new(number).expect("an id"), self.clock.now());
        fiche.lastname = Name::new(&format!("Client {number}")).expect("a name");
        fiche.email = Some(Email::new(&format!("client{number}@example.org")).expect("an address"));
        change(&mut fiche);
        self.first.put_fiche(fiche.into());
    }

    /// An appointment of a client, made now by hand.
    pub(crate) fn holds(&mut self, id: u64, client: u64, start: Instant, minutes: u32) {
        let now = self.clock.now();
        let kind = VeventKind::Appointment(Appointment {
            civil_start: self.first.catalogue.zone().civil_of(start),
            start,
            length_seconds: minutes * 60,
            intervention_id: InterventionId::new(1).expect("an id"),
            fiche_id: FicheId::new(client).expect("an id"),
            key: AppointmentKey::new("abcdefghijklmnopqrst").expect("a key"),
            state: State::default(),
            smsreminder: true,
            from_web: true,
            reminders: Reminders::since(now),
            booking_origin: None,
        });
        let calendar_id = CalendarId::new(id % 40 + 1).expect("an id");
        let row = Vevent {
            id: vevent(id),
            calendar_id,
            kind,
            deleted: false,
            created_at: now,
            updated_at: now,
            rare: None,
        };
        self.first.put_vevent(row.into());
    }

    pub(crate) fn local(&self, text: &str) -> Instant {
        self.first.catalogue.zone().instant_of(civil(text))
    }

    pub(crate) fn at(&self, text: &str) {
        self.clock.set(self.local(text));
    }

    /// What the disk holds.
    pub(crate) fn group_state(&self) -> GroupState {
        self.recovered().1
    }

    fn recovered(&self) -> (Directory, GroupState) {
        let mut directory = Directory::default();
        self.first.claim_ids(&mut directory);
        let mut group_state = self.first.clone();
        let read = self.disk.recover(|_, record| {
            match record.stream {
                Stream::Directory => {
                    directory = directory.apply(&codec::decode::<DirectoryEvent>(&record.bytes)?)
                }
                Stream::Group(_) => {
                    group_state =
                        group_state.apply(&codec::decode::<GroupRecord>(&record.bytes)?.event)
                }
            }
            Ok(())
        });
        read.expect("what was written is read");
        (directory, group_state)
    }

    fn gateways(&self) -> Gateways {
        let link_secret = Some(LinkSecret::new([3; 32]));
        let mut gateways =
            Gateways { link_secret, ..Gateways::unconfigured("https://rdv.example.org/") };
        if self.carried {
            gateways.mail = Some(
                SmtpClient::new(&SmtpServer {
                    host: "127.0.0.1".to_owned(),
                    port: self.post.smtp.port(),
                    tls_mode: TlsMode::None,
                    root_certificates: None,
                    login: None,
                    from: "rdv@shop.example".to_owned(),
                    timeout: self.decision_timeout,
                })
                .expect("legal"),
            );
            let url = format!("http://{}/send", self.post.gateway);
            gateways.sms =
                Some(SmsGateway::new(&url, "the-token", self.decision_timeout).expect("legal"));
        }
        gateways
    }

    /// Runs a server while a story is told, then kills it in the middle of whatever it does.
    pub(crate) fn live<T>(&self, story: impl AsyncFnOnce(&Engine) -> T) -> T {
        let (directory, group_state) = self.recovered();
        let (log, _) = self.disk.recover(|_, _| Ok(())).expect("it was read before");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (told, journal) = runtime.block_on(async {
            let parts = EngineParts {
                directory,
                group_states: [group_state].into(),
                clock: Arc::clone(&self.breaking) as Arc<dyn Clock>,
                randomness: Randomness::seeded([7; 32]),
                transport: Transport::direct(),
                admission_limits: AdmissionLimits::default(),
                decision_timeout: Duration::from_secs(10),
            };
            let (engine, journal) = Engine::start(parts, log).await;
            let journal = std::thread::spawn(move || journal.run());
            let sending = MessagingOptions {
                gateways: Arc::new(self.gateways()),
                quota: MessageQuota { recipient_daily_max: 100, by_key_daily_max: 0 },
                randomness: Randomness::seeded([8; 32]),
                transport: Transport::direct(),
                poll_interval_max: Duration::from_millis(5),
                concurrent_attempts_max: 16,
            };
            let _messages = engine.send_messages(sending).await;
            (story(&engine).await, journal)
        });
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(journal.join().expect("the journal ends with its server"));
        told
    }
}

/// Waits until the group stands as wanted.
pub(crate) async fn until(
    engine: &Engine,
    what: &str,
    wanted: impl Fn(&GroupState) -> bool,
) -> Arc<GroupState> {
    for _ in 0..6_000 {
        let group_state = engine.published().group_state(group()).expect("the group");
        if wanted(&group_state) {
            return group_state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let group_state = engine.published().group_state(group()).expect("the group");
    let messages: Vec<_> = group_state.outbox.messages().take(20).collect();
    panic!("it does not come to pass that {what}: {messages:?}");
}

/// The same while the clock goes on, a second at a time.
pub(crate) async fn until_later(
    house: &House,
    engine: &Engine,
    what: &str,
    wanted: impl Fn(&GroupState) -> bool,
) {
    for _ in 0..3_000 {
        if wanted(&engine.published().group_state(group()).expect("the group")) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        house.clock.set(house.clock.now().plus_seconds(1));
    }
    until(engine, what, wanted).await;
}

pub(crate) async fn cancel(engine: &Engine, id: u64) {
    let command = CancelAppointment { id: vevent(id), right: CancelRight::Pro };
    engine
        .write(group(), Author::Visitor, Command::CancelAppointment(command))
        .await
        .expect("it is there");
}

pub(crate) fn settled(group_state: &GroupState) -> usize {
    group_state.outbox.messages().filter(|message| !message.is_open()).count()
}

pub(crate) fn progress(group_state: &GroupState, id: u64) -> Progress {
    let of = |message: &&Arc<Message>| {
        message.reminder().is_some_and(|(_, standing)| standing.id == vevent(id))
    };
    group_state
        .outbox
        .messages()
        .find(of)
        .map(|message| message.progress.clone())
        .expect("it has a message")
}

pub(crate) fn phone(fiche: &mut Fiche) {
    fiche.firstphone = Text::new("06 12 34 56 78").expect("a number");
}
