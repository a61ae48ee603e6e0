//! JSON objects written straight to bytes. A tree of values would cost an allocation per member.

use serde::Serialize;

use crate::domain::time::zone::Zone;
use crate::wire::column_value::{ColumnValue, append_value};

/// Writer of the members of one JSON object, in order.
#[derive(Debug)]
pub struct ObjectWriter<'b> {
    out: &'b mut Vec<u8>,
    /// Whether no member has been written yet.
    is_empty: bool,
}

impl<'b> ObjectWriter<'b> {
    /// Begins an object at the end of `out`.
    pub fn new(out: &'b mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// Writes a member of a record, with instants as local times of the zone.
    pub fn column(&mut self, name: &str, value: &ColumnValue<'_>, zone: Zone) {
        self.name(name);
        value.append_json(zone, self.out);
    }

    /// Writes a member.
    pub fn member(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.name(name);
        append_value(value, self.out);
    }

    /// Writes a member that is an object; `write` writes its members.
    pub fn object(&mut self, name: &str, write: impl FnOnce(&mut ObjectWriter<'_>)) {
        self.name(name);
        let mut object = ObjectWriter::new(self.out);
        write(&mut object);
        object.end();
    }

    /// Ends the object.
    pub fn end(self) {
        self.out.push(b'}');
    }

    fn name(&mut self, name: &str) {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        // Names of fields need no escape.
        debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(br#"":"#);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::time::{Civil, Instant};

    #[test]
    fn every_column_value_is_written_as_its_tree_is() {
        let zone = Zone::from_iana("Europe/Paris").expect("a zone");
        let values = [
            ColumnValue::Null,
            ColumnValue::Text("a \"quote\"\\ \n\u{1} é \u{2028}".into()),
            ColumnValue::Text("".into()),
            ColumnValue::Integer(i64::MIN),
            ColumnValue::Number(0.1),
            ColumnValue::Number(-0.0),
            ColumnValue::Number(1e300),
            ColumnValue::Number(f64::NAN),
            ColumnValue::Boolean(true),
            ColumnValue::Moment(None),
            ColumnValue::Moment(Some(Instant(1_800_000_000))),
            ColumnValue::Moment(Some(Instant(i64::MAX))),
            ColumnValue::Civil(None),
            ColumnValue::Civil(Some(Civil(-1_000_000_000))),
            ColumnValue::Reference(None),
            ColumnValue::Reference(Some(u64::MAX)),
        ];
        for value in values {
            let mut bytes = Vec::new();
            value.append_json(zone, &mut bytes);
            assert_eq!(bytes, value.to_json(zone).to_string().into_bytes(), "{value:?}");
        }
    }

    #[test]
    fn objects_may_be_empty_and_may_hold_objects() {
        let mut bytes = Vec::new();
        let mut object = ObjectWriter::new(&mut bytes);
        object.object("empty", |_| {});
        object.object("outer", |outer| {
            outer.member("number", &1);
            outer.object("inner", |inner| inner.member("none", &Value::Null));
        });
        object.member("list", &json!(["a"]));
        object.end();
        let expected = r#"{"empty":{},"outer":{"number":1,"inner":{"none":null}},"list":["a"]}"#;
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }
}
