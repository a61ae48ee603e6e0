//! Why a change of keys or professionals is refused. Reference 3.2, 3.9, 11.1.

use thiserror::Error;

use crate::domain::directory::factor_changes::FactorRefusal;
use crate::domain::directory::group_keys::GroupKeyRefusal;
use crate::domain::directory::joining::JoinRefusal;
use crate::domain::directory::roles::GroupRight;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::Email;

/// The reason why a change of access is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages explain the variants")]
pub enum AccessRefusal {
    #[error("this key exists already: generate another one")]
    ApikeyKnown,
    #[error(
        "no key matches {0:?}: give an id or a label from `slotbook key list`, or the key itself"
    )]
    NoApikey(String),
    #[error("{1} keys match {0:?}: give the id of one of them from `slotbook key list`")]
    ManyApikeys(String, usize),
    #[error("a key of the operator covers all groups: give no group")]
    OperatorGroups,
    #[error("group {0} does not exist")]
    NoGroup(GroupId),
    #[error("the store has no group: fill it with `slotbook import`")]
    NoGroups,
    #[error("the group is missing: give one of {0}")]
    WhichGroup(String),
    #[error("the main group {0} is not among the groups of the professional")]
    MainElsewhere(GroupId),
    #[error("no professional has the address {}", .0.as_str())]
    NoPro(Email),
    #[error("{} does not work for group {}", .0.as_str(), .1)]
    WorksElsewhere(Email, GroupId),
    #[error("no professional of group {0} has the id {1}")]
    NoColleague(GroupId, ProId),
    #[error(
        "is the last professional of group {0}: add another one first, or let the operator use \
         `slotbook pro remove`"
    )]
    LastOfGroup(GroupId),
    #[error(
        "is the last administrator of group {0}: make another one first, or let the operator use \
         `slotbook pro`"
    )]
    LastAdministrator(GroupId),
    #[error(transparent)]
    Joining(#[from] JoinRefusal),
    #[error("{} has another password by now", .0.as_str())]
    PasswordChanged(Email),
    #[error("the role of professional {0} was changed meanwhile: look at it again")]
    RoleChanged(ProId),
    #[error("{}", .0.needed())]
    Lacks(GroupRight),
    #[error("no such login is open")]
    NoLogin,
    #[error(transparent)]
    Factor(#[from] FactorRefusal),
    #[error(transparent)]
    GroupKey(#[from] GroupKeyRefusal),
    #[error("a new professional needs a password: give one")]
    NoPassword,
    #[error(
        "{} exists already: change the password with `slotbook pro password`, or add groups without a password",
        .0.as_str()
    )]
    ProKnown(Email),
    #[error("{} works for these groups already: nothing would change", .0.as_str())]
    NothingNew(Email),
}
