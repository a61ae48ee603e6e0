//! The texts of the agenda.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the agenda in one language.
    AgendaTexts;

    title: "Aujourd’hui", "Today";
    nothing: "Aucun rendez-vous aujourd’hui.", "No appointment today.";
}
