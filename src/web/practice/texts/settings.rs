//! The texts of the settings, without those of single fields.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the settings in one language.
    SettingsTexts;

    title: "Réglages", "Settings";
    back: "Tous les réglages", "All settings";
    preview: "Voir la page de réservation (nouvel onglet)", "See the booking page (new tab)";
    shop: "Établissement", "Shop";
    shop_about: "Nom, adresse, téléphone, fuseau horaire.", "Name, address, telephone, time zone.";
    hours: "Heures d’ouverture", "Opening hours";
    booking: "Réservation en ligne", "Web booking";
    booking_about: "Ce que les clients peuvent réserver, et comment.",
        "The bookings that clients can make, and their limits.";
    messages: "Messages", "Messages";
    messages_about: "E-mails, SMS et rappels aux clients.",
        "Mails, text messages and reminders to clients.";
    texts: "Textes et couleurs", "Texts and colours";
    privacy: "Vie privée", "Privacy";
    privacy_about: "Combien de temps les données des clients restent.",
        "How long the details of clients stay.";
    preview_button: "Compter sans enregistrer", "Count without saving";
    preview_title: "Ce qui serait fait maintenant", "What would be done now";
    preview_appointments: "Rendez-vous passés sans leur client : {count}",
        "Past appointments that lose their client: {count}";
    preview_clients: "Clients effacés : {count}", "Clients that are erased: {count}";
    preview_accounts: "Comptes fermés : {count}", "Accounts that are closed: {count}";
    preview_when: "Cela commence au plus une heure après l’enregistrement, et ne peut pas être défait.",
        "It begins at most one hour after saving, and cannot be undone.";
    texts_about: "Textes et couleurs de la page de réservation.",
        "Texts and colours of the booking page.";
    webhooks: "Webhooks", "Webhooks";
    webhooks_about: "Transmettre les changements à d’autres programmes.",
        "Tell other programs of changes.";
    images: "Images", "Images";
    images_about: "Logo, image de couverture et photos des agendas.",
        "Logo, cover image and photos of calendars.";
    calendars: "Agendas", "Calendars";
    calendars_about: "Une personne, une salle ou un appareil que l’on réserve.",
        "A person, a room or a device that is booked.";
    calendarsets: "Groupes d’agendas", "Sets of calendars";
    calendarsets_about: "Des agendas d’un même lieu.", "Calendars of one place.";
    interventions: "Prestations", "Services";
    interventions_about: "Les rendez-vous que vous proposez, avec leur durée.",
        "The appointments that you offer, with their duration.";
    interventionsets: "Catégories de prestations", "Sets of services";
    interventionsets_about: "Des prestations que la page de réservation range ensemble.",
        "Services that the booking page lists together.";
    customfields: "Attributs personnalisés", "Customised attributes";
    customfields_about: "D’autres questions sur le client ou le rendez-vous.",
        "More questions about the client or the appointment.";
    links: "Liens et site", "Links and site";
    links_about: "Un lien, un code QR ou la réservation dans votre site.",
        "A link, a QR code, or the booking page in your site.";
    keys: "Clés des applications", "Keys of applications";
    keys_about: "Les sites et les programmes qui utilisent ce serveur.",
        "The sites and programs that use this server.";
    accounts: "Comptes des clients", "Accounts of clients";
    accounts_about: "Qui peut se connecter, et fermer un compte.",
        "Clients who can log in, and closing an account.";
    add: "Ajouter", "Add";
    new_calendar: "Nouvel agenda", "New calendar";
    new_calendarset: "Nouveau groupe d’agendas", "New set of calendars";
    new_intervention: "Nouvelle prestation", "New service";
    new_interventionset: "Nouvelle catégorie de prestations", "New set of services";
    new_customfield: "Nouvel attribut personnalisé", "New customised attribute";
    none_yet: "Rien pour l’instant.", "Nothing yet.";
    unnamed: "Sans nom", "Without a name";
    up: "Monter {name}", "Move {name} up";
    down: "Descendre {name}", "Move {name} down";
    deleted: "Supprimés", "Deleted";
    restore: "Rétablir {name}", "Restore {name}";
    save: "Enregistrer", "Save";
    save_mine: "Enregistrer ma version", "Save my version";
    reload: "Recharger", "Reload";
    saved: "Enregistré.", "Saved.";
    done: "C’est fait.", "Done.";
    delete: "Supprimer", "Delete";
    delete_title: "Supprimer {name} ?", "Delete {name}?";
    keep: "Ne pas supprimer", "Do not delete";
    deletes_set: "Ses éléments restent, sans ce groupe.", "Its members stay, without this set.";
    deletes_row: "Il disparaît des listes et de la réservation. Vous pouvez le rétablir.",
        "It leaves the lists and the booking page. It can be restored.";
    booked_none: "Aucun rendez-vous à venir n’est concerné.",
        "No upcoming appointment is affected.";
    booked: "Rendez-vous à venir : {count}. Ils restent dans l’agenda, sans message aux clients.",
        "Upcoming appointments: {count}. They stay in the agenda, and clients get no message.";
    booked_more: "… et {count} autres.", "… and {count} more.";
    booked_changed: "Entre-temps, cette liste ou ce réglage a changé. Rien n’a été supprimé.",
        "This list or this setting has changed meanwhile. Nothing was deleted.";
    refused: "Rien n’a été enregistré. À corriger :", "Nothing was saved. To correct:";
    overtaken: "Quelqu’un a changé ces réglages entre-temps. Rien de vous n’est enregistré. \
        Rechargez, ou enregistrez votre version.",
        "These settings were changed meanwhile. Nothing of yours is saved. \
        Reload, or save your version.";
    differs: "Vos valeurs diffèrent :", "Your values differ:";
    saved_value: "Enregistré actuellement : {value}", "Saved at present: {value}";
    empty_value: "vide", "empty";
    yes: "oui", "yes";
    no: "non", "no";
    no_choice: "Aucun", "None";
    clocks_overlap: "Dans ce fuseau, deux rendez-vous se chevaucheraient : {first} et {second}.",
        "In this time zone two appointments would overlap: {first} and {second}.";
    own_factor_first: "Activez d’abord votre propre second facteur, sous votre nom en haut de la page.",
        "Set up your own second factor first, under your name at the top of the page.";
    not_possible: "Ce changement n’est pas possible.", "This change is not possible.";
    required: "Ce champ est obligatoire.", "This field is required.";
    rule_text: "Au plus {max} caractères, sans caractères de contrôle.",
        "Must have at most {max} characters, none of them a control character.";
    rule_email: "Une adresse comme nom@exemple.fr.", "Must be an address such as name@example.org.";
    rule_colour: "Une couleur comme #1a2b3c.", "Must be a colour such as #1a2b3c.";
    rule_whole: "Un nombre entier.", "Must be a whole number.";
    rule_range: "Un nombre entier de {min} à {max}.", "Must be a whole number from {min} to {max}.";
    rule_other: "Cette valeur n’est pas permise.", "This value is not allowed.";
    rule_choice: "Un choix de la liste.", "Must be one of the list.";
    limit_text: "Au plus {max} caractères.", "At most {max} characters.";
    limit_range: "De {min} à {max}.", "From {min} to {max}.";
    default_value: "Par défaut : {value}.", "Default: {value}.";
    same_time: "Soit {length}.", "That is {length}.";
    colour_page_bg: "Fond autour de la page", "Background around the page";
    colour_page_text: "Texte autour de la page", "Text around the page";
    colour_main_bg: "Fond de la page", "Background of the page";
    colour_main_text: "Texte de la page", "Text of the page";
    colour_content_bg: "Fond des cadres", "Background of boxes";
    colour_content_text: "Texte des cadres", "Text of boxes";
    colour_content_links: "Liens et boutons", "Links and buttons";
    colour_of: "Couleur : {name}", "Colour: {name}";
    colour_corrected: "Contraste trop faible : la page affiche {shown}.",
        "Contrast too low: the page shows {shown}.";
    kind_boolean: "oui ou non", "yes or no";
    kind_datetime: "date et heure", "date and time";
    kind_number: "nombre", "number";
    kind_string: "texte court", "short text";
    kind_text: "texte long", "long text";
}
