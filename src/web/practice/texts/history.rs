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

    access_title: "Historique des accès", "History of access";
    access_about: "Connexions, exports, clés et équipe, le plus récent d’abord.",
        "Logins, exports, keys and the team, latest first.";
    to_access: "Connexions, exports, clés et équipe", "Logins, exports, keys and the team";
    to_changes: "Ce qui a été modifié ou consulté", "What was changed or read";
    key_added: "clé {key} créée", "key {key} made";
    key_changed: "clé {key} modifiée", "key {key} changed";
    key_revoked: "clé {key} révoquée", "key {key} revoked";
    pro_added: "{name} travaille ici", "{name} works here";
    pro_removed: "{name} ne travaille plus ici", "{name} works here no more";
    password_set: "nouveau mot de passe : {name}", "another password: {name}";
    factor_set: "second facteur mis en place : {name}", "second factor set up: {name}";
    factor_removed: "second facteur retiré : {name}", "second factor removed: {name}";
    logged_out: "déconnexion partout : {name}", "logged out everywhere: {name}";
    role_set: "rôle de {name} : {role}", "role of {name}: {role}";
    was_invited: "invitation n° {number}", "invitation no. {number}";
    was_withdrawn: "invitation n° {number} retirée", "invitation no. {number} withdrawn";
    was_accepted: "invitation n° {number} acceptée par {name}",
        "invitation no. {number} accepted by {name}";
    logged_in: "connexion : {name}, depuis {source}", "login: {name}, from {source}";
    login_failed: "mot de passe refusé : {name}, depuis {source}",
        "wrong password: {name}, from {source}";
    exported: "export", "export";
    client_exported: "export du client n° {client}", "export of client no. {client}";

    begun: "L’historique commence ici ; ce qui précède n’est pas connu.",
        "The history begins here; what was before is not known.";
    made: "créé", "made";
    changed: "modifié", "changed";
    deleted: "supprimé ou annulé", "deleted or cancelled";
    restored: "restauré", "restored";
    removed: "effacé définitivement", "removed for good";
    emptied: "vidé de ce qui concerne une personne", "emptied of what tells of a person";
    merged: "fusionné dans une autre fiche", "merged into another record";
    read: "consulté", "read";
    fiches: "Liste des clients", "List of clients";
    count: "Clients affichés", "Clients shown";
    search: "avec une recherche", "with a search";
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

    calendarfeed: "Lien d’agenda", "Calendar link";

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
    logo: "Logo", "Logo";
    cover: "Image de couverture", "Cover image";
    photo: "Photo", "Photo";
    secret: "Nouveau secret", "New secret";
    webhook: "Webhook", "Webhook";
    url: "Adresse du destinataire", "Address of the receiver";
    objects: "Objets suivis", "Objects";
    active: "En marche", "On";
    since: "Reprise des changements", "Place in the changes";
    tzdata: "Règles des fuseaux horaires", "Rules of time zones";
    planned: "prévu", "planned";
    attended: "venu", "attended";
    no_show: "absent", "no-show";
    pending: "en attente", "pending";
    yes: "oui", "yes";
    no: "non", "no";
}
