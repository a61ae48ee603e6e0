//! The shop that all tests of the API meet: two groups, their calendars, and who may ask.

use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::directory::Directory;
use slotbook::domain::directory::apikeys::{Apikey, ApikeyHolder};
use slotbook::domain::directory::id_blocks::IdKind;
use slotbook::domain::directory::professionals::Pro;
use slotbook::domain::directory::roles::{OwnCalendars, ProRole};
use slotbook::domain::records::account::Account;
use slotbook::domain::records::calendar::{Calendar, Calendarset};
use slotbook::domain::records::customfield::{CustomName, Customfield, Model};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, FicheId, GroupId, InterventionId, ProId, VeventId,
};
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::site_origin::SiteOrigin;
use slotbook::domain::records::text::{Bounded, Email, Name, Text};
use slotbook::domain::records::vevent::{Availability, Permits, Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Rule, Series};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, Instant};
use slotbook::password;

/// Covers group 4.
pub(crate) const KEY: &str = "key-of-four";
/// Covers every group.
pub(crate) const KEY_OF_ALL: &str = "key-of-all";
/// A key of the operator, where a test wants one.
pub(crate) const OPERATOR_KEY: &str = "key-of-the-operator";
/// A professional of group 4.
pub(crate) const ANN: (&str, &str) = ("ann@example.org", "secret");
/// A professional of group 5.
pub(crate) const EVE: (&str, &str) = ("eve@example.org", "secret");

/// At the reception of group 4, where a test wants a team.
pub(crate) const RITA: (&str, &str) = ("rita@example.org", "secret");
/// A professional of the team who reads and writes calendar 11.
pub(crate) const PAUL: (&str, &str) = ("paul@example.org", "secret");
/// A professional of the team who writes calendar 11 and reads all.
pub(crate) const PIA: (&str, &str) = ("pia@example.org", "secret");

/// Shown by the module, in set 31.
pub(crate) const CALENDAR: u64 = 11;
/// Shown by the module, in no set.
pub(crate) const OTHER_CALENDAR: u64 = 12;
/// Not shown by the module.
pub(crate) const HIDDEN_CALENDAR: u64 = 13;
/// 30 minutes.
pub(crate) const CUT: u64 = 21;
/// 60 minutes.
pub(crate) const COLOUR: u64 = 22;
/// A client whose address is known@example.org.
pub(crate) const KNOWN_FICHE: u64 = 41;
/// A client of group 4 with an account, where a test wants one.
pub(crate) const CLEO: (&str, &str) = ("cleo@example.org", "secret");
/// Her fiche.
pub(crate) const OWN_FICHE: u64 = 42;

/// A time of the shop's clock on 2 June 2025, a Monday.
pub(crate) fn clock(hour: u32, minute: u32) -> Instant {
    paris().zone().instant_of(civil(2, hour, minute))
}

fn civil(day: u32, hour: u32, minute: u32) -> Civil {
    Civil::from_ymd_hms(2025, 6, day, hour, minute, 0).expect("a time")
}

fn paris() -> ZoneName {
    ZoneName::from_name("Paris").expect("a listed name")
}

fn name<const MAX: usize>(text: &str) -> Name<MAX> {
    Name::new(text).expect("a name")
}

/// The hash of everybody's password.
fn hash() -> &'static Text<255> {
    static HASH: OnceLock<Text<255>> = OnceLock::new();
    HASH.get_or_init(|| password::hash_password(&password::sha1_hex("secret")))
}

/// Gives a group a client with an account.
pub(crate) fn open_account(group_state: &mut GroupState, fiche: u64, email: &str) {
    let email = Email::new(email).expect("an address");
    let mut own = Fiche::new(FicheId::new(fiche).expect("an id"), clock(6, 0));
    own.lastname = name("Client");
    own.comments = Text::new("pays late").expect("a text");
    own.email = Some(email.clone());
    let account = Account {
        email,
        fiche_id: own.id,
        password_hash: hash().clone(),
        former: Vec::new(),
        last_login: None,
    };
    group_state.put_fiche(Arc::new(own));
    group_state.accounts.insert(account.email.folded(), Arc::new(account));
}

/// Adds the key of the operator.
pub(crate) fn add_operator_key(directory: &mut Directory) {
    let apikey = Apikey {
        label: Text::default(),
        groups: None,
        holder: ApikeyHolder::Operator,
        origins: Vec::new(),
        allows_any_origin: true,
        needs_contact: false,
    };
    directory.apikeys.insert(Sha256::digest(OPERATOR_KEY).into(), apikey);
}

/// Gives group 4 a team: Rita, Paul and Pia.
pub(crate) fn add_team(directory: &mut Directory) {
    let group = GroupId::new(4).expect("an id");
    let ann = directory.pros.get(&ProId::new(1).expect("an id")).expect("she works here").clone();
    let own = |reads_all: bool| {
        let calendars = [CalendarId::new(CALENDAR).expect("an id")].into();
        ProRole::Professional(OwnCalendars { calendars, reads_all })
    };
    let team = [(3, RITA, ProRole::Reception), (4, PAUL, own(false)), (5, PIA, own(true))];
    for (id, (email, _), role) in team {
        let id = ProId::new(id).expect("an id");
        let email = Email::new(email).expect("an address");
        directory.pros.insert(id, Pro { id, email, ..ann.clone() });
        directory.roles.set(group, id, role);
    }
}

/// The directory of the shop.
pub(crate) fn directory() -> Directory {
    let hash = hash();
    let pro = |id: u64, email: &str, group: u64| Pro {
        id: ProId::new(id).expect("an id"),
        email: Email::new(email).expect("an address"),
        password_hash: hash.clone(),
        lastname: name("Pro"),
        firstname: name("A"),
        cellphone: Text::default(),
        groups: vec![GroupId::new(group).expect("an id")],
        main: GroupId::new(group).expect("an id"),
        synched_at: None,
        created_at: clock(6, 0),
        updated_at: clock(6, 0),
    };
    let apikey = |groups: Option<Vec<u64>>| Apikey {
        label: Text::default(),
        groups: groups
            .map(|ids| ids.into_iter().map(|id| GroupId::new(id).expect("an id")).collect()),
        holder: ApikeyHolder::Public,
        origins: Vec::new(),
        allows_any_origin: true,
        needs_contact: false,
    };
    let mut directory = Directory::default();
    directory.apikeys.insert(Sha256::digest(KEY).into(), apikey(Some(vec![4])));
    let origins = vec![SiteOrigin::new("https://app.example").expect("an origin")];
    let of_all = Apikey { origins, ..apikey(None) };
    directory.apikeys.insert(Sha256::digest(KEY_OF_ALL).into(), of_all);
    directory.pros.extend([pro(1, ANN.0, 4), pro(2, EVE.0, 5)].map(|pro| (pro.id, pro)));
    directory.blocks.claim_imported(IdKind::Fiche, KNOWN_FICHE, GroupId::new(4).expect("an id"));
    directory.blocks.claim_imported(IdKind::Vevent, 53, GroupId::new(4).expect("an id"));
    directory
}

/// Group 4, whose settings a test may change.
pub(crate) fn group_four(change: impl FnOnce(&mut Catalogue)) -> GroupState {
    let at = clock(6, 0);
    let mut group = Group::new(GroupId::new(4).expect("an id"), paris(), at);
    group.name = name("Cut & Co");
    group.urlname = Text::new("cut-co").expect("a text");
    group.validate_email = false;
    group.notice_delay_seconds = Bounded::known(0);
    let mut catalogue = Catalogue::new(group);
    let set = CalendarsetId::new(31).expect("an id");
    catalogue
        .calendarsets
        .insert(set, Arc::new(Calendarset { name: name("Hair"), ..Calendarset::new(set, at) }));
    for (id, shown) in [(CALENDAR, "Ann"), (OTHER_CALENDAR, "Bob"), (HIDDEN_CALENDAR, "")] {
        let mut calendar = Calendar::new(CalendarId::new(id).expect("an id"), at);
        calendar.name = name("agenda");
        calendar.publicname = name(shown);
        calendar.calendarset_id = (id == CALENDAR).then_some(set);
        catalogue.calendars.insert(calendar.id, Arc::new(calendar));
    }
    for (id, length) in [(CUT, 30), (COLOUR, 60)] {
        let mut intervention = Intervention::new(InterventionId::new(id).expect("an id"), at);
        intervention.name = name("inside name");
        intervention.publicname = name("shown name");
        intervention.length = Bounded::new(length).expect("a length");
        catalogue.interventions.insert(intervention.id, Arc::new(intervention));
    }
    let fields = [
        (61, Model::Fiche, "str0", true),
        (62, Model::Fiche, "str1", false),
        (63, Model::Vevent, "num0", true),
    ];
    for (id, model, custom, visible) in fields {
        let id = CustomfieldId::new(id).expect("an id");
        let custom = CustomName::new(custom).expect("a name");
        let field =
            Customfield { user_visible: visible, ..Customfield::new(id, model, custom, at) };
        catalogue.customfields.insert(id, Arc::new(field));
    }
    change(&mut catalogue);
    let mut group_state = GroupState::new(catalogue);
    let mut known = Fiche::new(FicheId::new(KNOWN_FICHE).expect("an id"), at);
    known.lastname = name("Known");
    known.email = Some(Email::new("known@example.org").expect("an address"));
    group_state.put_fiche(Arc::new(known));
    for (id, calendar) in [(51, CALENDAR), (52, OTHER_CALENDAR), (53, HIDDEN_CALENDAR)] {
        group_state.put_vevent(Arc::new(mornings(id, calendar)));
    }
    group_state
}

/// Open from 9 to 12 every day.
fn mornings(id: u64, calendar: u64) -> Vevent {
    let daily = "FREQ=DAILY".parse::<Rule>().expect("a rule");
    let series = Series::new(
        paris().zone(),
        civil(1, 9, 0),
        civil(1, 12, 0),
        Some(daily),
        Exceptions::default(),
    );
    Vevent {
        id: VeventId::new(id).expect("an id"),
        calendar_id: CalendarId::new(calendar).expect("an id"),
        kind: VeventKind::Availability(Box::new(Availability {
            series: series.expect("a series"),
            permits: Permits::All,
        })),
        deleted: false,
        created_at: clock(6, 0),
        updated_at: clock(6, 0),
        rare: None,
    }
}

/// Group 5, of which group 4 knows nothing.
pub(crate) fn group_five() -> GroupState {
    let mut group = Group::new(GroupId::new(5).expect("an id"), paris(), clock(6, 0));
    group.name = name("Elsewhere");
    GroupState::new(Catalogue::new(group))
}
