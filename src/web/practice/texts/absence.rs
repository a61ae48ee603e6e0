//! The texts about absences, and about the appointments under them.

use crate::web::text_table::text_table;

text_table! {
    /// The texts about absences and displaced appointments in one language.
    AbsenceTexts;

    new: "Absence ou note…", "Absence or note…";
    new_title: "Nouvelle absence ou note", "New absence or note";
    to_agenda: "Retour à l’agenda", "Back to the agenda";
    kind: "Type", "Kind";
    kind_absence: "Absence : aucun rendez-vous n’est proposé pendant ce temps",
        "Absence: no appointment is offered during this time";
    kind_note: "Note : un texte sur le premier jour, qui ne bloque rien",
        "Note: a text on the first day, which blocks nothing";
    calendars: "Agendas", "Calendars";
    all_calendars: "Tous les agendas", "All calendars";
    whole_days: "Journées entières", "Whole days";
    from_day: "Du", "From";
    from_time: "à (heure)", "at (time)";
    to_day: "Au (compris)", "To (included)";
    to_time: "à (heure de fin)", "at (end time)";
    text: "Texte", "Text";
    weekly: "Se répète chaque semaine", "Repeats every week";
    until: "Jusqu’au (compris)", "Until (included)";
    add: "Enregistrer", "Save";
    choose_calendars: "Choisissez au moins un agenda.", "Choose at least one calendar.";
    until_too_early: "Indiquez un jour qui n’est pas avant le premier.",
        "Enter a day that is not before the first one.";
    until_missing: "Indiquez le dernier jour de la répétition.",
        "Enter the last day of the repetition.";

    // The appointments that a change displaces.
    booked_title: "Rendez-vous concernés", "Appointments concerned";
    booked: "Ces rendez-vous se trouveraient sous l’absence ou hors des heures d’ouverture. Rien n’est encore enregistré.",
        "These appointments would lie under the absence or outside opening hours. Nothing is saved yet.";
    booked_now: "Ces rendez-vous se trouvent sous l’absence.",
        "These appointments lie under the absence.";
    overtaken: "La liste a changé entre-temps. Rien n’a été enregistré ; vérifiez-la.",
        "The list has changed meanwhile. Nothing was saved; check it.";
    misfits: "Certains rendez-vous ne peuvent pas être déplacés. Rien n’a été enregistré ; décochez-les ou choisissez autre chose.",
        "Some appointments cannot be moved. Nothing was saved; untick them or choose something else.";
    too_many: "{count} rendez-vous sont concernés. Ce formulaire en traite au plus {most} : choisissez moins de jours ou d’agendas, ou laissez-les tels quels.",
        "{count} appointments are concerned. This form treats at most {most}: choose fewer days or calendars, or leave them as they are.";
    is_new: "nouveau", "new";
    lacks_mail: "sans adresse e-mail", "no e-mail address";
    closed: "L’agenda choisi est fermé à cet horaire pour cette prestation, ou a une absence.",
        "The chosen calendar is closed then for this service, or has an absence.";
    refused: "Ce rendez-vous ne peut pas être déplacé.", "This appointment cannot be moved.";
    treatment: "Que faire des rendez-vous cochés ?", "What happens to the ticked appointments?";
    cancel: "Les annuler, avec un e-mail à chacun et un lien pour reprendre rendez-vous",
        "Cancel them, with one mail each and a link to book again";
    cancel_quietly: "Les annuler sans e-mail", "Cancel them without a mail";
    move_to: "Les déplacer à la même heure dans un autre agenda, avec un e-mail à chacun",
        "Move them to another calendar at the same time, with one mail each";
    leave: "Les laisser tels quels", "Leave them as they are";
    to: "Agenda", "Calendar";
    no_mails: "L’établissement n’envoie aucun e-mail aux clients.",
        "The practice sends no mails to clients.";
    choose: "Choisissez ce qui arrive aux rendez-vous cochés.",
        "Choose what happens to the ticked appointments.";
    choose_calendar: "Choisissez l’agenda de destination.", "Choose the calendar to move to.";
    settle: "Appliquer", "Apply";
}
