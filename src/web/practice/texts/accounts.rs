//! The texts of the accounts of clients.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the accounts of clients in one language.
    AccountsTexts;

    about: "Un compte permet à un client de se connecter avec son adresse et un mot de passe.",
        "An account lets a client log in with an address and a password.";
    total: "Comptes : {count}", "Accounts: {count}";
    none: "Aucun compte pour le moment.", "No account yet.";
    used: "Dernière utilisation : {day}", "Last used: {day}";
    unused: "Dernière utilisation : inconnue", "Last used: not known";
    log_out: "Déconnecter partout", "Log out everywhere";
    close: "Fermer le compte…", "Close the account…";
    ended: "Connexions fermées : {count}", "Sessions that were ended: {count}";
    closed: "Le compte est fermé.", "The account is closed.";
    no_account: "Ce client n’a pas de compte.", "This client has no account.";
    close_title: "Fermer le compte de {name} ?", "Close the account of {name}?";
    goes: "Le client est déconnecté partout, et les liens déjà envoyés ne fonctionnent plus. Cela ne peut pas être défait.",
        "The client is logged out everywhere, and links that were mailed before stop working. This cannot be undone.";
    stays: "La fiche et les rendez-vous restent. Le client peut demander un nouveau compte.",
        "The record and the appointments stay. The client can ask for a new account.";
    close_now: "Fermer le compte", "Close the account";
    keep: "Ne pas fermer", "Do not close";
    of_client: "Compte", "Account";
    to_list: "Voir dans la liste des comptes", "See it in the list of accounts";
}
