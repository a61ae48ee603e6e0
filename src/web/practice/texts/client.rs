//! The texts of the screens of clients.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the screens of clients in one language.
    ClientTexts;

    title: "Clients", "Clients";
    search: "Nom, téléphone ou adresse e-mail", "Name, phone or e-mail address";
    find: "Chercher", "Search";
    with_deleted: "Aussi les fiches supprimées", "Deleted records too";
    search_too_long: "La recherche a plus de 255 caractères.",
        "The search has more than 255 characters.";
    found: "Fiches {first} à {last} sur {total}", "Records {first} to {last} of {total}";
    nothing: "Aucune fiche trouvée.", "No record was found.";
    previous: "Page précédente", "Previous page";
    next: "Page suivante", "Next page";
    pages: "Pages", "Pages";
    add: "Ajouter un client", "Add a client";
    no_name: "Sans nom", "No name";
    deleted: "Cette fiche est supprimée.", "This record is deleted.";
    deleted_short: "supprimée", "deleted";
    facts: "Coordonnées", "Details";
    edit: "Modifier", "Edit";
    book_again: "Nouveau rendez-vous", "Book again";
    upcoming: "Prochains rendez-vous", "Next appointments";
    past: "Rendez-vous passés", "Past appointments";
    no_upcoming: "Aucun rendez-vous à venir.", "No next appointment.";
    no_past: "Aucun rendez-vous passé.", "No past appointment.";
    all_past: "Tous les rendez-vous passés ({total})", "All past appointments ({total})";
    attended: "venu", "attended";
    no_show: "absent", "no-show";
    pending: "en attente", "pending";
    export: "Télécharger toutes les données de ce client (JSON)",
        "Download everything about this client (JSON)";
    to_list: "Tous les clients", "All clients";
}
