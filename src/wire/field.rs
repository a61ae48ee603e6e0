//! Resources as tables of fields: names, access rights, parsing, rendering and comparison.
//! Reference 1.2, 1.3, 3.2.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::domain::records::customfield::{CustomKind, CustomName};
use crate::domain::records::fault::Fault;
use crate::domain::records::text::InvalidValue;
use crate::domain::state::command::Patch;
use crate::domain::time::Instant;
use crate::domain::time::zone;
pub use crate::wire::column_value::{ColumnValue, FieldType};
use crate::wire::custom_values::{
    CustomMember, custom_column_value, parse_custom_values, visible_custom_values,
};
use crate::wire::datetime;
use crate::wire::field_codec::FieldCodec;
use crate::wire::json_writer::ObjectWriter;
pub use crate::wire::scope::{Audience, Scope};
use crate::wire::value::{self, find_filled, find_member};

/// Read by everyone, set by professionals.
pub(crate) const OPEN: (Audience, Audience) = (Audience::Application, Audience::Pro);
/// Read and set by professionals only.
pub(crate) const PRO: (Audience, Audience) = (Audience::Pro, Audience::Pro);
/// Read by professionals, set by the system and by an import.
pub(crate) const STAMP: (Audience, Audience) = (Audience::Pro, Audience::Store);

type Read<R> = Box<dyn for<'a> Fn(&'a R, &Scope<'a>) -> ColumnValue<'a> + Send + Sync>;
/// Adds the assignment of a legal value to a patch. The record holds the default values.
type Write<R> =
    Box<dyn Fn(&Value, &Scope<'_>, &R, &mut Patch<R>) -> Result<(), InvalidValue> + Send + Sync>;

/// One field of a resource.
pub struct Field<R> {
    /// Its name on the wire.
    pub name: &'static str,
    /// The name under which answers also show a time as an instant of RFC 3339 in UTC; `None` for
    /// a field that is no instant.
    pub utc_name: Option<String>,
    /// Its type on the wire.
    pub field_type: FieldType,
    /// The least privileged audience that sees it.
    pub readers: Audience,
    /// The least privileged audience that may set it; `None` if only the system sets it.
    pub writers: Option<Audience>,
    /// Returns the value of a record.
    read: Read<R>,
    /// Parses a given value. `None` if the system sets the field, or if the resource has a parser
    /// of its own.
    write: Option<Write<R>>,
}

impl<R: 'static> Field<R> {
    /// Creates a field that is a member of the record.
    pub fn plain<T: FieldCodec>(
        name: &'static str,
        (readers, writers): (Audience, Audience),
        get: fn(&R) -> &T,
        get_mut: fn(&mut R) -> &mut T,
    ) -> Self {
        let write = move |given: &Value, scope: &Scope<'_>, blank: &R, patch: &mut Patch<R>| {
            let value = T::parse(given, scope)?.unwrap_or_else(|| get(blank).clone());
            patch.push(move |record| *get_mut(record) = value.clone());
            Ok(())
        };
        Self::derived(name, T::FIELD_TYPE, readers, move |record, _| get(record).to_column_value())
            .with_writer(writers, write)
    }

    /// Creates a read-only field, which [`Table::parse`] skips.
    pub fn derived(
        name: &'static str,
        field_type: FieldType,
        readers: Audience,
        read: impl for<'a> Fn(&'a R, &Scope<'a>) -> ColumnValue<'a> + Send + Sync + 'static,
    ) -> Self {
        let utc_name = match field_type {
            FieldType::Moment => Some(format!("{name}_utc")),
            FieldType::Id
            | FieldType::Reference
            | FieldType::Text { .. }
            | FieldType::Name { .. }
            | FieldType::Email
            | FieldType::Colour
            | FieldType::Integer { .. }
            | FieldType::Number
            | FieldType::Boolean
            | FieldType::CivilMoment
            | FieldType::Choice(_) => None,
        };
        let read = Box::new(read);
        Self { name, utc_name, field_type, readers, writers: None, read, write: None }
    }

    /// Creates the field `id`.
    pub fn id(readers: Audience, id: fn(&R) -> u64) -> Self {
        Self::derived("id", FieldType::Id, readers, move |record, _| {
            ColumnValue::Reference(Some(id(record)))
        })
    }

    /// Creates the field `group_id`.
    pub fn group_id(readers: Audience) -> Self {
        Self::derived("group_id", FieldType::Reference, readers, |_, scope| {
            ColumnValue::Reference(Some(scope.state.catalogue.group.id.number()))
        })
    }

    /// Declares the field as settable by an audience. The resource's own parser reads it.
    #[must_use]
    pub fn writable_by(mut self, writers: Audience) -> Self {
        self.writers = Some(writers);
        self
    }

    /// Declares the field as settable by an audience, with a parser of its own.
    #[must_use]
    pub fn with_writer(
        mut self,
        writers: Audience,
        write: impl Fn(&Value, &Scope<'_>, &R, &mut Patch<R>) -> Result<(), InvalidValue>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.writers = Some(writers);
        self.write = Some(Box::new(write));
        self
    }

    /// Returns the value of a record.
    pub fn read_value<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        (self.read)(record, scope)
    }
}

/// Creates a field from a member: `plain!("openData", open_data, (readers, writers))`.
macro_rules! plain {
    ($name:literal, $member:ident, $audiences:expr) => {
        $crate::wire::field::Field::plain($name, $audiences, |r| &r.$member, |r| &mut r.$member)
    };
}
pub(crate) use plain;

/// Column by which records are sorted and filtered.
pub enum Column<'t, R> {
    /// A field of the table.
    Field(&'t Field<R>),
    /// A customised attribute that the group has defined.
    Custom(CustomName, CustomMember<R>),
}

impl<R: 'static> Column<'_, R> {
    /// Returns the value of a record.
    pub fn read_value<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        match self {
            Self::Field(field) => field.read_value(record, scope),
            Self::Custom(name, member) => match (member.get)(record) {
                Some(customs) => custom_column_value(customs.value(*name)),
                None => ColumnValue::Null,
            },
        }
    }

    /// Returns the type of the column's values.
    pub fn field_type(&self) -> FieldType {
        match self {
            Self::Field(field) => field.field_type,
            Self::Custom(name, _) => match name.kind() {
                CustomKind::Boolean => FieldType::Boolean,
                CustomKind::Datetime => FieldType::CivilMoment,
                CustomKind::Number => FieldType::Number,
                CustomKind::String => FieldType::Text { max: 255 },
                CustomKind::Text => FieldType::Text { max: 65_535 },
            },
        }
    }

    /// Returns the value of a record in its [comparable](ColumnValue::into_comparable) form.
    pub fn sort_key<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        self.read_value(record, scope).into_comparable(self.field_type(), scope.zone)
    }
}

/// Default order of a resource's records, before ties are broken by id.
pub type Order<R> = fn(&R, &R, &Scope<'_>) -> Ordering;

/// All fields of a resource.
pub struct Table<R> {
    /// Its name in the singular, under which a request body wraps the object.
    pub resource: &'static str,
    /// Its fields, in the order of rendering. [`Table::parse`] applies them in the same order.
    pub fields: Vec<Field<R>>,
    /// Groups of names; a new object must have at least one field of each group.
    pub required: &'static [&'static [&'static str]],
    /// Access to its customised attributes, if it has any.
    pub customs: Option<CustomMember<R>>,
    /// Returns the unique id that breaks ties in every order.
    pub id: fn(&R) -> u64,
    /// The order of a list without `sort`.
    pub order: Order<R>,
    /// A record that holds the default values.
    pub blank: R,
}

impl<R: 'static> Table<R> {
    /// Returns the field of that name.
    pub fn field(&self, name: &str) -> Option<&Field<R>> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the column of that name, if an audience may sort and filter by it.
    pub fn column(
        &self,
        name: &str,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Option<Column<'_, R>> {
        if let Some(field) = self.field(name) {
            return if audience >= field.readers { Some(Column::Field(field)) } else { None };
        }
        let member = self.customs?;
        let name = CustomName::new(name)?;
        let definition = scope.state.catalogue.customfield(member.model, name)?;
        if audience >= Audience::Pro || definition.user_visible {
            Some(Column::Custom(name, member))
        } else {
            None
        }
    }

    /// Parses the changes that an object describes. Fields that the audience may not set are
    /// ignored.
    ///
    /// # Errors
    /// All faults of the object, each with its field.
    pub fn parse(
        &self,
        object: &Map<String, Value>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Patch<R>, Vec<Fault>> {
        let mut patch = Patch::default();
        let mut faults = Vec::new();
        faults.extend(foreign_group(object, scope));
        for field in &self.fields {
            let Some(write) = &field.write else { continue };
            if field.writers.is_none_or(|writers| audience < writers) {
                continue;
            }
            let given = find_member(object, field.name);
            let written = match (exact_moment(field, object, audience), given) {
                (Some(moment), _) => write(moment, &scope.in_utc(), &self.blank, &mut patch),
                (None, Some(given)) => write(given, scope, &self.blank, &mut patch),
                (None, None) => Ok(()),
            };
            if let Err(illegal) = written {
                faults.push(Fault::new(field.name, illegal.0));
            }
        }
        if let Some(member) = self.customs {
            match parse_custom_values(object, scope, member.model, audience) {
                Ok(given) => {
                    for (name, value) in given {
                        patch.push(move |record| (member.set)(record, name, value.clone()));
                    }
                }
                Err(wrong) => faults.extend(wrong),
            }
        }
        if faults.is_empty() { Ok(patch) } else { Err(faults) }
    }

    /// Parses a new object, which must have all required fields; else as [`Table::parse`].
    ///
    /// # Errors
    /// All faults of the object and its missing fields, each with its field.
    pub fn parse_new(
        &self,
        object: &Map<String, Value>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Patch<R>, Vec<Fault>> {
        let mut faults = self.find_missing(object);
        match self.parse(object, scope, audience) {
            Ok(patch) if faults.is_empty() => return Ok(patch),
            Ok(_) => {}
            // A field with a fault of its own is not reported as missing too.
            Err(wrong) => {
                faults.retain(|fault| !wrong.iter().any(|other| other.field == fault.field));
                faults.extend(wrong);
            }
        }
        Err(faults)
    }

    /// Parses `created_at` and `updated_at` of an imported object; `None` for an absent stamp.
    ///
    /// # Errors
    /// Each stamp that is no datetime.
    pub fn parse_stamps(
        &self,
        object: &Map<String, Value>,
        scope: &Scope<'_>,
    ) -> Result<(Option<Instant>, Option<Instant>), Vec<Fault>> {
        let mut faults = Vec::new();
        let mut stamps = [None, None];
        for (stamp, name) in stamps.iter_mut().zip(["created_at", "updated_at"]) {
            let utc = find_filled(object, &format!("{name}_utc"));
            let read = match (utc, object.get(name)) {
                (Some(moment), _) => Instant::parse(moment, &scope.in_utc()),
                (None, Some(given)) => Instant::parse(given, scope),
                (None, None) => Ok(None),
            };
            match read {
                Ok(moment) => *stamp = moment,
                Err(illegal) => faults.push(Fault::new(name, illegal.0)),
            }
        }
        let [created_at, updated_at] = stamps;
        if faults.is_empty() { Ok((created_at, updated_at)) } else { Err(faults) }
    }

    /// Returns a fault for each required field that a new object lacks.
    #[must_use]
    pub fn find_missing(&self, object: &Map<String, Value>) -> Vec<Fault> {
        let mut missing = Vec::new();
        for names in self.required {
            if !names.iter().any(|name| is_filled(object, name)) {
                let rule = format!("is required: give {}", names.join(" or "));
                missing.push(Fault::new(names[0], rule));
            }
        }
        missing
    }

    /// Renders a record with the fields that an audience sees.
    pub fn render(&self, record: &R, scope: &Scope<'_>, audience: Audience) -> Map<String, Value> {
        let mut object = Map::new();
        self.visit_visible(record, scope, audience, |name, value| {
            object.insert(name.to_owned(), value.to_json(scope.zone));
        });
        object
    }

    /// Appends the same object as JSON.
    pub fn append(&self, record: &R, scope: &Scope<'_>, audience: Audience, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        self.append_members(record, scope, audience, &mut object);
        object.end();
    }

    /// Appends the members of the same object to an object that may have others.
    pub fn append_members(
        &self,
        record: &R,
        scope: &Scope<'_>,
        audience: Audience,
        object: &mut ObjectWriter<'_>,
    ) {
        self.visit_visible(record, scope, audience, |name, value| {
            object.column(name, value, scope.zone);
        });
    }

    /// Returns the same object as JSON.
    pub fn to_json(&self, record: &R, scope: &Scope<'_>, audience: Audience) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1_024);
        self.append(record, scope, audience, &mut bytes);
        bytes
    }

    /// Visits the names and values of a record that an audience sees, in order.
    fn visit_visible(
        &self,
        record: &R,
        scope: &Scope<'_>,
        audience: Audience,
        mut visit: impl FnMut(&str, &ColumnValue<'_>),
    ) {
        for field in &self.fields {
            if audience < field.readers {
                continue;
            }
            let value = field.read_value(record, scope);
            visit(field.name, &value);
            // Documents for the store have their own form of instants.
            if let Some(name) = &field.utc_name
                && audience < Audience::Store
            {
                visit(name, &value.to_rfc_3339(scope.zone));
            }
        }
        let Some(member) = self.customs else { return };
        let values = (member.get)(record);
        for (name, value) in visible_custom_values(values, scope, member.model, audience) {
            visit(&name.to_string(), &value);
        }
    }

    /// Renders all settable fields that differ from their defaults, from which an import restores
    /// the record. Reference 11.2.
    ///
    /// An instant whose local time names another instant is also given as `…_utc`.
    pub fn render_for_store(&self, record: &R, scope: &Scope<'_>) -> Map<String, Value> {
        let mut object = Map::new();
        for field in &self.fields {
            if field.writers.is_none() && field.name != "id" {
                continue;
            }
            let value = field.read_value(record, scope);
            // Required fields must be present. The default of the others named here varies.
            let always = self.required.iter().any(|names| names.contains(&field.name))
                || matches!(field.name, "id" | "sort" | "created_at" | "updated_at");
            if !always && value == field.read_value(&self.blank, scope) {
                continue;
            }
            if let ColumnValue::Moment(Some(moment)) = value
                && scope.zone.instant_of(datetime::to_local(scope.zone, moment)) != moment
            {
                object.insert(
                    format!("{}_utc", field.name),
                    datetime::format_civil(zone::utc_of(moment)).into(),
                );
            }
            object.insert(field.name.to_owned(), value.to_json(scope.zone));
        }
        if let Some(values) = self.customs.and_then(|member| (member.get)(record)) {
            for (name, value) in values.iter() {
                let value = custom_column_value(Some(value)).to_json(scope.zone);
                object.insert(name.to_string(), value);
            }
        }
        object
    }
}

/// Returns whether an object has a non-empty value under a name.
pub(crate) fn is_filled(object: &Map<String, Value>, name: &str) -> bool {
    find_filled(object, name).is_some()
}

/// Returns the non-empty `…_utc` value that replaces an instant's local time at import.
fn exact_moment<'o, R>(
    field: &Field<R>,
    object: &'o Map<String, Value>,
    audience: Audience,
) -> Option<&'o Value> {
    if audience != Audience::Store || !matches!(field.field_type, FieldType::Moment) {
        return None;
    }
    find_filled(object, &format!("{}_utc", field.name))
}

/// Returns a fault if an object's `group_id` differs from the group of the request. Reference 1.1.
///
/// The object is a request body or the record inside it.
#[must_use]
pub fn foreign_group(object: &Map<String, Value>, scope: &Scope<'_>) -> Option<Fault> {
    let own = scope.state.catalogue.group.id.number();
    let given = find_filled(object, "group_id")?;
    if value::parse_id(given) == Ok(Some(own)) {
        return None;
    }
    Some(Fault::new("group_id", format!("must be {own}, the group of the request, or left out")))
}

/// Lists all fields of an object of a group: its own between those that the system sets.
macro_rules! fields {
    ($record:ty, $readers:expr, [$($field:expr),* $(,)?]) => {{
        let stamp = ($readers, $crate::wire::field::Audience::Store);
        vec![
            $crate::wire::field::Field::id($readers, |r: &$record| r.id.number()),
            $crate::wire::field::Field::group_id($readers),
            $($field,)*
            $crate::wire::field::plain!("created_at", created_at, stamp),
            $crate::wire::field::plain!("updated_at", updated_at, stamp),
        ]
    }};
}
pub(crate) use fields;
