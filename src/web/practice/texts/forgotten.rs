//! The texts of a forgotten password.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of a forgotten password in one language.
    ForgottenTexts;

    title: "Mot de passe oublié", "Forgotten password";
    ask: "Indiquez l’adresse e-mail avec laquelle vous vous connectez. Un lien y est envoyé pour choisir un nouveau mot de passe.",
        "Enter the e-mail address that you log in with. A link to choose a new password is mailed to it.";
    email: "Adresse e-mail", "E-mail address";
    bad_email: "Indiquez une adresse e-mail complète, comme nom@example.org.",
        "Enter a complete e-mail address, such as name@example.org.";
    send: "Recevoir le lien", "Send the link";
    back: "Revenir à la connexion", "Back to the login";
    mailed_title: "Consultez votre messagerie", "Look into your mailbox";
    mailed: "Si cette adresse est celle d’un professionnel, un lien y a été envoyé. Il est valable une heure. Deux liens au plus sont envoyés en une heure ; le dernier reçu reste valable.",
        "If a professional has this address, a link was mailed to it. It is good for one hour. At most two links are mailed within an hour; the last one stays good.";
    no_mail: "Ce serveur n’envoie pas de messages. L’administrateur vous donne un nouveau mot de passe par la commande : slotbook pro password ADRESSE",
        "This server sends no mails. Its operator gives you another password with the command: slotbook pro password EMAIL";
    new_title: "Nouveau mot de passe", "New password";
    choose: "Choisissez un nouveau mot de passe pour {email}. Toutes vos connexions se terminent.",
        "Choose a new password for {email}. All your logins end.";
    password: "Nouveau mot de passe", "New password";
    bad_password: "Ce mot de passe ne convient pas : il faut au moins 10 caractères, et pas un mot de passe courant.",
        "That password will not do: it needs at least 10 characters, and must not be a common one.";
    set_password: "Enregistrer", "Save";
    set_title: "Mot de passe enregistré", "Password saved";
    set: "Vous pouvez maintenant vous connecter avec ce mot de passe.",
        "You can log in with this password now.";
    dead_title: "Ce lien ne mène plus nulle part", "This link leads nowhere any more";
    dead: "Il est trop ancien, a déjà servi, ou n’est pas complet.",
        "It is too old, has been used, or is not complete.";
}
