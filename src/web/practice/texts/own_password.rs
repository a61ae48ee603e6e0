//! The texts of the form of another password.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the form of another password in one language.
    OwnPasswordTexts;

    title: "Changer de mot de passe", "Change the password";
    about: "Cet appareil reste connecté. Toutes vos autres connexions se terminent.",
        "This device stays logged in. All your other logins end.";
    current: "Mot de passe actuel", "Present password";
    wrong_current: "Ce n’est pas votre mot de passe actuel.", "This is not your present password.";
    new: "Nouveau mot de passe", "New password";
    new_hint: "Au moins 10 caractères.", "At least 10 characters.";
    unfit_new: "Ce mot de passe ne convient pas : il faut au moins 10 caractères, et pas un mot de passe courant.",
        "That password will not do: it needs at least 10 characters, and must not be a common one.";
    save: "Enregistrer", "Save";
    back: "Retour aux connexions", "Back to the logins";
    changed: "Mot de passe enregistré. Toutes les autres connexions sont terminées.",
        "The password is saved. All other logins have ended.";
}
