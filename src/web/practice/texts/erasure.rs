//! The texts of the erasing of a client.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the erasing of a client in one language.
    ErasureTexts;

    link: "Effacer ce client", "Erase this client";
    title: "Effacer {name}", "Erase {name}";
    goes: "Noms, adresses, numéros, commentaires, messages et compte sont effacés. Cela ne peut pas être défait.",
        "Names, addresses, numbers, comments, messages and the account are erased. This cannot be undone.";
    stays: "Les rendez-vous restent dans l’agenda, sans la personne.",
        "The appointments stay in the agenda, without the person.";
    upcoming: "Ces rendez-vous à venir sont annulés, sans message au client :",
        "These upcoming appointments are cancelled, without a message to the client:";
    more: "… et {count} autres.", "… and {count} more.";
    changed: "Les rendez-vous à venir ont changé entre-temps. Rien n’a été effacé ; vérifiez la liste.",
        "The upcoming appointments have changed meanwhile. Nothing was erased; check the list.";
    erase: "Effacer", "Erase";
    keep: "Ne pas effacer", "Do not erase";
    erased: "Ce client a été effacé. Il reste ses rendez-vous, sans leurs textes.",
        "This client was erased. What is left are the appointments, without their texts.";
    erased_name: "Client effacé", "Erased client";
}
