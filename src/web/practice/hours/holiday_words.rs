//! Public holidays, their countries and regions in words.

use crate::domain::time::public_holidays::{Holiday, HolidayCountry, PublicHoliday};
use crate::notify::language::Language;
use crate::web::practice::texts::holidays::HolidayTexts;
use crate::web::text::fill;

/// The regions of the table of holidays, by country and code of ISO 3166-2, with their names there.
const REGIONS: &[(HolidayCountry, &str, &str)] = &[
    (HolidayCountry::France, "57", "Moselle"),
    (HolidayCountry::France, "6AE", "Alsace"),
    (HolidayCountry::France, "971", "Guadeloupe"),
    (HolidayCountry::France, "972", "Martinique"),
    (HolidayCountry::France, "973", "Guyane"),
    (HolidayCountry::France, "974", "La Réunion"),
    (HolidayCountry::France, "976", "Mayotte"),
    (HolidayCountry::Switzerland, "AG", "Aargau"),
    (HolidayCountry::Switzerland, "AI", "Appenzell Innerrhoden"),
    (HolidayCountry::Switzerland, "AR", "Appenzell Ausserrhoden"),
    (HolidayCountry::Switzerland, "BE", "Bern"),
    (HolidayCountry::Switzerland, "BL", "Basel-Landschaft"),
    (HolidayCountry::Switzerland, "BS", "Basel-Stadt"),
    (HolidayCountry::Switzerland, "FR", "Fribourg"),
    (HolidayCountry::Switzerland, "GE", "Genève"),
    (HolidayCountry::Switzerland, "GL", "Glarus"),
    (HolidayCountry::Switzerland, "GR", "Graubünden"),
    (HolidayCountry::Switzerland, "JU", "Jura"),
    (HolidayCountry::Switzerland, "LU", "Luzern"),
    (HolidayCountry::Switzerland, "NE", "Neuchâtel"),
    (HolidayCountry::Switzerland, "NW", "Nidwalden"),
    (HolidayCountry::Switzerland, "OW", "Obwalden"),
    (HolidayCountry::Switzerland, "SG", "St. Gallen"),
    (HolidayCountry::Switzerland, "SH", "Schaffhausen"),
    (HolidayCountry::Switzerland, "SO", "Solothurn"),
    (HolidayCountry::Switzerland, "SZ", "Schwyz"),
    (HolidayCountry::Switzerland, "TG", "Thurgau"),
    (HolidayCountry::Switzerland, "TI", "Ticino"),
    (HolidayCountry::Switzerland, "UR", "Uri"),
    (HolidayCountry::Switzerland, "VD", "Vaud"),
    (HolidayCountry::Switzerland, "VS", "Valais"),
    (HolidayCountry::Switzerland, "ZG", "Zug"),
    (HolidayCountry::Switzerland, "ZH", "Zürich"),
    (HolidayCountry::Germany, "BW", "Baden-Württemberg"),
    (HolidayCountry::Germany, "BY", "Bayern"),
    (HolidayCountry::Germany, "BE", "Berlin"),
    (HolidayCountry::Germany, "BB", "Brandenburg"),
    (HolidayCountry::Germany, "HB", "Bremen"),
    (HolidayCountry::Germany, "HH", "Hamburg"),
    (HolidayCountry::Germany, "HE", "Hessen"),
    (HolidayCountry::Germany, "MV", "Mecklenburg-Vorpommern"),
    (HolidayCountry::Germany, "NI", "Niedersachsen"),
    (HolidayCountry::Germany, "NW", "Nordrhein-Westfalen"),
    (HolidayCountry::Germany, "RP", "Rheinland-Pfalz"),
    (HolidayCountry::Germany, "SL", "Saarland"),
    (HolidayCountry::Germany, "SN", "Sachsen"),
    (HolidayCountry::Germany, "ST", "Sachsen-Anhalt"),
    (HolidayCountry::Germany, "SH", "Schleswig-Holstein"),
    (HolidayCountry::Germany, "TH", "Thüringen"),
    (HolidayCountry::UnitedKingdom, "ENG", "England"),
    (HolidayCountry::UnitedKingdom, "NIR", "Northern Ireland"),
    (HolidayCountry::UnitedKingdom, "SCT", "Scotland"),
    (HolidayCountry::UnitedKingdom, "WLS", "Wales"),
];

/// A region of a country.
pub(crate) struct HolidayRegion {
    pub(crate) code: &'static str,
    pub(crate) name: &'static str,
}

/// Returns the regions of a country that have holidays of their own.
pub(crate) fn regions(country: HolidayCountry) -> Vec<HolidayRegion> {
    let rows = REGIONS.iter().filter(|(of, _, _)| *of == country);
    rows.map(|(_, code, name)| HolidayRegion { code, name }).collect()
}

/// Returns the country of a group's address, by its code or one of its names; `None` if it has no
/// table of holidays.
pub(crate) fn country_of_address(code: &str, name: &str) -> Option<HolidayCountry> {
    if let Some(country) = HolidayCountry::from_code(code.trim()) {
        return Some(country);
    }
    match name.trim().to_lowercase().as_str() {
        "france" | "fr" => Some(HolidayCountry::France),
        "belgique" | "belgium" | "belgië" | "belgien" => Some(HolidayCountry::Belgium),
        "suisse" | "switzerland" | "schweiz" | "svizzera" => Some(HolidayCountry::Switzerland),
        "luxembourg" | "luxemburg" | "lëtzebuerg" => Some(HolidayCountry::Luxembourg),
        "allemagne" | "germany" | "deutschland" => Some(HolidayCountry::Germany),
        "royaume-uni" | "united kingdom" | "uk" | "england" | "scotland" | "wales" => {
            Some(HolidayCountry::UnitedKingdom)
        }
        _ => None,
    }
}

/// Returns the name of a country.
pub(crate) const fn country_name(language: Language, country: HolidayCountry) -> &'static str {
    let text = HolidayTexts::in_language(language);
    match country {
        HolidayCountry::France => text.france,
        HolidayCountry::Belgium => text.belgium,
        HolidayCountry::Switzerland => text.switzerland,
        HolidayCountry::Luxembourg => text.luxembourg,
        HolidayCountry::Germany => text.germany,
        HolidayCountry::UnitedKingdom => text.united_kingdom,
    }
}

/// Returns the name of a holiday of a country.
pub(crate) fn holiday_name(
    language: Language,
    country: HolidayCountry,
    holiday: &PublicHoliday,
) -> String {
    let text = HolidayTexts::in_language(language);
    let is_british = country == HolidayCountry::UnitedKingdom;
    let name = match holiday.holiday {
        Holiday::SecondDayOfChristmas if is_british => text.boxing_day,
        other => name_of(other, text),
    };
    if holiday.is_substitute { fill(text.substitute, "name", name) } else { name.to_owned() }
}

const fn name_of(holiday: Holiday, text: &HolidayTexts) -> &'static str {
    match holiday {
        Holiday::NewYear => text.new_year,
        Holiday::SecondOfJanuary => text.second_of_january,
        Holiday::Epiphany => text.epiphany,
        Holiday::RepublicOfNeuchatel => text.republic_of_neuchatel,
        Holiday::WomensDay => text.womens_day,
        Holiday::SaintPatrick => text.saint_patrick,
        Holiday::SaintJoseph => text.saint_joseph,
        Holiday::BattleOfNaefels => text.battle_of_naefels,
        Holiday::GoodFriday => text.good_friday,
        Holiday::EasterSunday => text.easter_sunday,
        Holiday::EasterMonday => text.easter_monday,
        Holiday::AbolitionOfSlavery => text.abolition_of_slavery,
        Holiday::LabourDay => text.labour_day,
        Holiday::EarlyMayBankHoliday => text.early_may,
        Holiday::VictoryDay => text.victory_day,
        Holiday::EuropeDay => text.europe_day,
        Holiday::Ascension => text.ascension,
        Holiday::Pentecost => text.pentecost,
        Holiday::PentecostMonday => text.pentecost_monday,
        Holiday::SpringBankHoliday => text.spring,
        Holiday::CorpusChristi => text.corpus_christi,
        Holiday::NationalDay => text.national_day,
        Holiday::IndependenceOfJura => text.independence_of_jura,
        Holiday::PeterAndPaul => text.peter_and_paul,
        Holiday::BattleOfTheBoyne => text.battle_of_the_boyne,
        Holiday::VictorSchoelcher => text.victor_schoelcher,
        Holiday::SummerBankHoliday => text.summer,
        Holiday::Assumption => text.assumption,
        Holiday::GenevanFast => text.genevan_fast,
        Holiday::ChildrensDay => text.childrens_day,
        Holiday::FederalFastMonday => text.federal_fast_monday,
        Holiday::SaintNicholasOfFlue => text.saint_nicholas_of_flue,
        Holiday::ReformationDay => text.reformation_day,
        Holiday::AllSaints => text.all_saints,
        Holiday::Armistice => text.armistice,
        Holiday::RepentanceDay => text.repentance_day,
        Holiday::SaintAndrew => text.saint_andrew,
        Holiday::ImmaculateConception => text.immaculate_conception,
        Holiday::Christmas => text.christmas,
        Holiday::SecondDayOfChristmas => text.second_day_of_christmas,
        Holiday::RestorationOfGeneva => text.restoration_of_geneva,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn each_region_of_the_table_of_holidays_has_a_name() {
        for country in HolidayCountry::iter() {
            let named: BTreeSet<&str> = regions(country).iter().map(|region| region.code).collect();
            let mut used = BTreeSet::new();
            for year in 2025..=2035 {
                for holiday in country.holidays(year) {
                    used.extend(holiday.regions.iter().copied());
                }
            }
            assert_eq!(named, used, "{country:?}");
        }
    }
}
