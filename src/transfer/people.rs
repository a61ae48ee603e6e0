//! Keys, professionals and accounts of a document, with their secrets as hashes. Reference 3, 11.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::domain::identity::account::Account;
use crate::domain::identity::directory::{Apikey, Pro};
use crate::domain::records::ids::{FicheId, GroupId, ProId};
use crate::domain::records::text::{Email, InvalidValue, Text};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::password;
use crate::transfer::faults::Faults;
use crate::transfer::ids::{Ids, Taken};
use crate::wire::field::{Audience, Scope};
use crate::wire::pro::{self, PROFESSIONAL};
use crate::wire::value;

/// Makes the hash at rest of a password's SHA-1 in lower-case hex.
pub(super) type HashPassword<'a> = &'a dyn Fn(&str) -> Text<255>;

/// The bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// The rows of a section, each an object with its path.
pub(super) fn objects<'v>(
    section: Option<&'v Value>,
    path: &str,
    faults: &mut Faults,
) -> Vec<(String, &'v Map<String, Value>)> {
    let list = match section {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            faults.add(path, "must be a list");
            return Vec::new();
        }
    };
    let mut objects = Vec::with_capacity(list.len());
    for (index, row) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        match row.as_object() {
            Some(object) => objects.push((path, object)),
            None => faults.add(path, "must be an object"),
        }
    }
    objects
}

fn given<'v>(row: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    row.get(name).filter(|value| !value::is_empty(value))
}

fn text<'v>(row: &'v Map<String, Value>, name: &str) -> Option<&'v str> {
    given(row, name).and_then(Value::as_str)
}

/// The applications of a document. Keys stand there plain or as their SHA-256.
pub(super) fn apikeys(
    section: Option<&Value>,
    groups: &[GroupId],
    taken: &Taken,
    faults: &mut Faults,
) -> BTreeMap<[u8; 32], Apikey> {
    let known = |id: &GroupId| groups.contains(id) || taken.groups.contains(&id.number());
    let mut keys = BTreeMap::new();
    for (path, row) in objects(section, "apikeys", faults) {
        let Some(hash) = key_hash(row) else {
            faults.add(
                format!("{path}.key"),
                "give key as a text, or key_sha256 as 64 hexadecimal digits",
            );
            continue;
        };
        let label =
            row.get("label").map_or(Ok(Text::default()), |label| Text::new(&value::text(label)?));
        let covered = match row.get("groups") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(list)) => {
                let id = |id| value::id(id).ok().flatten().and_then(GroupId::new).filter(known);
                let ids: Option<Vec<GroupId>> = list.iter().map(id).collect();
                let rule = "must be ids of groups of the document; leave it out for all groups";
                ids.map(Some).ok_or_else(|| InvalidValue(rule.into()))
            }
            Some(_) => {
                Err(InvalidValue("must be a list of ids; leave it out for all groups".into()))
            }
        };
        match (label, covered) {
            (Ok(label), Ok(mut groups)) => {
                if let Some(groups) = &mut groups {
                    groups.sort_unstable();
                    groups.dedup();
                }
                if keys.insert(hash, Apikey { label, groups }).is_some() {
                    faults.add(format!("{path}.key"), "stands twice in the document");
                }
            }
            (label, groups) => {
                let wrong = [("label", label.err()), ("groups", groups.err())];
                for (name, InvalidValue(rule)) in
                    wrong.into_iter().filter_map(|(name, error)| Some((name, error?)))
                {
                    faults.add(format!("{path}.{name}"), rule);
                }
            }
        }
    }
    keys
}

fn key_hash(row: &Map<String, Value>) -> Option<[u8; 32]> {
    match (text(row, "key"), text(row, "key_sha256")) {
        (Some(key), None) => Some(Sha256::digest(key.as_bytes()).into()),
        (None, Some(digits)) => {
            let bytes = digits.as_bytes();
            if bytes.len() != 64 || !bytes.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            let mut hash = [0; 32];
            for (byte, pair) in hash.iter_mut().zip(digits.as_bytes().chunks(2)) {
                *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
            }
            Some(hash)
        }
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// The hash at rest of the password that a row gives in one of three forms.
fn password_hash(
    row: &Map<String, Value>,
    hash: HashPassword<'_>,
) -> Result<Option<Text<255>>, (&'static str, InvalidValue)> {
    let forms = ["password", "password_sha1", "password_hash"]
        .map(|name| given(row, name).map(|value| (name, value)));
    let mut forms = forms.into_iter().flatten();
    let Some((name, form)) = forms.next() else { return Ok(None) };
    if forms.next().is_some() {
        return Err((
            name,
            InvalidValue("give one of password, password_sha1 and password_hash".into()),
        ));
    }
    let wrong = |rule: &str| (name, InvalidValue(rule.into()));
    let text = form.as_str().ok_or_else(|| wrong("must be a text"))?;
    match name {
        "password" => Ok(Some(hash(&password::sha1_hex(text)))),
        "password_sha1"
            if text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            Ok(Some(hash(&text.to_ascii_lowercase())))
        }
        "password_sha1" => Err(wrong("must be 40 hexadecimal digits")),
        _ if password::is_hash(text) => {
            Text::new(text).map(Some).map_err(|illegal| (name, illegal))
        }
        _ => Err(wrong(
            "must be an argon2id hash as a PHC string: $argon2id$v=19$m=…,t=…,p=…$salt$hash",
        )),
    }
}

/// What tells the password of a row from another's of the same form.
fn secret(row: &Map<String, Value>) -> Option<(&'static str, String)> {
    let sha1 = || text(row, "password_sha1").map(str::to_ascii_lowercase);
    let sha1 =
        text(row, "password").map(password::sha1_hex).or_else(sha1).map(|sha1| ("sha1", sha1));
    sha1.or_else(|| text(row, "password_hash").map(|hash| ("hash", hash.to_owned())))
}

/// The professionals of all groups: one person per e-mail.
#[derive(Default)]
pub(super) struct Pros {
    by_email: BTreeMap<Box<str>, Person>,
}

struct Person {
    pro: Pro,
    /// What the password is known by in the document, and in which form it stands there.
    secret: Option<(&'static str, String)>,
    /// Whether some group of the document is said to be the main one.
    main_given: bool,
}

impl Pros {
    /// Adds the professionals of one group.
    pub(super) fn add_group(
        &mut self,
        section: Option<&Value>,
        path: &str,
        scope: &Scope<'_>,
        now: Instant,
        hash: HashPassword<'_>,
        (ids, faults): (&mut Ids, &mut Faults),
    ) {
        let group = scope.state.catalogue.group.id;
        for (path, row) in objects(section, &format!("{path}.pros"), faults) {
            let patch = match PROFESSIONAL.parse_new(row, scope, Audience::Store) {
                Ok(patch) => patch,
                Err(wrong) => {
                    faults.extend(&path, wrong);
                    continue;
                }
            };
            let main = given(row, "main").map_or(Ok(false), value::boolean);
            let password = password_hash(row, hash);
            let (main, password) = match (main, password) {
                (Ok(main), Ok(password)) => (main, password),
                (Err(InvalidValue(rule)), _) => {
                    faults.add(format!("{path}.main"), rule);
                    continue;
                }
                (_, Err((name, InvalidValue(rule)))) => {
                    faults.add(format!("{path}.{name}"), rule);
                    continue;
                }
            };
            let stand_in = ProId::new(1).expect("1 is an id");
            let mut pro = pro::blank(stand_in, group, now);
            patch.apply_to(&mut pro);
            let email = pro.email.folded();
            match self.by_email.get_mut(&email) {
                Some(person) => person.join(group, main, row, &path, faults),
                None => {
                    let Some(id) = ids.claim("pros", row, &path, faults).and_then(ProId::new)
                    else {
                        continue;
                    };
                    let Some(password) = password else {
                        faults.add(
                            format!("{path}.password"),
                            "is required: give password, password_sha1 or password_hash",
                        );
                        continue;
                    };
                    pro.id = id;
                    pro.password_hash = password;
                    self.by_email
                        .insert(email, Person { pro, secret: secret(row), main_given: main });
                }
            }
        }
    }

    /// All of them, by id.
    pub(super) fn finish(self) -> BTreeMap<ProId, Pro> {
        self.by_email.into_values().map(|person| (person.pro.id, person.pro)).collect()
    }
}

impl Person {
    /// The same person in one more group. What the first group says of the person holds.
    fn join(
        &mut self,
        group: GroupId,
        main: bool,
        row: &Map<String, Value>,
        path: &str,
        faults: &mut Faults,
    ) {
        if let Some(Ok(Some(id))) = row.get("id").map(value::id)
            && id != self.pro.id.number()
        {
            faults.add(
                format!("{path}.id"),
                format!("the person of this e-mail has the id {}", self.pro.id),
            );
        }
        if let (Some((form, known)), Some((given, other))) = (&self.secret, secret(row))
            && *form == given
            && *known != other
        {
            let rule =
                "the person of this e-mail has another password in the document: give it once";
            faults.add(format!("{path}.password"), rule);
        }
        match self.pro.groups.binary_search(&group) {
            Ok(_) => faults.add(format!("{path}.email"), "stands twice among the group's pros"),
            Err(at) => self.pro.groups.insert(at, group),
        }
        if main && self.main_given {
            faults.add(format!("{path}.main"), "another group is this person's main one already");
        }
        if main {
            self.pro.main = group;
            self.main_given = true;
        }
    }
}

/// The accounts of one group, whose fiches stand in `state`.
pub(super) fn accounts(
    section: Option<&Value>,
    path: &str,
    state: &GroupState,
    hash: HashPassword<'_>,
    faults: &mut Faults,
) -> Vec<Arc<Account>> {
    let mut accounts: BTreeMap<Box<str>, Arc<Account>> = BTreeMap::new();
    for (path, row) in objects(section, &format!("{path}.accounts"), faults) {
        let email = Email::new(text(row, "email").unwrap_or_default().trim());
        let fiche = given(row, "fiche_id").and_then(|id| FicheId::new(value::id(id).ok()??));
        let fiche = fiche.filter(|id| state.fiches.contains_key(id));
        let former = former(given(row, "former_fiche_ids"), state);
        if former.is_none() {
            faults.add(
                format!("{path}.former_fiche_ids"),
                "must be a list of ids of the group's fiches",
            );
        }
        match (email, fiche, password_hash(row, hash)) {
            (Ok(email), Some(fiche_id), Ok(Some(password_hash))) => {
                let folded = email.folded();
                let account =
                    Account { email, fiche_id, password_hash, former: former.unwrap_or_default() };
                if accounts.insert(folded, account.into()).is_some() {
                    faults.add(format!("{path}.email"), "stands twice among the group's accounts");
                }
            }
            (email, fiche, password) => {
                if let Err(InvalidValue(rule)) = email {
                    faults.add(format!("{path}.email"), rule);
                }
                if fiche.is_none() {
                    faults.add(
                        format!("{path}.fiche_id"),
                        "must be the id of one of the group's fiches",
                    );
                }
                match password {
                    Ok(Some(_)) => {}
                    Ok(None) => faults.add(
                        format!("{path}.password"),
                        "is required: give password, password_sha1 or password_hash",
                    ),
                    Err((name, InvalidValue(rule))) => faults.add(format!("{path}.{name}"), rule),
                }
            }
        }
    }
    accounts.into_values().collect()
}

/// The fiches that an account had before, none where it says nothing of them; `None` where they are not of the group.
fn former(given: Option<&Value>, state: &GroupState) -> Option<Vec<FicheId>> {
    let Some(given) = given else { return Some(Vec::new()) };
    let id = |id| FicheId::new(value::id(id).ok()??).filter(|id| state.fiches.contains_key(id));
    given.as_array()?.iter().map(id).collect()
}
