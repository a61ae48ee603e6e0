//! Schemas of request bodies that no field table describes, and the request body of each endpoint.
//! Reference 1.2.

use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{Content, RefOr, Required, Schema};

use crate::domain::records::customfield::Model;
use crate::http::endpoint::{Body, Endpoint, QueryParameter, Shape};
use crate::http::openapi::records::{booked_fiche, customs_given, new_record};
use crate::http::openapi::schema::{
    anything, described, filled_ids, given, given_or_nothing, group_given, moment_filled, named,
    object, of_types, pattern, sendmail, text, whole,
};
use crate::http::openapi::texts::{field_text, operation_text};
use crate::http::permissions::Resource;
use crate::wire::column_value::FieldType;

/// The request body of an endpoint. On older paths, the apikey and the group may stand beside the
/// object.
pub(crate) fn request_body(endpoint: &Endpoint, body: &Body, is_legacy: bool) -> RequestBody {
    let resource = endpoint.right.map(|right| right.resource);
    let mut json = schema(&body.json, endpoint);
    if body.is_wrapped {
        let name = resource.map(|resource| resource.name().to_lowercase()).unwrap_or_default();
        let mut wrapped = object().property(&name, described(json, "The object."));
        // A vevent may come without its wrapper.
        if resource != Some(Resource::Vevent) {
            wrapped = wrapped.required(&name);
        }
        if is_legacy {
            let apikey = "The key, a text, unless the query has one.";
            let group = "The group of the new object, unless the query has one.";
            wrapped = wrapped
                .property("apikey", described(anything(), apikey))
                .property("group_id", described(anything(), group));
        }
        json = wrapped.into();
    }
    let mut content = Content::new(Some(json));
    content.example = operation_text(endpoint.operation_id).example.body.clone().map(Into::into);
    let required = if body.is_required { Required::True } else { Required::False };
    let mut request = RequestBodyBuilder::new().required(Some(required));
    if let Some(form) = body.form {
        request = request
            .description(Some("The parameters that the query does not give."))
            .content("application/x-www-form-urlencoded", Content::new(Some(form())));
    }
    request.content("application/json", content).build()
}

/// The schema of a shape. A resource without records has an object without properties.
pub(crate) fn schema(shape: &Shape, endpoint: &Endpoint) -> RefOr<Schema> {
    let component = |suffix: &str| match &endpoint.right {
        Some(right) => named(&format!("{}{suffix}", right.resource.name())),
        None => object().into(),
    };
    match (shape, &endpoint.right) {
        (Shape::Record, _) => component(""),
        (Shape::RecordList, _) => component("List"),
        (Shape::ChangedFields, _) => component("Fields"),
        (Shape::NewRecord, Some(right)) => new_record(right.resource).into(),
        (Shape::NewRecord, None) => object().into(),
        (Shape::Inline(make), _) => make(),
        (Shape::Named(name, _), _) => named(name),
    }
}

const PASSWORD: &str = "SHA-1 of the password, in hexadecimal digits.";

fn flat(parameters: &[QueryParameter], of: &Object) -> ObjectBuilder {
    let mut flat = object();
    for parameter in parameters {
        flat = flat.property(parameter.name, described(of.clone(), parameter.description));
    }
    flat
}

pub(crate) fn login_form(parameters: &[QueryParameter]) -> RefOr<Schema> {
    let key = "The key, unless the query has one.";
    flat(parameters, &text().build()).property("apikey", described(text(), key)).into()
}

/// The body of a login: a form, or the same as JSON, flat or nested. Reference 3.3.
pub(crate) fn login_json(parameters: &[QueryParameter]) -> RefOr<Schema> {
    // In JSON, a number counts as its digits, and null as no value.
    let in_json = of_types([Type::String, Type::Number, Type::Null]).build();
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
    flat(parameters, &in_json)
        .property("pro", described(person(), "Credentials of a professional."))
        .property("account", described(account, "Credentials of a client's account."))
        .into()
}

/// The address that is to have an account. Reference 3.5.
pub(crate) fn address() -> RefOr<Schema> {
    let pending = "A booking to complete later. At most 8,192 bytes. It is returned after the link \
                   has been followed.";
    let group = "Id of the group; by default the only group of the key.";
    object()
        .property("email", described(given(FieldType::Email), "E-mail address."))
        .property("group_id", described(given(FieldType::Reference), group))
        .property("pendingRdv", described(anything(), pending))
        .required("email")
        .into()
}

/// The token of a mailed link, and a password. Reference 7.4.
pub(crate) fn token() -> RefOr<Schema> {
    let password = "Plain, or its SHA-1 as 40 hexadecimal digits.";
    object()
        .property("token", described(text(), "The token in the mailed link."))
        .property("password", described(text(), password))
        .required("token")
        .into()
}

/// The token of a hold.
pub(crate) const HOLD_TOKEN: &str = "^[A-Za-z0-9]{32}$";
/// The token of a hold, or nothing.
const HOLD_TOKEN_GIVEN: &str = "^([A-Za-z0-9]{32})?$";

/// The token of a booking, and the code that was sent for it. Reference 6.15.
pub(crate) fn code() -> RefOr<Schema> {
    object()
        .property("token", described(pattern(HOLD_TOKEN), "The token of the booking."))
        .property("code", described(pattern("^[0-9]{6}$"), "The six digits that were sent."))
        .required("token")
        .required("code")
        .into()
}

/// The bookings of one origin to cancel together. Reference 6.17.
pub(crate) fn alike() -> RefOr<Schema> {
    let since = "Bookings made at this time or later are meant.";
    let count = "Number of bookings that the caller expects; without it they are counted only.";
    object()
        .property("since", described(moment_filled(), since))
        .property("count", described(whole(0, i64::from(u32::MAX)), count))
        .property("sendmail", sendmail())
        .required("since")
        .into()
}

/// The new password of a professional, and the present one. Reference 3.3.
pub(crate) fn new_password() -> RefOr<Schema> {
    let password = "Plain, or its SHA-1 as 40 hexadecimal digits.";
    let current = "The present password, likewise; not needed with HTTP Basic.";
    object()
        .property("password", described(text(), password))
        .property("current_password", described(text(), current))
        .required("password")
        .into()
}

/// The object of a new hold. Reference 6.14.
pub(crate) fn hold() -> RefOr<Schema> {
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
    hold.required("date").required("intervention_ids").into()
}

/// The new start of an appointment. Reference 6.13.
pub(crate) fn new_start() -> RefOr<Schema> {
    object()
        .property("date", described(moment_filled(), field_text("Booking", "date")))
        .property("hold", described(pattern(HOLD_TOKEN_GIVEN), field_text("Booking", "hold")))
        .property("sendmail", sendmail())
        .property("group_id", group_given())
        .required("date")
        .into()
}

/// The object of a booking. Reference 12.8.
pub(crate) fn booking() -> RefOr<Schema> {
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
    customs_given(booking.required("date").required("intervention_ids"), Model::Vevent).into()
}
