//! The texts of forms on records.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of forms on records in one language.
    FormTexts;

    save: "Enregistrer", "Save";
    saved: "Enregistré.", "Saved.";
    nothing_chosen: "—", "—";
    yes: "Oui", "Yes";
    no: "Non", "No";
    faults_title: "Rien n’a été enregistré. À corriger :", "Nothing was saved. To correct:";
    required: "Ce champ est obligatoire.", "This field is required.";
    name_missing: "Indiquez un nom ou un prénom.", "Enter a last or a first name.";
    bad_email: "Indiquez une adresse e-mail complète, comme nom@example.org.",
        "Enter a complete e-mail address, such as name@example.org.";
    bad_date: "Indiquez une date qui existe.", "Enter a date that exists.";
    bad_number: "Indiquez un nombre permis ici.", "Enter a number that is allowed here.";
    too_long: "Ce texte a plus de {most} caractères, ou un caractère interdit.",
        "This text has more than {most} characters, or one that is not allowed.";
    bad_value: "Cette valeur n’est pas permise ici.", "This value is not allowed here.";
    overtaken_title: "Modifié entre-temps", "Changed meanwhile";
    overtaken: "Une autre personne a enregistré une modification depuis l’ouverture de cette page. Rien n’a été écrasé.",
        "Another person has saved a change since this page was opened. Nothing was overwritten.";
    overtaken_field: "Champ", "Field";
    overtaken_theirs: "Enregistré", "Saved";
    overtaken_mine: "Votre saisie", "Your entry";
    reload: "Recharger la fiche", "Reload the record";
    save_mine: "Enregistrer ma saisie", "Save my entry";
}
