//! The texts of the record of an event.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the record of an event in one language.
    EventTexts;

    to_agenda: "Retour à l’agenda", "Back to the agenda";
    title: "Rendez-vous", "Appointment";
    when: "Horaire", "Time";
    calendar: "Agenda", "Calendar";
    service: "Prestation", "Service";
    origin: "Pris", "Booked";
    from_web: "en ligne", "online";
    from_practice: "par l’établissement", "by the practice";
    taker: "Pris par", "Booked by";
    presence: "Présence", "Attendance";
    state_open: "pas encore notée", "not recorded yet";
    state_attended: "venu", "attended";
    state_no_show: "absent", "no-show";
    state_pending: "en attente", "pending";
    attended: "Venu", "Attended";
    no_show: "Absent", "No-show";
    back: "Effacer la présence", "Clear attendance";
    client: "Client", "Client";
    open_client: "Ouvrir la fiche", "Open the record";
    details: "Commentaires et attributs", "Comments and attributes";
    messages: "Messages", "Messages";
    no_mails: "L’établissement n’envoie aucun e-mail aux clients.",
        "The practice sends no mails to clients.";
    cancel: "Annuler le rendez-vous", "Cancel the appointment";
    cancel_sure: "Le rendez-vous sera annulé et son horaire libéré.",
        "The appointment will be cancelled, and its time set free.";
    cancel_yes: "Annuler ce rendez-vous", "Cancel this appointment";
    mail_client: "Prévenir le client par e-mail", "Mail the client";
    cancelled: "Ce rendez-vous est annulé.", "This appointment is cancelled.";
    restore: "Rétablir le rendez-vous", "Restore the appointment";
    book_again: "Nouveau rendez-vous", "Book again";
    others: "Autres rendez-vous du client", "Other appointments of the client";
    previous: "Précédent", "Previous";
    next: "Suivant", "Next";
    none: "Aucun.", "None.";
    overtaken: "Ce rendez-vous a été modifié entre-temps. Rien n’a été enregistré ; voici son état actuel.",
        "This appointment was changed meanwhile. Nothing was saved; this is how it is now.";

    move_it: "Déplacer…", "Move…";
    move_title: "Déplacer le rendez-vous", "Move the appointment";
    move_absence_title: "Déplacer l’absence", "Move the absence";
    day: "Jour", "Day";
    time: "Heure", "Time";
    move_do: "Déplacer", "Move";
    move_anyway: "Déplacer quand même", "Move anyway";
    move_warnings: "À savoir avant de déplacer :", "Before you move it:";
    move_taken: "Cet horaire est pris.", "This time is taken.";
    bad_day: "Indiquez une date qui existe.", "Enter a date that exists.";
    bad_time: "Indiquez une heure, comme 14:30.", "Enter a time, such as 14:30.";
    time_left_out: "Cette heure n’a pas lieu ce jour-là : les horloges avancent.",
        "This hour does not take place on that day: the clocks go forward.";
    second_pass: "au second passage de cette heure", "the second time that the clocks show this time";
    length: "Durée en minutes", "Length in minutes";
    end_left_out: "La fin tomberait dans une heure qui n’a pas lieu ce jour-là : les horloges avancent.",
        "The end would lie in an hour that does not take place on that day: the clocks go forward.";
    bad_length: "Indiquez une durée de 1 à 1440 minutes.", "Enter a length of 1 to 1440 minutes.";
    now_is: "Actuellement", "Now";
    yours: "Votre choix", "Yours";
    leave_it: "Laisser à sa place", "Leave it in its place";
    keep_theirs: "Garder l’état actuel", "Keep it as it is now";
    bad_calendar: "Choisissez un agenda.", "Choose a calendar.";
    moved: "Déplacé.", "Moved.";
    back_to_record: "Retour au rendez-vous", "Back to the appointment";
    back_to_absence: "Retour à l’absence", "Back to the absence";

    plage_title: "Absence ou indisponibilité", "Absence or blocked time";
    note_title: "Note", "Note";
    availability_title: "Heures d’ouverture", "Opening hours";
    to_hours: "Les horaires de la semaine ont aussi leur écran.",
        "The hours of the week also have a screen of their own.";
    series: "Se répète : {rule}.", "Repeats: {rule}.";
    scope: "Modifier", "Change";
    scope_one: "Seulement le {day}", "Only {day}";
    scope_following: "Ce jour et les suivants", "This day and those after it";
    scope_all: "Toute la série", "The whole series";
    whole_series: "Les modifications valent pour toute la série. Pour une seule occurrence, choisissez son jour.",
        "Changes are for the whole series. For one occurrence, choose its day.";
    occurrence: "Jour de l’occurrence", "Day of the occurrence";
    choose_occurrence: "Choisir ce jour", "Choose this day";
    no_occurrence: "La série n’a pas lieu ce jour-là.", "The series does not take place on that day.";
    event_overtaken: "Cet élément a été modifié entre-temps ; voici son état actuel.",
        "This event was changed meanwhile; this is how it is now.";
    delete: "Supprimer", "Delete";
    delete_series: "Supprimer toute la série", "Delete the whole series";
    deleted: "Cet élément est supprimé.", "This event is deleted.";
    restore_event: "Rétablir", "Restore";
    end_before_start: "La fin doit être après le début.", "The end must be after the start.";
}
