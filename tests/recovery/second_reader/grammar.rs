//! The types of Reference 8.9, read from the chapter itself, and values decoded by them.
//! Reference 8.3.

use std::collections::BTreeMap;

/// The chapter that describes the store.
const CHAPTER: &str = include_str!("../../../docs/reference/08-store.md");
/// Deepest nesting of values. Events carry events; damaged bytes must not exhaust the stack.
const DEPTH_MAX: u32 = 200;

/// A type as the chapter names it.
#[derive(Clone, Debug)]
enum Type {
    Bool,
    Byte,
    SignedByte,
    Unsigned,
    Signed,
    Float,
    Text,
    Bytes(Option<usize>),
    Optional(Box<Type>),
    List(Box<Type>),
    Tuple(Vec<Type>),
    Named(String),
}

/// A member of a structure, and the first format that has it.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    kind: Type,
    since: u16,
}

/// The members of a structure or of a variant.
#[derive(Clone, Debug)]
enum Members {
    Plain(Vec<Type>),
    Named(Vec<Member>),
}

#[derive(Clone, Debug)]
enum Definition {
    Structure(Vec<Member>),
    Variants(Vec<(String, Members)>),
}

/// All types of the chapter, by name.
#[derive(Debug)]
pub(super) struct Grammar(BTreeMap<String, Definition>);

/// A decoded value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A number, or 0 and 1 for a `bool`.
    Number(i128),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Optional(Option<Box<Value>>),
    /// A list or a tuple.
    List(Vec<Value>),
    Structure(Vec<(String, Value)>),
    Variant(String, Box<Value>),
}

impl Value {
    /// The member of a structure, or of a variant with named members; `None` without it.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Structure(members) => {
                members.iter().find(|(other, _)| other == name).map(|(_, value)| value)
            }
            Self::Variant(_, members) => members.member(name),
            _ => None,
        }
    }

    /// The member, which every format has.
    pub(super) fn at(&self, name: &str) -> &Self {
        self.member(name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// The variant's name and its members.
    pub(super) fn variant(&self) -> (&str, &Self) {
        match self {
            Self::Variant(name, members) => (name, members),
            _ => panic!("{self:?} is no variant"),
        }
    }

    /// The members of a list or tuple; none for a member that the format lacks.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => panic!("{self:?} is no list"),
        }
    }

    /// The items of a member; none where the format lacks it.
    pub(super) fn items_at(&self, name: &str) -> &[Self] {
        self.member(name).map_or(&[], Self::items)
    }

    pub(super) fn number(&self) -> i64 {
        match self {
            Self::Number(number) => i64::try_from(*number).expect("it fits"),
            _ => panic!("{self:?} is no number"),
        }
    }

    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Number(number) => u64::try_from(*number).expect("it fits"),
            _ => panic!("{self:?} is no number"),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => panic!("{self:?} is no bytes"),
        }
    }

    pub(super) fn optional(&self) -> Option<&Self> {
        match self {
            Self::Optional(value) => value.as_deref(),
            _ => panic!("{self:?} is no option"),
        }
    }
}

/// Splits the blocks of types into words and signs.
fn tokens(chapter: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for block in chapter.split("```text\n").skip(1) {
        let block = block.split("```").next().expect("a part");
        let mut word = String::new();
        for c in block.chars() {
            if c.is_ascii_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
        }
    }
    tokens
}

/// Tokens that are not read yet.
struct Parser {
    tokens: Vec<String>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.peek().to_owned();
        self.at += 1;
        token
    }

    fn expect(&mut self, token: &str) {
        let found = self.next();
        assert_eq!(found, token, "before {:?}", &self.tokens[self.at..].iter().take(8));
    }

    fn takes(&mut self, token: &str) -> bool {
        let is_next = self.peek() == token;
        self.at += usize::from(is_next);
        is_next
    }

    fn definition(&mut self) -> (String, Definition) {
        let name = self.next();
        self.expect("=");
        if self.peek() == "{" {
            return (name, Definition::Structure(self.named_members()));
        }
        let mut variants = Vec::new();
        loop {
            let variant = self.next();
            let members = match self.peek() {
                "{" => Members::Named(self.named_members()),
                "(" => Members::Plain(self.types()),
                _ => Members::Plain(Vec::new()),
            };
            variants.push((variant, members));
            if !self.takes("|") {
                return (name, Definition::Variants(variants));
            }
        }
    }

    fn named_members(&mut self) -> Vec<Member> {
        self.expect("{");
        let mut members = Vec::new();
        while !self.takes("}") {
            let name = self.next();
            self.expect(":");
            let kind = self.kind();
            let since = if self.takes("@") { self.next().parse().expect("a format") } else { 1 };
            members.push(Member { name, kind, since });
            self.takes(",");
        }
        members
    }

    fn types(&mut self) -> Vec<Type> {
        self.expect("(");
        let mut types = Vec::new();
        while !self.takes(")") {
            types.push(self.kind());
            self.takes(",");
        }
        types
    }

    fn inner(&mut self) -> Box<Type> {
        self.expect("<");
        let inner = self.kind();
        self.expect(">");
        Box::new(inner)
    }

    fn kind(&mut self) -> Type {
        if self.peek() == "(" {
            return Type::Tuple(self.types());
        }
        match self.next().as_str() {
            "bool" => Type::Bool,
            "u8" => Type::Byte,
            "i8" => Type::SignedByte,
            "u16" | "u32" | "u64" => Type::Unsigned,
            "i32" | "i64" => Type::Signed,
            "f64" => Type::Float,
            "text" => Type::Text,
            "option" => Type::Optional(self.inner()),
            "list" => Type::List(self.inner()),
            "bytes" if self.takes("[") => {
                let length = self.next().parse().expect("a length");
                self.expect("]");
                Type::Bytes(Some(length))
            }
            "bytes" => Type::Bytes(None),
            named => Type::Named(named.to_owned()),
        }
    }
}

impl Grammar {
    /// Reads the types of the chapter.
    pub(super) fn of_chapter() -> Self {
        let mut parser = Parser { tokens: tokens(CHAPTER), at: 0 };
        let mut definitions = BTreeMap::new();
        while !parser.peek().is_empty() {
            let (name, definition) = parser.definition();
            assert!(definitions.insert(name.clone(), definition).is_none(), "{name} stands twice");
        }
        Self(definitions)
    }

    /// Decodes the bytes of a type in a format, all of them.
    pub(super) fn decode(&self, name: &str, format: u16, bytes: &[u8]) -> Result<Value, String> {
        let mut decoder = Decoder { grammar: self, format, bytes, depth: 0 };
        let value = decoder.named(name).map_err(|what| format!("{name}: {what}"))?;
        if decoder.bytes.is_empty() {
            Ok(value)
        } else {
            Err(format!("{name}: {} bytes are left over", decoder.bytes.len()))
        }
    }
}

/// Bytes that are not decoded yet.
struct Decoder<'a> {
    grammar: &'a Grammar,
    format: u16,
    bytes: &'a [u8],
    depth: u32,
}

impl Decoder<'_> {
    fn take(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(format!("{count} bytes are asked for, {} are left", self.bytes.len()));
        };
        self.bytes = rest;
        Ok(taken.to_vec())
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        let first = self.take(1)?[0];
        let width = match first {
            0..=250 => return Ok(u64::from(first)),
            251 => 2,
            252 => 4,
            253 => 8,
            _ => return Err(format!("{first} begins no number")),
        };
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(&self.take(width)?);
        Ok(u64::from_le_bytes(wide))
    }

    fn length(&mut self) -> Result<usize, String> {
        let length = usize::try_from(self.unsigned()?).map_err(|error| error.to_string())?;
        // The shortest member has no bytes, but no list of the chapter holds such members.
        if length > self.bytes.len() {
            return Err(format!("{length} members in {} bytes", self.bytes.len()));
        }
        Ok(length)
    }

    fn value(&mut self, kind: &Type) -> Result<Value, String> {
        Ok(match kind {
            Type::Bool => match self.take(1)?[0] {
                bit @ 0..=1 => Value::Number(i128::from(bit)),
                other => return Err(format!("{other} is no bool")),
            },
            Type::Byte => Value::Number(i128::from(self.take(1)?[0])),
            Type::SignedByte => Value::Number(i128::from(self.take(1)?[0].cast_signed())),
            Type::Unsigned => Value::Number(i128::from(self.unsigned()?)),
            Type::Signed => {
                let folded = i128::from(self.unsigned()?);
                Value::Number(if folded % 2 == 0 { folded / 2 } else { -(folded + 1) / 2 })
            }
            Type::Float => {
                let bytes = self.take(8)?.try_into().expect("eight bytes");
                Value::Float(f64::from_le_bytes(bytes))
            }
            Type::Text => {
                let length = self.length()?;
                let text = String::from_utf8(self.take(length)?);
                Value::Text(text.map_err(|error| error.to_string())?)
            }
            Type::Bytes(Some(length)) => Value::Bytes(self.take(*length)?),
            Type::Bytes(None) => {
                let length = self.length()?;
                Value::Bytes(self.take(length)?)
            }
            Type::Optional(inner) => match self.take(1)?[0] {
                0 => Value::Optional(None),
                1 => Value::Optional(Some(Box::new(self.value(inner)?))),
                other => return Err(format!("{other} begins no option")),
            },
            Type::List(inner) => {
                let length = self.length()?;
                let items: Result<_, String> = (0..length).map(|_| self.value(inner)).collect();
                Value::List(items?)
            }
            Type::Tuple(kinds) => self.plain(kinds)?,
            Type::Named(name) => self.named(name)?,
        })
    }

    fn plain(&mut self, kinds: &[Type]) -> Result<Value, String> {
        let items: Result<_, String> = kinds.iter().map(|kind| self.value(kind)).collect();
        Ok(Value::List(items?))
    }

    fn members(&mut self, members: &[Member]) -> Result<Value, String> {
        let mut found = Vec::new();
        for Member { name, kind, since } in members {
            if self.format >= *since {
                let value = self.value(kind).map_err(|what| format!("{name}: {what}"))?;
                found.push((name.clone(), value));
            }
        }
        Ok(Value::Structure(found))
    }

    fn named(&mut self, name: &str) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("nested too deeply".to_owned());
        }
        let grammar = self.grammar;
        let definition =
            grammar.0.get(name).unwrap_or_else(|| panic!("the chapter lacks the type {name}"));
        let value = match definition {
            Definition::Structure(members) => self.members(members)?,
            Definition::Variants(variants) => {
                let number = self.unsigned()?;
                let at = usize::try_from(number).map_err(|error| error.to_string())?;
                let Some((variant, members)) = variants.get(at) else {
                    return Err(format!("{name} has no variant {number}"));
                };
                let members = match members {
                    Members::Plain(kinds) => self.plain(kinds)?,
                    Members::Named(members) => self.members(members)?,
                };
                Value::Variant(variant.clone(), Box::new(members))
            }
        };
        self.depth -= 1;
        Ok(value)
    }
}

#[test]
fn every_type_that_the_chapter_names_stands_in_it() {
    fn check(grammar: &Grammar, kind: &Type) {
        match kind {
            Type::Named(name) => assert!(grammar.0.contains_key(name), "{name} is missing"),
            Type::Optional(inner) | Type::List(inner) => check(grammar, inner),
            Type::Tuple(kinds) => kinds.iter().for_each(|kind| check(grammar, kind)),
            _ => {}
        }
    }
    let grammar = Grammar::of_chapter();
    for definition in grammar.0.values() {
        let variants = match definition {
            Definition::Structure(members) => vec![Members::Named(members.clone())],
            Definition::Variants(variants) => {
                variants.iter().map(|(_, members)| members.clone()).collect()
            }
        };
        for members in variants {
            match members {
                Members::Plain(kinds) => kinds.iter().for_each(|kind| check(&grammar, kind)),
                Members::Named(members) => {
                    members.iter().for_each(|member| check(&grammar, &member.kind));
                }
            }
        }
    }
}
