//! A resource as a table of fields: what each is called, who may read and write it, how it is read, shown and compared.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::domain::records::customfield::{CustomKind, CustomName};
use crate::domain::records::text::InvalidValue;
use crate::domain::state::command::{Caller, Patch};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::domain::time::Instant;
use crate::domain::time::zone::{self, Zone};
pub use crate::wire::column_value::{ColumnValue, Kind};
use crate::wire::customfield::{self, CustomMember};
use crate::wire::datetime;
use crate::wire::field_value::FieldValue;
use crate::wire::value;

/// For whom an object is read or shown. Each sees all that those before it see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// An application by its key alone.
    Application,
    /// A client of the group, logged in.
    Account,
    /// A professional of the group.
    Pro,
    /// Export and import: everything there is.
    Store,
}

impl Audience {
    /// How much a caller is told.
    #[must_use]
    pub const fn of(caller: &Caller) -> Self {
        match caller {
            Caller::Application => Self::Application,
            Caller::Account(_) => Self::Account,
            Caller::Pro(_) => Self::Pro,
        }
    }
}

/// What reading and showing a group's objects needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The group's state, where references lead.
    pub state: &'a GroupState,
    /// The zone of the group's clock.
    pub zone: Zone,
    /// The moment of the request, by which ages are told; `None` where none is.
    pub now: Option<Instant>,
}

impl<'a> Scope<'a> {
    /// The scope of a group's own clock.
    #[must_use]
    pub fn of(state: &'a GroupState) -> Self {
        Self { state, zone: state.catalogue.zone(), now: None }
    }

    /// The same, at a moment.
    #[must_use]
    pub fn at(self, now: Instant) -> Self {
        Self { now: Some(now), ..self }
    }

    /// The same, with datetimes in UTC.
    fn in_utc(self) -> Self {
        Self { zone: Zone::from_iana("Etc/UTC").expect("the zone database has UTC"), ..self }
    }
}

type Read<R> = Box<dyn for<'a> Fn(&'a R, &Scope<'a>) -> ColumnValue<'a> + Send + Sync>;
/// Puts a legal value into a patch; the record is the one whose values are the defaults.
type Write<R> =
    Box<dyn Fn(&Value, &Scope<'_>, &R, &mut Patch<R>) -> Result<(), InvalidValue> + Send + Sync>;

/// One field of a resource.
pub struct Field<R> {
    /// Its name on the wire.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The least audience that is shown it.
    pub readers: Audience,
    /// The least audience that may give it; `None` where the system alone sets it.
    pub writers: Option<Audience>,
    read: Read<R>,
    /// `None` where it is not read from an object field by field.
    write: Option<Write<R>>,
}

impl<R: 'static> Field<R> {
    /// A field that is a member of the record.
    pub fn plain<T: FieldValue>(
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
        Self::derived(name, T::KIND, readers, move |record, _| get(record).cell())
            .written(writers, write)
    }

    /// A field that is shown, and that [`Table::parse`] does not read.
    pub fn derived(
        name: &'static str,
        kind: Kind,
        readers: Audience,
        read: impl for<'a> Fn(&'a R, &Scope<'a>) -> ColumnValue<'a> + Send + Sync + 'static,
    ) -> Self {
        Self { name, kind, readers, writers: None, read: Box::new(read), write: None }
    }

    /// The same field, which an audience may give; the whole object is read elsewhere.
    #[must_use]
    pub fn given_by(mut self, writers: Audience) -> Self {
        self.writers = Some(writers);
        self
    }

    /// The same field, read in a way of its own.
    #[must_use]
    pub fn written(
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

    /// Its value in a record.
    #[must_use]
    pub fn cell<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        (self.read)(record, scope)
    }
}

/// A member of the record as a field of a name: `plain!("openData", open_data, (readers, writers))`.
macro_rules! plain {
    ($name:literal, $member:ident, $audiences:expr) => {
        $crate::wire::field::Field::plain($name, $audiences, |r| &r.$member, |r| &mut r.$member)
    };
}
pub(super) use plain;

/// What a record can be sorted and filtered by.
pub enum Column<'t, R> {
    /// A field of the table.
    Field(&'t Field<R>),
    /// A customised attribute that the group has defined.
    Custom(CustomName, CustomMember<R>),
}

impl<R: 'static> Column<'_, R> {
    /// Its value in a record.
    #[must_use]
    pub fn cell<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        match self {
            Self::Field(field) => field.cell(record, scope),
            Self::Custom(name, member) => {
                customfield::cell((member.get)(record).and_then(|customs| customs.value(*name)))
            }
        }
    }

    /// What values it takes.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Field(field) => field.kind,
            Self::Custom(name, _) => match name.kind() {
                CustomKind::Boolean => Kind::Boolean,
                CustomKind::Datetime => Kind::CivilMoment,
                CustomKind::Number => Kind::Number,
                CustomKind::String => Kind::Text { max: 255 },
                CustomKind::Text => Kind::Text { max: 65_535 },
            },
        }
    }

    /// Its value in a record, in the form in which all values of the column have one order.
    #[must_use]
    pub fn key<'a>(&self, record: &'a R, scope: &Scope<'a>) -> ColumnValue<'a> {
        self.cell(record, scope).comparable(self.kind(), scope.zone)
    }
}

/// Orders records of a resource where no field was asked for.
pub type Order<R> = fn(&R, &R, &Scope<'_>) -> Ordering;

/// All fields of a resource.
pub struct Table<R> {
    /// Its name in the singular, as bodies wrap it.
    pub resource: &'static str,
    /// Its fields, in the order they are shown.
    pub fields: Vec<Field<R>>,
    /// What a new object must have: of each group of names at least one.
    pub required: &'static [&'static [&'static str]],
    /// Its customised attributes, if it has any.
    pub customs: Option<CustomMember<R>>,
    /// The number that ends every order.
    pub id: fn(&R) -> u64,
    /// The order where none was asked for; ties are broken by id.
    pub order: Order<R>,
    /// A record whose values are the defaults.
    pub blank: R,
}

impl<R: 'static> Table<R> {
    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field<R>> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// What an audience can sort and filter by under that name.
    #[must_use]
    pub fn column(
        &self,
        name: &str,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Option<Column<'_, R>> {
        if let Some(field) = self.field(name) {
            return (audience >= field.readers).then_some(Column::Field(field));
        }
        let (member, name) = (self.customs?, CustomName::new(name)?);
        let definition = scope.state.catalogue.customfield(member.model, name)?;
        (audience >= Audience::Pro || definition.user_visible)
            .then_some(Column::Custom(name, member))
    }

    /// The legal values that an object gives. Fields that are unknown or not the audience's to write are ignored.
    ///
    /// # Errors
    /// Everything that is wrong, each by its field.
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
            let allowed = field.writers.is_some_and(|writers| audience >= writers);
            let (Some(write), true) = (&field.write, allowed) else { continue };
            let written = match (exact(field, object, audience), object.get(field.name)) {
                (Some(moment), _) => write(moment, &scope.in_utc(), &self.blank, &mut patch),
                (None, Some(given)) => write(given, scope, &self.blank, &mut patch),
                (None, None) => Ok(()),
            };
            faults.extend(written.err().map(|illegal| Fault::new(field.name, illegal.0)));
        }
        if let Some(member) = self.customs {
            match customfield::given(object, scope, member.model, audience) {
                Ok(given) => given.into_iter().for_each(|(name, value)| {
                    patch.push(move |record| (member.set)(record, name, value.clone()));
                }),
                Err(wrong) => faults.extend(wrong),
            }
        }
        if faults.is_empty() { Ok(patch) } else { Err(faults) }
    }

    /// [`Table::parse`] for an object that is made, which must have all it is required to have.
    ///
    /// # Errors
    /// Everything that is wrong or missing, each by its field.
    pub fn parse_new(
        &self,
        object: &Map<String, Value>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Patch<R>, Vec<Fault>> {
        let mut faults = self.missing(object);
        match self.parse(object, scope, audience) {
            Ok(patch) if faults.is_empty() => return Ok(patch),
            Ok(_) => {}
            // A field that is wrong is not missing too.
            Err(wrong) => {
                faults.retain(|fault| !wrong.iter().any(|other| other.field == fault.field));
                faults.extend(wrong);
            }
        }
        Err(faults)
    }

    /// When an object was made and when it last changed, as an import gives it.
    ///
    /// # Errors
    /// Stamps that are no datetimes.
    pub fn parse_stamps(
        &self,
        object: &Map<String, Value>,
        scope: &Scope<'_>,
    ) -> Result<(Option<Instant>, Option<Instant>), Vec<Fault>> {
        let mut faults = Vec::new();
        let [created_at, updated_at] = ["created_at", "updated_at"].map(|name| {
            let utc = object.get(&format!("{name}_utc")).filter(|value| !value::is_empty(value));
            let read = match (utc, object.get(name)) {
                (Some(moment), _) => Option::<Instant>::parse(moment, &scope.in_utc()),
                (None, Some(given)) => Option::<Instant>::parse(given, scope),
                (None, None) => Ok(None),
            };
            read.map_err(|illegal| faults.push(Fault::new(name, illegal.0)))
                .ok()
                .flatten()
                .flatten()
        });
        if faults.is_empty() { Ok((created_at, updated_at)) } else { Err(faults) }
    }

    /// What a new object must have and does not.
    #[must_use]
    pub fn missing(&self, object: &Map<String, Value>) -> Vec<Fault> {
        let given = |name: &&str| object.get(*name).is_some_and(|value| !value::is_empty(value));
        let missing = self.required.iter().filter(|names| !names.iter().any(given));
        missing
            .map(|names| Fault::new(names[0], format!("is required: give {}", names.join(" or "))))
            .collect()
    }

    /// The object as an audience is shown it.
    #[must_use]
    pub fn render(&self, record: &R, scope: &Scope<'_>, audience: Audience) -> Map<String, Value> {
        let shown = self.fields.iter().filter(|field| audience >= field.readers);
        let mut object: Map<String, Value> = shown
            .map(|field| (field.name.to_owned(), field.cell(record, scope).json(scope.zone)))
            .collect();
        if let Some(member) = self.customs {
            let values = (member.get)(record);
            for (name, cell) in customfield::shown(values, scope, member.model, audience) {
                object.insert(name.to_string(), cell.json(scope.zone));
            }
        }
        object
    }

    /// What an import needs to make the object again: all that may be given and differs from the defaults. An instant
    /// that its local time does not name stands there in UTC too.
    #[must_use]
    pub fn render_for_store(&self, record: &R, scope: &Scope<'_>) -> Map<String, Value> {
        let mut object = Map::new();
        for field in
            self.fields.iter().filter(|field| field.writers.is_some() || field.name == "id")
        {
            let cell = field.cell(record, scope);
            // A new object must have some fields, whatever they hold; others take a default that is no constant.
            let always = self.required.iter().any(|names| names.contains(&field.name))
                || matches!(field.name, "id" | "sort" | "created_at" | "updated_at");
            if !always && cell == field.cell(&self.blank, scope) {
                continue;
            }
            if let ColumnValue::Moment(Some(moment)) = cell
                && scope.zone.instant_of(datetime::local(scope.zone, moment)) != moment
            {
                object.insert(
                    format!("{}_utc", field.name),
                    datetime::text(zone::utc_of(moment)).into(),
                );
            }
            object.insert(field.name.to_owned(), cell.json(scope.zone));
        }
        if let Some(values) = self.customs.and_then(|member| (member.get)(record)) {
            for (name, value) in values.iter() {
                object.insert(name.to_string(), customfield::cell(Some(value)).json(scope.zone));
            }
        }
        object
    }
}

/// The `…_utc` that stands for a moment's local time at import.
fn exact<'o, R>(
    field: &Field<R>,
    object: &'o Map<String, Value>,
    audience: Audience,
) -> Option<&'o Value> {
    let moment = audience == Audience::Store && matches!(field.kind, Kind::Moment);
    let given = if moment { object.get(&format!("{}_utc", field.name)) } else { None };
    given.filter(|value| !value::is_empty(value))
}

/// A body's group that is not the path's, in the object that the fields stand in or around it. Reference 1.
#[must_use]
pub fn foreign_group(object: &Map<String, Value>, scope: &Scope<'_>) -> Option<Fault> {
    let own = scope.state.catalogue.group.id.number();
    let given = object.get("group_id").filter(|value| !value::is_empty(value))?;
    (value::id(given) != Ok(Some(own)))
        .then(|| Fault::new("group_id", format!("must be {own}, the group that it is given to")))
}

/// All fields of an object of a group: those that the system sets, then its own. Reference 1.
macro_rules! fields {
    ($record:ty, $readers:expr, [$($field:expr),* $(,)?]) => {
        vec![
            $crate::wire::field::Field::derived("id", $crate::wire::field::Kind::Id, $readers, |r: &$record, _| {
                $crate::wire::field::ColumnValue::Reference(Some(r.id.number()))
            }),
            $crate::wire::field::Field::derived("group_id", $crate::wire::field::Kind::Reference, $readers, |_, scope| {
                $crate::wire::field::ColumnValue::Reference(Some(scope.state.catalogue.group.id.number()))
            }),
            $($field,)*
            $crate::wire::field::plain!("created_at", created_at, ($readers, $crate::wire::field::Audience::Store)),
            $crate::wire::field::plain!("updated_at", updated_at, ($readers, $crate::wire::field::Audience::Store)),
        ]
    };
}
pub(super) use fields;
