//! The texts of the frame, and of messages of all screens.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the frame in one language.
    FrameTexts;

    skip: "Aller au contenu", "Skip to content";
    screens: "Écrans", "Screens";
    agenda: "Agenda", "Agenda";
    logins: "Vos connexions", "Your logins";
    clients: "Clients", "Clients";
    hours: "Horaires", "Hours";
    history: "Historique", "History";
    settings: "Réglages", "Settings";
    welcome: "Bienvenue", "Welcome";
    log_out: "Se déconnecter", "Log out";
    other_group: "Changer d’établissement", "Change practice";
    choose_title: "Choisissez un établissement", "Choose a practice";
    no_group: "Aucun de vos établissements n’est accessible pour le moment.",
        "None of your practices is available at the moment.";
    not_found_title: "Page introuvable", "Page not found";
    not_found: "Cette adresse ne mène à aucun écran d’un de vos établissements.",
        "There is no screen of one of your practices at this address.";
    lacks_title: "Votre rôle ne le permet pas", "Your role does not allow this";
    lacks_some: "Demandez à un administrateur de l’établissement.",
        "Ask an administrator of the practice.";
    lacks_agenda: "Vous ne modifiez que vos propres agendas. Demandez à un administrateur.",
        "You change your own calendars only. Ask an administrator.";
    lacks_clients: "Vous ne modifiez que les clients qui ont un rendez-vous avec vous. Demandez à un administrateur.",
        "You change the clients who have an appointment with you only. Ask an administrator.";
    lacks_administration: "Cet écran est réservé aux administrateurs de l’établissement.",
        "This screen is for the administrators of the practice.";
    to_start: "Aller au début", "Go to the start";
    foreign_title: "Formulaire refusé", "Form refused";
    foreign: "Ce formulaire vient d’un autre site. Ouvrez l’écran ici et recommencez.",
        "This form comes from another site. Open the screen here and start again.";
    busy_title: "Un instant", "One moment";
    busy: "Le serveur est occupé et rien n’a été enregistré. Réessayez dans une minute.",
        "The server is busy and nothing was saved. Try again in a minute.";
    failed_title: "Demande refusée", "Request refused";
    failed: "Cette demande n’a pas pu être traitée et rien n’a été enregistré.",
        "This request could not be handled and nothing was saved.";
    too_many_title: "Trop d’essais", "Too many tries";
    too_many: "Trop d’essais ont été faits. Réessayez dans {minutes} min.",
        "Too many tries were made. Try again in {minutes} min.";
    close: "Fermer", "Close";
    login_over: "Votre connexion est terminée. Connectez-vous pour continuer ; rien n’est perdu.",
        "Your login is over. Log in to go on; nothing is lost.";
    over_title: "Votre connexion est terminée", "Your login is over";
    over_kept: "Rien n’a été enregistré. Ce que vous avez saisi n’est pas perdu :",
        "Nothing was saved. What you typed is not lost:";
    over_log_in: "Connectez-vous dans une nouvelle fenêtre.", "Log in in a new window.";
    over_reload: "Revenez ici, rechargez cette page et confirmez l’envoi.",
        "Come back here, reload this page, and confirm that it is sent again.";
    unsent: "Pas de connexion : rien n’a été envoyé.", "No connection: nothing was sent.";
}
