//! The texts of the login.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the login in one language.
    LoginTexts;

    title: "Connexion des professionnels", "Login for professionals";
    email: "Adresse e-mail", "E-mail address";
    password: "Mot de passe", "Password";
    stay: "Rester connecté 30 jours sur cet appareil", "Stay logged in on this device for 30 days";
    log_in: "Se connecter", "Log in";
    forgotten: "Mot de passe oublié ?", "Forgotten your password?";
    wrong: "L’adresse ou le mot de passe est faux.", "The address or the password is wrong.";
    logout_title: "Se déconnecter", "Log out";
    logout_ask: "Voulez-vous vous déconnecter ?", "Do you want to log out?";
}
