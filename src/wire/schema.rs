//! Schemas of field values: in responses, and in bodies. Reference 1.2, 1.3.
//!
//! Unions of plain values are lists of types, which program generators turn into simple types.
//!
//! A struct of a body or an answer derives its schema. Its members are of types that have a schema
//! here, or name one: those beginning with `Given` stand in bodies.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{
    Array, ArrayBuilder, ArrayItems, Object, ObjectBuilder, Ref, SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, RefOr, Schema};

use crate::domain::records::ids::{
    CalendarId, CustomfieldId, FicheId, GroupId, ID_MAX, InterventionId, VeventId,
};
use crate::wire::column_value::FieldType;
use crate::wire::datetime::LocalTime;

/// A date with or without a time, or nothing.
const DATETIME_GIVEN: &str =
    "^([0-9]{4}-[0-9]{2}-[0-9]{2}([ Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.]0+)?)?)?$";
/// A wall-clock time as above, or an instant of RFC 3339 in whole seconds, or nothing.
const MOMENT_GIVEN: &str = "^([0-9]{4}-[0-9]{2}-[0-9]{2}([ Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.]0+)?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?)?$";
const DATETIME_SHOWN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$";
/// No control characters except newline and tab.
const TEXT: &str = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]*$";
/// No control characters.
const NAME: &str = "^[^\\x00-\\x1f\\x7f-\\x9f]*$";
const EMAIL: &str = "^([^\\s<>,;\"@\\x00-\\x1f\\x7f-\\x9f]+@[^\\s<>,;\"@.\\x00-\\x1f\\x7f-\\x9f]+([.][^\\s<>,;\"@.\\x00-\\x1f\\x7f-\\x9f]+)*)?$";
const COLOUR: &str = "^(#[0-9A-Fa-f]{6})?$";

/// The token of a hold.
const TOKEN: &str = "^[A-Za-z0-9]{32}$";
/// The token of a hold, or nothing.
const TOKEN_GIVEN: &str = "^([A-Za-z0-9]{32})?$";

/// Gives types a schema, by which members of these types are described.
macro_rules! value_schemas {
    ($($name:ty => $schema:expr;)*) => {$(
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $schema.into()
            }
        }
        impl utoipa::ToSchema for $name {}
    )*};
}
pub(crate) use value_schemas;

/// Declares names of schemas, for members whose type has none.
macro_rules! schema_names {
    ($($(#[$doc:meta])* $visibility:vis $name:ident => $schema:expr;)*) => {
        $($(#[$doc])* #[derive(Debug)] $visibility enum $name {})*
        $crate::wire::schema::value_schemas! { $($name => $schema;)* }
    };
}
pub(crate) use schema_names;

value_schemas! {
    GroupId => id();
    CalendarId => id();
    InterventionId => id();
    FicheId => id();
    VeventId => id();
    CustomfieldId => id();
    LocalTime => shown(FieldType::Moment, false);
}

schema_names! {
    /// An instant of RFC 3339.
    pub UtcTime => instant(false);
    /// The problem of a request that has none.
    pub NoProblem => no_object();
    /// Whether the client gets a message.
    pub GivenSendmail => sendmail();
    /// A number of records.
    pub Count => whole(0, i64::from(u32::MAX));
    /// The token of a hold.
    pub Token => pattern(TOKEN);
    /// The six digits that were sent.
    pub GivenCode => pattern("^[0-9]{6}$");
    /// The token of a hold, or nothing.
    pub GivenToken => pattern(TOKEN_GIVEN);
    /// The network of a source.
    pub GivenWidth => one_of(["source", "56", "48"]);
    /// A time on the clocks of the group, or an instant.
    pub GivenMoment => moment_filled();
    /// At least one id.
    pub GivenIds => filled_list(id());
    /// An id, or nothing.
    pub GivenId => given(FieldType::Reference);
    /// An e-mail address, or nothing.
    pub GivenEmail => given(FieldType::Email);
    /// A text of several lines, or nothing.
    pub GivenComment => given(FieldType::Text { max: 65_535 });
    /// A short text, or nothing.
    pub GivenLabel => given(FieldType::Text { max: 255 });
    /// A boolean, or nothing.
    pub GivenFlag => given_or_nothing(FieldType::Boolean);
}

/// Returns the schema of a struct, in which the schemas of its members are put in place. A member
/// that is an `Option` may be left out; its own schema says whether it may be null.
pub fn object_of<T: ToSchema>() -> ObjectBuilder {
    let mut parts = Vec::new();
    T::schemas(&mut parts);
    let mut schema = T::schema();
    put_in_place(&mut schema, &parts.into_iter().collect());
    let RefOr::T(Schema::Object(object)) = schema else {
        panic!("{} has no members with names", T::name())
    };
    object.into()
}

/// The same as a whole schema.
pub fn schema_of<T: ToSchema>() -> RefOr<Schema> {
    object_of::<T>().into()
}

/// Replaces the references to parts by the parts. Program generators make a type of each schema
/// with a name, so only the names that endpoints give stay.
fn put_in_place(schema: &mut RefOr<Schema>, parts: &BTreeMap<String, RefOr<Schema>>) {
    if let RefOr::T(Schema::OneOf(optional)) = schema {
        *schema = optional.items.swap_remove(0);
    }
    if let RefOr::Ref(reference) = schema {
        let name = reference.ref_location.rsplit('/').next().unwrap_or_default();
        let part = parts.get(name).expect("the derive lists the parts that it refers to");
        *schema = described(part.clone(), &reference.description);
    }
    if let RefOr::T(Schema::Object(object)) = schema {
        // A description has the line breaks of its doc comment.
        object.description = object.description.take().map(|text| text.replace('\n', " "));
        for property in object.properties.values_mut() {
            put_in_place(property, parts);
        }
    } else if let RefOr::T(Schema::Array(array)) = schema {
        array.description = array.description.take().map(|text| text.replace('\n', " "));
        if let ArrayItems::RefOrSchema(items) = &mut array.items {
            put_in_place(items, parts);
        }
    }
}

/// A reference to a component.
pub fn named(name: &str) -> RefOr<Schema> {
    Ref::from_schema_name(name).into()
}

pub fn object() -> ObjectBuilder {
    ObjectBuilder::new()
}

pub fn of_type(field_type: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(field_type)
}

/// A value of one of several types.
pub fn of_types<const N: usize>(types: [Type; N]) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter(types))
}

pub fn text() -> ObjectBuilder {
    of_type(Type::String)
}

pub fn pattern(pattern: &str) -> ObjectBuilder {
    text().pattern(Some(pattern))
}

pub fn whole(min: i64, max: i64) -> ObjectBuilder {
    bounded(of_type(Type::Integer), min, max)
}

/// Bounds of a whole number. Numbers beyond 32 bits say so, for languages with sized integers.
fn bounded(schema: ObjectBuilder, min: i64, max: i64) -> ObjectBuilder {
    let schema = schema.minimum(Some(min)).maximum(Some(max));
    if max > i64::from(i32::MAX) {
        schema.format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
    } else {
        schema
    }
}

pub fn at_least(min: i64) -> ObjectBuilder {
    of_type(Type::Integer).minimum(Some(min))
}

/// The largest id.
fn id_max() -> i64 {
    i64::try_from(ID_MAX).expect("ids are exact in JSON")
}

pub fn id() -> ObjectBuilder {
    whole(1, id_max())
}

pub fn one_of<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> ObjectBuilder {
    text().enum_values(Some(values))
}

pub fn list(of: impl Into<RefOr<Schema>>) -> Array {
    Array::new(of)
}

pub fn filled_list(of: impl Into<RefOr<Schema>>) -> Array {
    ArrayBuilder::new().items(of.into()).min_items(Some(1)).build()
}

/// A value in a response.
pub fn shown(field_type: FieldType, nullable: bool) -> Object {
    let (base, built) = match field_type {
        FieldType::Id => (Type::Integer, id()),
        FieldType::Reference => (Type::Integer, id().minimum(Some(0_i64))),
        FieldType::Text { .. } | FieldType::Name { .. } => (Type::String, text()),
        FieldType::Email => (Type::String, text()),
        FieldType::Colour => (Type::String, pattern(COLOUR)),
        FieldType::Integer { min, max } => (Type::Integer, whole(min, max)),
        FieldType::Number => (Type::Number, of_type(Type::Number)),
        FieldType::Boolean => (Type::Boolean, of_type(Type::Boolean)),
        FieldType::Moment | FieldType::CivilMoment => (Type::String, pattern(DATETIME_SHOWN)),
        FieldType::Choice(choices) => (Type::String, one_of(choices())),
    };
    if nullable {
        built.schema_type(SchemaType::from_iter([base, Type::Null])).build()
    } else {
        built.build()
    }
}

/// An instant in a response.
pub fn instant(nullable: bool) -> Object {
    let base = if nullable { of_types([Type::String, Type::Null]) } else { text() };
    base.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).build()
}

/// A value in a body, null for nothing. The parsers also take numbers as texts, booleans as 1 and
/// 0, and `""` and the empty list for nothing. Each schema has one type only, because generated
/// programs cannot use values of several types.
pub fn given(field_type: FieldType) -> Object {
    let built = match field_type {
        FieldType::Id | FieldType::Reference => optional_id(0),
        FieldType::Text { max } => text_given(TEXT, max),
        FieldType::Name { max } => text_given(NAME, max),
        FieldType::Email => {
            of_types([Type::String, Type::Null]).max_length(Some(255)).pattern(Some(EMAIL))
        }
        FieldType::Colour => of_types([Type::String, Type::Null]).pattern(Some(COLOUR)),
        FieldType::Integer { min, max } => bounded(of_types([Type::Integer, Type::Null]), min, max),
        FieldType::Number => of_types([Type::Number, Type::Null])
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double))),
        FieldType::Boolean => of_type(Type::Boolean),
        FieldType::Moment => of_types([Type::String, Type::Null]).pattern(Some(MOMENT_GIVEN)),
        FieldType::CivilMoment => {
            of_types([Type::String, Type::Null]).pattern(Some(DATETIME_GIVEN))
        }
        FieldType::Choice(choices) => {
            let values = choices().into_iter().map(Value::from).chain([Value::Null]);
            of_types([Type::String, Type::Null]).enum_values(Some(values))
        }
    };
    built.build()
}

/// The same where a boolean may also be null.
pub fn given_or_nothing(field_type: FieldType) -> Object {
    if matches!(field_type, FieldType::Boolean) {
        return of_types([Type::Boolean, Type::Null]).build();
    }
    given(field_type)
}

/// An id from `min`, or nothing.
fn optional_id(min: i64) -> ObjectBuilder {
    bounded(of_types([Type::Integer, Type::Null]), min, id_max())
}

/// The group of a body, which is that of the request.
pub fn group_given() -> Object {
    let text = "The group of the request. It may be left out.";
    optional_id(1).description(Some(text)).build()
}

/// A text, or nothing. Long texts have no pattern, because test tools need too much time to
/// generate values for it.
fn text_given(pattern: &str, max: usize) -> ObjectBuilder {
    let pattern = if max <= 255 { Some(pattern) } else { None };
    of_types([Type::String, Type::Null]).max_length(Some(max)).pattern(pattern)
}

/// The same for a field that each object has: empty values are not allowed.
pub fn filled(field_type: FieldType) -> Object {
    let strictly = |form: &str| form.replace("^(", "^").replace(")?$", "$");
    match field_type {
        FieldType::Id | FieldType::Reference => id().build(),
        FieldType::Text { max } | FieldType::Name { max } => {
            pattern("[^\\s]").max_length(Some(max)).build()
        }
        FieldType::Email => pattern(&strictly(EMAIL)).max_length(Some(255)).build(),
        FieldType::Colour => pattern(&strictly(COLOUR)).build(),
        FieldType::Integer { min, max } => whole(min, max).build(),
        FieldType::Number | FieldType::Boolean => given(field_type),
        FieldType::Moment | FieldType::CivilMoment => moment_filled().build(),
        FieldType::Choice(choices) => one_of(choices()).build(),
    }
}

/// A date with or without a time, or an instant of RFC 3339.
pub fn moment_filled() -> ObjectBuilder {
    pattern(&moment_filled_form())
}

/// The same in a query, where fractions of a second are dropped; or nothing, if it may be empty.
pub fn moment_in_query(may_be_empty: bool) -> ObjectBuilder {
    let form = if may_be_empty { MOMENT_GIVEN.to_owned() } else { moment_filled_form() };
    pattern(&form.replace("[.]0+", "[.][0-9]+"))
}

fn moment_filled_form() -> String {
    MOMENT_GIVEN.replacen("^(", "^", 1).replace(")?)?$", ")?$")
}

/// Null in the place of an object. The type null alone has no counterpart in many languages.
pub fn no_object() -> Object {
    of_types([Type::Object, Type::Null]).build()
}

/// A flag in a response.
pub fn flag() -> Object {
    of_type(Type::Boolean).build()
}

/// The field `sendmail` of a professional's request. Reference 7.3.
pub fn sendmail() -> Object {
    let text = "0: the client gets no message about this change.";
    whole(0, 1).description(Some(text)).build()
}

/// The optional body of a DELETE of a vevent or an appointment. Reference 7.3.
pub fn only_sendmail() -> RefOr<Schema> {
    object().property("sendmail", sendmail()).into()
}

/// The bytes of a file.
pub fn file_bytes() -> RefOr<Schema> {
    let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
    text().format(Some(format)).into()
}

/// The same schema with a description.
pub fn described(schema: impl Into<RefOr<Schema>>, text: &str) -> RefOr<Schema> {
    let mut schema = schema.into();
    match &mut schema {
        _ if text.is_empty() => {}
        RefOr::Ref(reference) => text.clone_into(&mut reference.description),
        RefOr::T(Schema::Object(object)) => object.description = Some(text.to_owned()),
        RefOr::T(Schema::Array(array)) => array.description = Some(text.to_owned()),
        RefOr::T(_) => {}
    }
    schema
}

/// An object whose properties are all required, each with its description.
pub fn all_required<const N: usize>(properties: [(&str, RefOr<Schema>, &str); N]) -> ObjectBuilder {
    let mut all = object();
    for (name, schema, text) in properties {
        all = all.property(name, described(schema, text)).required(name);
    }
    all
}
