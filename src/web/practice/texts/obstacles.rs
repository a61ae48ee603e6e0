//! The texts about obstacles to a time.

use crate::web::text_table::text_table;

text_table! {
    /// The texts about obstacles to a time in one language.
    ObstacleTexts;

    module_inactive: "La réservation en ligne est désactivée.", "Online booking is switched off.";
    calendar_deleted: "Cet agenda est supprimé.", "This calendar is deleted.";
    calendar_hidden: "Cet agenda n’est pas proposé en ligne.", "This calendar is not offered online.";
    service_deleted: "Cette prestation est supprimée.", "This service is deleted.";
    service_hidden: "Cette prestation n’est pas proposée en ligne.",
        "This service is not offered online.";
    too_soon: "En ligne, le premier horaire permis est {when}.",
        "Online, the first time that is allowed is {when}.";
    too_far: "En ligne, le dernier horaire permis est {when}.",
        "Online, the last time that is allowed is {when}.";
    off_grid: "En ligne, les horaires se suivent toutes les {length}.",
        "Online, times follow each other every {length}.";
    closed: "En dehors des heures d’ouverture : {interval}.", "Outside opening hours: {interval}.";
    absence: "Absence : {interval}.", "Absence: {interval}.";
    absence_named: "Absence « {name} » : {interval}.", "Absence “{name}”: {interval}.";
    held: "Un client réserve cet horaire en ligne, jusqu’à {when}.",
        "A client is booking this time online, until {when}.";
    repeated_hour: "Cette heure a lieu deux fois ce jour-là.", "This hour takes place twice on that day.";
    share: "Les réservations en ligne non vérifiées prennent déjà {percent} % du jour.",
        "Unverified online bookings already take {percent} % of the day.";
    appointment: "{name} a rendez-vous {interval}, agenda {calendar}.",
        "{name} has an appointment {interval}, calendar {calendar}.";
    interval: "le {day} de {start} à {end}", "on {day} from {start} to {end}";
    interval_of_days: "du {start} au {end}", "from {start} to {end}";
}
