//! The texts about rules of series.

use crate::web::text_table::text_table;

text_table! {
    /// The texts about rules of series in one language.
    RuleTexts;

    daily: "chaque jour", "every day";
    days: "tous les {number} jours", "every {number} days";
    weekly: "chaque semaine", "every week";
    weeks: "toutes les {number} semaines", "every {number} weeks";
    monthly: "chaque mois", "every month";
    months: "tous les {number} mois", "every {number} months";
    yearly: "chaque année", "every year";
    years: "tous les {number} ans", "every {number} years";
    on_days: ", le {days}", ", on {days}";
    nth: ", le {day} nº {number} du mois", ", on {day} no. {number} of the month";
    nth_from_end: ", le {day} nº {number} en partant de la fin du mois",
        ", on {day} no. {number} from the end of the month";
    count: ", {number} fois", ", {number} times";
    until: ", jusqu’au {day}", ", until {day}";
}
