//! Callers: the identity behind a request, and people with a password. Reference 3.

use std::sync::Arc;

use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::Apikey;
use crate::domain::directory::pro_logins::LoginHash;
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::account::Account;
use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::group::Group;
use crate::domain::records::ids::{GroupId, ID_MAX, ProId};
use crate::domain::records::text::Text;
use crate::domain::state::command::Caller;
use crate::http::auth::login_uses::ActiveLogin;
use crate::http::error::ApiError;
use crate::http::permissions::Role;
use crate::wire::field::Audience;

/// Stands for the operator, who is no professional.
const OPERATOR: ProId = ProId::new(ID_MAX).expect("the largest number is an id");
/// Stands for the operator's socket, which has no application key.
const SOCKET_KEY: [u8; 32] = [0xff; 32];
/// Stands for a login at the screens, which needs no application key.
const LOGIN_KEY: [u8; 32] = [0xfe; 32];

/// A person with a password.
#[derive(Clone, Debug)]
pub(crate) enum Person {
    /// A professional.
    Pro(ProId),
    /// An account of a client in a group.
    Account(GroupId, Arc<Account>),
}

/// A person whose password a credential is compared with.
pub(crate) struct Candidate {
    pub(crate) person: Person,
    pub(crate) password_hash: Text<255>,
}

/// The means by which a caller shows that it may ask at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// An application key, which the directory has.
    Apikey,
    /// The login of a professional at the screens.
    Login(LoginHash),
    /// The operator's socket, where no key is needed or looked at.
    Socket,
}

/// The authenticated caller of a request: an application key, and the person on whose behalf the
/// application asks. Reference 3.2.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The directory in which the key and the person were found.
    directory: Arc<Directory>,
    /// SHA-256 of the application key. Without one it stands for the way in.
    pub(crate) apikey: [u8; 32],
    /// The role and the person.
    pub(crate) caller: Caller,
    /// Group of the account; `None` for a caller that is no account.
    account_group: Option<GroupId>,
    /// Whether the request carries the person's password, rather than a session.
    pub(crate) has_password: bool,
    admission: Admission,
}

impl Identity {
    /// Returns the identity of a key that the directory has; without a person, of the application.
    /// `has_password` says whether the person was found by the password of this request.
    pub(crate) fn new(
        directory: Arc<Directory>,
        apikey: [u8; 32],
        person: Option<Person>,
        has_password: bool,
    ) -> Self {
        let (caller, account_group) = match person {
            None => (Caller::Application, None),
            Some(Person::Pro(id)) => (Caller::Pro(id), None),
            Some(Person::Account(group, account)) => (Caller::Account(account), Some(group)),
        };
        let admission = Admission::Apikey;
        Self { directory, apikey, caller, account_group, has_password, admission }
    }

    /// Returns the identity of a professional who is logged in at the screens, and whom the
    /// directory has. The login covers the professional's own groups. Reference 3.3.
    pub(crate) fn logged_in(directory: Arc<Directory>, login: ActiveLogin) -> Self {
        Self {
            directory,
            apikey: LOGIN_KEY,
            caller: Caller::Pro(login.pro),
            account_group: None,
            has_password: false,
            admission: Admission::Login(login.hash),
        }
    }

    /// Returns the identity of the operator at the socket of the data directory, who has the rights
    /// of a professional in every group. Reference 11.1.
    pub(crate) fn operator(directory: Arc<Directory>) -> Self {
        let caller = Caller::Pro(OPERATOR);
        let apikey = SOCKET_KEY;
        let account_group = None;
        let admission = Admission::Socket;
        Self { directory, apikey, caller, account_group, has_password: false, admission }
    }

    /// Returns the application key; `None` at the operator's socket and for a login.
    fn apikey(&self) -> Option<&Apikey> {
        match self.admission {
            Admission::Apikey => {
                let apikey = self.directory.apikeys.get(&self.apikey);
                Some(apikey.expect("the key was found in this directory"))
            }
            Admission::Login(_) | Admission::Socket => None,
        }
    }

    /// Returns whether the caller is the operator at the socket of the data directory.
    pub(crate) fn is_at_socket(&self) -> bool {
        self.admission == Admission::Socket
    }

    /// Returns the login at the screens that the request carries.
    pub(crate) fn login(&self) -> Option<LoginHash> {
        match self.admission {
            Admission::Login(hash) => Some(hash),
            Admission::Apikey | Admission::Socket => None,
        }
    }

    /// Returns the professional, if the caller is one.
    fn pro(&self) -> Option<&Pro> {
        // The number that stands for the operator may be the id of a professional too.
        if self.is_at_socket() {
            return None;
        }
        match self.caller {
            Caller::Application | Caller::Account(_) => None,
            Caller::Pro(id) => self.directory.pros.get(&id),
        }
    }

    /// Returns the id of the professional, if the caller is one.
    pub(crate) fn pro_id(&self) -> Option<ProId> {
        self.pro().map(|pro| pro.id)
    }

    /// Whether the caller is known by a session, whose cookie the request carries.
    pub(crate) fn is_by_session(&self) -> bool {
        self.admission == Admission::Apikey && self.person().is_some() && !self.has_password
    }

    /// Returns the same professional in a later directory; `None` if its key or its professional
    /// is gone, or its password is another one. Whether a login or a session has ended is for
    /// others to see.
    pub(crate) fn renewed(&self, directory: &Arc<Directory>) -> Option<Self> {
        if self.admission == Admission::Apikey && !directory.apikeys.contains_key(&self.apikey) {
            return None;
        }
        if let Some(before) = self.pro() {
            let pro = directory.pros.get(&before.id)?;
            if pro.password_hash != before.password_hash {
                return None;
            }
        }
        Some(Self { directory: Arc::clone(directory), ..self.clone() })
    }

    /// Returns the role of a professional in a group; of others and of the operator, who need none,
    /// that of an administrator.
    pub(crate) fn pro_role(&self, group: GroupId) -> &ProRole {
        match self.pro() {
            Some(pro) => self.directory.roles.role_of(group, pro.id),
            None => &ProRole::Administrator,
        }
    }

    /// Returns the role for rights in a group, or outside any group.
    pub(crate) fn role_in(&self, group: Option<GroupId>) -> Role {
        match (&self.caller, group) {
            (Caller::Application, _) => Role::Application,
            (Caller::Account(_), _) => Role::Account,
            (Caller::Pro(_), Some(group)) => Role::of_pro(self.pro_role(group)),
            (Caller::Pro(_), None) => Role::Administrator,
        }
    }

    /// Returns the author of what the caller changes.
    pub(crate) fn author(&self) -> Author {
        let key = KeyId::of_hash(&self.apikey);
        match (&self.caller, self.admission) {
            (_, Admission::Socket) => Author::Operator,
            (Caller::Application, _) => Author::Application(key),
            (Caller::Account(account), _) => {
                Author::Account { client: account.fiche_id, key: Some(key) }
            }
            (Caller::Pro(id), Admission::Login(_)) => Author::Professional { id: *id, key: None },
            (Caller::Pro(id), Admission::Apikey) => {
                Author::Professional { id: *id, key: Some(key) }
            }
        }
    }

    /// Returns the person on whose behalf the application asks, if there is one.
    pub(crate) fn person(&self) -> Option<Person> {
        if self.is_at_socket() {
            return None;
        }
        match (&self.caller, self.account_group) {
            (Caller::Pro(id), _) => Some(Person::Pro(*id)),
            (Caller::Account(account), Some(group)) => {
                Some(Person::Account(group, Arc::clone(account)))
            }
            (Caller::Account(_), None) | (Caller::Application, _) => None,
        }
    }

    /// Returns the names of the professional; `None` for another caller, and without names.
    pub(crate) fn pro_names(&self) -> Option<Text<255>> {
        self.pro()?.names()
    }

    /// Returns whether the key belongs to a server, whose source address stands for many clients.
    pub(crate) fn is_server(&self) -> bool {
        self.is_at_socket() || self.apikey().is_some_and(Apikey::is_server)
    }

    /// Returns whether the key was made since groups may need a contact, so that their
    /// `contact_needed` binds its bookings.
    pub(crate) fn needs_contact(&self) -> bool {
        self.apikey().is_some_and(|apikey| apikey.needs_contact)
    }

    /// Returns whether the key is one of the operator, which may found groups, or the caller is at
    /// the operator's socket.
    pub(crate) fn is_operator(&self) -> bool {
        self.is_at_socket() || self.apikey().is_some_and(Apikey::is_operator)
    }

    /// Returns whether the caller may see a group: the key covers it, a professional works for it,
    /// and an account belongs to it.
    pub(crate) fn sees(&self, group: GroupId) -> bool {
        if !self.key_covers(group) {
            return false;
        }
        if let Some(pro) = self.pro()
            && !pro.works_for(group)
        {
            return false;
        }
        match self.account_group {
            Some(own) => own == group,
            None => true,
        }
    }

    /// Checks the second factor that a group may demand of its professionals. Reference 3.11.
    ///
    /// # Errors
    /// 403 for a professional whose login was not by a second factor: HTTP Basic, a session, or a
    /// login before the factor is set up.
    pub(crate) fn check_second_factor(&self, group: &Group) -> Result<(), ApiError> {
        let Some(pro) = self.pro() else { return Ok(()) };
        if !group.second_factor_required {
            return Ok(());
        }
        if self.login().is_none() {
            return Err(ApiError::unauthorized(&by_screens_alone(group.id)));
        }
        if self.directory.second_factors.contains_key(&pro.id) {
            return Ok(());
        }
        Err(ApiError::unauthorized(&format!(
            "group {} requires a second factor (second_factor_required): set up yours at the \
             screens",
            group.id
        )))
    }

    /// Whether the caller is a professional without a second factor.
    pub(crate) fn lacks_second_factor(&self) -> bool {
        self.pro().is_some_and(|pro| !self.directory.second_factors.contains_key(&pro.id))
    }

    /// Returns whether the key covers a group. A login covers those of its professional.
    pub(crate) fn key_covers(&self, group: GroupId) -> bool {
        match self.admission {
            Admission::Apikey => self.apikey().is_some_and(|apikey| apikey.covers(group)),
            Admission::Login(_) => self.pro().is_some_and(|pro| pro.works_for(group)),
            Admission::Socket => true,
        }
    }

    /// Returns the groups that the caller may list, ascending: a person's own groups that the key
    /// covers, else the groups of the key. `None` stands for all groups.
    pub(crate) fn groups(&self) -> Option<Vec<GroupId>> {
        let mut own = match (self.pro(), self.account_group) {
            (Some(pro), _) => pro.groups.clone(),
            (None, Some(group)) => vec![group],
            // A login without its professional covers nothing.
            (None, None) if self.login().is_some() => Vec::new(),
            (None, None) => return self.apikey()?.groups.clone(),
        };
        own.retain(|group| self.key_covers(*group));
        Some(own)
    }

    /// Returns the group that a path without a group means: the professional's main group if the
    /// caller sees it, else the account's, else the only group of the key. The last two may be
    /// groups that the caller does not see. Reference 1.6.
    pub(crate) fn home(&self) -> Option<GroupId> {
        if let Some(pro) = self.pro()
            && self.sees(pro.main)
        {
            return Some(pro.main);
        }
        if let Some(group) = self.account_group {
            return Some(group);
        }
        match self.apikey()?.groups.as_deref() {
            Some([only]) => Some(*only),
            Some([] | [_, _, ..]) | None => None,
        }
    }

    /// Returns the directory in which the caller was found.
    pub(crate) fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Returns the audience that decides which fields the caller is shown.
    pub(crate) fn audience(&self) -> Audience {
        Audience::for_caller(&self.caller)
    }
}

/// The rule of a group whose professionals need a second factor.
pub(crate) fn by_screens_alone(group: GroupId) -> String {
    format!(
        "group {group} requires a second factor (second_factor_required): its professionals log in \
         at the screens, not by HTTP Basic or a session"
    )
}
