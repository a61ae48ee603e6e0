//! Import documents. A document that is taken is exported, imported and exported again: both exports
//! are the same.

use slotbook::domain::records::text::Text;
use slotbook::domain::time::Instant;
use slotbook::password::{hash_password, sha1_hex};
use slotbook::transfer::{StoreContent, export, import};

use crate::harness::{AllocationBound, CaughtPanics, Target};

const NOW: Instant = Instant(1_764_576_000);
const BOUND: AllocationBound = AllocationBound { bytes: 2 << 20, per_input_byte: 4 << 10 };

pub(crate) fn target() -> Target {
    // One hash for all passwords: making one is expensive by intent.
    let hash = hash_password(&sha1_hex("secret"));
    Target::new(BOUND, CaughtPanics::Never, move |input| {
        let make_hash = |_: &str| -> Text<255> { hash.clone() };
        let read = |document: &[u8]| import::read_document(document, NOW, &make_hash);
        let Ok(content) = read(input) else { return };
        let document = write(&content);
        let again = read(&document)
            .unwrap_or_else(|faults| panic!("{faults:?}:\n{}", String::from_utf8_lossy(&document)));
        let second = write(&again);
        assert_eq!(String::from_utf8_lossy(&second), String::from_utf8_lossy(&document));
    })
}

fn write(content: &StoreContent) -> Vec<u8> {
    let mut document = Vec::new();
    export::write_document(&content.directory, &content.group_states, &mut document)
        .expect("memory takes it");
    document
}
