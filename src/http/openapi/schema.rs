//! Schemas of field values: in responses, and in bodies. Reference 1.2, 1.3.

use serde_json::Value;
use utoipa::openapi::schema::{
    AnyOfBuilder, Array, ArrayBuilder, Object, ObjectBuilder, Ref, RefBuilder, SchemaFormat,
    SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, RefOr, Schema};

use crate::domain::records::ids::ID_MAX;
use crate::wire::column_value::FieldType;

/// A date with or without a time, or nothing.
const DATETIME_GIVEN: &str = "^([0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?)?$";
const DATETIME_SHOWN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$";
const WHOLE: &str = "^([+-]?[0-9]+)?$";
const DECIMAL: &str = "^([+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?)?$";
/// No control characters except newline and tab.
const TEXT: &str = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]*$";
/// No control characters.
const NAME: &str = "^[^\\x00-\\x1f\\x7f-\\x9f]*$";
const EMAIL: &str = "^([^\\s<>,;\"@\\x00-\\x1f\\x7f-\\x9f]+@[^\\s<>,;\"@.\\x00-\\x1f\\x7f-\\x9f]+([.][^\\s<>,;\"@.\\x00-\\x1f\\x7f-\\x9f]+)*)?$";
const COLOUR: &str = "^(#[0-9A-Fa-f]{6})?$";

/// A reference to a component.
pub(crate) fn named(name: &str) -> RefOr<Schema> {
    Ref::from_schema_name(name).into()
}

pub(crate) fn object() -> ObjectBuilder {
    ObjectBuilder::new()
}

pub(crate) fn of_type(field_type: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(field_type)
}

pub(crate) fn text() -> ObjectBuilder {
    of_type(Type::String)
}

pub(crate) fn pattern(pattern: &str) -> ObjectBuilder {
    text().pattern(Some(pattern))
}

pub(crate) fn whole(min: i64, max: i64) -> ObjectBuilder {
    of_type(Type::Integer).minimum(Some(min)).maximum(Some(max))
}

pub(crate) fn at_least(min: i64) -> ObjectBuilder {
    of_type(Type::Integer).minimum(Some(min))
}

pub(crate) fn id() -> ObjectBuilder {
    whole(1, i64::try_from(ID_MAX).expect("ids are exact in JSON"))
}

pub(crate) fn one_of<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> ObjectBuilder {
    text().enum_values(Some(values))
}

pub(crate) fn list(of: impl Into<RefOr<Schema>>) -> Array {
    Array::new(of)
}

pub(crate) fn filled_list(of: impl Into<RefOr<Schema>>) -> Array {
    ArrayBuilder::new().items(of.into()).min_items(Some(1)).build()
}

pub(crate) fn any_of<const N: usize>(alternatives: [RefOr<Schema>; N]) -> RefOr<Schema> {
    alternatives.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item).into()
}

/// The empty values: null, the empty text and the empty list.
pub(crate) fn nothing() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .enum_values(Some([Value::Null, "".into(), Value::Array(vec![])]))
        .build()
}

/// A value in a response.
pub(crate) fn shown(field_type: FieldType, nullable: bool) -> Object {
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

/// A value in a body: numbers also as texts, booleans also as 1 and 0, `""` and null for nothing.
pub(crate) fn given(field_type: FieldType) -> RefOr<Schema> {
    let or_null = |kind: Type| SchemaType::from_iter([kind, Type::Null]);
    match field_type {
        FieldType::Id | FieldType::Reference => named("IdGiven"),
        FieldType::Text { max } => text_given(TEXT, max),
        FieldType::Name { max } => text_given(NAME, max),
        FieldType::Email => text()
            .schema_type(or_null(Type::String))
            .max_length(Some(255))
            .pattern(Some(EMAIL))
            .into(),
        FieldType::Colour => pattern(COLOUR).schema_type(or_null(Type::String)).into(),
        FieldType::Integer { min, max } => {
            any_of([whole(min, max).into(), named("IntegerText"), named("Nothing")])
        }
        FieldType::Number => named("NumberGiven"),
        FieldType::Boolean => named("BooleanGiven"),
        FieldType::Moment | FieldType::CivilMoment => named("DatetimeGiven"),
        FieldType::Choice(choices) => {
            let values = choices().into_iter().map(Value::from).chain(["".into(), Value::Null]);
            ObjectBuilder::new().schema_type(or_null(Type::String)).enum_values(Some(values)).into()
        }
    }
}

/// A text, or a number that counts as its digits. Long texts have no pattern, because test tools
/// need too much time to generate values for it.
fn text_given(pattern: &str, max: usize) -> RefOr<Schema> {
    let kinds = SchemaType::from_iter([Type::String, Type::Number, Type::Null]);
    let pattern = if max <= 255 { Some(pattern) } else { None };
    text().schema_type(kinds).max_length(Some(max)).pattern(pattern).into()
}

/// The same for a field that each object has: empty values are not allowed.
pub(crate) fn filled(field_type: FieldType) -> RefOr<Schema> {
    let strictly = |form: &str| form.replace("^(", "^").replace(")?$", "$");
    match field_type {
        FieldType::Id | FieldType::Reference => {
            any_of([id().into(), pattern("^0*[1-9][0-9]{0,14}$").into()])
        }
        FieldType::Text { max } | FieldType::Name { max } => {
            let kinds = SchemaType::from_iter([Type::String, Type::Number]);
            text().schema_type(kinds).max_length(Some(max)).pattern(Some("[^\\s]")).into()
        }
        FieldType::Email => pattern(&strictly(EMAIL)).max_length(Some(255)).into(),
        FieldType::Colour => pattern(&strictly(COLOUR)).into(),
        FieldType::Integer { min, max } => any_of([whole(min, max).into(), named("IntegerText")]),
        FieldType::Number | FieldType::Boolean => given(field_type),
        FieldType::Moment | FieldType::CivilMoment => {
            pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?$").into()
        }
        FieldType::Choice(choices) => one_of(choices()).into(),
    }
}

/// The components that [`given`] refers to.
pub(crate) fn givens() -> [(&'static str, RefOr<Schema>); 8] {
    let booleans = one_of(["true", "false", "1", "0"]);
    let largest = i64::try_from(ID_MAX).expect("ids are exact in JSON");
    [
        ("Nothing", nothing().into()),
        ("IntegerText", pattern(WHOLE).description(Some("a whole number as text")).into()),
        ("IdGiven", any_of([whole(0, largest).into(), named("IntegerText"), named("Nothing")])),
        ("GroupGiven", any_of([id().into(), pattern("^[1-9][0-9]*$").into(), named("Nothing")])),
        (
            "NumberGiven",
            any_of([
                of_type(Type::Number)
                    .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
                    .into(),
                pattern(DECIMAL).into(),
                named("Nothing"),
            ]),
        ),
        (
            "BooleanGiven",
            any_of([of_type(Type::Boolean).into(), whole(0, 1).into(), booleans.into()]),
        ),
        (
            "DatetimeGiven",
            pattern(DATETIME_GIVEN)
                .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
                .description(Some(
                    "YYYY-MM-DD HH:MM:SS on the clocks of the group; YYYY-MM-DD alone is midnight",
                ))
                .into(),
        ),
        (
            "IdsGiven",
            any_of([
                list(named("IdGiven")).into(),
                pattern("^[0-9, ]*$").description(Some("ids between commas")).into(),
                id().into(),
                named("Nothing"),
            ]),
        ),
    ]
}

/// The JSON value null.
pub(crate) fn null() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Null).into()
}

/// A flag in a response.
pub(crate) fn flag() -> Object {
    of_type(Type::Boolean).build()
}

/// The field `sendmail` of a professional's request. Reference 7.3.
pub(crate) fn sendmail() -> Object {
    let description = "0: the client gets no message about this change";
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(description)).build()
}

/// The same schema with a default.
pub(crate) fn with_default(schema: RefOr<Schema>, default: Value) -> RefOr<Schema> {
    match schema {
        RefOr::Ref(reference) => {
            RefBuilder::new().ref_location(reference.ref_location).default(Some(default)).into()
        }
        RefOr::T(Schema::Object(mut object)) => {
            object.default = Some(default);
            object.into()
        }
        RefOr::T(Schema::AnyOf(mut any)) => {
            any.default = Some(default);
            RefOr::T(Schema::AnyOf(any))
        }
        other @ RefOr::T(_) => other,
    }
}
