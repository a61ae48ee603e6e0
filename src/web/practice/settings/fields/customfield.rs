//! The fields of the definition of a customised attribute.

use crate::web::practice::settings::fields::field_text::FieldWidget::{AttributeName, Choice};
use crate::web::practice::settings::fields::field_text::{ChoiceText, FieldText, choice, field};

static MODELS: &[ChoiceText] =
    &[choice("Fiche", ["Client", "Client"]), choice("Vevent", ["Rendez-vous", "Appointment"])];

/// The fields of a customised attribute.
pub(crate) static CUSTOMFIELD: &[FieldText] = &[
    field(
        "model",
        ["Concerne", "Belongs to"],
        [
            "L’attribut complète chaque fiche de client, ou chaque rendez-vous.",
            "The attribute is part of each client, or of each appointment.",
        ],
    )
    .asked_by(Choice(MODELS))
    .kept(),
    field(
        "name",
        ["Type et numéro", "Type and number"],
        [
            "Le type des valeurs et leur place. Ils ne changent plus après la création.",
            "The type of the values, and their place. They stay as they are made.",
        ],
    )
    .asked_by(AttributeName)
    .ruled([
        "Cet attribut existe déjà. Choisissez-en un autre.",
        "This attribute exists already. Choose another one.",
    ])
    .kept(),
    field(
        "pro_label",
        ["Libellé pour vous", "Label for you"],
        ["Question que posent vos écrans.", "Question on your screens."],
    ),
    field(
        "pro_required",
        ["Obligatoire pour vous", "Required of you"],
        [
            "Un nouveau client ou rendez-vous doit avoir une valeur.",
            "A new client or appointment must have a value.",
        ],
    ),
    field(
        "pro_position",
        ["Position pour vous", "Position for you"],
        [
            "Vos écrans suivent ce nombre, du plus petit au plus grand.",
            "Your screens follow this number, ascending.",
        ],
    ),
    field(
        "pro_inputex",
        ["Saisie pour vous", "Input for you"],
        [
            "JSON que les applications lisent ; le serveur ne l’interprète pas.",
            "JSON that applications read; the server does not interpret it.",
        ],
    ),
    field(
        "user_visible",
        ["Demander aux clients", "Ask clients"],
        [
            "Les clients voient l’attribut et le remplissent en réservant.",
            "Clients see the attribute and fill it when they book.",
        ],
    ),
    field(
        "user_label",
        ["Libellé pour les clients", "Label for clients"],
        ["Question sur la page de réservation.", "Question on the booking page."],
    ),
    field(
        "user_required",
        ["Obligatoire pour les clients", "Required of clients"],
        ["Un client ne réserve pas sans répondre.", "A client cannot book without an answer."],
    ),
    field(
        "user_position",
        ["Position pour les clients", "Position for clients"],
        [
            "La page de réservation suit ce nombre, du plus petit au plus grand.",
            "The booking page follows this number, ascending.",
        ],
    ),
    field(
        "user_inputex",
        ["Saisie pour les clients", "Input for clients"],
        [
            "JSON ; la page de réservation propose les textes de sa liste « choices ».",
            "JSON; the booking page offers the texts of its list “choices”.",
        ],
    ),
];
