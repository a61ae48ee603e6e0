//! The counts that `slotbook import` prints. Reference 11.2.

use crate::domain::state::group_state::GroupState;
use crate::transfer::StoreContent;

/// Describes the number of each kind of record in the content of a document, as one line. Kinds
/// without any are left out.
pub(crate) fn describe_counts(content: &StoreContent) -> String {
    let StoreContent { directory, group_states: groups } = content;
    let sum = |count: fn(&GroupState) -> usize| groups.iter().map(count).sum::<usize>();
    let counts = [
        (groups.len(), "group", "groups"),
        (directory.apikeys.len(), "key", "keys"),
        (directory.pros.len(), "professional", "professionals"),
        (sum(|group| group.accounts.len()), "account", "accounts"),
        (sum(|group| group.catalogue.calendars.len()), "calendar", "calendars"),
        (sum(|group| group.catalogue.interventions.len()), "intervention", "interventions"),
        (sum(|group| group.fiches.len()), "fiche", "fiches"),
        (sum(|group| group.rows.len()), "vevent", "vevents"),
        (sum(|group| group.outbox.messages().count()), "message", "messages"),
    ];
    let mut parts = Vec::new();
    for (count, one, many) in counts {
        if count > 0 {
            parts.push(format!("{count} {}", if count == 1 { one } else { many }));
        }
    }
    if parts.is_empty() {
        return "imported nothing: the document is empty\n".to_owned();
    }
    format!("imported {}\n", parts.join(", "))
}
