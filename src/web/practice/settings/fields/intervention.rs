//! The fields of services and of their sets.

use crate::web::practice::settings::fields::field_text::FieldWidget::{
    Interventionset, Minutes, Price,
};
use crate::web::practice::settings::fields::field_text::{FieldText, field};

/// The fields of a service.
pub(crate) static INTERVENTION: &[FieldText] = &[
    field("name", ["Nom", "Name"], ["Nom dans vos écrans.", "Name on your screens."]),
    field(
        "publicname",
        ["Nom pour les clients", "Name for clients"],
        [
            "Les clients lisent ce nom. Vide : la prestation n’est pas proposée en ligne.",
            "Clients read this name. Empty: the service is not offered online.",
        ],
    ),
    field(
        "interventionset_id",
        ["Catégorie", "Set of services"],
        [
            "La page de réservation range la prestation dans cette catégorie.",
            "The booking page lists the service in this set.",
        ],
    )
    .asked_by(Interventionset),
    field(
        "length",
        ["Durée", "Duration"],
        ["Minutes que prend un nouveau rendez-vous.", "Minutes that a new appointment takes."],
    )
    .asked_by(Minutes),
    field(
        "price",
        ["Prix", "Price"],
        [
            "Prix pour les clients, par exemple 30,50. Vide : aucun.",
            "Price for clients, for example 30.50. Empty: none.",
        ],
    )
    .asked_by(Price)
    .ruled([
        "Un montant de 0 à 10 000 000, avec deux décimales au plus.",
        "Must be an amount from 0 to 10,000,000 with at most two decimals.",
    ]),
    field(
        "description",
        ["Description", "Description"],
        [
            "La page de réservation l’affiche sous le nom.",
            "The booking page shows it below the name.",
        ],
    ),
    field(
        "bring_text",
        ["À apporter", "What to bring"],
        ["La page de réservation l’affiche.", "The booking page shows it."],
    ),
    field(
        "abbr",
        ["Abréviation", "Abbreviation"],
        ["Nom court dans l’agenda.", "Short name in the agenda."],
    ),
    field(
        "colorref",
        ["Couleur", "Colour"],
        ["Couleur des rendez-vous dans l’agenda.", "Colour of appointments in the agenda."],
    ),
    field(
        "sort",
        ["Position", "Position"],
        [
            "Les listes suivent ce nombre, du plus petit au plus grand.",
            "Lists follow this number, ascending.",
        ],
    ),
];

/// The fields of a set of services.
pub(crate) static INTERVENTIONSET: &[FieldText] = &[
    field("name", ["Nom", "Name"], ["Nom dans vos écrans.", "Name on your screens."]),
    field(
        "publicname",
        ["Nom pour les clients", "Name for clients"],
        [
            "Les clients lisent ce nom. Vide : aucune prestation de la catégorie n’est proposée.",
            "Clients read this name. Empty: no service of the set is offered.",
        ],
    ),
    field(
        "description",
        ["Description", "Description"],
        [
            "La page de réservation l’affiche sous le nom.",
            "The booking page shows it below the name.",
        ],
    ),
    field(
        "sort",
        ["Position", "Position"],
        [
            "Les listes suivent ce nombre, du plus petit au plus grand.",
            "Lists follow this number, ascending.",
        ],
    ),
];
