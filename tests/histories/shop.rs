//! The two groups of a history, and the document that makes them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::call::HalfHour;
use super::specification::Shop;

/// Half hours after midnight at which a calendar opens and closes.
const OPENS: HalfHour = 18;
const CLOSES: HalfHour = 24;

pub(crate) const KEY: &str = "test-key";
pub(crate) const PASSWORD: &str = "secret";

/// A group: its rules, and the ids of its records.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: u64,
    pub(crate) shop: Shop,
    /// Interventions of one half hour and of two.
    pub(crate) interventions: [u64; 2],
    /// The fiches, whose addresses are [`address`].
    pub(crate) clients: u64,
}

/// Returns the two groups. The first one has rules for clients, and fewer of them.
pub(crate) fn groups(clients: u64) -> [Group; 2] {
    let shop = |calendars: &[u64], appointments_max, gap_min| Shop {
        calendars: BTreeSet::from_iter(calendars.iter().copied()),
        appointments_max,
        gap_min,
    };
    [
        Group {
            id: 1,
            shop: shop(&[1, 2, 3], 3, 1),
            interventions: [1, 2],
            clients: clients / 3 + 2,
        },
        Group {
            id: 2,
            shop: shop(&[11, 12], 0, 0),
            interventions: [11, 12],
            clients: clients / 2 + 2,
        },
    ]
}

impl Group {
    /// Returns the id of a client's fiche.
    pub(crate) fn fiche(&self, client: u64) -> u64 {
        self.id * 1_000 + client
    }

    pub(crate) fn professional(&self) -> String {
        format!("pro{}@example.org", self.id)
    }

    fn document(&self) -> Value {
        let calendars = self.shop.calendars.iter();
        let mut hours = Vec::new();
        for calendar in calendars.clone() {
            hours.push(json!({
                "calendar_id": calendar, "type": "VfreebusyEvent", "rrule": "FREQ=DAILY",
                "start": "2029-12-31 09:00:00", "end": "2029-12-31 12:00:00",
            }));
        }
        let calendars: Vec<Value> = calendars.map(calendar).collect();
        let mut fiches = Vec::new();
        for client in 0..self.clients {
            let id = self.fiche(client);
            fiches.push(json!({"id": id, "lastname": format!("C{id}"), "email": address(id)}));
        }
        let mut interventions = Vec::new();
        for (length, id) in (1..).zip(self.interventions) {
            let (name, minutes) = (format!("{length}"), length * 30);
            interventions
                .push(json!({"id": id, "name": name, "publicname": name, "length": minutes}));
        }
        json!({
            "id": self.id, "name": format!("Practice {}", self.id), "timezone": "UTC",
            "validateEmail": false,
            "maxrdv_number": self.shop.appointments_max,
            "mintime_between": self.shop.gap_min * 30,
            "pros": [{
                "id": self.id, "email": self.professional(), "password": PASSWORD,
                "lastname": "Pro", "main": true,
            }],
            "calendars": calendars, "interventions": interventions, "fiches": fiches,
            "vevents": hours,
        })
    }
}

fn calendar(id: &u64) -> Value {
    json!({
        "id": id, "name": format!("Calendar {id}"), "publicname": format!("Calendar {id}"),
        "generate_interval": 30, "maxrdv_period": 5_000_000, "mintime_rdv": 0,
        "mintime_annulation": 0,
    })
}

/// Returns the address of a fiche.
pub(crate) fn address(fiche: u64) -> String {
    format!("c{fiche}@example.org")
}

/// Returns the document of a store with these groups.
pub(crate) fn document(groups: &[Group]) -> Value {
    let groups: Vec<Value> = groups.iter().map(Group::document).collect();
    json!({"apikeys": [{"key": KEY, "label": "tests", "server": true}], "groups": groups})
}

/// Returns the opening hours of a day.
pub(crate) fn open_hours(day: u64) -> (HalfHour, HalfHour) {
    (day * 48 + OPENS, day * 48 + CLOSES)
}

/// Returns the half hour of a datetime of January 2030.
pub(crate) fn parse_half_hour(text: &str) -> HalfHour {
    let number = |from: usize| text[from..from + 2].parse::<u64>().expect("two digits");
    assert!(text.starts_with("2030-01-"), "{text}");
    (number(8) - 1) * 48 + number(11) * 2 + number(14) / 30
}
