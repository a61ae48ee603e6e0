//! The texts of the second factor.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the second factor in one language.
    SecondFactorTexts;

    code_title: "Code de connexion", "Login code";
    code: "Code à 6 chiffres", "Code of 6 digits";
    code_hint: "L’application de votre téléphone l’affiche. Chaque code sert une fois.",
        "The application on your telephone shows it. Each code works once.";
    wrong_code: "Ce code est faux, trop ancien ou déjà utilisé.",
        "This code is wrong, too old, or was used before.";
    exhausted: "Trop de codes étaient faux. Utilisez un code de secours, ou changez de mot de passe.",
        "Too many codes were wrong. Use a recovery code, or set another password.";
    no_telephone: "Sans votre téléphone ?", "Without your telephone?";
    recovery_code: "Code de secours", "Recovery code";
    recovery_hint: "Un de vos dix codes, par exemple ABCD-2345-EFGH-67IJ.",
        "One of your ten codes, such as ABCD-2345-EFGH-67IJ.";
    log_in: "Se connecter", "Log in";
    start_again: "Recommencer avec l’adresse et le mot de passe",
        "Start again with address and password";
    title: "Second facteur", "Second factor";
    about: "Avec un second facteur, la connexion demande aussi un code de votre téléphone. Un mot de passe volé ne suffit plus.",
        "With a second factor, the login also asks for a code from your telephone. A stolen password is not enough then.";
    required: "Cet établissement exige un second facteur. Activez le vôtre pour continuer.",
        "This practice requires a second factor. Set up yours to go on.";
    current: "Mot de passe actuel", "Present password";
    wrong_current: "Ce n’est pas votre mot de passe actuel.", "This is not your present password.";
    begin: "Activer", "Set up";
    scan_title: "Ajoutez ce compte à votre téléphone", "Add this account to your telephone";
    scan: "Lisez ce code avec une application de codes, par exemple FreeOTP ou Aegis, puis saisissez le code qu’elle affiche.",
        "Scan this with an application for codes, such as FreeOTP or Aegis, and type the code that it shows.";
    qr: "Code QR du compte", "QR code of the account";
    by_hand: "Ou saisissez cette clé dans l’application :", "Or type this key into the application:";
    confirm: "Confirmer", "Confirm";
    overtaken: "Rien n’a été changé : cette page était trop ancienne. Recommencez.",
        "Nothing was changed: this page was too old. Start again.";
    codes_title: "Vos codes de secours", "Your recovery codes";
    codes_about: "Notez-les ou imprimez-les maintenant : ils ne seront plus affichés. Chacun remplace une fois le téléphone.",
        "Note or print them now: they are not shown again. Each stands in for the telephone once.";
    codes_noted: "Je les ai notés", "I have noted them";
    active: "Votre second facteur est actif depuis le {when}.", "Your second factor has been active since {when}.";
    left: "Codes de secours restants : {count}", "Recovery codes left: {count}";
    change_title: "Changer quelque chose", "Change something";
    renew: "Nouveaux codes de secours", "New recovery codes";
    remove: "Désactiver le second facteur", "Remove the second factor";
    removed: "Le second facteur est désactivé.", "The second factor is removed.";
    lost: "Sans téléphone ni codes, l’exploitant du serveur peut retirer le second facteur.",
        "Without telephone and codes, the operator of the server can remove the second factor.";
    back: "Retour aux connexions", "Back to the logins";
}
