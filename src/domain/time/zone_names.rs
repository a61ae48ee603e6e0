//! Time zone names that a group may have, and the IANA zone of each. Reference 12.1.1.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::domain::time::zone::{IANA_NAMES, Zone};

/// A name that a group's `timezone` may have: one of the table, such as `Paris`, or the IANA name
/// of a zone that the table lacks, such as `Europe/Zurich`.
///
/// Names are ordered as in the table, from west to east; the others follow. They are stored and
/// transferred as text. Reference 12.1.1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct ZoneName(u16);

/// Error: neither the table nor the zone database has the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timezone must be one of the listed zone names or an IANA name")]
pub struct UnknownZoneName;

impl ZoneName {
    /// Finds a name by its exact text, in the same letter case. An IANA name gives the table's name
    /// for the zone, if it has one: that of the same city, or else the first.
    ///
    /// ```
    /// use slotbook::domain::time::zone_names::ZoneName;
    /// let paris = ZoneName::from_name("Paris").unwrap();
    /// assert_eq!(paris.zone().iana_name(), "Europe/Paris");
    /// assert_eq!(ZoneName::from_name("Europe/Paris"), Some(paris));
    /// assert_eq!(ZoneName::from_name("Europe/Zurich").unwrap().name(), "Europe/Zurich");
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(listed) = ZoneName::all().find(|listed| listed.name() == name) {
            return Some(listed);
        }
        let same_zone = || ZoneName::all().filter(|listed| listed.iana_name() == name);
        let city = name.rsplit('/').next()?.replace('_', " ");
        if let Some(listed) = same_zone().find(|listed| listed.name() == city) {
            return Some(listed);
        }
        same_zone().next().or_else(|| {
            let place = Zone::iana_names().position(|iana| iana == name)?;
            Some(Self(ROWS + u16::try_from(place).expect("there are a few hundred names")))
        })
    }

    /// Returns its text, such as `Eastern Time (US & Canada)`.
    pub fn name(self) -> &'static str {
        match TABLE.get(usize::from(self.0)) {
            Some((name, _)) => name,
            None => self.iana_name(),
        }
    }

    /// Returns the IANA name of its zone.
    fn iana_name(self) -> &'static str {
        let place = usize::from(self.0);
        match TABLE.get(place) {
            Some((_, iana)) => iana,
            None => Zone::iana_names().nth(place - TABLE.len()).expect("its place was found"),
        }
    }

    /// Returns its zone. Several names share one zone.
    pub fn zone(self) -> Zone {
        const NAMES: usize = TABLE.len() + IANA_NAMES;
        // Cache of constants, because a look-up by IANA name hashes the text each time.
        static ZONES: [OnceLock<Zone>; NAMES] = [const { OnceLock::new() }; NAMES];
        *ZONES[usize::from(self.0)].get_or_init(|| {
            Zone::from_iana(self.iana_name()).expect("the zone database has every zone of a name")
        })
    }

    /// Returns all names of the table, in its order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..ROWS).map(Self)
    }

    /// Returns every text that [`ZoneName::from_name`] takes: the names of the table, then those of
    /// the zone database.
    pub fn texts() -> impl Iterator<Item = &'static str> {
        ZoneName::all().map(ZoneName::name).chain(Zone::iana_names())
    }
}

impl fmt::Display for ZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for ZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZoneName({})", self.name())
    }
}

impl TryFrom<String> for ZoneName {
    type Error = UnknownZoneName;

    fn try_from(name: String) -> Result<Self, UnknownZoneName> {
        Self::from_name(&name).ok_or(UnknownZoneName)
    }
}

impl From<ZoneName> for &'static str {
    fn from(name: ZoneName) -> Self {
        name.name()
    }
}

/// Number of rows of the table.
const ROWS: u16 = 142;

/// Name and IANA zone, from west to east. Reference 12.1.1.
static TABLE: [(&str, &str); ROWS as usize] = [
    ("International Date Line West", "Pacific/Midway"),
    ("Midway Island", "Pacific/Midway"),
    ("Samoa", "Pacific/Pago_Pago"),
    ("Hawaii", "Pacific/Honolulu"),
    ("Alaska", "America/Juneau"),
    ("Pacific Time (US & Canada)", "America/Los_Angeles"),
    ("Tijuana", "America/Tijuana"),
    ("Mountain Time (US & Canada)", "America/Denver"),
    ("Arizona", "America/Phoenix"),
    ("Chihuahua", "America/Chihuahua"),
    ("Mazatlan", "America/Mazatlan"),
    ("Central Time (US & Canada)", "America/Chicago"),
    ("Saskatchewan", "America/Regina"),
    ("Guadalajara", "America/Mexico_City"),
    ("Mexico City", "America/Mexico_City"),
    ("Monterrey", "America/Monterrey"),
    ("Central America", "America/Guatemala"),
    ("Eastern Time (US & Canada)", "America/New_York"),
    ("Indiana (East)", "America/Indiana/Indianapolis"),
    ("Bogota", "America/Bogota"),
    ("Lima", "America/Lima"),
    ("Quito", "America/Lima"),
    ("Atlantic Time (Canada)", "America/Halifax"),
    ("Caracas", "America/Caracas"),
    ("La Paz", "America/La_Paz"),
    ("Santiago", "America/Santiago"),
    ("Newfoundland", "America/St_Johns"),
    ("Brasilia", "America/Sao_Paulo"),
    ("Buenos Aires", "America/Argentina/Buenos_Aires"),
    ("Georgetown", "America/Guyana"),
    ("Greenland", "America/Godthab"),
    ("Mid-Atlantic", "Atlantic/South_Georgia"),
    ("Azores", "Atlantic/Azores"),
    ("Cape Verde Is.", "Atlantic/Cape_Verde"),
    ("Dublin", "Europe/Dublin"),
    ("Edinburgh", "Europe/London"),
    ("Lisbon", "Europe/Lisbon"),
    ("London", "Europe/London"),
    ("Casablanca", "Africa/Casablanca"),
    ("Monrovia", "Africa/Monrovia"),
    ("UTC", "Etc/UTC"),
    ("Belgrade", "Europe/Belgrade"),
    ("Bratislava", "Europe/Bratislava"),
    ("Budapest", "Europe/Budapest"),
    ("Ljubljana", "Europe/Ljubljana"),
    ("Prague", "Europe/Prague"),
    ("Sarajevo", "Europe/Sarajevo"),
    ("Skopje", "Europe/Skopje"),
    ("Warsaw", "Europe/Warsaw"),
    ("Zagreb", "Europe/Zagreb"),
    ("Brussels", "Europe/Brussels"),
    ("Copenhagen", "Europe/Copenhagen"),
    ("Madrid", "Europe/Madrid"),
    ("Paris", "Europe/Paris"),
    ("Amsterdam", "Europe/Amsterdam"),
    ("Berlin", "Europe/Berlin"),
    ("Bern", "Europe/Berlin"),
    ("Rome", "Europe/Rome"),
    ("Stockholm", "Europe/Stockholm"),
    ("Vienna", "Europe/Vienna"),
    ("West Central Africa", "Africa/Algiers"),
    ("Bucharest", "Europe/Bucharest"),
    ("Cairo", "Africa/Cairo"),
    ("Helsinki", "Europe/Helsinki"),
    ("Kyev", "Europe/Kiev"),
    ("Riga", "Europe/Riga"),
    ("Sofia", "Europe/Sofia"),
    ("Tallinn", "Europe/Tallinn"),
    ("Vilnius", "Europe/Vilnius"),
    ("Athens", "Europe/Athens"),
    ("Istanbul", "Europe/Istanbul"),
    ("Minsk", "Europe/Minsk"),
    ("Jerusalem", "Asia/Jerusalem"),
    ("Harare", "Africa/Harare"),
    ("Pretoria", "Africa/Johannesburg"),
    ("Moscow", "Europe/Moscow"),
    ("St. Petersburg", "Europe/Moscow"),
    ("Volgograd", "Europe/Moscow"),
    ("Kuwait", "Asia/Kuwait"),
    ("Riyadh", "Asia/Riyadh"),
    ("Nairobi", "Africa/Nairobi"),
    ("Baghdad", "Asia/Baghdad"),
    ("Tehran", "Asia/Tehran"),
    ("Abu Dhabi", "Asia/Muscat"),
    ("Muscat", "Asia/Muscat"),
    ("Baku", "Asia/Baku"),
    ("Tbilisi", "Asia/Tbilisi"),
    ("Yerevan", "Asia/Yerevan"),
    ("Kabul", "Asia/Kabul"),
    ("Ekaterinburg", "Asia/Yekaterinburg"),
    ("Islamabad", "Asia/Karachi"),
    ("Karachi", "Asia/Karachi"),
    ("Tashkent", "Asia/Tashkent"),
    ("Chennai", "Asia/Kolkata"),
    ("Kolkata", "Asia/Kolkata"),
    ("Mumbai", "Asia/Kolkata"),
    ("New Delhi", "Asia/Kolkata"),
    ("Kathmandu", "Asia/Katmandu"),
    ("Astana", "Asia/Dhaka"),
    ("Dhaka", "Asia/Dhaka"),
    ("Sri Jayawardenepura", "Asia/Colombo"),
    ("Almaty", "Asia/Almaty"),
    ("Novosibirsk", "Asia/Novosibirsk"),
    ("Rangoon", "Asia/Rangoon"),
    ("Bangkok", "Asia/Bangkok"),
    ("Hanoi", "Asia/Bangkok"),
    ("Jakarta", "Asia/Jakarta"),
    ("Krasnoyarsk", "Asia/Krasnoyarsk"),
    ("Beijing", "Asia/Shanghai"),
    ("Chongqing", "Asia/Chongqing"),
    ("Hong Kong", "Asia/Hong_Kong"),
    ("Urumqi", "Asia/Urumqi"),
    ("Kuala Lumpur", "Asia/Kuala_Lumpur"),
    ("Singapore", "Asia/Singapore"),
    ("Taipei", "Asia/Taipei"),
    ("Perth", "Australia/Perth"),
    ("Irkutsk", "Asia/Irkutsk"),
    ("Ulaan Bataar", "Asia/Ulaanbaatar"),
    ("Seoul", "Asia/Seoul"),
    ("Osaka", "Asia/Tokyo"),
    ("Sapporo", "Asia/Tokyo"),
    ("Tokyo", "Asia/Tokyo"),
    ("Yakutsk", "Asia/Yakutsk"),
    ("Darwin", "Australia/Darwin"),
    ("Adelaide", "Australia/Adelaide"),
    ("Canberra", "Australia/Melbourne"),
    ("Melbourne", "Australia/Melbourne"),
    ("Sydney", "Australia/Sydney"),
    ("Brisbane", "Australia/Brisbane"),
    ("Hobart", "Australia/Hobart"),
    ("Vladivostok", "Asia/Vladivostok"),
    ("Guam", "Pacific/Guam"),
    ("Port Moresby", "Pacific/Port_Moresby"),
    ("Magadan", "Asia/Magadan"),
    ("Solomon Is.", "Asia/Magadan"),
    ("New Caledonia", "Pacific/Noumea"),
    ("Fiji", "Pacific/Fiji"),
    ("Kamchatka", "Asia/Kamchatka"),
    ("Marshall Is.", "Pacific/Majuro"),
    ("Auckland", "Pacific/Auckland"),
    ("Wellington", "Pacific/Auckland"),
    ("Nuku'alofa", "Pacific/Tongatapu"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_has_a_zone_and_is_found_by_its_text() {
        for name in ZoneName::all() {
            assert_eq!(name.zone().iana_name(), TABLE[usize::from(name.0)].1);
            assert_eq!(ZoneName::from_name(name.name()), Some(name));
        }
        let distinct: BTreeSet<_> = ZoneName::all().map(ZoneName::name).collect();
        assert_eq!(distinct.len(), ZoneName::all().len());
    }

    #[test]
    fn a_name_in_another_spelling_is_not_found() {
        for absent in ["", "paris", "Paris ", "europe/paris", "Europe/Lyon", "UTC+1"] {
            assert_eq!(ZoneName::from_name(absent), None);
        }
    }

    #[test]
    fn an_iana_name_gives_the_name_of_the_table_or_itself() {
        for (given, name) in [
            ("Europe/Paris", "Paris"),
            ("Europe/London", "London"),
            ("Asia/Kolkata", "Kolkata"),
            ("America/Mexico_City", "Mexico City"),
            ("America/New_York", "Eastern Time (US & Canada)"),
            ("Etc/UTC", "UTC"),
            ("Europe/Zurich", "Europe/Zurich"),
            ("America/Argentina/Ushuaia", "America/Argentina/Ushuaia"),
        ] {
            assert_eq!(ZoneName::from_name(given).map(ZoneName::name), Some(name));
        }
        for text in ZoneName::texts() {
            let found = ZoneName::from_name(text).expect(text);
            assert_eq!(ZoneName::from_name(found.name()), Some(found), "{text}");
        }
        let names: BTreeSet<_> = ZoneName::all().map(ZoneName::name).collect();
        for iana in Zone::iana_names().filter(|iana| !names.contains(iana)) {
            let found = ZoneName::from_name(iana).expect(iana);
            assert_eq!(found.zone().iana_name(), iana);
        }
    }

    #[test]
    fn edinburgh_has_the_zone_of_london_and_georgetown_that_of_guyana() {
        let zone = |name| ZoneName::from_name(name).expect("listed").zone().iana_name();
        assert_eq!(zone("Edinburgh"), "Europe/London");
        assert_eq!(zone("Georgetown"), "America/Guyana");
    }

    #[test]
    fn a_name_is_transferred_as_its_text() {
        let paris = ZoneName::from_name("Paris").expect("listed");
        assert_eq!(serde_json::to_string(&paris).expect("writes"), "\"Paris\"");
        assert_eq!(serde_json::from_str::<ZoneName>("\"Paris\"").expect("reads"), paris);
        assert!(serde_json::from_str::<ZoneName>("\"Atlantis\"").is_err());
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(paris, config).expect("writes");
        assert_eq!(
            bincode::serde::decode_from_slice(&bytes, config).expect("reads"),
            (paris, bytes.len())
        );
    }
}
