//! The fields of the pages of the first run, and the shop that they describe. Reference 15.12.

use serde_json::{Map, Value, json};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::weekly_hours::WeeklyRange;
use crate::domain::decisions::founding::FoundGroup;
use crate::domain::records::calendar::Calendar;
use crate::domain::records::fault::Fault;
use crate::domain::records::group::ContactNeeded;
use crate::domain::records::group::Group;
use crate::domain::records::ids::GroupId;
use crate::domain::records::intervention::Intervention;
use crate::domain::records::text::{Email, Name};
use crate::domain::recurrence::{WEEK, weekday_letters};
use crate::domain::state::command::Patch;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone_names::ZoneName;
use crate::password::strength::check_new_password;
use crate::web::practice::first_run::step::{
    FirstRunStep, RANGES, SERVICES_MAX, range_name, service_minutes, service_name,
};
use crate::web::practice::texts::first_run::FirstRunTexts;
use crate::wire::calendar::CALENDAR;
use crate::wire::field::{Audience, Scope};
use crate::wire::group::parse_new_group;
use crate::wire::hours::parse_hours;
use crate::wire::intervention::INTERVENTION;
use crate::wire::params::Params;

/// Minutes of a service that is not typed yet.
const MINUTES: &str = "30";
/// The ranges of a working day that are proposed.
const PROPOSED: [[&str; 2]; RANGES] = [["09:00", "12:00"], ["14:00", "18:00"]];
/// The days that are proposed as working days, from Monday.
const PROPOSED_DAYS: usize = 5;
/// Lines for services at first, and those that a page adds.
const SERVICES_STEP: usize = 3;

/// The fields that the pages were sent with so far.
pub(crate) struct Given {
    fields: Map<String, Value>,
    /// The lines for services.
    pub(crate) services: usize,
}

/// A field that breaks a rule, and the sentence about it.
#[derive(Clone, Debug)]
pub(crate) struct GivenFault {
    pub(crate) field: String,
    pub(crate) sentence: &'static str,
}

/// The person who owns the shop.
pub(crate) struct Owner {
    pub(crate) firstname: Name<64>,
    pub(crate) lastname: Name<64>,
    pub(crate) email: Email,
    /// Plain.
    pub(crate) password: String,
}

/// Everything that the pages describe.
pub(crate) struct GivenShop {
    pub(crate) group: FoundGroup,
    pub(crate) calendar: Patch<Calendar>,
    pub(crate) interventions: Vec<Patch<Intervention>>,
    pub(crate) hours: Vec<WeeklyRange>,
    pub(crate) owner: Owner,
}

impl Given {
    /// Takes the known fields of a form. Fields of a step that was not shown yet have what the page
    /// proposes.
    pub(crate) fn new(form: &Params) -> Self {
        let mut fields = Map::new();
        for (name, value) in form.iter() {
            fields.insert(name.to_owned(), value.trim().into());
        }
        let is_sent = |step: FirstRunStep| {
            step.carried_fields().first().is_some_and(|name| fields.contains_key(name))
        };
        let shows_hours = is_sent(FirstRunStep::Hours);
        let shows_services = is_sent(FirstRunStep::Services);
        let mut given = Self { fields, services: SERVICES_STEP };
        if !shows_hours {
            given.propose_hours();
        }
        if !shows_services {
            for nth in 1..=SERVICES_STEP {
                given.set(service_minutes(nth), MINUTES);
            }
        }
        let shown = (1..=SERVICES_MAX).filter(|nth| given.has(&service_name(*nth)));
        given.services = shown.max().unwrap_or(SERVICES_STEP);
        given
    }

    fn propose_hours(&mut self) {
        for weekday in WEEK.into_iter().take(PROPOSED_DAYS) {
            for (range, [from, to]) in (1..).zip(PROPOSED) {
                let name = range_name(weekday_letters(weekday), range);
                self.set(format!("{name}.from"), from);
                self.set(format!("{name}.to"), to);
            }
        }
    }

    /// Adds lines for services.
    pub(crate) fn add_services(&mut self) {
        let last = (self.services + SERVICES_STEP).min(SERVICES_MAX);
        for nth in self.services + 1..=last {
            self.set(service_minutes(nth), MINUTES);
        }
        self.services = last;
    }

    fn set(&mut self, name: String, value: &str) {
        self.fields.insert(name, value.into());
    }

    fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// The value of a field; empty without it.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The fields of other steps than the one shown, which its form carries along.
    pub(crate) fn carried(&self, shown: FirstRunStep) -> Vec<[String; 2]> {
        let others = FirstRunStep::ALL.into_iter().filter(|step| *step != shown);
        let names = others.flat_map(FirstRunStep::carried_fields);
        let sent = names.filter(|name| self.has(name));
        sent.map(|name| [name.clone(), self.value(&name).to_owned()]).collect()
    }

    /// Returns the faults of one step.
    pub(crate) fn faults_of(
        &self,
        step: FirstRunStep,
        now: Instant,
        text: &FirstRunTexts,
    ) -> Vec<GivenFault> {
        match step {
            FirstRunStep::Shop => self.parse_shop(text).err(),
            FirstRunStep::Hours => self.parse_hours(now, text).err(),
            FirstRunStep::Services => self.parse_services(text).err(),
            FirstRunStep::Owner => self.parse_owner(text).err(),
        }
        .unwrap_or_default()
    }

    /// Reads the whole shop.
    ///
    /// # Errors
    /// The first step with faults, and these.
    pub(crate) fn parse(
        &self,
        now: Instant,
        text: &FirstRunTexts,
    ) -> Result<GivenShop, (FirstRunStep, Vec<GivenFault>)> {
        let group = self.parse_shop(text).map_err(|faults| (FirstRunStep::Shop, faults))?;
        let hours = self.parse_hours(now, text).map_err(|faults| (FirstRunStep::Hours, faults))?;
        let interventions =
            self.parse_services(text).map_err(|faults| (FirstRunStep::Services, faults))?;
        let owner = self.parse_owner(text).map_err(|faults| (FirstRunStep::Owner, faults))?;
        let calendar = self.calendar();
        Ok(GivenShop { group, calendar, interventions, hours, owner })
    }

    fn parse_shop(&self, text: &FirstRunTexts) -> Result<FoundGroup, Vec<GivenFault>> {
        let mut object = Map::new();
        for name in FirstRunStep::Shop.carried_fields() {
            object.insert(name.clone(), self.value(&name).into());
        }
        // Otherwise clients without an account could not book.
        object.insert("validateEmail".to_owned(), false.into());
        // A surname alone would leave both sides unable to reach each other.
        object.insert("contact_needed".to_owned(), ContactNeeded::Either.name().into());
        let sentence = |fault: &Fault| match fault.field.as_str() {
            "timezone" => text.bad_zone,
            "country" => text.bad_country,
            "phone" => text.bad_phone,
            _ => text.bad_name,
        };
        parse_new_group(&object).map_err(|faults| {
            let given = |fault: &Fault| GivenFault {
                field: fault.field.clone(),
                sentence: sentence(fault),
            };
            let mut given: Vec<_> = faults.iter().map(given).collect();
            given.dedup_by(|one, other| one.field == other.field);
            given
        })
    }

    /// The state of a group without records, in the zone that was chosen.
    fn blank_state(&self) -> GroupState {
        let utc = ZoneName::from_name("UTC").expect("the table has UTC");
        let zone = ZoneName::from_name(self.value("timezone")).unwrap_or(utc);
        let id = GroupId::new(1).expect("1 is an id");
        GroupState::new(Catalogue::new(Group::new(id, zone, Instant(0))))
    }

    fn parse_hours(
        &self,
        now: Instant,
        text: &FirstRunTexts,
    ) -> Result<Vec<WeeklyRange>, Vec<GivenFault>> {
        let mut rows = Vec::new();
        let mut names = Vec::new();
        for weekday in WEEK {
            let letters = weekday_letters(weekday);
            for range in 1..=RANGES {
                let name = range_name(letters, range);
                let times = ["from", "to"].map(|end| self.value(&format!("{name}.{end}")));
                if times == [""; 2] {
                    continue;
                }
                let [from, to] = times;
                // A clock shows the end of the day as 00:00.
                let to = if to == "00:00" { "24:00" } else { to };
                rows.push(json!({"weekday": letters, "ranges": [{"from": from, "to": to}]}));
                names.push(name);
            }
        }
        if rows.is_empty() {
            return Err(vec![GivenFault { field: "MO1.from".into(), sentence: text.no_hours }]);
        }
        let body = Map::from_iter([("rows".to_owned(), Value::from(rows))]);
        let state = self.blank_state();
        let today = state.catalogue.zone().civil_of(now).day();
        parse_hours(&body, &Scope::for_group(&state), today).map_err(|faults| {
            let place = |index: usize| format!("rows[{index}]");
            let mut given = Vec::new();
            for (index, name) in names.iter().enumerate() {
                let mut own = faults.iter().filter(|it| it.field.starts_with(&place(index)));
                if let Some(fault) = own.next() {
                    let is_overlap = fault.field == format!("{}.ranges[0]", place(index));
                    let sentence = if is_overlap { text.bad_overlap } else { text.bad_range };
                    given.push(GivenFault { field: format!("{name}.from"), sentence });
                }
            }
            given
        })
    }

    fn parse_services(
        &self,
        text: &FirstRunTexts,
    ) -> Result<Vec<Patch<Intervention>>, Vec<GivenFault>> {
        let state = self.blank_state();
        let mut parsed = Vec::new();
        let mut given = Vec::new();
        for nth in 1..=SERVICES_MAX {
            let name = self.value(&service_name(nth));
            if name.is_empty() {
                continue;
            }
            let minutes = self.value(&service_minutes(nth));
            let length = if minutes.is_empty() { "0" } else { minutes };
            let object = Map::from_iter([
                ("name".to_owned(), name.into()),
                // Clients are shown no record without one.
                ("publicname".to_owned(), name.into()),
                ("length".to_owned(), length.into()),
                ("sort".to_owned(), nth.into()),
            ]);
            match INTERVENTION.parse_new(&object, &Scope::for_group(&state), Audience::Pro) {
                Ok(fields) => parsed.push(fields),
                Err(faults) => given.extend(faults.iter().map(|fault| {
                    if fault.field == "length" {
                        GivenFault { field: service_minutes(nth), sentence: text.bad_minutes }
                    } else {
                        GivenFault { field: service_name(nth), sentence: text.bad_name }
                    }
                })),
            }
        }
        if given.is_empty() && parsed.is_empty() {
            given.push(GivenFault { field: service_name(1), sentence: text.no_service });
        }
        if given.is_empty() { Ok(parsed) } else { Err(given) }
    }

    fn parse_owner(&self, text: &FirstRunTexts) -> Result<Owner, Vec<GivenFault>> {
        let mut faults = Vec::new();
        let mut add = |field: &str, sentence| {
            faults.push(GivenFault { field: field.to_owned(), sentence });
        };
        let firstname = Name::new(self.value("firstname"));
        if firstname.is_err() {
            add("firstname", text.bad_person);
        }
        let lastname = Name::new(self.value("lastname"));
        if lastname.is_err() {
            add("lastname", text.bad_person);
        }
        let email = Email::new(self.value("email"));
        if email.is_err() {
            add("email", text.bad_email);
        }
        let password = self.value("password").to_owned();
        if check_new_password(&password).is_err() {
            add("password", text.bad_password);
        }
        match (firstname, lastname, email) {
            (Ok(firstname), Ok(lastname), Ok(email)) if faults.is_empty() => {
                Ok(Owner { firstname, lastname, email, password })
            }
            _ => Err(faults),
        }
    }

    /// The calendar, with the name of the owner or else that of the shop.
    fn calendar(&self) -> Patch<Calendar> {
        let names = format!("{} {}", self.value("firstname"), self.value("lastname"));
        let name = if names.trim().is_empty() { self.value("name") } else { names.trim() };
        let object = ["name", "publicname"]
            .map(|field| (field.to_owned(), name.into()))
            .into_iter()
            .collect();
        let state = self.blank_state();
        let parsed = CALENDAR.parse_new(&object, &Scope::for_group(&state), Audience::Pro);
        parsed.expect("the names were checked, and together they are short")
    }
}
