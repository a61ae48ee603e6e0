//! The sentence of each refusal, in the language of the page, with the date or rule it is about.

use crate::domain::decisions::contact_rule::{EITHER_NEEDED, EMAIL_NEEDED, PHONE_NEEDED};
use crate::domain::decisions::unconfirmed::EMAIL_FOR_CODE;
use crate::domain::records::fault::Fault;
use crate::domain::state::refusal::Refusal;
use crate::web::contact_fields::FieldView;
use crate::web::format;
use crate::web::reason_text::Reasons;
use crate::web::shop::Visit;
use crate::web::text::fill;

/// A refusal as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusalText {
    /// The field that it is about, if it is one of the form.
    pub(crate) field: Option<String>,
    pub(crate) sentence: String,
    /// Whether another time could be booked, so that the page offers some.
    pub(crate) wants_other_time: bool,
}

impl RefusalText {
    /// A sentence about the whole form.
    pub(crate) fn general(sentence: &str) -> Self {
        Self { field: None, sentence: sentence.to_owned(), wants_other_time: false }
    }
}

/// Describes a refusal of a booking. `when` is the refused time in words.
pub(crate) fn describe(
    visit: &Visit,
    refusal: &Refusal,
    fields: &[FieldView],
    when: &str,
) -> RefusalText {
    let text = visit.text;
    let general = RefusalText::general;
    let other_time =
        |sentence: String| RefusalText { field: None, sentence, wants_other_time: true };
    let about_email =
        |sentence: &str| RefusalText { field: Some("fiche.email".to_owned()), ..general(sentence) };
    match refusal {
        Refusal::Unauthorized { .. } => general(text.not_allowed),
        Refusal::InvalidParameter(fault) => describe_fault(visit, fault, fields),
        Refusal::NoResult => general(text.gone),
        Refusal::MaxRdvNumber { most } => general(&fill(text.too_many, "most", &most.to_string())),
        Refusal::MintimeBetween { minutes } => {
            let gap = format::length(visit.language(), *minutes);
            other_time(fill(text.too_close, "gap", &gap))
        }
        Refusal::MaxRdvPeriod { latest } => {
            other_time(fill(text.too_far, "latest", &visit.when(*latest)))
        }
        Refusal::MintimeRdv { earliest, first } => {
            let first = first.unwrap_or(*earliest);
            other_time(fill(text.too_soon, "earliest", &visit.when(first)))
        }
        Refusal::MintimeAnnulation { until } => {
            general(&fill(text.too_late_why, "until", &visit.when(*until)))
        }
        Refusal::EmailAlreadyExists => about_email(text.has_account),
        Refusal::SameTimeRdv { .. } => other_time(text.same_time.to_owned()),
        Refusal::EmailNotFound => about_email(text.unknown_email),
        Refusal::ClocksOverlap { .. }
        | Refusal::PreconditionFailed(_)
        | Refusal::OtherEffect(_)
        | Refusal::ExternidHeldTwice { .. }
        | Refusal::UpcomingAppointments { .. }
        | Refusal::TooManyHolds { .. } => general(text.other_fault),
        Refusal::NotAvailable { .. } => other_time(fill(text.taken, "when", when)),
    }
}

/// Describes the fault of a field by the kind of its value.
fn describe_fault(visit: &Visit, fault: &Fault, fields: &[FieldView]) -> RefusalText {
    let text = visit.text;
    let reasons = Reasons::in_language(visit.language());
    let Some(field) = fields.iter().find(|field| field.name == fault.field) else {
        return RefusalText::general(text.other_fault);
    };
    let sentence = match (field.value.is_empty(), field.input_type()) {
        _ if fault.rule == EMAIL_NEEDED => reasons.email_needed,
        _ if fault.rule == PHONE_NEEDED => reasons.phone_needed,
        _ if fault.rule == EITHER_NEEDED => reasons.either_needed,
        (true, _) if field.name == "fiche.lastname" => text.name_missing,
        (true, _) if fault.rule == EMAIL_FOR_CODE => reasons.code_asked,
        (true, _) => text.required,
        (false, "email") => text.bad_email,
        (false, "date" | "datetime-local") => text.bad_date,
        (false, "number") => text.bad_number,
        (false, "tel") if field.is_required && field.value.len() <= field.chars_max => {
            text.bad_phone
        }
        (false, _) => text.bad_value,
    };
    RefusalText { field: Some(field.name.clone()), ..RefusalText::general(sentence) }
}
