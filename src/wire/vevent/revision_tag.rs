//! The revision of an event: 64 bits that differ from one form of it to another. It is the entity
//! tag of the event. Reference 1.7.

use std::hash::{Hash, Hasher};

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};

use crate::domain::records::customfield::{CustomValue, Customs};
use crate::domain::records::vevent::{
    Appointment, Availability, OptionalFields, Vevent, VeventKind,
};

/// Number of characters of a revision.
pub const REVISION_LENGTH: usize = 11;

/// Returns the revision of an event, in the alphabet of URLs of base64.
///
/// It covers the fields that professionals see, without those that follow from other records, and
/// without the state of reminders. Another build of the program may give another one.
pub fn revision_text(row: &Vevent) -> String {
    BASE64URL_NOPAD.encode(&hash_fields(row).to_be_bytes())
}

fn hash_fields(row: &Vevent) -> u64 {
    // Every member is named, so that a new one is not forgotten.
    let Vevent { id, calendar_id, kind, deleted, created_at, updated_at, rare } = row;
    let mut hasher = FieldHasher(Sha256::new());
    (id, calendar_id, deleted, created_at, updated_at).hash(&mut hasher);
    (row.fiche_id(), row.intervention_id()).hash(&mut hasher);
    match kind {
        VeventKind::Appointment(appointment) => hash_appointment(appointment, &mut hasher),
        VeventKind::Plage(series) => (1_u8, series).hash(&mut hasher),
        VeventKind::Availability(availability) => {
            let Availability { series, permits } = availability.as_ref();
            (2_u8, series, permits).hash(&mut hasher);
        }
        VeventKind::Note(series) => (3_u8, series).hash(&mut hasher),
    }
    if let Some(rare) = rare.as_deref() {
        hash_optional_fields(rare, &mut hasher);
    }
    hasher.finish()
}

fn hash_appointment(appointment: &Appointment, hasher: &mut FieldHasher) {
    let Appointment {
        civil_start,
        start,
        length_seconds,
        intervention_id,
        fiche_id,
        key,
        state,
        smsreminder,
        from_web,
        reminders: _,
        booking_origin: _,
    } = appointment;
    (0_u8, civil_start, start, length_seconds, intervention_id, fiche_id).hash(hasher);
    (key.as_str(), state.number(), smsreminder, from_web).hash(hasher);
}

fn hash_optional_fields(rare: &OptionalFields, hasher: &mut FieldHasher) {
    let OptionalFields {
        taker,
        colorref,
        text,
        comments,
        websource,
        customs,
        internal_comments,
        booking_comments: _,
        // The event names its client or its intervention.
        half: _,
    } = rare;
    (taker, colorref, text, comments, websource, internal_comments).hash(hasher);
    hash_customs(customs, hasher);
}

fn hash_customs(customs: &Customs, hasher: &mut FieldHasher) {
    for (name, value) in customs.iter() {
        name.hash(hasher);
        match value {
            CustomValue::Boolean(flag) => flag.hash(hasher),
            CustomValue::Datetime(civil) => civil.hash(hasher),
            CustomValue::Number(number) => number.to_bits().hash(hasher),
            CustomValue::String(text) => text.hash(hasher),
            CustomValue::Text(text) => text.hash(hasher),
        }
    }
}

/// Hashes fields by SHA-256, so that no client finds two forms of an event with one revision.
struct FieldHasher(Sha256);

impl Hasher for FieldHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let hash: [u8; 32] = self.0.clone().finalize().into();
        let [a, b, c, d, e, f, g, h, ..] = hash;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}
