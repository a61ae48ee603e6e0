//! Space that a group's records take. Reference 3.8.
//!
//! The space of a record is that of its texts and a fixed share for the rest. It is near the memory
//! that the record takes, and above its share of a snapshot. It is derived from the record alone.

use crate::domain::directory::password_link::longest_token_bytes;
use crate::domain::records::account_link::PendingRdv;
use crate::domain::records::customfield::{CustomValue, Customs};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::image::Image;
use crate::domain::records::message::{Message, MessageContent};
use crate::domain::records::text::Email;
use crate::domain::records::vevent::{BookingComments, OptionalFields, Vevent};

/// Bytes of a vevent without optional fields, with its entries in the indexes.
const VEVENT_BYTES: u64 = 320;
/// Bytes of the optional fields of a vevent, without texts.
const OPTIONAL_FIELDS_BYTES: u64 = 192;
/// Bytes of a fiche without texts, with its entries in the indexes.
const FICHE_BYTES: u64 = 384;
/// Bytes of a customised attribute, without text.
const CUSTOM_BYTES: u64 = 48;
/// Bytes of a message without texts, with its entries in the indexes.
const MESSAGE_BYTES: u64 = 384;
/// Bytes of an image without its content, with its entries in the indexes.
const IMAGE_BYTES: u64 = 256;
/// Bytes of an account.
pub(crate) const ACCOUNT_BYTES: u64 = 512;

/// Returns the bytes of a vevent.
pub(crate) fn vevent_bytes(row: &Vevent) -> u64 {
    VEVENT_BYTES + row.rare.as_deref().map_or(0, optional_fields_bytes)
}

fn optional_fields_bytes(fields: &OptionalFields) -> u64 {
    let booked = match &fields.booking_comments {
        BookingComments::Unrecorded | BookingComments::Unchanged => "",
        BookingComments::Replaced(comments) => comments.as_str(),
    };
    let texts = [
        fields.taker.as_str(),
        fields.text.as_str(),
        fields.comments.as_str(),
        fields.websource.as_str(),
        fields.internal_comments.as_str(),
        booked,
    ];
    OPTIONAL_FIELDS_BYTES + text_bytes(&texts) + customs_bytes(&fields.customs)
}

/// Returns the bytes of a fiche.
pub(crate) fn fiche_bytes(fiche: &Fiche) -> u64 {
    let texts = [
        fiche.lastname.as_str(),
        fiche.firstname.as_str(),
        fiche.firstphone.as_str(),
        fiche.secondphone.as_str(),
        fiche.email.as_ref().map_or("", Email::as_str),
        fiche.comments.as_str(),
    ];
    FICHE_BYTES + text_bytes(&texts) + customs_bytes(&fiche.customs)
}

fn customs_bytes(customs: &Customs) -> u64 {
    let mut bytes = 0;
    for (_, value) in customs.iter() {
        bytes += CUSTOM_BYTES;
        bytes += match value {
            CustomValue::String(text) => text_bytes(&[text.as_str()]),
            CustomValue::Text(text) => text_bytes(&[text.as_str()]),
            CustomValue::Boolean(_) | CustomValue::Datetime(_) | CustomValue::Number(_) => 0,
        };
    }
    bytes
}

/// Returns the bytes of an image.
pub(crate) fn image_bytes(image: &Image) -> u64 {
    IMAGE_BYTES + image.bytes.len() as u64
}

/// Returns the bytes of a message.
pub(crate) fn message_bytes(message: &Message) -> u64 {
    let token = if let MessageContent::AccountLink { token, .. } = &message.content {
        token.as_str()
    } else {
        ""
    };
    MESSAGE_BYTES + text_bytes(&[message.recipient.as_str(), token])
}

/// Returns the bytes of the message with a link that sets a password, or more.
pub(crate) fn password_link_bytes(email: &Email, pending_rdv: Option<&PendingRdv>) -> u64 {
    let email_bytes = email.as_str().len() as u64;
    let pending_bytes = pending_rdv.map_or(0, |pending| pending.as_str().len() as u64);
    MESSAGE_BYTES + email_bytes + longest_token_bytes(email_bytes + pending_bytes)
}

fn text_bytes(texts: &[&str]) -> u64 {
    texts.iter().map(|text| text.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::directory::link_secret::LinkSecret;
    use crate::domain::directory::password_link::{AccountStamp, PasswordLink};
    use crate::domain::records::ids::{GroupId, ID_MAX};
    use crate::domain::records::message::LinkPurpose;
    use crate::domain::state::outbox::Outbox;
    use crate::domain::time::Instant;

    #[test]
    fn the_space_that_a_link_needs_is_known_before_it_is_sealed() {
        let secret = LinkSecret::new([7; 32]);
        for (email, pending) in
            [("a@example.org", None), ("a@example.org", Some("{}")), ("long.name@x.org", Some("é"))]
        {
            let email = Email::new(email).expect("an address");
            let pending_rdv = pending.map(|text| PendingRdv::new(&text.repeat(500)).expect("text"));
            let foreseen = password_link_bytes(&email, pending_rdv.as_ref());
            let expires = Instant(0);
            let stamp = AccountStamp::from_account(None);
            let link = PasswordLink { email: email.clone(), stamp, expires, pending_rdv };
            let group = GroupId::new(ID_MAX).expect("the largest id");
            let purpose = LinkPurpose::Confirm;
            let token = link.seal(group, &secret);
            let content = MessageContent::AccountLink { purpose, token, expires };
            let message = Outbox::default().draft(0, Instant(0), content, email.as_str());
            let needed = message_bytes(&message);
            assert!((needed..needed + 4).contains(&foreseen), "{needed} {foreseen}");
        }
    }
}
