//! The texts of the first run.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the first run in one language.
    FirstRunTexts;

    shop_title: "Votre établissement", "Your shop";
    hours_title: "Vos horaires", "Your opening hours";
    services_title: "Vos prestations", "Your services";
    owner_title: "Votre accès", "Your login";
    step: "Étape {number} sur 4", "Step {number} of 4";
    shop_intro: "Rien n’est enregistré avant la dernière étape. Vous pourrez tout changer ensuite.",
        "Nothing is saved before the last step. You can change everything afterwards.";
    hours_intro: "Deux plages par jour au plus. Laissez vide ce qui ne sert pas.",
        "At most two ranges a day. Leave empty what you do not need.";
    services_intro: "Ce que vos clients réservent, avec la durée. Les lignes vides ne comptent pas.",
        "What your clients book, with its length. Empty lines do not count.";
    owner_intro: "Avec cet accès vous ouvrez l’agenda. Le nom est celui de l’agenda que vos clients voient.",
        "You open the agenda with this login. The name is that of the calendar that clients see.";
    name: "Nom de l’établissement", "Name of the shop";
    timezone: "Fuseau horaire", "Time zone";
    choose_zone: "Choisissez un fuseau", "Choose a time zone";
    country: "Pays", "Country";
    country_hint: "Choisit la langue des messages aux clients : le français pour France, Belgique, Suisse, Luxembourg et Monaco, ou sans pays ; sinon l’anglais.",
        "Chooses the language of messages to clients: French for France, Belgique, Suisse, Luxembourg and Monaco, or without a country; otherwise English.";
    phone: "Téléphone", "Telephone";
    phone_hint: "La page et les messages l’indiquent pour vous joindre.",
        "The page and messages give it as the way to reach you.";
    from: "de", "from";
    to: "à", "to";
    range: "{day}, plage {number}", "{day}, range {number}";
    range_from: "{day}, plage {number}, de", "{day}, range {number}, from";
    range_to: "{day}, plage {number}, à", "{day}, range {number}, to";
    time_form: "Une heure s’écrit ainsi : 09:00.", "A time is written like this: 09:00.";
    service_name: "Prestation {number}", "Service {number}";
    service_minutes: "Durée {number}, en minutes", "Length {number}, in minutes";
    firstname: "Prénom", "First name";
    lastname: "Nom", "Last name";
    email: "Adresse e-mail", "E-mail address";
    password: "Mot de passe", "Password";
    password_hint: "Au moins 10 caractères, et pas un mot de passe courant.",
        "At least 10 characters, and not a common password.";
    next: "Continuer", "Next";
    back: "Étape précédente", "Previous step";
    more: "Autres lignes", "More lines";
    finish: "Ouvrir mon établissement", "Open my shop";
    wrong: "Corrigez les champs suivants.", "Correct the following fields.";
    bad_name: "Indiquez un nom de 1 à 255 caractères.", "Enter a name of 1 to 255 characters.";
    bad_zone: "Choisissez un fuseau de la liste.", "Choose a time zone of the list.";
    bad_country: "Au plus 255 caractères.", "At most 255 characters.";
    bad_phone: "Au plus 20 caractères.", "At most 20 characters.";
    bad_range: "Il faut deux heures comme 09:00, la seconde après la première.",
        "It takes two times such as 09:00, the second after the first.";
    bad_overlap: "Cette plage chevauche l’autre du même jour.",
        "This range overlaps the other one of the day.";
    no_hours: "Indiquez au moins une plage.", "Enter at least one range.";
    no_service: "Indiquez au moins une prestation.", "Enter at least one service.";
    bad_minutes: "Indiquez une durée de 1 à 1440 minutes.", "Enter a length of 1 to 1440 minutes.";
    bad_person: "Au plus 64 caractères.", "At most 64 characters.";
    bad_email: "Indiquez une adresse e-mail complète, comme nom@example.org.",
        "Enter a complete e-mail address, such as name@example.org.";
    bad_password: "Ce mot de passe ne convient pas : il faut au moins 10 caractères, et pas un mot de passe courant.",
        "That password will not do: it needs at least 10 characters, and must not be a common one.";
    gone_title: "Ce lien ne mène plus nulle part", "This link leads nowhere any more";
    gone: "Il a déjà servi, il a plus de 24 heures, ou le serveur a redémarré. Si un établissement existe, connectez-vous. Sinon, la commande slotbook first-run donne un autre lien.",
        "It has been used, is older than 24 hours, or the server was restarted. If there is a shop, log in. Otherwise the command slotbook first-run prints another link.";
    open_title: "Cette connexion n’est pas protégée", "This connection is not protected";
    open_why: "L’adresse de cette page n’est ni celle de votre propre machine ni protégée par TLS. D’autres pourraient lire votre mot de passe, et peut-être ont-ils lu ce lien : il ne sert plus.",
        "The address of this page is neither that of your own machine nor protected by TLS. Others could read your password, and may have read this link: it is no longer good.";
    open_how: "Demandez un autre lien par slotbook first-run, et ouvrez-le ainsi :",
        "Get another link by slotbook first-run, and open it in one of these ways:";
    open_local: "dans un navigateur de la machine du serveur, à l’adresse localhost ;",
        "in a browser on the server’s machine, at the address localhost;";
    open_tunnel: "d’ailleurs, par un tunnel :", "from elsewhere, through a tunnel:";
    open_tls: "ou derrière un proxy TLS, avec --behind-tls et --public-url.",
        "or behind a TLS proxy, with --behind-tls and --public-url.";
    done_title: "Votre établissement est ouvert", "Your shop is open";
    done: "Vous êtes connecté. Vos clients réservent sur cette page :",
        "You are logged in. Your clients book on this page:";
    to_page: "Ouvrir la page de réservation", "Open the booking page";
    to_agenda: "Ouvrir l’agenda", "Open the agenda";
}
