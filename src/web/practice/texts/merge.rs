//! The texts of the merge of two records of a client.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the merge of two records of a client in one language.
    MergeTexts;

    title: "Fusionner deux fiches", "Merge two records";
    link: "Fusionner avec une autre fiche", "Merge with another record";
    kept: "Fiche conservée", "Record that is kept";
    search: "Chercher l’autre fiche : nom, téléphone ou adresse e-mail",
        "Search for the other record: name, phone or e-mail address";
    find: "Chercher", "Search";
    nothing: "Aucune autre fiche trouvée.", "No other record was found.";
    why: "Rendez-vous, comptes et messages passent à la fiche conservée. Cela ne peut pas être défait.",
        "Appointments, accounts and messages go to the record that is kept. This cannot be undone.";
    other: "Autre fiche", "Other record";
    both: "Les deux, à la suite", "Both, one after the other";
    appointments: "Rendez-vous", "Appointments";
    same: "Les deux fiches ont les mêmes valeurs.", "Both records have the same values.";
    merge: "Fusionner", "Merge";
    overtaken: "Une des fiches a été modifiée entre-temps. Rien n’a été fusionné ; vérifiez votre choix.",
        "One of the records was changed meanwhile. Nothing was merged; check your choice.";
    refused: "Rien n’a été fusionné.", "Nothing was merged.";
    back: "Retour à la fiche", "Back to the record";
}
