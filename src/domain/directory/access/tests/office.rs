//! Two groups with their people, whose stories the tests beside this tell.

use crate::domain::directory::access::*;
use crate::domain::directory::access_history::AccessAct;
use crate::domain::directory::factor_changes::FactorProof;
use crate::domain::directory::invitations::INVITATION_SECONDS;
use crate::domain::directory::roles::OwnCalendars;
use crate::domain::directory::second_factor::{GivenCode, SecondStep, TotpSecret, hash_recovery};
use crate::domain::records::ids::CalendarId;
use crate::domain::records::text::Name;

/// A moment at which the secret below gives the code `081804`, by RFC 6238.
pub(super) const NOW: Instant = Instant(1_111_111_109);
pub(super) const SECRET: TotpSecret = TotpSecret::new(*b"12345678901234567890");
pub(super) const RIGHT_CODE: &str = "081804";

pub(super) const ANN: u64 = 1;
pub(super) const BOB: u64 = 2;
pub(super) const CLEO: u64 = 3;

/// The directory of a store with groups 1 and 2. Ann is an administrator of both, Bob one of group
/// 1 and Cleo one of group 2.
pub(super) struct Office {
    pub(super) directory: Directory,
    pub(super) now: Instant,
}

pub(super) fn group(id: u64) -> GroupId {
    GroupId::new(id).expect("an id")
}

pub(super) fn pro(id: u64) -> ProId {
    ProId::new(id).expect("an id")
}

pub(super) fn email(text: &str) -> Email {
    Email::new(text).expect("an address")
}

pub(super) fn text(text: &str) -> Text<255> {
    Text::new(text).expect("a text")
}

pub(super) fn new_pro(address: &str, groups: &[u64], role: ProRole) -> ProDraft {
    ProDraft {
        email: email(address),
        password_hash: Some(text(&format!("hash of {address}"))),
        lastname: Name::default(),
        firstname: Name::default(),
        cellphone: Text::default(),
        groups: groups.iter().map(|id| group(*id)).collect(),
        main: None,
        role,
    }
}

pub(super) fn role_put(id: u64, groups: &[u64], role: ProRole) -> ChangeAccess {
    let groups = groups.iter().map(|id| group(*id)).collect();
    ChangeAccess::SetRole { pro: pro(id), groups, role, former: None, is_operator: false }
}

pub(super) fn invite(address: &str, role: ProRole, now: Instant) -> ChangeAccess {
    let expires = now.plus_seconds(INVITATION_SECONDS);
    let invitation = Box::new(Invitation { email: email(address), role, by: None, expires });
    ChangeAccess::Invite { group: group(1), invitation, steady_now: now }
}

pub(super) fn accept(number: u64, person: bool, now: Instant) -> ChangeAccess {
    let person = person.then(|| {
        Box::new(NewPerson {
            lastname: Name::new("Doe").expect("a name"),
            firstname: Name::new("Dora").expect("a name"),
            cellphone: Text::new("0600000000").expect("a text"),
            password_hash: text("hash of dora"),
        })
    });
    ChangeAccess::AcceptInvitation { group: group(1), number, person, steady_now: now }
}

pub(super) fn login(id: u64, address: &str, token: u8, second_step: SecondStep) -> ProLoginDraft {
    ProLoginDraft {
        hash: [token; 32],
        pro: pro(id),
        password_hash: text(&format!("hash of {address}")),
        stays: false,
        source: Name::new("192.0.2.1").expect("a name"),
        device: Name::default(),
        replaced: None,
        second_step,
    }
}

pub(super) fn proof(code: &str) -> FactorProof {
    let pro = pro(ANN);
    let code = GivenCode::read(code);
    FactorProof { pro, password_hash: text("hash of ann@x.org"), code }
}

pub(super) fn enrol(code: &str, login: u8) -> ChangeAccess {
    let recovery = vec![hash_recovery(pro(ANN), "ONE"), hash_recovery(pro(ANN), "TWO")];
    let proof = proof(code);
    let secret = SECRET;
    let login = [login; 32];
    ChangeAccess::ChangeFactor(ChangeFactor::Enrol { proof, secret, recovery, login })
}

impl Office {
    pub(super) fn new() -> Self {
        let mut office = Self { directory: Directory::default(), now: NOW };
        for (address, groups) in
            [("ann@x.org", &[1, 2][..]), ("bob@x.org", &[1]), ("cleo@x.org", &[2])]
        {
            let added = new_pro(address, groups, ProRole::Administrator);
            office.operator(ChangeAccess::AddPro(added)).expect("they are new");
        }
        office
    }

    pub(super) fn change(
        &mut self,
        author: Option<Author>,
        change: &ChangeAccess,
    ) -> Result<(), AccessRefusal> {
        let groups = StoreGroups::new(|id| id.number() <= 2, [group(1), group(2)]);
        let event = decide_by(author, &self.directory, &groups, change, self.now)?;
        self.directory.apply_in_place(&event);
        recorded_refusal(&event).map_or(Ok(()), Err)
    }

    pub(super) fn operator(&mut self, change: ChangeAccess) -> Result<(), AccessRefusal> {
        self.change(Some(Author::Operator), &change)
    }

    pub(super) fn by(&mut self, id: u64, change: ChangeAccess) -> Result<(), AccessRefusal> {
        self.change(Some(Author::Professional { id: pro(id), key: None }), &change)
    }

    pub(super) fn log_in(&mut self, id: u64, address: &str, token: u8) {
        let draft = login(id, address, token, SecondStep::NotTaken);
        self.by(id, ChangeAccess::LogIn(Box::new(draft))).expect("the password is right");
    }

    /// The tokens of the open logins of a professional.
    pub(super) fn logins(&self, id: u64) -> Vec<u8> {
        self.directory.pro_logins.active(pro(id), self.now).map(|(hash, _)| hash[0]).collect()
    }

    pub(super) fn role(&self, in_group: u64, id: u64) -> &'static str {
        self.directory.roles.role_of(group(in_group), pro(id)).name()
    }

    pub(super) fn groups(&self, id: u64) -> Vec<u64> {
        let found = self.directory.pros.get(&pro(id)).expect("it is known");
        found.groups.iter().map(|group| group.number()).collect()
    }

    /// The numbers of the open invitations to group 1, with their addresses.
    pub(super) fn invited(&self) -> Vec<(u64, String)> {
        let open = self.directory.invitations.of_group(group(1));
        open.map(|(number, one)| (number, one.email.as_str().to_owned())).collect()
    }

    pub(super) fn last_invitation(&self) -> u64 {
        self.invited().last().expect("one is open").0
    }

    /// The acts since a number of rows, with the groups that they concern.
    pub(super) fn acts_since(&self, rows: u64) -> Vec<(AccessAct, Option<Vec<u64>>)> {
        let rows = self.directory.access_history.iter().filter(|(number, _)| *number > rows);
        let of = |groups: &Vec<GroupId>| groups.iter().map(|group| group.number()).collect();
        rows.map(|(_, row)| (row.act.clone(), row.groups.as_ref().map(of))).collect()
    }
}

pub(super) fn calendar(id: u64) -> CalendarId {
    CalendarId::new(id).expect("an id")
}

pub(super) fn own(id: u64) -> OwnCalendars {
    OwnCalendars { calendars: [calendar(id)].into(), reads_all: false }
}
