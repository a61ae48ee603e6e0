//! The texts of the agenda.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the agenda in one language.
    AgendaTexts;

    // The controls.
    views: "Vues", "Views";
    view_day: "Jour", "Day";
    view_week: "Semaine", "Week";
    view_month: "Mois", "Month";
    view_list: "Liste", "List";
    period: "Période", "Period";
    previous: "Précédent", "Previous";
    next: "Suivant", "Next";
    today: "Aujourd’hui", "Today";
    day: "Jour", "Day";
    calendar: "Agenda", "Calendar";
    all_calendars: "Tous", "All";
    show: "Afficher", "Show";
    add: "Nouveau rendez-vous", "New appointment";
    bad_day: "Indiquez un jour qui existe, comme 2026-03-31.",
        "Enter a day that exists, such as 2026-03-31.";
    unknown_view: "Cette vue n’existe pas.", "There is no such view.";
    unknown_calendar: "Cet agenda n’existe pas.", "There is no such calendar.";
    too_much_title: "Trop d’événements", "Too many events";
    too_much: "Cette vue contient plus d’événements qu’un écran ne peut montrer. Choisissez un seul agenda ou moins de jours.",
        "This view holds more events than a screen can show. Choose one calendar or fewer days.";

    // The views.
    week_of: "Semaine du {day}", "Week of {day}";
    list_from: "À partir du {day}", "From {day}";
    grid: "Agenda", "Agenda";
    other_columns: "Colonnes", "Columns";
    is_today: "aujourd’hui", "today";
    no_calendar: "Cet établissement n’a pas d’agenda.", "This practice has no calendar.";
    nothing: "Rien de prévu.", "Nothing planned.";
    whole_day: "Toute la journée", "All day";
    all_day: "toute la journée", "all day";
    days: "du {from} au {to}", "{from} to {to}";
    second_pass: "(second passage)", "(second pass)";
    one_appointment: "rendez-vous", "appointment";
    many_appointments: "rendez-vous", "appointments";

    // An event.
    appointment: "Rendez-vous", "Appointment";
    plage: "Absence", "Absence";
    note: "Note", "Note";
    availability: "Ouverture", "Opening hours";
    planned: "prévu", "planned";
    attended: "venu", "attended";
    no_show: "absent", "no-show";
    pending: "en attente", "pending";
    from_web: "pris en ligne", "booked online";
    commented: "note interne", "internal comment";

    // The keys.
    keys: "Clavier", "Keyboard";
    keys_title: "Raccourcis clavier", "Keys";
    keys_on: "Utiliser ces raccourcis", "Use these keys";
    key_arrows: "Flèches : événement voisin. Entrée : ouvrir. Échap : revenir.",
        "Arrows: next event. Enter: open. Escape: back.";
    key_held: "Un rendez-vous ou une absence, après g : flèches pour le déplacer, Page précédente et Page suivante d’une heure, Maj et flèches pour sa durée, Entrée pour le poser, Échap pour le remettre.",
        "An appointment or an absence, after g: arrows move it, Page Up and Page Down by an hour, Shift and arrows change its length, Enter puts it, Escape returns it.";
    key_take: "Prendre le rendez-vous ou l’absence", "Take the appointment or the absence";
    key_undo: "Défaire ma dernière modification", "Take back my last change";
    key_new: "Nouveau rendez-vous", "New appointment";
    key_clients: "Chercher un client", "Search a client";
    key_list: "Cette liste", "This list";
    close: "Fermer", "Close";

    // What the script says.
    at: "{start}–{end}, {column}", "{start}–{end}, {column}";
    taken: "Pris : {place}. Flèches pour déplacer, Entrée pour poser, Échap pour remettre.",
        "Taken: {place}. Arrows move it, Enter puts it, Escape returns it.";
    moved: "Déplacé : {place}.", "Moved: {place}.";
    returned: "Remis à sa place.", "Back in its place.";
    undone: "Dernière modification défaite.", "Your last change is taken back.";
    overtaken: "Modifié entre-temps : rien n’a été défait.",
        "Changed meanwhile: nothing was taken back.";
    kept: "Rien n’a été défait.", "Nothing was taken back.";
    nothing_to_undo: "Rien à défaire.", "Nothing to take back.";
    unmovable: "Ceci ne se déplace pas ici : Entrée l’ouvre, pour le modifier.",
        "This is not moved here: Enter opens it, to change it.";
    repeats: "Ce qui se répète se modifie dans son formulaire : Entrée l’ouvre.",
        "What repeats is changed in its form: Enter opens it.";
    read_only: "Pas de connexion : rien ne peut être modifié.",
        "No connection: nothing can be changed.";
    age: "Pas de connexion. L’affichage date de {time} (il y a {minutes} min). Rien ne peut être modifié avant son retour.",
        "No connection. This is as of {time} ({minutes} min ago). Nothing can be changed until it is back.";
    others: "L’agenda vient d’être modifié", "The agenda has just been changed";
    connected_again: "La connexion est revenue.", "The connection is back.";
}
