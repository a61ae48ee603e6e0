//! The texts of calendar feeds.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of calendar feeds in one language.
    FeedsTexts;

    title: "Agenda sur votre téléphone", "Agenda on your phone";
    settings_about: "Liens par lesquels Google Agenda, Outlook ou un téléphone affichent un agenda.",
        "Links by which Google Calendar, Outlook or a phone show a calendar.";
    about: "Un lien secret affiche un agenda dans Google Agenda, Outlook, Apple Calendrier ou un téléphone. Le programme lit ; il ne modifie rien ici. Toute personne qui connaît le lien voit ce qu’il affiche.",
        "A secret link shows a calendar in Google Calendar, Outlook, Apple Calendar or a phone. The program reads, and changes nothing here. All who know the link see what it shows.";
    none: "Aucun lien pour le moment.", "No link yet.";
    own: "Vos propres agendas", "Your own calendars";
    of_pro: "Agendas de {name}", "Calendars of {name}";
    gone: "Agenda n° {id}", "Calendar no. {id}";
    gone_pro: "Agendas du professionnel n° {id}", "Calendars of professional no. {id}";
    made_by: "Créé le {day} par {who}", "Made on {day} by {who}";
    works_not: "Ce lien ne fonctionne plus : son agenda est supprimé, ou la personne qui l’a créé n’en a plus le droit. Renouvelez-le ou révoquez-le.",
        "This link no longer works: its calendar is deleted, or the person who made it has lost the right to it. Renew or revoke it.";
    renew: "Renouveler", "Renew";
    revoke: "Révoquer", "Revoke";
    revoked: "Le lien est révoqué.", "The link is revoked.";
    new: "Nouveau lien", "New link";
    target: "Agenda", "Calendar";
    details: "Détails affichés", "Details shown";
    busy: "Occupé seulement : aucune information sur les clients", "Busy only: nothing about clients";
    initials: "Initiales du client", "Initials of the client";
    full: "Tout : nom, prestation, téléphone et commentaires",
        "All: name, service, telephone and comments";
    wrong: "Choisissez un agenda et les détails affichés.", "Choose a calendar and the details shown.";
    too_many: "L’établissement a déjà 100 liens. Révoquez-en un d’abord.",
        "The practice has 100 links already. Revoke one first.";
    make: "Créer le lien", "Make the link";
    no_calendar: "Votre rôle ne vous donne aucun agenda. Demandez à un administrateur.",
        "Your role gives you no calendar. Ask an administrator.";
    made_title: "Votre lien", "Your link";
    made: "Copiez ce lien maintenant : il ne sera plus affiché. Ne le donnez qu’aux personnes qui doivent voir cet agenda.",
        "Copy this link now: it is not shown again. Give it only to those who are to see this calendar.";
    link: "Lien", "Link";
    copy: "Copier", "Copy";
    copied: "Le lien est copié.", "The link is copied.";
    how: "Où le coller", "Where to paste it";
    how_google: "Google Agenda : « Autres agendas », puis « À partir de l’URL ».",
        "Google Calendar: “Other calendars”, then “From URL”.";
    how_outlook: "Outlook : « Ajouter un calendrier », puis « S’abonner à partir du web ».",
        "Outlook: “Add calendar”, then “Subscribe from web”.";
    how_apple: "iPhone et Mac : « Ajouter un abonnement à un calendrier ».",
        "iPhone and Mac: “Add subscription calendar”.";
    how_often: "Ces programmes relisent le lien à leur rythme, parfois une fois par jour seulement.",
        "These programs read the link again in their own time, some only once a day.";
    noted: "Je l’ai copié", "I have copied it";
}
