//! Schemas of request bodies that no field table describes, and the request body of each endpoint.
//! Reference 1.2.

use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{Content, RefOr, Required, Schema};

use crate::domain::records::customfield::Model;
use crate::http::endpoint::{BodySchema, Endpoint};
use crate::http::openapi::records::{booked_fiche, customs_given, new_record};
use crate::http::openapi::schema::{
    anything, described, filled_ids, given, given_or_nothing, group_given, moment_filled, named,
    object, of_types, pattern, sendmail, text, whole,
};
use crate::http::openapi::texts::{OperationText, field_text, operation_text};
use crate::http::permissions::Resource;
use crate::wire::column_value::FieldType;

/// The request body of an endpoint, if it reads one. On older paths, the apikey and the group may
/// stand beside the object.
pub(crate) fn request_body(endpoint: &Endpoint, is_legacy: bool) -> Option<RequestBody> {
    let resource = endpoint.right.map(|right| right.resource);
    let text = operation_text(endpoint.operation_id);
    let schema: RefOr<Schema> = match (endpoint.body, resource) {
        (BodySchema::None, _) => return None,
        (BodySchema::Sendmail, _) => return Some(optional_sendmail(text)),
        (BodySchema::Login, _) => return Some(login(endpoint, text)),
        (BodySchema::Token, _) => return Some(json_body(token(), text)),
        (BodySchema::Code, _) => return Some(json_body(code(), text)),
        (BodySchema::Alike, _) => return Some(json_body(alike(), text)),
        (BodySchema::Password, _) => new_password().into(),
        (BodySchema::Hold, _) => hold().into(),
        (BodySchema::Move, _) => new_start().into(),
        (BodySchema::Address, _) => address().into(),
        (BodySchema::Booking, _) => named("Booking"),
        (BodySchema::NewRecord, Some(resource)) => new_record(resource).into(),
        (BodySchema::ChangedFields, Some(resource)) => named(&format!("{}Fields", resource.name())),
        (BodySchema::NewRecord | BodySchema::ChangedFields, None) => object().build().into(),
    };
    let name = match resource {
        Some(resource) => resource.name().to_lowercase(),
        None => String::new(),
    };
    let mut wrapped = object().property(&name, described(schema, "The object."));
    // A vevent may come without its wrapper.
    if resource != Some(Resource::Vevent) {
        wrapped = wrapped.required(&name);
    }
    if is_legacy {
        let beside = |description: &str| anything().description(Some(description));
        let apikey = "The key, a text, unless the query has one.";
        let group = "The group of the new object, unless the query has one.";
        wrapped = wrapped.property("apikey", beside(apikey)).property("group_id", beside(group));
    }
    Some(json_body(wrapped.build(), text))
}

/// A JSON body with the example of its operation.
fn json_content(schema: Object, text: &OperationText) -> Content {
    let mut content = Content::new(Some(schema));
    content.example = text.example.body.clone().map(Into::into);
    content
}

fn json_body(schema: Object, text: &OperationText) -> RequestBody {
    RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content("application/json", json_content(schema, text))
        .build()
}

/// The optional body of a DELETE of a vevent or an appointment. Reference 7.3.
fn optional_sendmail(text: &OperationText) -> RequestBody {
    let body = json_content(object().property("sendmail", sendmail()).build(), text);
    RequestBodyBuilder::new()
        .required(Some(Required::False))
        .content("application/json", body)
        .build()
}

const PASSWORD: &str = "SHA-1 of the password, in hexadecimal digits.";

/// The body of a login: a form, or the same as JSON, flat or nested. Reference 3.3.
fn login(endpoint: &Endpoint, example: &OperationText) -> RequestBody {
    let flat = |of: Object| {
        let mut flat = object();
        for parameter in endpoint.query {
            flat = flat.property(parameter.name, described(of.clone(), parameter.description));
        }
        flat
    };
    // In JSON, a number counts as its digits, and null as no value.
    let in_json = of_types([Type::String, Type::Number, Type::Null]).build();
    let form = flat(text().build())
        .property("apikey", described(text(), "The key, unless the query has one."));
    let person = || {
        object()
            .property("email", described(in_json.clone(), "E-mail address."))
            .property("password", described(in_json.clone(), PASSWORD))
    };
    let group = given(FieldType::Reference);
    let account = person().property(
        "group_id",
        described(group, "Group of the account; by default the only one that has the address."),
    );
    let json = flat(in_json.clone())
        .property("pro", described(person(), "Credentials of a professional."))
        .property("account", described(account, "Credentials of a client's account."));
    RequestBodyBuilder::new()
        .description(Some("The parameters that the query does not give."))
        .required(Some(Required::False))
        .content("application/x-www-form-urlencoded", Content::new(Some(form.build())))
        .content("application/json", json_content(json.build(), example))
        .build()
}

/// The address that is to have an account. Reference 3.5.
fn address() -> ObjectBuilder {
    let pending = "A booking to complete later. At most 8,192 bytes. It is returned after the link \
                   has been followed.";
    let group = "Id of the group; by default the only group of the key.";
    object()
        .property("email", described(given(FieldType::Email), "E-mail address."))
        .property("group_id", described(given(FieldType::Reference), group))
        .property("pendingRdv", described(anything(), pending))
        .required("email")
}

/// The token of a mailed link, and a password. Reference 7.4.
fn token() -> Object {
    let password = "Plain, or its SHA-1 as 40 hexadecimal digits.";
    object()
        .property("token", described(text(), "The token in the mailed link."))
        .property("password", described(text(), password))
        .required("token")
        .build()
}

/// The token of a hold.
pub(crate) const HOLD_TOKEN: &str = "^[A-Za-z0-9]{32}$";
/// The token of a hold, or nothing.
const HOLD_TOKEN_GIVEN: &str = "^([A-Za-z0-9]{32})?$";

/// The token of a booking, and the code that was sent for it. Reference 6.15.
fn code() -> Object {
    object()
        .property("token", described(pattern(HOLD_TOKEN), "The token of the booking."))
        .property("code", described(pattern("^[0-9]{6}$"), "The six digits that were sent."))
        .required("token")
        .required("code")
        .build()
}

/// The bookings of one origin to cancel together. Reference 6.17.
fn alike() -> Object {
    let since = "Bookings made at this time or later are meant.";
    let count = "Number of bookings that the caller expects; without it they are counted only.";
    object()
        .property("since", described(moment_filled(), since))
        .property("count", described(whole(0, i64::from(u32::MAX)), count))
        .property("sendmail", sendmail())
        .required("since")
        .build()
}

/// The new password of a professional, and the present one. Reference 3.3.
fn new_password() -> ObjectBuilder {
    let password = "Plain, or its SHA-1 as 40 hexadecimal digits.";
    let current = "The present password, likewise; not needed with HTTP Basic.";
    object()
        .property("password", described(text(), password))
        .property("current_password", described(text(), current))
        .required("password")
}

/// The object of a new hold. Reference 6.14.
fn hold() -> ObjectBuilder {
    let mut hold = object().property("group_id", group_given());
    let fields: [(&str, RefOr<Schema>); 4] = [
        ("date", moment_filled().into()),
        ("intervention_ids", filled_ids().into()),
        ("calendar_id", given(FieldType::Reference).into()),
        ("hold", pattern(HOLD_TOKEN_GIVEN).into()),
    ];
    for (name, schema) in fields {
        hold = hold.property(name, described(schema, field_text("Booking", name)));
    }
    hold.required("date").required("intervention_ids")
}

/// The new start of an appointment. Reference 6.13.
fn new_start() -> ObjectBuilder {
    object()
        .property("date", described(moment_filled(), field_text("Booking", "date")))
        .property("hold", described(pattern(HOLD_TOKEN_GIVEN), field_text("Booking", "hold")))
        .property("sendmail", sendmail())
        .property("group_id", group_given())
        .required("date")
}

/// The object of a booking. Reference 12.8.
pub(crate) fn booking() -> ObjectBuilder {
    let fields: [(&str, RefOr<Schema>); 10] = [
        ("date", moment_filled().into()),
        ("intervention_ids", filled_ids().into()),
        ("calendar_id", given(FieldType::Reference).into()),
        ("hold", pattern(HOLD_TOKEN_GIVEN).into()),
        ("fiche", booked_fiche().into()),
        ("comments", given(FieldType::Text { max: 65_535 }).into()),
        ("internal_comments", given(FieldType::Text { max: 65_535 }).into()),
        ("websource", given(FieldType::Text { max: 255 }).into()),
        ("from_web", given_or_nothing(FieldType::Boolean).into()),
        ("smsreminder", given_or_nothing(FieldType::Boolean).into()),
    ];
    let mut booking = object().property("group_id", group_given());
    for (name, schema) in fields {
        booking = booking.property(name, described(schema, field_text("Booking", name)));
    }
    customs_given(booking.required("date").required("intervention_ids"), Model::Vevent)
}
