//! The contact that a booking by the public needs, so that the shop can reach its client.
//! Reference 6.3.

use crate::domain::records::fault::Fault;
use crate::domain::records::group::ContactNeeded;

/// Minimum number of digits of a telephone number that reaches someone.
const PHONE_DIGITS_MIN: usize = 4;

/// The rule of a booking without an e-mail address, where the shop needs one.
pub(crate) const EMAIL_NEEDED: &str =
    "is required: this group has to reach its clients by e-mail (contact_needed)";
/// The rule of a booking without a telephone number, where the shop needs one.
pub(crate) const PHONE_NEEDED: &str =
    "must be a telephone number: this group has to reach its clients by phone (contact_needed)";
/// The rule of a booking without any contact, where the shop needs either of both.
pub(crate) const EITHER_NEEDED: &str =
    "or firstphone is required: this group has to reach its clients (contact_needed)";

/// The contact of a client as a booking gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenContact<'c> {
    /// Whether the booking gives an e-mail address.
    pub(crate) has_email: bool,
    /// Its telephone numbers; empty for none.
    pub(crate) phones: [&'c str; 2],
}

/// Returns the fault of a booking that does not give the contact that its group needs.
pub(crate) fn find_contact_fault(needed: ContactNeeded, given: GivenContact<'_>) -> Option<Fault> {
    let has_phone = given
        .phones
        .into_iter()
        .any(|phone| phone.chars().filter(char::is_ascii_digit).count() >= PHONE_DIGITS_MIN);
    let (field, rule) = match needed {
        ContactNeeded::Email if !given.has_email => ("fiche.email", EMAIL_NEEDED),
        ContactNeeded::Phone if !has_phone => ("fiche.firstphone", PHONE_NEEDED),
        ContactNeeded::Either if !given.has_email && !has_phone => ("fiche.email", EITHER_NEEDED),
        ContactNeeded::None
        | ContactNeeded::Email
        | ContactNeeded::Phone
        | ContactNeeded::Either => return None,
    };
    Some(Fault::new(field, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_booking_gives_the_contact_that_its_group_needs() {
        let none = ["", ""];
        for (needed, has_email, phones, lacks) in [
            (ContactNeeded::None, false, none, None),
            (ContactNeeded::Email, true, none, None),
            (ContactNeeded::Email, false, ["0123456789", ""], Some("fiche.email")),
            (ContactNeeded::Phone, true, none, Some("fiche.firstphone")),
            (ContactNeeded::Phone, true, ["aucun 123", ""], Some("fiche.firstphone")),
            (ContactNeeded::Phone, false, ["", "poste 12 34"], None),
            (ContactNeeded::Either, true, none, None),
            (ContactNeeded::Either, false, ["1234", ""], None),
            (ContactNeeded::Either, false, ["123", "1"], Some("fiche.email")),
        ] {
            let fault = find_contact_fault(needed, GivenContact { has_email, phones });
            let case = (needed, has_email, phones);
            assert_eq!(fault.map(|fault| fault.field), lacks.map(Into::into), "{case:?}");
        }
    }
}
