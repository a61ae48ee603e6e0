//! Fields of interventions and interventionsets. Reference 12.4, 12.5.

use std::sync::LazyLock;

use crate::domain::records::ids::{InterventionId, InterventionsetId};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::time::Instant;
use crate::wire::field::{Audience, OPEN, PRO, Table, fields, plain};

/// Every field of an intervention.
pub static INTERVENTION: LazyLock<Table<Intervention>> = LazyLock::new(|| Table {
    resource: "intervention",
    fields: fields!(
        Intervention,
        Audience::Application,
        [
            plain!("interventionset_id", interventionset_id, OPEN),
            plain!("name", name, PRO),
            plain!("abbr", abbr, OPEN),
            plain!("length", length, OPEN),
            plain!("colorref", colorref, OPEN),
            plain!("sort", sort, OPEN),
            plain!("price", price, OPEN),
            plain!("deleted", deleted, OPEN),
            plain!("publicname", publicname, OPEN),
            plain!("description", description, OPEN),
            plain!("bring_text", bring_text, OPEN),
        ]
    ),
    required: &[&["name"]],
    customs: None,
    id: |intervention| intervention.id.number(),
    order: |a, b, _| a.sort.cmp(&b.sort),
    blank: Intervention::new(InterventionId::new(1).expect("1 is an id"), Instant(0)),
});

/// Every field of an interventionset.
pub static INTERVENTIONSET: LazyLock<Table<Interventionset>> = LazyLock::new(|| Table {
    resource: "interventionset",
    fields: fields!(
        Interventionset,
        Audience::Application,
        [
            plain!("name", name, PRO),
            plain!("sort", sort, OPEN),
            plain!("publicname", publicname, OPEN),
            plain!("description", description, OPEN),
        ]
    ),
    required: &[&["name"]],
    customs: None,
    id: |set| set.id.number(),
    order: |a, b, _| a.sort.cmp(&b.sort),
    blank: Interventionset::new(InterventionsetId::new(1).expect("1 is an id"), Instant(0)),
});
