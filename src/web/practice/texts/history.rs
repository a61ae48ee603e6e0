//! The texts of the history.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the history in one language.
    HistoryTexts;

    title: "Historique", "History";
    about: "Qui a changé quoi, le plus récent d’abord. Les textes et les coordonnées n’y figurent pas.",
        "Who changed what, latest first. Texts and personal details are not kept here.";
    about_one: "Seulement : {object}", "Only: {object}";
    everything: "Tout l’historique", "Whole history";
    of_this: "Historique", "History";
    all_of_this: "Tout son historique", "Its whole history";
    nothing: "Rien n’est enregistré.", "Nothing is recorded.";
    nothing_on_page: "Rien sur cette page.", "Nothing on this page.";
    older: "Plus ancien", "Older";

    begun: "L’historique commence ici ; ce qui précède n’est pas connu.",
        "The history begins here; what was before is not known.";
    made: "créé", "made";
    changed: "modifié", "changed";
    deleted: "supprimé ou annulé", "deleted or cancelled";
    restored: "restauré", "restored";
    removed: "effacé définitivement", "removed for good";
    emptied: "vidé de ce qui concerne une personne", "emptied of what tells of a person";
    merged: "fusionné dans une autre fiche", "merged into another record";
    erased: "effacé", "erased";

    by_server: "slotbook, de lui-même", "slotbook by itself";
    by_operator: "l’exploitant du serveur", "the operator of the server";
    by_visitor: "un visiteur de la page de réservation", "a visitor of the booking page";
    by_application: "une application, clé {key}", "an application, key {key}";
    by_account: "le compte du client {client}", "the account of client {client}";
    by_professional: "un professionnel, n° {id}", "a professional, no. {id}";
    by_unknown: "auteur inconnu", "author unknown";
    with_key: "{who}, clé {key}", "{who}, key {key}";

    group: "Établissement", "Practice";
    calendar: "Agenda", "Calendar";
    calendarset: "Groupe d’agendas", "Set of calendars";
    intervention: "Prestation", "Service";
    interventionset: "Groupe de prestations", "Set of services";
    customfield: "Attribut", "Attribute";
    fiche: "Fiche client", "Client record";
    vevent: "Rendez-vous ou événement", "Appointment or event";
    vevent_of: "Rendez-vous ou événement du {when}", "Appointment or event of {when}";
    account: "Compte du client", "Account of a client";

    change: "{field} : {before} → {after}", "{field}: {before} → {after}";
    set: "{field} : {after}", "{field}: {after}";
    nothing_before: "rien", "nothing";
    start: "Début", "Start";
    length: "Durée", "Length";
    end: "Fin", "End";
    client: "Client", "Client";
    state: "Présence", "Attendance";
    repetition: "Répétition", "Repetition";
    exceptions: "Dates exclues", "Days left out";
    services: "Prestations possibles", "Possible services";
    text: "Texte", "Text";
    comments: "Commentaires", "Comments";
    internal_comments: "Commentaires internes", "Internal comments";
    colour: "Couleur", "Colour";
    taker: "Pris par", "Taken by";
    origin: "Origine", "Origin";
    attributes: "Attributs personnalisés", "Customised attributes";
    sms_wish: "Rappel par SMS", "Reminder by text message";
    password: "Mot de passe", "Password";
    privacy_text: "Texte sur les données des clients", "Text about the details of clients";
    description: "Description", "Description";
    tzdata: "Règles des fuseaux horaires", "Rules of time zones";
    planned: "prévu", "planned";
    attended: "venu", "attended";
    no_show: "absent", "no-show";
    pending: "en attente", "pending";
    yes: "oui", "yes";
    no: "non", "no";
}
