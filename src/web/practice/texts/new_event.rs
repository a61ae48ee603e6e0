//! The texts of the form of a new appointment, and of the explanation of a start.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of a new appointment in one language.
    NewEventTexts;

    title: "Nouveau rendez-vous", "New appointment";
    client: "Client", "Client";
    other_client: "Autre client", "Other client";
    search: "Client connu : nom, téléphone ou e-mail", "Known client: name, phone or e-mail";
    find: "Chercher", "Search";
    found: "Clients trouvés", "Clients found";
    found_more: "{total} fiches trouvées : voici les {shown} premières.",
        "{total} records were found: these are the first {shown}.";
    nothing: "Aucune fiche trouvée.", "No record was found.";
    new_client: "Nouveau client", "New client";
    client_missing: "Choisissez un client, ou ajoutez-en un nouveau.",
        "Choose a client, or add a new one.";
    client_unknown: "Cette fiche n’existe pas.", "There is no such record.";
    client_deleted: "Cette fiche est supprimée. Choisissez un autre client.",
        "This record is deleted. Choose another client.";
    bad_service: "Choisissez une prestation.", "Choose a service.";
    end: "Fin", "End";
    end_hint: "Vide : selon la prestation.", "Empty: by the service.";
    end_before_start: "La fin doit être après le début.", "The end must be after the start.";
    save: "Enregistrer le rendez-vous", "Save the appointment";
    save_anyway: "Enregistrer quand même", "Save anyway";
    warnings: "À savoir avant d’enregistrer :", "Before you save it:";
    taken: "Cet horaire est pris.", "This time is taken.";
    made_before: "Ce formulaire a déjà enregistré un rendez-vous. Enregistrer encore en prend un autre.",
        "This form has saved an appointment already. To save again makes another one.";
    to_made: "Ouvrir ce rendez-vous", "Open that appointment";
    back: "Retour à l’agenda", "Back to the agenda";

    why: "Pourquoi cet horaire n’est-il pas proposé ?", "Why is this time not offered?";
    why_offered: "Cet horaire est proposé aux clients en ligne.",
        "This time is offered to clients online.";
    why_not: "Cet horaire n’est pas proposé en ligne :", "This time is not offered online:";
    explain: "Expliquer", "Explain";
    to_appointment: "Ouvrir le rendez-vous", "Open the appointment";
    to_absence: "Ouvrir l’absence", "Open the absence";
    to_calendar: "Réglage de l’agenda", "Setting of the calendar";
    to_setting: "Ouvrir le réglage", "Open the setting";
    to_hours: "Ouvrir les horaires", "Open the opening hours";
    ends_by_itself: "Cela prend fin de soi-même.", "This ends by itself.";
    first_pass: "Le premier passage de cette heure est proposé.",
        "The first pass of this hour is offered.";
    book_it: "Prendre ce rendez-vous", "Make this appointment";
}
