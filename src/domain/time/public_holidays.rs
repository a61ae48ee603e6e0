//! Public holidays of some countries, computed by their rules for any year.
//!
//! They are proposals: a practice chooses the days on which it is closed. Holidays that a law
//! declared for one year alone are left out.

use std::collections::BTreeSet;

use strum::{EnumIter, IntoEnumIterator as _};

use crate::domain::time::{CivilDay, Weekday};

/// A country whose public holidays are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter)]
#[expect(missing_docs, reason = "each variant is the country of its name")]
pub enum HolidayCountry {
    France,
    Belgium,
    Switzerland,
    Luxembourg,
    Germany,
    UnitedKingdom,
}

/// A public holiday, by its occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is the holiday of its name")]
pub enum Holiday {
    NewYear,
    SecondOfJanuary,
    Epiphany,
    RepublicOfNeuchatel,
    WomensDay,
    SaintPatrick,
    SaintJoseph,
    BattleOfNaefels,
    GoodFriday,
    EasterSunday,
    EasterMonday,
    AbolitionOfSlavery,
    LabourDay,
    EarlyMayBankHoliday,
    VictoryDay,
    EuropeDay,
    Ascension,
    Pentecost,
    PentecostMonday,
    SpringBankHoliday,
    CorpusChristi,
    NationalDay,
    IndependenceOfJura,
    PeterAndPaul,
    BattleOfTheBoyne,
    VictorSchoelcher,
    SummerBankHoliday,
    Assumption,
    GenevanFast,
    ChildrensDay,
    FederalFastMonday,
    SaintNicholasOfFlue,
    ReformationDay,
    AllSaints,
    Armistice,
    RepentanceDay,
    SaintAndrew,
    ImmaculateConception,
    Christmas,
    SecondDayOfChristmas,
    RestorationOfGeneva,
}

/// A public holiday of one year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicHoliday {
    /// The day.
    pub day: CivilDay,
    /// The occasion.
    pub holiday: Holiday,
    /// The regions that have it, as the second parts of their codes of ISO 3166-2; empty for the
    /// whole country.
    pub regions: &'static [&'static str],
    /// Whether it is a working day taken in place of a holiday at a weekend.
    pub is_substitute: bool,
}

/// The rule by which a holiday falls on a day of a year.
#[derive(Clone, Copy)]
enum Rule {
    /// Always on this month and day of the month.
    Date(u32, u32),
    /// On this month and day of the month, in years in which that is one of these weekdays.
    DateOn(u32, u32, &'static [Weekday]),
    /// This many days after Easter Sunday.
    Easter(i32),
    /// On the first such weekday on or after this month and day of the month, and then this many
    /// days later.
    FirstFrom(u32, u32, Weekday, i32),
    /// On the first Thursday of April, but a week later in Holy Week.
    BattleOfNaefels,
}

/// A row of a country: a holiday, its rule, and its regions (empty for the whole country).
type Row = (Holiday, Rule, &'static [&'static str]);

use Holiday as H;
use Rule::{Date, DateOn, Easter, FirstFrom};
use Weekday::{Friday, Monday, Sunday, Thursday, Wednesday};

const ALSACE_MOSELLE: &[&str] = &["57", "6AE"];

const FRANCE: &[Row] = &[
    (H::NewYear, Date(1, 1), &[]),
    (H::GoodFriday, Easter(-2), ALSACE_MOSELLE),
    (H::EasterMonday, Easter(1), &[]),
    (H::AbolitionOfSlavery, Date(4, 27), &["976"]),
    (H::LabourDay, Date(5, 1), &[]),
    (H::VictoryDay, Date(5, 8), &[]),
    (H::AbolitionOfSlavery, Date(5, 22), &["972"]),
    (H::AbolitionOfSlavery, Date(5, 27), &["971"]),
    (H::AbolitionOfSlavery, Date(6, 10), &["973"]),
    (H::Ascension, Easter(39), &[]),
    (H::PentecostMonday, Easter(50), &[]),
    (H::NationalDay, Date(7, 14), &[]),
    (H::VictorSchoelcher, Date(7, 21), &["971", "972"]),
    (H::Assumption, Date(8, 15), &[]),
    (H::AllSaints, Date(11, 1), &[]),
    (H::Armistice, Date(11, 11), &[]),
    (H::AbolitionOfSlavery, Date(12, 20), &["974"]),
    (H::Christmas, Date(12, 25), &[]),
    (H::SecondDayOfChristmas, Date(12, 26), ALSACE_MOSELLE),
];

const BELGIUM: &[Row] = &[
    (H::NewYear, Date(1, 1), &[]),
    (H::EasterSunday, Easter(0), &[]),
    (H::EasterMonday, Easter(1), &[]),
    (H::LabourDay, Date(5, 1), &[]),
    (H::Ascension, Easter(39), &[]),
    (H::Pentecost, Easter(49), &[]),
    (H::PentecostMonday, Easter(50), &[]),
    (H::NationalDay, Date(7, 21), &[]),
    (H::Assumption, Date(8, 15), &[]),
    (H::AllSaints, Date(11, 1), &[]),
    (H::Armistice, Date(11, 11), &[]),
    (H::Christmas, Date(12, 25), &[]),
];

const SWITZERLAND: &[Row] = &[
    (H::NewYear, Date(1, 1), &[]),
    (H::SecondOfJanuary, Date(1, 2), &["AG", "BE", "JU", "LU", "TG", "VD"]),
    (H::SecondOfJanuary, DateOn(1, 2, &[Monday]), &["NE"]),
    (H::Epiphany, Date(1, 6), &["SZ", "TI", "UR"]),
    (H::RepublicOfNeuchatel, Date(3, 1), &["NE"]),
    (H::SaintJoseph, Date(3, 19), &["NW", "SZ", "TI", "UR", "VS"]),
    (H::BattleOfNaefels, Rule::BattleOfNaefels, &["GL"]),
    (
        H::GoodFriday,
        Easter(-2),
        &[
            "AG", "AI", "AR", "BE", "BL", "BS", "FR", "GE", "GL", "JU", "LU", "NE", "NW", "OW",
            "SG", "SH", "SO", "SZ", "TG", "UR", "VD", "ZG", "ZH",
        ],
    ),
    (H::EasterMonday, Easter(1), SWISS_MONDAYS),
    (H::LabourDay, Date(5, 1), &["AG", "BL", "BS", "JU", "NE", "SH", "TG", "TI", "ZH"]),
    (H::Ascension, Easter(39), &[]),
    (H::PentecostMonday, Easter(50), SWISS_MONDAYS),
    (
        H::CorpusChristi,
        Easter(60),
        &["AG", "AI", "JU", "LU", "NE", "NW", "OW", "SZ", "TI", "UR", "VS", "ZG"],
    ),
    (H::IndependenceOfJura, Date(6, 23), &["JU"]),
    (H::PeterAndPaul, Date(6, 29), &["TI"]),
    (H::NationalDay, Date(8, 1), &[]),
    (
        H::Assumption,
        Date(8, 15),
        &["AG", "AI", "JU", "LU", "NW", "OW", "SZ", "TI", "UR", "VS", "ZG"],
    ),
    (H::GenevanFast, FirstFrom(9, 1, Sunday, 4), &["GE"]),
    (H::FederalFastMonday, FirstFrom(9, 15, Sunday, 1), &["VD"]),
    (H::SaintNicholasOfFlue, Date(9, 25), &["OW"]),
    (
        H::AllSaints,
        Date(11, 1),
        &["AG", "AI", "GL", "JU", "LU", "NW", "OW", "SG", "SZ", "TI", "UR", "VS", "ZG"],
    ),
    (
        H::ImmaculateConception,
        Date(12, 8),
        &["AG", "AI", "LU", "NW", "OW", "SZ", "TI", "UR", "VS", "ZG"],
    ),
    (H::Christmas, Date(12, 25), &[]),
    (
        H::SecondDayOfChristmas,
        Date(12, 26),
        &["AG", "BE", "BL", "BS", "GL", "GR", "LU", "SG", "SH", "SZ", "TG", "TI", "ZH"],
    ),
    // Not where it would join a weekend to a free Friday or Monday.
    (
        H::SecondDayOfChristmas,
        DateOn(12, 26, &[Monday, Wednesday, Thursday, Friday, Sunday]),
        &["AI", "AR"],
    ),
    (
        H::SecondDayOfChristmas,
        DateOn(12, 26, &[Monday, Wednesday, Thursday, Friday, Sunday]),
        &["UR"],
    ),
    (H::SecondDayOfChristmas, DateOn(12, 26, &[Monday]), &["NE"]),
    (H::RestorationOfGeneva, Date(12, 31), &["GE"]),
];

const SWISS_MONDAYS: &[&str] = &[
    "AG", "AI", "AR", "BE", "BL", "BS", "GE", "GL", "GR", "JU", "LU", "SG", "SH", "SZ", "TG", "TI",
    "UR", "VD", "ZH",
];

const LUXEMBOURG: &[Row] = &[
    (H::NewYear, Date(1, 1), &[]),
    (H::EasterMonday, Easter(1), &[]),
    (H::LabourDay, Date(5, 1), &[]),
    (H::EuropeDay, Date(5, 9), &[]),
    (H::Ascension, Easter(39), &[]),
    (H::PentecostMonday, Easter(50), &[]),
    (H::NationalDay, Date(6, 23), &[]),
    (H::Assumption, Date(8, 15), &[]),
    (H::AllSaints, Date(11, 1), &[]),
    (H::Christmas, Date(12, 25), &[]),
    (H::SecondDayOfChristmas, Date(12, 26), &[]),
];

const GERMANY: &[Row] = &[
    (H::NewYear, Date(1, 1), &[]),
    (H::Epiphany, Date(1, 6), &["BW", "BY", "ST"]),
    (H::WomensDay, Date(3, 8), &["BE", "MV"]),
    (H::GoodFriday, Easter(-2), &[]),
    (H::EasterSunday, Easter(0), &["BB"]),
    (H::EasterMonday, Easter(1), &[]),
    (H::LabourDay, Date(5, 1), &[]),
    (H::Ascension, Easter(39), &[]),
    (H::Pentecost, Easter(49), &["BB"]),
    (H::PentecostMonday, Easter(50), &[]),
    (H::CorpusChristi, Easter(60), &["BW", "BY", "HE", "NW", "RP", "SL"]),
    // In Bavaria in parishes with mostly Catholics, which are most of them.
    (H::Assumption, Date(8, 15), &["BY", "SL"]),
    (H::ChildrensDay, Date(9, 20), &["TH"]),
    (H::NationalDay, Date(10, 3), &[]),
    (H::ReformationDay, Date(10, 31), &["BB", "HB", "HH", "MV", "NI", "SH", "SN", "ST", "TH"]),
    (H::AllSaints, Date(11, 1), &["BW", "BY", "NW", "RP", "SL"]),
    (H::RepentanceDay, FirstFrom(11, 16, Wednesday, 0), &["SN"]),
    (H::Christmas, Date(12, 25), &[]),
    (H::SecondDayOfChristmas, Date(12, 26), &[]),
];

const NOT_SCOTLAND: &[&str] = &["ENG", "NIR", "WLS"];

const UNITED_KINGDOM: &[Row] = &[
    (H::NewYear, Date(1, 1), &[]),
    (H::SecondOfJanuary, Date(1, 2), &["SCT"]),
    (H::SaintPatrick, Date(3, 17), &["NIR"]),
    (H::GoodFriday, Easter(-2), &[]),
    (H::EasterMonday, Easter(1), NOT_SCOTLAND),
    (H::EarlyMayBankHoliday, FirstFrom(5, 1, Monday, 0), &[]),
    (H::SpringBankHoliday, FirstFrom(5, 25, Monday, 0), &[]),
    (H::BattleOfTheBoyne, Date(7, 12), &["NIR"]),
    (H::SummerBankHoliday, FirstFrom(8, 1, Monday, 0), &["SCT"]),
    (H::SummerBankHoliday, FirstFrom(8, 25, Monday, 0), NOT_SCOTLAND),
    (H::SaintAndrew, Date(11, 30), &["SCT"]),
    (H::Christmas, Date(12, 25), &[]),
    (H::SecondDayOfChristmas, Date(12, 26), &[]),
];

impl HolidayCountry {
    /// Returns the country of a code of ISO 3166-1, in any letter case.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::iter().find(|country| country.code().eq_ignore_ascii_case(code))
    }

    /// Its code of ISO 3166-1.
    pub const fn code(self) -> &'static str {
        match self {
            Self::France => "FR",
            Self::Belgium => "BE",
            Self::Switzerland => "CH",
            Self::Luxembourg => "LU",
            Self::Germany => "DE",
            Self::UnitedKingdom => "GB",
        }
    }

    const fn rows(self) -> &'static [Row] {
        match self {
            Self::France => FRANCE,
            Self::Belgium => BELGIUM,
            Self::Switzerland => SWITZERLAND,
            Self::Luxembourg => LUXEMBOURG,
            Self::Germany => GERMANY,
            Self::UnitedKingdom => UNITED_KINGDOM,
        }
    }

    /// Returns the holidays of a year from 1583 to 9998, by day. Those of regions stand beside
    /// those of the whole country.
    ///
    /// In the United Kingdom a holiday at a weekend is followed by a substitute: the next working
    /// day that is no holiday.
    ///
    /// ```
    /// use slotbook::domain::time::CivilDay;
    /// use slotbook::domain::time::public_holidays::HolidayCountry;
    /// let france = HolidayCountry::from_code("FR").unwrap().holidays(2027);
    /// assert_eq!(france[0].day, CivilDay::from_ymd(2027, 1, 1).unwrap());
    /// ```
    pub fn holidays(self, year: i32) -> Vec<PublicHoliday> {
        let mut holidays = Vec::new();
        for (holiday, rule, regions) in self.rows() {
            if let Some(day) = rule.day(year) {
                let holiday = *holiday;
                holidays.push(PublicHoliday { day, holiday, regions, is_substitute: false });
            }
        }
        holidays.sort();
        if self == Self::UnitedKingdom {
            add_substitutes(&mut holidays);
        }
        holidays
    }
}

impl Rule {
    /// Returns the day of a year; `None` in years without it.
    fn day(self, year: i32) -> Option<CivilDay> {
        match self {
            Self::Date(month, day) => CivilDay::from_ymd(year, month, day),
            Self::DateOn(month, day, weekdays) => {
                let day = CivilDay::from_ymd(year, month, day)?;
                if weekdays.contains(&day.weekday()) { Some(day) } else { None }
            }
            Self::Easter(days) => Some(easter_sunday(year)?.plus_days(days)),
            Self::FirstFrom(month, day, weekday, days) => {
                let from = CivilDay::from_ymd(year, month, day)?;
                Some(first_weekday_from(from, weekday).plus_days(days))
            }
            Self::BattleOfNaefels => {
                let thursday = first_weekday_from(CivilDay::from_ymd(year, 4, 1)?, Thursday);
                let is_in_holy_week = thursday == easter_sunday(year)?.plus_days(-3);
                Some(if is_in_holy_week { thursday.plus_days(7) } else { thursday })
            }
        }
    }
}

/// Adds a substitute for each holiday with a fixed date that falls on a weekend, or on the
/// substitute of an earlier one.
fn add_substitutes(holidays: &mut Vec<PublicHoliday>) {
    let is_nationwide = |holiday: &&PublicHoliday| holiday.regions.is_empty();
    let nationwide: BTreeSet<CivilDay> =
        holidays.iter().filter(is_nationwide).map(|holiday| holiday.day).collect();
    let mut substitutes: BTreeSet<CivilDay> = BTreeSet::new();
    for index in 0..holidays.len() {
        let holiday = holidays[index];
        let is_weekend = |day: CivilDay| day.weekday() >= Weekday::Saturday;
        if !is_weekend(holiday.day) && !substitutes.contains(&holiday.day) {
            continue;
        }
        let mut day = holiday.day.plus_days(1);
        while is_weekend(day) || nationwide.contains(&day) || substitutes.contains(&day) {
            day = day.plus_days(1);
        }
        substitutes.insert(day);
        holidays.push(PublicHoliday { day, is_substitute: true, ..holiday });
    }
    holidays.sort();
}

/// Returns the first such weekday on or after a day.
fn first_weekday_from(day: CivilDay, weekday: Weekday) -> CivilDay {
    let ahead =
        i32::from(weekday.days_since_monday()) - i32::from(day.weekday().days_since_monday());
    day.plus_days(ahead.rem_euclid(7))
}

/// Returns Easter Sunday of a year from 1583 on: the Sunday after the first full moon of the
/// church's calendar on or after 21 March.
fn easter_sunday(year: i32) -> Option<CivilDay> {
    let place_in_moon_cycle = year.rem_euclid(19);
    let century = year.div_euclid(100);
    // The epact of the Gregorian calendar, with its corrections for leap years and for the moon.
    let solar_correction = century - century.div_euclid(4);
    let lunar_correction = (8 * century + 13).div_euclid(25);
    let epact_shift =
        (solar_correction - lunar_correction + 19 * place_in_moon_cycle + 15).rem_euclid(30);
    // The last two of thirty places of the moon fall on the day before.
    let is_late = epact_shift == 29 || (epact_shift == 28 && place_in_moon_cycle > 10);
    let full_moon_days = epact_shift - i32::from(is_late);
    let full_moon = CivilDay::from_ymd(year, 3, 21)?.plus_days(full_moon_days);
    Some(first_weekday_from(full_moon.plus_days(1), Sunday))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The facts of `data/vectors/public_holidays.json`: by country and date, the regions; `*` for
    /// the whole country.
    type Facts = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

    #[test]
    fn holidays_of_eleven_years_are_those_of_the_vectors() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/vectors/public_holidays.json");
        let facts = std::fs::read(path).expect("the vectors exist");
        let facts: Facts = serde_json::from_slice(&facts).expect("the vectors are JSON");
        assert_eq!(facts.len(), HolidayCountry::iter().count());
        for (code, expected) in facts {
            let country = HolidayCountry::from_code(&code).expect("a known country");
            let mut computed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for holiday in (2025..=2035).flat_map(|year| country.holidays(year)) {
                let (year, month, day) = holiday.day.ymd();
                let regions = computed.entry(format!("{year}-{month:02}-{day:02}")).or_default();
                if holiday.regions.is_empty() {
                    regions.insert("*".to_owned());
                }
                regions.extend(holiday.regions.iter().map(|region| (*region).to_owned()));
            }
            for (date, regions) in &expected {
                assert_eq!(computed.get(date), Some(regions), "{code} {date}");
            }
            assert_eq!(computed.len(), expected.len(), "{code}");
        }
    }

    #[test]
    fn easter_is_between_22_march_and_25_april() {
        for (year, month, day) in [
            (1818, 3, 22),
            (1943, 4, 25),
            (1954, 4, 18),
            (1981, 4, 19),
            (2038, 4, 25),
            (2049, 4, 18),
            (7515, 4, 25),
        ] {
            assert_eq!(easter_sunday(year), CivilDay::from_ymd(year, month, day), "{year}");
        }
        for year in 1583..=9_998 {
            let easter = easter_sunday(year).expect("a year of four digits");
            assert_eq!(easter.weekday(), Sunday);
            let first = CivilDay::from_ymd(year, 3, 22).expect("a date");
            assert!((first..=first.plus_days(34)).contains(&easter), "{year}");
        }
    }

    #[test]
    fn a_holiday_on_a_weekend_stays_and_has_a_substitute_where_the_country_gives_one() {
        // Christmas 2027 is a Saturday, and Boxing Day the Sunday after it.
        let days = |code: &str| -> Vec<(u32, bool)> {
            let country = HolidayCountry::from_code(code).expect("a known country");
            let holidays = country.holidays(2027).into_iter();
            let nationwide = holidays.filter(|holiday| holiday.regions.is_empty());
            let dated = nationwide.map(|holiday| (holiday.day.ymd(), holiday.is_substitute));
            let late = dated.filter(|((_, month, day), _)| *month == 12 && *day >= 25);
            late.map(|((_, _, day), is_substitute)| (day, is_substitute)).collect()
        };
        assert_eq!(days("GB"), [(25, false), (26, false), (27, true), (28, true)]);
        assert_eq!(days("FR"), [(25, false)]);
    }
}
