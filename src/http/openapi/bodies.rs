//! Schemas of request bodies that no field table describes, and the request body of each endpoint.
//! Reference 1.2.

use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{AllOfBuilder, Object, ObjectBuilder, SchemaType};
use utoipa::openapi::{Content, RefOr, Required, Schema};

use crate::http::endpoint::{BodySchema, Endpoint};
use crate::http::openapi::schema::{
    any_of, filled_list, given, id, named, nothing, null, object, pattern, sendmail, text,
};
use crate::http::permissions::Resource;
use crate::wire::column_value::FieldType;

/// The request body of an endpoint, if it reads one. On older paths, the apikey and the group may
/// stand beside the object.
pub(crate) fn request_body(endpoint: &Endpoint, is_legacy: bool) -> Option<RequestBody> {
    let resource = endpoint.right.map(|right| right.resource);
    let component = |prefix: &str, suffix: &str| match resource {
        Some(resource) => named(&format!("{prefix}{}{suffix}", resource.name())),
        None => object().build().into(),
    };
    let schema = match endpoint.body {
        BodySchema::None => return None,
        BodySchema::Sendmail => return Some(optional_sendmail()),
        BodySchema::Login => return Some(login(endpoint)),
        BodySchema::Token => return Some(json_body(token().into())),
        BodySchema::Address => address().into(),
        BodySchema::NewRecord => component("New", ""),
        BodySchema::ChangedFields => component("", "Fields"),
        BodySchema::Booking => named("Booking"),
    };
    let name = match resource {
        Some(resource) => resource.name().to_lowercase(),
        None => String::new(),
    };
    let mut wrapped = object().property(&name, schema.clone()).required(&name);
    if is_legacy {
        let beside = |description: &str| {
            ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(description))
        };
        let apikey = "the key, a text, unless the query has one";
        let group = "the group of the new object, unless the query has one";
        wrapped = wrapped.property("apikey", beside(apikey)).property("group_id", beside(group));
    }
    // A vevent may come without its wrapper.
    if resource == Some(Resource::Vevent) {
        Some(json_body(any_of([wrapped.into(), schema])))
    } else {
        Some(json_body(wrapped.into()))
    }
}

fn json_body(schema: RefOr<Schema>) -> RequestBody {
    RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content("application/json", Content::new(Some(schema)))
        .build()
}

/// The optional body of a DELETE of a vevent or an appointment. Reference 7.3.
fn optional_sendmail() -> RequestBody {
    let body = Content::new(Some(object().property("sendmail", sendmail()).build()));
    RequestBodyBuilder::new()
        .required(Some(Required::False))
        .content("application/json", body)
        .build()
}

/// The body of a login: a form, or the same as JSON, flat or nested. Reference 3.3.
fn login(endpoint: &Endpoint) -> RequestBody {
    let flat = || {
        let mut flat = object();
        for parameter in endpoint.query {
            flat = flat.property(parameter.name, text());
        }
        flat
    };
    let apikey = text().description(Some("the key, unless the query has one"));
    let form = flat().property("apikey", apikey);
    let person = || object().property("email", text()).property("password", text());
    let group = any_of([id().into(), text().into()]);
    let json =
        flat().property("pro", person()).property("account", person().property("group_id", group));
    RequestBodyBuilder::new()
        .description(Some("the parameters that the query does not give"))
        .required(Some(Required::False))
        .content("application/x-www-form-urlencoded", Content::new(Some(form.build())))
        .content("application/json", Content::new(Some(json.build())))
        .build()
}

/// The address that is to have an account. Reference 3.5.
fn address() -> Object {
    let pending = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let pending = pending.description(Some(
        "a booking to complete later; it is returned after the link has been followed",
    ));
    let group = any_of([named("IdGiven"), null()]);
    let account = object().property("email", given(FieldType::Email)).property("group_id", group);
    account.property("pendingRdv", pending).required("email").build()
}

/// The token of a mailed link, and a password. Reference 7.4.
fn token() -> Object {
    let password = text().description(Some("plain, or its SHA-1 as 40 hexadecimal digits"));
    object().property("token", text()).property("password", password).required("token").build()
}

/// The object of a booking. Reference 12.8.
pub(crate) fn booking() -> RefOr<Schema> {
    let or_nothing = |schema: RefOr<Schema>| any_of([schema, nothing().into()]);
    let client = AllOfBuilder::new()
        .item(named("FicheFields"))
        .item(object().property("id", named("IdGiven")).build());
    let client = client.description(Some(
        "the client: the id of a fiche, for professionals and accounts, or the client's fields",
    ));
    let interventions = any_of([
        filled_list(any_of([id().into(), pattern("^[0-9]+$").into()])).into(),
        pattern("^[0-9, ]*[0-9][0-9, ]*$").into(),
        id().into(),
    ]);
    let own = object()
        .property("date", pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?$"))
        .property("intervention_ids", interventions)
        .property("calendar_id", named("IdGiven"))
        .property("fiche", any_of([client.into(), null()]))
        .property("comments", given(FieldType::Text { max: 65_535 }))
        .property("internal_comments", given(FieldType::Text { max: 65_535 }))
        .property("websource", given(FieldType::Text { max: 255 }))
        .property("from_web", or_nothing(named("BooleanGiven")))
        .property("smsreminder", or_nothing(named("BooleanGiven")))
        .property("group_id", named("GroupGiven"))
        .required("date")
        .required("intervention_ids");
    AllOfBuilder::new().item(own.build()).item(named("CustomsGiven")).into()
}
