//! The texts of the opening hours.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the opening hours in one language.
    HoursTexts;

    title: "Heures d’ouverture", "Opening hours";
    calendar_title: "Heures d’ouverture : {name}", "Opening hours: {name}";
    back: "Toutes les heures d’ouverture", "All opening hours";
    closed: "fermé", "closed";
    days_from_to: "{first} à {last}", "{first} to {last}";
    plain: "Toutes les prestations, chaque semaine", "All services, every week";
    only_for: "seulement {services}", "only {services}";
    unnamed: "sans nom", "without a name";
    every_week: "Chaque semaine", "Every week";
    every_other_week: "Une semaine sur deux, à partir du lundi {day}",
        "Every other week, next from Monday {day}";
    from_day: "Dès le {day}", "From {day}";
    planned_from: "Changement prévu dès le {day}.", "A change is planned from {day}.";
    repeats: "se répète : {rule}", "repeats: {rule}";
    but_not: "sauf {days}", "except {days}";

    about_times: "Heures comme 9:00, 9h30 ou 930 ; la journée finit à 24:00.",
        "Times such as 9:00, 9h30 or 930; the day ends at 24:00.";
    about_days: "Un jour sans heures est fermé.", "A day without times is closed.";
    start_of: "{day}, début de la plage {number}", "{day}, start of range {number}";
    end_of: "{day}, fin de la plage {number}", "{day}, end of range {number}";
    one_more: "Ajouter une plage", "Add a range";
    weeks: "Semaines", "Weeks";
    services: "Prestations", "Services";
    services_about: "Sans choix, les heures valent pour toutes les prestations.",
        "Without a choice, the hours are for all services.";
    valid_from: "Valable dès le", "Valid from";
    valid_from_about: "Les heures d’avant ce jour restent. Un changement déjà prévu pour plus tard reste aussi.",
        "Hours before that day stay. So does a change that is already planned for later.";
    save: "Enregistrer", "Save";
    timetables: "Horaires de cet agenda", "Timetables of this calendar";
    new_timetable: "Autres heures pour certaines prestations ou semaines",
        "Other hours for some services or weeks";
    new_timetable_title: "Nouvel horaire", "New timetable";
    planned: "Changements prévus", "Planned changes";
    others: "Autres ouvertures", "Other openings";
    others_about: "Ces ouvertures ne tiennent pas dans les lignes ci-dessus. Elles restent comme elles sont.",
        "The rows above cannot express these openings. They stay as they are.";
    saved: "Enregistré.", "Saved.";

    refused: "Rien n’a été enregistré. À corriger :", "Nothing was saved. To correct:";
    no_time: "indiquez des heures comme 9:00 ou 14h30.", "enter times such as 9:00 or 14:30.";
    half_range: "indiquez le début et la fin.", "enter both the start and the end.";
    ends_too_early: "la fin doit être après le début.", "the end must be after the start.";
    overlaps: "chevauche {times}.", "overlaps {times}.";
    time_left_out: "ces heures n’ont pas lieu ce jour-là : les horloges avancent.",
        "these times do not take place on that day: the clocks go forward.";
    conflict: "{times} : chevauche d’autres heures des mêmes prestations, {others}.",
        "{times}: overlaps other hours of the same services, {others}.";
    bad_day: "Indiquez une date qui existe, de 1971 à 9998.",
        "Enter a date that exists, from 1971 to 9998.";
    bad_choice: "Choisissez parmi les prestations et les semaines de la liste.",
        "Choose among the services and weeks of the list.";
    timetable_exists: "Ces prestations ont déjà des heures dans ces semaines. Modifiez celles-là.",
        "These services have hours in these weeks already. Change those.";
    too_many: "Un agenda a au plus {max} plages, changements passés et prévus compris.",
        "A calendar has at most {max} ranges, with past and planned changes.";
    same_days: "La même semaine ; un autre horaire a changé.",
        "The same week; another timetable has changed.";

    outside_none: "Aucun rendez-vous ne tombe plus en dehors.", "No appointment falls outside any more.";
    outside_one: "1 rendez-vous tombe en dehors :", "1 appointment falls outside:";
    outside_many: "{count} rendez-vous tombent en dehors :", "{count} appointments fall outside:";
    outside_stays: "Ils restent dans l’agenda, sans message aux clients.",
        "They stay in the agenda, and clients get no message.";
    outside_changed: "Entre-temps, cette liste a changé. Rien n’a été enregistré.",
        "This list has changed meanwhile. Nothing was saved.";
    more: "… et {count} autres.", "… and {count} more.";
    save_anyway: "Enregistrer quand même", "Save anyway";

    week: "Heures de la semaine", "Weekly hours";
    no_calendar: "Aucun agenda pour l’instant.", "No calendar yet.";
    other_openings: "autres ouvertures : {count}", "other openings: {count}";
    exceptions: "Exceptions à venir", "Coming exceptions";
    no_exceptions: "Aucune fermeture ni ouverture exceptionnelle à venir.",
        "No closure or exceptional opening to come.";
    add_closure: "Fermeture", "Closure";
    add_opening: "Ouverture exceptionnelle", "Exceptional opening";
    add_holidays: "Jours fériés", "Public holidays";
    closure: "Fermeture", "Closure";
    opening: "Ouverture exceptionnelle", "Exceptional opening";
    all_calendars: "tous les agendas", "all calendars";
    delete: "Supprimer", "Delete";
    delete_of: "Supprimer : {what}", "Delete: {what}";
    delete_title: "Supprimer ?", "Delete?";
    delete_gone: "Ces événements ont été modifiés entre-temps. Rien n’a été supprimé.",
        "These events were changed meanwhile. Nothing was deleted.";
    keep: "Ne pas supprimer", "Do not delete";

    calendars: "Agendas", "Calendars";
    all_of_them: "Tous les agendas", "All calendars";
    choose_calendar: "Choisissez au moins un agenda.", "Choose one calendar at least.";
    day: "Jour", "Day";
    times: "Heures", "Times";
    no_times: "Indiquez au moins une plage.", "Enter one range at least.";
    first_day: "Premier jour", "First day";
    last_day: "Dernier jour", "Last day";
    last_before_first: "Le dernier jour est avant le premier.",
        "The last day is before the first.";
    reason: "Texte", "Text";
    reason_about: "Il s’affiche dans l’agenda, par exemple « Congés ».",
        "It stands in the agenda, such as “Holidays”.";
    bad_text: "Ce texte est trop long, ou a un caractère interdit.",
        "This text is too long, or has a character that is not allowed.";

    holidays_about: "Choisissez les jours où vous fermez. Rien n’est fermé sans votre choix.",
        "Choose the days on which you close. Nothing is closed without your choice.";
    country: "Pays", "Country";
    region: "Région", "Region";
    no_region: "Jours de tout le pays seulement", "Days of the whole country only";
    year: "Année", "Year";
    show: "Afficher", "Show";
    no_holidays: "Aucun jour férié ne reste dans cette année.",
        "No public holiday is left in this year.";
    days_to_close: "Fermer ces jours", "Close on these days";
    closed_already: "déjà fermé", "closed already";
    choose_day: "Choisissez au moins un jour.", "Choose one day at least.";
    too_many_closures: "Au plus {max} fermetures à la fois : choisissez moins de jours ou d’agendas.",
        "At most {max} closures at once: choose fewer days or calendars.";
    bad_holiday: "Ce jour n’est pas de la liste.", "This day is not of the list.";
    close: "Fermer", "Close";
}
