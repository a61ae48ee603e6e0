//! The steps of the first run and the names of their fields. Reference 15.12.

use crate::domain::recurrence::{WEEK, weekday_letters};

/// Maximum number of services.
pub(crate) const SERVICES_MAX: usize = 15;
/// Number of ranges of a day.
pub(crate) const RANGES: usize = 2;

/// A step, in the order of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstRunStep {
    Shop,
    Hours,
    Services,
    Owner,
}

impl FirstRunStep {
    /// All steps, in order.
    pub(crate) const ALL: [Self; 4] = [Self::Shop, Self::Hours, Self::Services, Self::Owner];

    /// The name of the step in a form.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Shop => "shop",
            Self::Hours => "hours",
            Self::Services => "services",
            Self::Owner => "owner",
        }
    }

    /// Finds a step by its name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// The place of the step, from 1.
    pub(crate) const fn number(self) -> usize {
        self as usize + 1
    }

    /// The step before; the first one for itself.
    pub(crate) const fn before(self) -> Self {
        match self {
            Self::Shop | Self::Hours => Self::Shop,
            Self::Services => Self::Hours,
            Self::Owner => Self::Services,
        }
    }

    /// The step after; `None` after the last one.
    pub(crate) const fn after(self) -> Option<Self> {
        match self {
            Self::Shop => Some(Self::Hours),
            Self::Hours => Some(Self::Services),
            Self::Services => Some(Self::Owner),
            Self::Owner => None,
        }
    }

    /// The names of the fields that another page carries along. The password is none of them.
    pub(crate) fn carried_fields(self) -> Vec<String> {
        match self {
            Self::Shop => ["name", "timezone", "country", "phone"].map(String::from).into(),
            Self::Hours => {
                let mut names = Vec::new();
                for weekday in WEEK {
                    for range in 1..=RANGES {
                        let name = range_name(weekday_letters(weekday), range);
                        names.push(format!("{name}.from"));
                        names.push(format!("{name}.to"));
                    }
                }
                names
            }
            Self::Services => {
                let numbers = 1..=SERVICES_MAX;
                numbers.flat_map(|nth| [service_name(nth), service_minutes(nth)]).collect()
            }
            Self::Owner => ["firstname", "lastname", "email"].map(String::from).into(),
        }
    }
}

/// The name of a range of a day, before `.from` and `.to`: `MO1`.
pub(crate) fn range_name(letters: &str, range: usize) -> String {
    format!("{letters}{range}")
}

/// The name of the field with the name of a service.
pub(crate) fn service_name(number: usize) -> String {
    format!("service{number}")
}

/// The name of the field with the length of a service.
pub(crate) fn service_minutes(number: usize) -> String {
    format!("minutes{number}")
}
