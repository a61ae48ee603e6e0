//! The texts of the list of logins.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the list of logins in one language.
    LoginsTexts;

    title: "Vos connexions", "Your logins";
    about: "Chaque appareil et chaque programme où vous êtes connecté. Terminez ce que vous ne reconnaissez pas, puis changez de mot de passe : cela termine toutes les connexions.",
        "Each device and each program where you are logged in. End what you do not know, and then choose another password: it ends all logins.";
    used: "Dernière utilisation : {when}, depuis {source}", "Last used: {when}, from {source}";
    begun: "Ouverte : {when}", "Begun: {when}";
    ends: "Fin : {when}", "Ends: {when}";
    unknown_device: "Appareil sans nom", "Device without a name";
    this_one: "cet appareil", "this device";
    end: "Terminer", "End";
    end_others: "Terminer toutes les autres", "End all others";
}
