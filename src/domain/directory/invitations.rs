//! Invitations of professionals to a group, which wait for an answer. Reference 3.10.

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::domain::directory::roles::ProRole;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::Email;
use crate::domain::time::{DAY, Instant};

/// Seconds for which an invitation is good.
pub const INVITATION_SECONDS: i64 = 7 * DAY;
/// Maximum number of open invitations of a group.
pub const INVITATIONS_MAX: usize = 50;

/// An invitation of an address to a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// The address that it is mailed to. Only its owner can accept.
    pub email: Email,
    /// The role that the professional will have.
    pub role: ProRole,
    /// The professional who invites; `None` for the operator.
    pub by: Option<ProId>,
    /// The end of its validity, by the steady time.
    pub expires: Instant,
}

/// The open invitations, by group and number. Some may have expired.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Invitations {
    open: OrdMap<(GroupId, u64), Invitation>,
}

impl Invitations {
    /// Finds an invitation that has not expired.
    pub fn find(&self, group: GroupId, number: u64, steady_now: Instant) -> Option<&Invitation> {
        self.open.get(&(group, number)).filter(|invitation| steady_now < invitation.expires)
    }

    /// The invitations of a group, ascending by number. Some may have expired.
    pub fn of_group(&self, group: GroupId) -> impl Iterator<Item = (u64, &Invitation)> {
        let entries = self.open.range((group, 0)..);
        let own = entries.take_while(move |((of, _), _)| *of == group);
        own.map(|((_, number), invitation)| (*number, invitation))
    }

    /// All of them, ascending by group and number.
    pub fn iter(&self) -> impl Iterator<Item = ((GroupId, u64), &Invitation)> {
        self.open.iter().map(|(place, invitation)| (*place, invitation))
    }

    /// Adds an invitation. It takes the place of another one of the address, and expired ones of
    /// the group are removed.
    pub(crate) fn open(&mut self, group: GroupId, number: u64, new: Invitation, now: Instant) {
        self.remove_those(group, |one| {
            one.expires <= now || one.email.folded() == new.email.folded()
        });
        self.open.insert((group, number), new);
    }

    /// Removes the invitations of a folded address to a group.
    pub(crate) fn remove_address(&mut self, group: GroupId, folded: &str) {
        self.remove_those(group, |one| *one.email.folded() == *folded);
    }

    /// Removes all invitations to a group.
    pub fn remove_group(&mut self, group: GroupId) {
        self.remove_those(group, |_| true);
    }

    fn remove_those(&mut self, group: GroupId, is_ended: impl Fn(&Invitation) -> bool) {
        let ended = self.of_group(group).filter(|(_, one)| is_ended(one));
        let ended: Vec<u64> = ended.map(|(number, _)| number).collect();
        for number in ended {
            self.remove(group, number);
        }
    }

    /// Removes an invitation, if it is there.
    pub(crate) fn remove(&mut self, group: GroupId, number: u64) {
        self.open.remove(&(group, number));
    }
}

impl Extend<((GroupId, u64), Invitation)> for Invitations {
    fn extend<I: IntoIterator<Item = ((GroupId, u64), Invitation)>>(&mut self, rows: I) {
        self.open.extend(rows);
    }
}
