//! The labels of the fields of records.

use crate::notify::language::Language;

/// The labels of a field.
pub(crate) struct FieldLabel {
    /// Its name in the table of fields.
    field: &'static str,
    french: &'static str,
    english: &'static str,
}

const fn label(field: &'static str, french: &'static str, english: &'static str) -> FieldLabel {
    FieldLabel { field, french, english }
}

/// The labels of the fields of a client.
static FICHE_LABELS: &[FieldLabel] = &[
    label("lastname", "Nom", "Last name"),
    label("firstname", "Prénom", "First name"),
    label("firstphone", "Téléphone", "Phone"),
    label("secondphone", "Second téléphone", "Second phone"),
    label("email", "Adresse e-mail", "E-mail address"),
    label("birthdate", "Date de naissance", "Date of birth"),
    label("comments", "Commentaires internes", "Internal comments"),
    label("from_web", "Fiche créée en ligne", "Record made online"),
    label("rappel_email", "Accepte les rappels par e-mail", "Accepts reminders by mail"),
    label("rappel_sms", "Accepte les rappels par SMS", "Accepts reminders by text message"),
    label("externid", "Numéro dans un autre logiciel", "Number in another system"),
    label("deleted", "Fiche supprimée", "Record deleted"),
];

/// The labels of the fields of an event that screens show in forms.
static VEVENT_LABELS: &[FieldLabel] = &[
    label("comments", "Commentaires du client", "Comments of the client"),
    label("internal_comments", "Commentaires internes", "Internal comments"),
    label("text", "Texte", "Text"),
    label("start", "Début", "Start"),
    label("end", "Fin", "End"),
];

/// Returns the label of a field of a client, or its name without one.
pub(crate) fn fiche_label(field: &'static str, language: Language) -> &'static str {
    find_label(FICHE_LABELS, field, language)
}

/// Returns the label of a field of an event, or its name without one.
pub(crate) fn vevent_label(field: &'static str, language: Language) -> &'static str {
    find_label(VEVENT_LABELS, field, language)
}

fn find_label(labels: &[FieldLabel], field: &'static str, language: Language) -> &'static str {
    match labels.iter().find(|label| label.field == field) {
        Some(label) => match language {
            Language::French => label.french,
            Language::English => label.english,
        },
        None => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::fiche::FICHE;
    use crate::wire::field::Audience;

    #[test]
    fn every_field_that_professionals_set_has_a_label() {
        for field in &FICHE.fields {
            if field.writers.is_some_and(|writers| Audience::Pro >= writers) {
                assert_ne!(fiche_label(field.name, Language::French), field.name);
                assert_ne!(fiche_label(field.name, Language::English), field.name);
            }
        }
    }
}
