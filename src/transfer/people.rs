//! Keys, professionals and accounts of a document, with their secrets as hashes. Reference 3.1,
//! 3.4, 3.5 and 11.2.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::Arc;

use data_encoding::HEXLOWER_PERMISSIVE;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::{Apikey, ApikeyHolder};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::account::Account;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{FicheId, GroupId, ProId};
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::{Email, InvalidValue, Text};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{Civil, Instant};
use crate::password;
use crate::transfer::faults::ImportFaults;
use crate::transfer::group_draft::GroupDraft;
use crate::transfer::ids::{IdAllocator, UsedIds};
use crate::transfer::rows::{collect_objects, given_field, given_text};
use crate::wire::datetime;
use crate::wire::field::{Audience, Scope};
use crate::wire::pro::PROFESSIONAL;
use crate::wire::role::parse_role;
use crate::wire::value;

/// Rule of a person without a password.
/// The member with the last day on which an account was used.
pub(crate) const LAST_LOGIN: &str = "last_login";
const PASSWORD_REQUIRED: &str = "is required: give password, password_sha1 or password_hash";

/// Rule of a professional of several groups.
const OTHER_PASSWORD: &str =
    "the professional of this e-mail has another password in the document: give it once";

/// Hashes a password for storage, from its SHA-1 in lower-case hex.
pub(crate) type HashPassword<'a> = &'a dyn Fn(&str) -> Text<255>;

/// Reads the keys of a document, which are given plain or as their SHA-256. Reference 3.1.
pub(crate) fn read_apikeys(
    section: Option<&Value>,
    groups: &[GroupId],
    used_ids: &UsedIds,
    faults: &mut ImportFaults,
) -> BTreeMap<[u8; 32], Apikey> {
    let known = |id: &GroupId| groups.contains(id) || used_ids.groups.contains(&id.number());
    let mut keys = BTreeMap::new();
    for (path, row) in collect_objects(section, "apikeys", faults) {
        let Some(hash) = key_hash(row) else {
            faults.add(
                format!("{path}.key"),
                "give key as a text, or key_sha256 as 64 hexadecimal digits",
            );
            continue;
        };
        let groups = parse_key_groups(row.get("groups"), known);
        let covers_all = matches!(groups, Ok(None));
        // All are read before one is missed, so that every fault of the row is reported.
        let origins = faults.keep_field(&path, "origins", parse_origins(row.get("origins")));
        let any_origin = faults.keep(&path, parse_any_origin(row));
        let needs_contact = faults.keep(&path, parse_needs_contact(row));
        let holder = faults.keep(&path, parse_holder(row, covers_all));
        let label = faults.keep_field(&path, "label", parse_label(row.get("label")));
        let groups = faults.keep_field(&path, "groups", groups);
        if let Some(label) = label
            && let Some(groups) = groups
            && let Some(holder) = holder
            && let Some(origins) = origins
            && let Some(allows_any_origin) = any_origin
            && let Some(needs_contact) = needs_contact
        {
            let apikey =
                Apikey { label, groups, holder, origins, allows_any_origin, needs_contact };
            if keys.insert(hash, apikey).is_some() {
                faults.add(format!("{path}.key"), "appears twice in the document");
            }
        }
    }
    keys
}

fn parse_label(given: Option<&Value>) -> Result<Text<255>, InvalidValue> {
    match given {
        Some(label) => Text::new(&value::parse_text(label)?),
        None => Ok(Text::default()),
    }
}

/// Parses the marks of a server's and of an operator's key; a key without them is public.
///
/// # Errors
/// The fault of a mark.
fn parse_holder(row: &Map<String, Value>, covers_all: bool) -> Result<ApikeyHolder, Vec<Fault>> {
    let is_server = parse_mark(row, "server")?.unwrap_or(false);
    if !parse_mark(row, "operator")?.unwrap_or(false) {
        return Ok(if is_server { ApikeyHolder::Server } else { ApikeyHolder::Public });
    }
    if !covers_all {
        let rule = "a key of the operator covers all groups: leave groups out";
        return Err(vec![Fault::new("operator", rule)]);
    }
    Ok(ApikeyHolder::Operator)
}

/// Parses whether pages of all origins may change something with a key. If it is left out, they may
/// not with a key that is given plain, which is a new one. They may with one that is given as its
/// SHA-256: exports of earlier releases, whose keys name no origins, do not say it.
///
/// # Errors
/// The fault of the mark.
fn parse_any_origin(row: &Map<String, Value>) -> Result<bool, Vec<Fault>> {
    let mark = parse_mark(row, "any_origin")?;
    Ok(mark.unwrap_or_else(|| row.get("key").is_none_or(Value::is_null)))
}

/// Parses whether the `contact_needed` of groups binds bookings with a key. If it is left out, it
/// binds a key that is given plain, which is a new one, and not one that is given as its SHA-256.
///
/// # Errors
/// The fault of the mark.
fn parse_needs_contact(row: &Map<String, Value>) -> Result<bool, Vec<Fault>> {
    let mark = parse_mark(row, "needs_contact")?;
    Ok(mark.unwrap_or_else(|| row.get("key").is_some_and(|key| !key.is_null())))
}

/// Parses a mark; `None` if it is left out.
///
/// # Errors
/// The fault of the mark.
fn parse_mark(row: &Map<String, Value>, name: &str) -> Result<Option<bool>, Vec<Fault>> {
    match row.get(name).map(value::parse_boolean) {
        Some(Err(InvalidValue(rule))) => Err(vec![Fault::new(name, rule)]),
        Some(Ok(mark)) => Ok(Some(mark)),
        None => Ok(None),
    }
}

/// Parses the origins of a key; none if they are left out.
fn parse_origins(given: Option<&Value>) -> Result<Vec<SiteOrigin>, InvalidValue> {
    let list = match given {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(InvalidValue("must be a list of texts".into())),
    };
    list.iter().map(|origin| SiteOrigin::new(&value::parse_text(origin)?)).collect()
}

/// Parses the groups of a key; `None` for all groups.
fn parse_key_groups(
    given: Option<&Value>,
    known: impl Fn(&GroupId) -> bool,
) -> Result<Option<Vec<GroupId>>, InvalidValue> {
    let list = match given {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(_) => {
            return Err(InvalidValue("must be a list of ids; leave it out for all groups".into()));
        }
    };
    let mut groups = Vec::with_capacity(list.len());
    for id in list {
        let group = value::parse_id(id).ok().flatten().and_then(GroupId::new);
        match group {
            Some(group) if known(&group) => groups.push(group),
            _ => {
                let rule = "must be ids of groups of the document; leave it out for all groups";
                return Err(InvalidValue(rule.into()));
            }
        }
    }
    groups.sort_unstable();
    groups.dedup();
    Ok(Some(groups))
}

fn key_hash(row: &Map<String, Value>) -> Option<[u8; 32]> {
    match (given_text(row, "key"), given_text(row, "key_sha256")) {
        (Some(key), None) => Some(Sha256::digest(key.as_bytes()).into()),
        (None, Some(digits)) => HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?.try_into().ok(),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// The password of a row, which is given in one of three forms. Reference 3.4.
#[derive(PartialEq, Eq)]
enum GivenPassword {
    /// SHA-1 of the password, in lower-case hexadecimal digits. A plain password becomes this.
    Sha1(String),
    /// The hash to store.
    Hash(Text<255>),
}

impl GivenPassword {
    /// Parses the password of a row; `None` without one.
    fn parse(row: &Map<String, Value>) -> Result<Option<Self>, Vec<Fault>> {
        let names = ["password", "password_sha1", "password_hash"];
        let mut given = names.into_iter().filter_map(|name| Some((name, given_field(row, name)?)));
        let Some((name, form)) = given.next() else { return Ok(None) };
        let wrong = |rule: &str| vec![Fault::new(name, rule)];
        if given.next().is_some() {
            return Err(wrong("give one of password, password_sha1 and password_hash"));
        }
        let Some(text) = form.as_str() else { return Err(wrong("must be a text")) };
        Ok(Some(match name {
            "password" => Self::Sha1(password::sha1_hex(text)),
            "password_sha1"
                if text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
            {
                Self::Sha1(text.to_ascii_lowercase())
            }
            "password_sha1" => return Err(wrong("must be 40 hexadecimal digits")),
            _ if password::is_hash(text) => {
                Self::Hash(Text::new(text).map_err(|InvalidValue(rule)| wrong(&rule))?)
            }
            _ => {
                return Err(wrong(
                    "must be an argon2id hash as a PHC string: \
                     $argon2id$v=19$m=…,t=…,p=…$salt$hash",
                ));
            }
        }))
    }

    /// Returns the hash to store.
    fn to_hash(&self, hash: HashPassword<'_>) -> Text<255> {
        match self {
            Self::Sha1(sha1) => hash(sha1),
            Self::Hash(stored) => stored.clone(),
        }
    }

    /// Whether this is another password than `other`. One that is given as its hash cannot be
    /// compared with one that is not.
    fn differs_from(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other) && self != other
    }
}

/// The professionals of all groups: one per e-mail.
#[derive(Default)]
pub(crate) struct ImportedPros {
    /// By folded e-mail.
    by_email: BTreeMap<Box<str>, ImportedPro>,
    /// The roles, by group and folded e-mail.
    roles: Vec<(GroupId, Box<str>, ProRole)>,
}

struct ImportedPro {
    pro: Pro,
    /// The password in the document.
    password: GivenPassword,
    /// Whether the document names a main group.
    main_given: bool,
}

impl ImportedPros {
    /// Adds the professionals of one group.
    pub(crate) fn add_group(
        &mut self,
        section: Option<&Value>,
        draft: &GroupDraft,
        now: Instant,
        hash: HashPassword<'_>,
        ids: &mut IdAllocator,
        faults: &mut ImportFaults,
    ) {
        let group = draft.state.catalogue.group.id;
        let scope = Scope::for_group(&draft.state);
        for (path, row) in collect_objects(section, &format!("{}.pros", draft.path), faults) {
            let parsed = PROFESSIONAL.parse_new(row, &scope, Audience::Store);
            let Some(patch) = faults.keep(&path, parsed) else { continue };
            let main = given_field(row, "main").map_or(Ok(false), value::parse_boolean);
            let Some(main) = faults.keep_field(&path, "main", main) else { continue };
            let Some(password) = faults.keep(&path, GivenPassword::parse(row)) else { continue };
            // Replaced below by the claimed id.
            let placeholder = ProId::new(1).expect("1 is an id");
            let mut pro = Pro::blank(placeholder, group, now);
            patch.apply_to(&mut pro);
            let email = pro.email.folded();
            let role = parse_role(row, &draft.state, &ProRole::Administrator);
            let Some(role) = faults.keep(&path, role) else { continue };
            if let Some(role) = role {
                self.roles.push((group, email.clone(), role));
            }
            match self.by_email.get_mut(&email) {
                Some(person) => {
                    person.add_to_group(group, main, password.as_ref(), row, &path, faults);
                }
                None => {
                    let Some(id) = ids.claim("pros", row, &path, faults).and_then(ProId::new)
                    else {
                        continue;
                    };
                    let Some(password) = password else {
                        faults.add(format!("{path}.password"), PASSWORD_REQUIRED);
                        continue;
                    };
                    pro.id = id;
                    pro.password_hash = password.to_hash(hash);
                    self.by_email.insert(email, ImportedPro { pro, password, main_given: main });
                }
            }
        }
    }

    /// Adds all professionals and their roles to a directory.
    pub(crate) fn add_to(self, directory: &mut Directory) {
        for (group, email, role) in self.roles {
            if let Some(person) = self.by_email.get(&email) {
                directory.roles.set(group, person.pro.id, role);
            }
        }
        let pros = self.by_email.into_values().map(|person| (person.pro.id, person.pro));
        directory.pros.extend(pros);
    }
}

impl ImportedPro {
    /// Adds the professional to one more group. The fields of the first group stay.
    fn add_to_group(
        &mut self,
        group: GroupId,
        main: bool,
        password: Option<&GivenPassword>,
        row: &Map<String, Value>,
        path: &str,
        faults: &mut ImportFaults,
    ) {
        if let Some(Ok(Some(id))) = row.get("id").map(value::parse_id)
            && id != self.pro.id.number()
        {
            faults.add(
                format!("{path}.id"),
                format!("the professional of this e-mail has the id {}", self.pro.id),
            );
        }
        if password.is_some_and(|password| password.differs_from(&self.password)) {
            faults.add(format!("{path}.password"), OTHER_PASSWORD);
        }
        match self.pro.groups.binary_search(&group) {
            Ok(_) => faults.add(format!("{path}.email"), "appears twice among the group's pros"),
            Err(at) => self.pro.groups.insert(at, group),
        }
        if main && self.main_given {
            faults.add(
                format!("{path}.main"),
                "another group is this professional's main group already",
            );
        }
        if main {
            self.pro.main = group;
            self.main_given = true;
        }
    }
}

/// Reads the accounts of one group. `state` holds its fiches. Reference 3.5.
pub(crate) fn read_accounts(
    section: Option<&Value>,
    path: &str,
    state: &GroupState,
    hash: HashPassword<'_>,
    faults: &mut ImportFaults,
) -> Vec<Arc<Account>> {
    let mut accounts: BTreeMap<Box<str>, Arc<Account>> = BTreeMap::new();
    for (path, row) in collect_objects(section, &format!("{path}.accounts"), faults) {
        let email = Email::new(given_text(row, "email").unwrap_or_default().trim());
        let fiche =
            given_field(row, "fiche_id").and_then(|id| FicheId::new(value::parse_id(id).ok()??));
        let fiche = fiche.filter(|id| state.fiches.contains_key(id));
        let former = parse_former_fiches(given_field(row, "former_fiche_ids"), state);
        if former.is_none() {
            faults.add(
                format!("{path}.former_fiche_ids"),
                "must be a list of ids of the group's fiches",
            );
        }
        let email = faults.keep_field(&path, "email", email);
        if fiche.is_none() {
            let rule = "must be the id of one of the group's fiches";
            faults.add(format!("{path}.fiche_id"), rule);
        }
        let password = faults.keep(&path, GivenPassword::parse(row));
        if password == Some(None) {
            faults.add(format!("{path}.password"), PASSWORD_REQUIRED);
        }
        let last_login = given_text(row, LAST_LOGIN).map(datetime::parse).transpose();
        let last_login = faults.keep_field(&path, LAST_LOGIN, last_login).flatten();
        if let (Some(email), Some(fiche_id), Some(Some(password)), Some(former)) =
            (email, fiche, password, former)
        {
            let folded = email.folded();
            let password_hash = password.to_hash(hash);
            let last_login = last_login.map(Civil::day);
            let account = Account { email, fiche_id, password_hash, former, last_login };
            if accounts.insert(folded, account.into()).is_some() {
                faults.add(format!("{path}.email"), "appears twice among the group's accounts");
            }
        }
    }
    accounts.into_values().collect()
}

/// Parses the former fiches of an account; none without the field. Returns `None` where one is no
/// fiche of the group.
fn parse_former_fiches(given: Option<&Value>, state: &GroupState) -> Option<Vec<FicheId>> {
    let Some(given) = given else { return Some(Vec::new()) };
    let mut former = Vec::new();
    for id in given.as_array()? {
        let fiche = FicheId::new(value::parse_id(id).ok()??)?;
        if !state.fiches.contains_key(&fiche) {
            return None;
        }
        former.push(fiche);
    }
    Some(former)
}
