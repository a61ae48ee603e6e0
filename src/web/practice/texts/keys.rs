//! The texts of the keys of a group.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the keys of a group in one language.
    KeysTexts;

    about: "Une clé permet à un site de réserver chez vous. Tous les visiteurs du site peuvent la lire.",
        "A key lets a site book with you. All visitors of the site can read it.";
    new: "Nouvelle clé", "New key";
    label: "Nom", "Name";
    label_hint: "Pour la reconnaître plus tard, par exemple le nom du site.",
        "To know it again later, such as the name of the site.";
    origins: "Adresses du site", "Addresses of the site";
    origins_hint: "Une par ligne, comme https://www.exemple.fr. Vide : aucune page ne réserve avec cette clé.",
        "One a line, such as https://www.example.org. Empty: no page books with this key.";
    wrong_label: "Donnez un nom de 255 caractères au plus.", "Give a name of at most 255 characters.";
    wrong_origins: "Au plus 20 adresses comme https://www.exemple.fr, sans chemin.",
        "At most 20 addresses such as https://www.example.org, without a path.";
    too_many: "Il y a déjà 50 clés. Révoquez-en une d’abord.",
        "There are 50 keys already. Revoke one first.";
    make: "Créer la clé", "Make the key";
    made_title: "Votre nouvelle clé", "Your new key";
    made: "Copiez cette clé maintenant : elle ne sera plus affichée.",
        "Copy this key now: it is not shown again.";
    noted: "Je l’ai copiée", "I have copied it";
    none: "Aucune clé pour le moment.", "No key yet.";
    unnamed: "Clé sans nom", "Key without a name";
    id: "Identifiant {id}", "Id {id}";
    used: "Dernière utilisation : {day}", "Last used: {day}";
    unused: "Dernière utilisation : aucune connue", "Last used: not known";
    operators: "C’est l’exploitant du serveur qui gère cette clé.", "The operator of the server keeps this key.";
    revoke: "Révoquer", "Revoke";
    revoked: "La clé est révoquée.", "The key is revoked.";
}
