//! The fields of calendars and of their sets.

use crate::web::practice::settings::fields::field_text::FieldWidget::{Calendarset, Minutes};
use crate::web::practice::settings::fields::field_text::{FieldText, field};

/// The fields of a calendar.
pub(crate) static CALENDAR: &[FieldText] = &[
    field("name", ["Nom", "Name"], ["Nom dans vos écrans.", "Name on your screens."]),
    field(
        "publicname",
        ["Nom pour les clients", "Name for clients"],
        [
            "Les clients lisent ce nom. Vide : l’agenda n’est pas proposé en ligne.",
            "Clients read this name. Empty: the calendar is not offered online.",
        ],
    ),
    field(
        "tagline",
        ["Une ligne de présentation", "A line about it"],
        ["Les clients la lisent sous le nom.", "Clients read it below the name."],
    ),
    field(
        "calendarset_id",
        ["Groupe d’agendas", "Set of calendars"],
        ["Le groupe donne son adresse à l’agenda.", "The set gives the calendar its address."],
    )
    .asked_by(Calendarset),
    field(
        "address",
        ["Rue et numéro", "Street and number"],
        [
            "Seulement si ce n’est pas l’adresse du groupe ou de l’établissement.",
            "Only if it is not the address of the set or of the shop.",
        ],
    ),
    field(
        "zipcode",
        ["Code postal", "Postal code"],
        ["Complète cette adresse.", "Part of that address."],
    ),
    field("city", ["Ville", "Town"], ["Complète cette adresse.", "Part of that address."]),
    field(
        "generate_interval",
        ["Pas des horaires", "Step of times"],
        [
            "Minutes entre deux débuts proposés aux clients.",
            "Minutes between two starts that clients are offered.",
        ],
    )
    .asked_by(Minutes),
    field(
        "mintime_rdv",
        ["Délai minimal", "Least lead time"],
        [
            "Un client réserve au moins ce nombre de minutes avant le début.",
            "A client books at least this number of minutes before the start.",
        ],
    )
    .asked_by(Minutes),
    field(
        "maxrdv_period",
        ["Délai maximal", "Greatest lead time"],
        [
            "Un client réserve au plus ce nombre de minutes avant le début.",
            "A client books at most this number of minutes before the start.",
        ],
    )
    .asked_by(Minutes),
    field(
        "mintime_annulation",
        ["Délai d’annulation", "Time to cancel"],
        [
            "Un client annule au moins ce nombre de minutes avant le début.",
            "A client cancels at least this number of minutes before the start.",
        ],
    )
    .asked_by(Minutes),
    field(
        "sort",
        ["Position", "Position"],
        [
            "Les listes suivent ce nombre, du plus petit au plus grand.",
            "Lists follow this number, ascending.",
        ],
    ),
];

/// The fields of a set of calendars.
pub(crate) static CALENDARSET: &[FieldText] = &[
    field("name", ["Nom", "Name"], ["Nom dans vos écrans.", "Name on your screens."]),
    field(
        "publicname",
        ["Nom pour les clients", "Name for clients"],
        [
            "Les clients lisent ce nom, ou le premier s’il est vide.",
            "Clients read this name, or the other one if it is empty.",
        ],
    ),
    field(
        "preposition",
        ["Mot avant le nom", "Word before the name"],
        [
            "Précède le nom dans une phrase, par exemple « chez ».",
            "Stands before the name in a sentence, for example “at”.",
        ],
    ),
    field(
        "address",
        ["Rue et numéro", "Street and number"],
        ["Lieu des rendez-vous de ces agendas.", "Place of the appointments of these calendars."],
    ),
    field(
        "zipcode",
        ["Code postal", "Postal code"],
        ["Complète cette adresse.", "Part of that address."],
    ),
    field("city", ["Ville", "Town"], ["Complète cette adresse.", "Part of that address."]),
    field(
        "hidden",
        ["Cacher aux clients", "Hide from clients"],
        ["Les clients ne voient pas ce groupe.", "Clients do not see this set."],
    ),
    field(
        "externid",
        ["Identifiant externe", "External identifier"],
        ["Retrouve ce groupe dans un autre logiciel.", "Finds this set in another program."],
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
