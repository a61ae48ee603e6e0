//! The names of public holidays and of their countries.

use crate::web::text_table::text_table;

text_table! {
    /// The names of public holidays in one language.
    HolidayTexts;

    france: "France", "France";
    belgium: "Belgique", "Belgium";
    switzerland: "Suisse", "Switzerland";
    luxembourg: "Luxembourg", "Luxembourg";
    germany: "Allemagne", "Germany";
    united_kingdom: "Royaume-Uni", "United Kingdom";
    substitute: "{name} (jour de remplacement)", "{name} (substitute day)";
    new_year: "Jour de l’an", "New Year’s Day";
    second_of_january: "2 janvier", "2 January";
    epiphany: "Épiphanie", "Epiphany";
    republic_of_neuchatel: "Instauration de la République", "Republic Day";
    womens_day: "Journée des droits des femmes", "Women’s Day";
    saint_patrick: "Saint-Patrick", "St Patrick’s Day";
    saint_joseph: "Saint-Joseph", "St Joseph’s Day";
    battle_of_naefels: "Bataille de Näfels", "Battle of Näfels";
    good_friday: "Vendredi saint", "Good Friday";
    easter_sunday: "Pâques", "Easter Sunday";
    easter_monday: "Lundi de Pâques", "Easter Monday";
    abolition_of_slavery: "Abolition de l’esclavage", "Abolition of Slavery";
    labour_day: "Fête du Travail", "Labour Day";
    early_may: "Premier lundi de mai", "Early May bank holiday";
    victory_day: "Victoire de 1945", "Victory Day";
    europe_day: "Journée de l’Europe", "Europe Day";
    ascension: "Ascension", "Ascension Day";
    pentecost: "Pentecôte", "Whit Sunday";
    pentecost_monday: "Lundi de Pentecôte", "Whit Monday";
    spring: "Dernier lundi de mai", "Spring bank holiday";
    corpus_christi: "Fête-Dieu", "Corpus Christi";
    national_day: "Fête nationale", "National Day";
    independence_of_jura: "Indépendance jurassienne", "Independence of Jura";
    peter_and_paul: "Saints Pierre et Paul", "Saints Peter and Paul";
    battle_of_the_boyne: "Bataille de la Boyne", "Battle of the Boyne";
    victor_schoelcher: "Fête Victor Schœlcher", "Victor Schœlcher Day";
    summer: "Congé d’été", "Summer bank holiday";
    assumption: "Assomption", "Assumption Day";
    genevan_fast: "Jeûne genevois", "Genevan Fast";
    childrens_day: "Journée des enfants", "Children’s Day";
    federal_fast_monday: "Lundi du Jeûne fédéral", "Federal Fast Monday";
    saint_nicholas_of_flue: "Saint-Nicolas de Flue", "St Nicholas of Flüe";
    reformation_day: "Fête de la Réformation", "Reformation Day";
    all_saints: "Toussaint", "All Saints’ Day";
    armistice: "Armistice de 1918", "Armistice Day";
    repentance_day: "Jour de pénitence", "Day of Repentance";
    saint_andrew: "Saint-André", "St Andrew’s Day";
    immaculate_conception: "Immaculée Conception", "Immaculate Conception";
    christmas: "Noël", "Christmas Day";
    second_day_of_christmas: "Lendemain de Noël", "St Stephen’s Day";
    boxing_day: "Lendemain de Noël", "Boxing Day";
    restoration_of_geneva: "Restauration de la République", "Restoration of the Republic";
}
