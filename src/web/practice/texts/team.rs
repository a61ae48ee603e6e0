//! The texts of the team and of invitations.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the team in one language.
    TeamTexts;

    title: "Équipe", "Team";
    about: "Qui travaille ici, avec quel rôle, et les invitations.",
        "Who works here, in which role, and invitations.";
    to_settings: "Retour aux réglages", "Back to the settings";
    to_list: "Retour à l’équipe", "Back to the team";
    oneself: "vous", "you";
    role: "Rôle", "Role";
    administrator: "Administration", "Administrator";
    administrator_about: "Voit et modifie tout : agenda, clients, réglages, équipe, historique.",
        "Sees and changes all: agenda, clients, settings, team, history.";
    reception: "Accueil", "Reception";
    reception_about: "Voit et modifie l’agenda et les clients de tous.",
        "Sees and changes the agenda and the clients of all.";
    professional: "Professionnel", "Professional";
    professional_about: "Modifie ses propres agendas, et les clients qui y ont un rendez-vous.",
        "Changes own calendars, and the clients with an appointment there.";
    calendars: "Ses agendas", "Own calendars";
    reads_all: "Voit aussi les agendas des autres et tous les clients",
        "Also sees the calendars of others and all clients";
    own: "agendas : {calendars}", "calendars: {calendars}";
    reads_all_short: "voit tout", "sees all";
    reads_own_short: "ne voit que les siens", "sees only these";
    choose_role: "Choisissez un rôle.", "Choose a role.";
    choose_calendar: "Choisissez au moins un agenda.", "Choose at least one calendar.";
    too_many_calendars: "Choisissez 100 agendas au plus.", "Choose at most 100 calendars.";
    save: "Enregistrer", "Save";
    saved: "Le rôle est enregistré.", "The role is saved.";
    invite_title: "Inviter quelqu’un", "Invite a person";
    invite_about: "La personne reçoit un lien, valable 7 jours, et écrit elle-même son nom et son mot de passe.",
        "The person gets a link, good for 7 days, and writes name and password without help.";
    email: "Adresse électronique", "E-mail address";
    bad_email: "Cette adresse n’est pas valable.", "This is no e-mail address.";
    works_here: "Cette personne travaille déjà ici : changez son rôle.",
        "This person works here already: change the role.";
    many_invitations: "Trop d’invitations sont ouvertes : retirez-en une.",
        "Too many invitations are open: withdraw one.";
    no_mails: "Ce serveur n’envoie pas de courriels : demandez à l’exploitant d’ajouter la personne avec « slotbook pro add ».",
        "This server sends no mails: ask the operator to add the person with \"slotbook pro add\".";
    role_changed: "Le rôle a été modifié entre-temps : le voici.", "The role was changed meanwhile: this is it now.";
    invite: "Inviter", "Invite";
    invited: "L’invitation est enregistrée.", "The invitation is saved.";
    open: "Invitations ouvertes", "Open invitations";
    open_until: "jusqu’à : {when}", "until: {when}";
    withdraw: "Retirer", "Withdraw";
    withdrawn: "L’invitation est retirée.", "The invitation is withdrawn.";
    remove: "Retirer de l’équipe", "Remove from the team";
    remove_sure: "Cette personne n’aura plus accès à cet établissement. Ses rendez-vous restent.",
        "This person will have no access to this practice any more. The appointments stay.";
    removed: "La personne est retirée de l’équipe.", "The person is removed from the team.";
    last_administrator: "C’est la dernière personne qui administre l’établissement : nommez-en d’abord une autre.",
        "This is the last administrator of the practice: make another one first.";
    last_of_group: "C’est la dernière personne de l’établissement : invitez-en d’abord une autre.",
        "This is the last person of the practice: invite another one first.";
    join_title: "Invitation : {group}", "Invitation: {group}";
    join_about: "Vous êtes invité à travailler ici, avec l’adresse {email}.",
        "You are invited to work here, with the address {email}.";
    join_known: "Cette adresse a déjà un accès. Connectez-vous, puis ouvrez ce lien encore une fois.",
        "This address has a login already. Log in, and then open this link once more.";
    join_other: "Vous êtes connecté avec une autre adresse. Déconnectez-vous d’abord.",
        "You are logged in with another address. Log out first.";
    join: "Accepter", "Accept";
    joined_title: "C’est fait", "Done";
    joined: "Vous travaillez maintenant ici. Connectez-vous.", "You work here now. Log in.";
    dead_title: "Lien expiré", "Link expired";
    dead: "Cette invitation a déjà servi, a été retirée ou a expiré. Demandez-en une autre.",
        "This invitation was used, was withdrawn or has expired. Ask for another one.";
    log_in: "Se connecter", "Log in";
    lastname: "Nom", "Last name";
    firstname: "Prénom", "First name";
    phone: "Téléphone mobile (facultatif)", "Mobile phone (optional)";
    password: "Mot de passe", "Password";
    password_hint: "Au moins 10 caractères, qui ne se devinent pas.",
        "At least 10 characters that cannot be guessed.";
    bad_name: "Écrivez un nom de 64 caractères au plus.", "Write a name of at most 64 characters.";
    bad_phone: "Écrivez un numéro de 25 caractères au plus.",
        "Write a number of at most 25 characters.";
    bad_password: "Choisissez un autre mot de passe : au moins 10 caractères, pas trop courant.",
        "Choose another password: at least 10 characters, not a common one.";
}
