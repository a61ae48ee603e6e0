//! Invitations of professionals in answers. Reference 3.10.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::directory::invitations::Invitation;
use crate::domain::directory::roles::{ProRole, Sight};
use crate::domain::time::zone::Zone;
use crate::wire::datetime::LocalTime;
use crate::wire::role::calendars_text;
use crate::wire::schema::{Count, one_of, schema_names, text};

schema_names! {
    /// An e-mail address.
    ShownEmail => text();
    /// The name of a role.
    ShownRole => one_of(ProRole::NAMES);
    /// The ids of calendars.
    ShownCalendars => text();
}

/// An open invitation to a group.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvitationAnswer {
    /// Number of the invitation.
    #[schema(value_type = Count)]
    id: u64,
    /// The address that it was mailed to.
    #[schema(value_type = ShownEmail)]
    email: String,
    /// The role that the professional will have.
    #[schema(value_type = ShownRole)]
    role: &'static str,
    /// The calendars of the professional's own, such as ,11,13,; empty for other roles.
    #[schema(value_type = ShownCalendars)]
    calendar_ids: String,
    /// Whether the calendars and clients of others are read too.
    reads_all: bool,
    /// The end of its validity, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    expires_at: LocalTime,
}

/// The open invitations of a group.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvitationsAnswer {
    /// The invitations, the oldest first.
    pub records: Vec<InvitationAnswer>,
}

impl InvitationAnswer {
    /// The answer about one invitation.
    pub fn new(id: u64, invitation: &Invitation, zone: Zone) -> Self {
        let Invitation { email, role, expires, .. } = invitation;
        Self {
            id,
            email: email.as_str().to_owned(),
            role: role.name(),
            calendar_ids: calendars_text(role),
            reads_all: role.sight() == Sight::All,
            expires_at: LocalTime::new(zone, *expires),
        }
    }
}
