//! The fields of a group, by the part of the settings that shows them.

use crate::web::practice::settings::fields::field_text::FieldWidget::{
    Choice, Colours, Minutes, Zone,
};
use crate::web::practice::settings::fields::field_text::{ChoiceText, FieldText, choice, field};

/// The shop.
pub(crate) static SHOP: &[FieldText] = &[
    field(
        "name",
        ["Nom", "Name"],
        [
            "Les clients le lisent sur la page et dans les messages.",
            "Clients read it on the page and in messages.",
        ],
    ),
    field(
        "phone",
        ["Téléphone", "Telephone"],
        [
            "La page et les messages l’indiquent pour vous joindre.",
            "The page and messages give it as the way to reach you.",
        ],
    ),
    field(
        "fax",
        ["Fax", "Fax"],
        ["Les applications peuvent l’afficher.", "Applications may show it."],
    ),
    field(
        "address",
        ["Rue et numéro", "Street and number"],
        [
            "Lieu des rendez-vous, sauf si un agenda a le sien.",
            "Place of appointments, unless a calendar has its own.",
        ],
    ),
    field(
        "zipcode",
        ["Code postal", "Postal code"],
        ["Complète l’adresse.", "Part of the address."],
    ),
    field("city", ["Ville", "Town"], ["Complète l’adresse.", "Part of the address."]),
    field(
        "country",
        ["Pays", "Country"],
        [
            "Choisit la langue des messages aux clients.",
            "Chooses the language of messages to clients.",
        ],
    ),
    field(
        "timezone",
        ["Fuseau horaire", "Time zone"],
        [
            "Toutes les heures sont celles de ce fuseau. Les rendez-vous gardent l’heure affichée.",
            "All times are of this zone. Appointments keep the time that is shown.",
        ],
    )
    .asked_by(Zone),
    field(
        "currency_code",
        ["Monnaie", "Currency"],
        ["Monnaie de tous les prix.", "Currency of all prices."],
    ),
    field(
        "history_days",
        ["Jours d’historique", "Days of history"],
        [
            "Ce qui a changé et par qui reste lisible pendant ce nombre de jours. Au moins 4.",
            "Days for which what changed, and by whom, can be read. At least 4.",
        ],
    ),
    field(
        "second_factor_required",
        ["Exiger un second facteur", "Require a second factor"],
        [
            "Les professionnels se connectent avec un code de leur téléphone. Activez d’abord le vôtre.",
            "Professionals log in with a code from their telephone. Set up your own first.",
        ],
    ),
];

static STEPS: &[ChoiceText] = &[
    choice("0", ["Sans choix de l’agenda", "No choice of the calendar"]),
    choice("1", ["L’agenda d’abord", "Calendar first"]),
    choice("2", ["L’agenda à côté des horaires", "Calendar beside the times"]),
];

static PROOFS: &[ChoiceText] = &[
    choice("off", ["Aucun code", "No code"]),
    choice("mail", ["Code par e-mail", "Code by e-mail"]),
    choice("sms", ["Code par SMS", "Code by text message"]),
];

static CONTACTS: &[ChoiceText] = &[
    choice("none", ["Rien", "Nothing"]),
    choice("email", ["Une adresse e-mail", "An e-mail address"]),
    choice("phone", ["Un numéro de téléphone", "A telephone number"]),
    choice("either", ["L’un ou l’autre", "Either of them"]),
];

/// The booking on the web.
pub(crate) static BOOKING: &[FieldText] = &[
    field(
        "web_page",
        ["Page de réservation", "Booking page"],
        [
            "Les clients réservent sur une page de ce serveur.",
            "Clients book on a page of this server.",
        ],
    ),
    field(
        "inactive",
        ["Suspendre la réservation en ligne", "Stop online booking"],
        [
            "Les clients ne peuvent plus rien réserver sur le web.",
            "Clients can book nothing on the web.",
        ],
    ),
    field(
        "open",
        ["Accepter les nouveaux clients", "Take new clients"],
        [
            "Sinon, seuls les clients déjà enregistrés réservent.",
            "Otherwise only clients on record can book.",
        ],
    ),
    field(
        "openData",
        ["Montrer les horaires libres à tous", "Show free times to all"],
        [
            "Sinon, seuls les clients connectés voient les horaires libres.",
            "Otherwise only clients who are logged in see free times.",
        ],
    ),
    field(
        "validateEmail",
        ["Exiger un compte confirmé", "Require a confirmed account"],
        [
            "Seuls les clients dont l’adresse est confirmée réservent.",
            "Only clients with a confirmed address can book.",
        ],
    ),
    field(
        "verify_bookings",
        ["Code de confirmation", "Confirmation code"],
        [
            "Le client sans compte saisit un code reçu avant que sa réservation compte.",
            "A client without an account types a code before the booking counts.",
        ],
    )
    .asked_by(Choice(PROOFS)),
    field(
        "contact_needed",
        ["Coordonnées demandées", "Contact that is needed"],
        [
            "Sans elles, vous ne pouvez pas prévenir le client d’un changement.",
            "Without it you cannot warn the client of a change.",
        ],
    )
    .asked_by(Choice(CONTACTS)),
    field(
        "embed_origins",
        ["Sites qui montrent la réservation", "Sites that show the booking page"],
        [
            "Un par ligne : https://www.exemple.fr. Les autres sites ne peuvent pas l’afficher.",
            "One a line: https://www.example.org. Other sites cannot show it.",
        ],
    )
    .ruled([
        "Au plus 20 origines https sans chemin : https://www.exemple.fr ou https://*.exemple.fr.",
        "At most 20 https origins without a path: https://www.example.org or \
         https://*.example.org.",
    ]),
    field(
        "calendarChoice",
        ["Choix de l’agenda", "Choice of the calendar"],
        [
            "Place de cette question sur la page de réservation.",
            "Place of this question on the booking page.",
        ],
    )
    .asked_by(Choice(STEPS)),
    field(
        "anyCalendar",
        ["Proposer « sans préférence »", "Offer “no preference”"],
        ["Le client peut laisser l’agenda ouvert.", "The client may leave the calendar open."],
    ),
    field(
        "max_multirdvs",
        ["Prestations par réservation", "Services of one booking"],
        [
            "Nombre de prestations qu’un client réserve à la suite.",
            "Number of services that a client books in a row.",
        ],
    ),
    field(
        "maxrdv_number",
        ["Rendez-vous à venir par client", "Upcoming appointments of a client"],
        [
            "Au-delà, le client ne réserve plus en ligne. 0 : sans limite.",
            "Beyond it a client cannot book online. 0: no limit.",
        ],
    ),
    field(
        "mintime_between",
        ["Écart entre deux rendez-vous", "Gap between two appointments"],
        [
            "Temps minimal en minutes entre deux rendez-vous d’un client.",
            "Minimum time in minutes between two appointments of one client.",
        ],
    )
    .asked_by(Minutes),
    field(
        "unverified_day_percent",
        ["Part du jour sans confirmation", "Share of a day without confirmation"],
        [
            "Pourcentage du temps ouvert que prennent les réservations sans compte ni code.",
            "Percentage of open time that bookings without account or code may take.",
        ],
    ),
    field(
        "display_intervention_length",
        ["Afficher les durées", "Show durations"],
        [
            "La page indique la durée de chaque prestation.",
            "The page gives the duration of each service.",
        ],
    ),
    field(
        "display_intervention_price",
        ["Afficher les prix", "Show prices"],
        [
            "La page indique le prix de chaque prestation.",
            "The page gives the price of each service.",
        ],
    ),
];

/// The messages to clients.
pub(crate) static MESSAGES: &[FieldText] = &[
    field(
        "sendmail",
        ["E-mails aux clients", "Mails to clients"],
        [
            "Le client reçoit confirmations, changements et annulations.",
            "Clients get confirmations, changes and cancellations.",
        ],
    ),
    field(
        "notice_delay_seconds",
        ["Attente avant un e-mail", "Wait before a mail"],
        [
            "Secondes avant l’e-mail d’un changement fait par vous, pour n’en envoyer qu’un.",
            "Seconds before the mail about a change of yours, so that one mail is sent.",
        ],
    ),
    field(
        "mailreminder",
        ["Rappel par e-mail", "Reminder by e-mail"],
        [
            "Minutes avant le rendez-vous. 0 : aucun rappel.",
            "Minutes before the appointment. 0: no reminder.",
        ],
    )
    .asked_by(Minutes)
    .ruled(["0, ou de 60 à 2880 minutes.", "Must be 0, or 60 to 2,880 minutes."]),
    field(
        "smsreminder",
        ["Rappel par SMS", "Reminder by text message"],
        [
            "Minutes avant le rendez-vous. 0 : aucun rappel.",
            "Minutes before the appointment. 0: no reminder.",
        ],
    )
    .asked_by(Minutes)
    .ruled(["0, ou de 60 à 1440 minutes.", "Must be 0, or 60 to 1,440 minutes."]),
    field(
        "check_sms",
        ["Rappel SMS pris par vous", "Text reminder of your bookings"],
        [
            "Un rendez-vous pris par vous demande un rappel par SMS.",
            "An appointment that you book asks for a reminder by text message.",
        ],
    ),
    field(
        "check_sms_from_web",
        ["Rappel SMS pris en ligne", "Text reminder of online bookings"],
        [
            "Un rendez-vous pris en ligne demande un rappel par SMS.",
            "An appointment that is booked online asks for a reminder by text message.",
        ],
    ),
    field(
        "sms_sender_name",
        ["Expéditeur des SMS", "Sender of text messages"],
        [
            "Nom ou numéro international que le client voit.",
            "Name or international number that the client sees.",
        ],
    ),
    field(
        "country_code",
        ["Indicatif du pays", "Country prefix"],
        [
            "Complète les numéros nationaux des clients, par exemple +33.",
            "Completes national numbers of clients, for example +33.",
        ],
    ),
    field(
        "sms_countries",
        ["Pays des SMS", "Countries of text messages"],
        [
            "Indicatifs permis aux réservations en ligne : +33,+41. Vide : tous. \
          « country_code » : le vôtre.",
            "Prefixes that online bookings may use: +33,+41. Empty: all. \
          “country_code”: your own.",
        ],
    )
    .ruled([
        "Des indicatifs comme +33, séparés par des virgules, ou country_code pour le vôtre.",
        "Must be prefixes such as +33 with commas between them, or country_code for your own.",
    ]),
];

/// Texts and colours of the booking page.
pub(crate) static TEXTS: &[FieldText] = &[
    field(
        "privacy_text",
        ["Usage des données", "Use of personal details"],
        ["La page de réservation l’affiche : ce que vous faites des données des clients.",
         "The booking page shows it: how you use the details of clients."],
    ),
    field(
        "access_text",
        ["Venir", "Getting there"],
        ["La page de réservation l’affiche : accès, stationnement, étage, code.",
         "The booking page shows it: access, parking, floor, door code."],
    ),
    field(
        "bring_text",
        ["À apporter", "What to bring"],
        ["La page de réservation l’affiche, pour tous les rendez-vous.",
         "The booking page shows it, for every appointment."],
    ),
    field(
        "preposition",
        ["Mot avant le nom", "Word before the name"],
        ["Précède le nom dans une phrase, par exemple « chez ».",
         "Stands before the name in a sentence, for example “at”."],
    ),
    field(
        "usercolors",
        ["Couleurs de la page", "Colours of the page"],
        ["La page de réservation prend les couleurs cochées. Un contraste trop faible est corrigé.",
         "The booking page takes the ticked colours. A contrast that is too low is corrected."],
    )
    .asked_by(Colours)
    .ruled(["Des couleurs comme #1a2b3c.", "Must be colours such as #1a2b3c."]),
];

/// The time for which the details of clients are kept.
pub(crate) static PRIVACY: &[FieldText] = &[
    field(
        "retention_appointments_months",
        [
            "Rendez-vous passés : mois avec leur client",
            "Past appointments: months with their client",
        ],
        [
            "Après ces mois, un rendez-vous passé perd son client et ses textes. 0 : jamais.",
            "After these months a past appointment loses its client and its texts. 0: never.",
        ],
    ),
    field(
        "retention_clients_months",
        ["Clients sans activité : mois", "Clients without activity: months"],
        [
            "Un client sans rendez-vous ni modification depuis ces mois est effacé. 0 : jamais.",
            "A client without any appointment or change for these months is erased. 0: never.",
        ],
    ),
    field(
        "retention_accounts_months",
        ["Comptes non utilisés : mois", "Unused accounts: months"],
        [
            "Un compte de client non utilisé depuis ces mois est fermé. 0 : jamais.",
            "The account of a client that was not used for these months is closed. 0: never.",
        ],
    ),
];
