//! The clients that a professional reads and writes. Reference 3.9.

use crate::domain::directory::roles::{ProRole, Sight};
use crate::domain::records::ids::{CalendarId, FicheId};
use crate::domain::state::group_state::GroupState;

impl GroupState {
    /// Whether a caller reads the record of a client. The cost is that of the client's
    /// appointments.
    pub fn shows_client(&self, sight: &Sight, client: FicheId) -> bool {
        match sight {
            Sight::All => true,
            Sight::Own(calendars) => self.has_appointment_on(self.kept_client(client), calendars),
        }
    }

    /// Whether a role writes the record of a client, whom the group has. The cost is that of the
    /// client's appointments.
    pub fn lets_write_client(&self, role: &ProRole, client: FicheId) -> bool {
        match role {
            ProRole::Administrator | ProRole::Reception => true,
            ProRole::Professional(own) => self.has_appointment_on(client, &own.calendars),
        }
    }

    /// Whether a client has a live appointment on one of some calendars, which ascend.
    fn has_appointment_on(&self, client: FicheId, calendars: &[CalendarId]) -> bool {
        self.appointments_of(client).iter().any(|taken| {
            let row = self.rows.get(&taken.id);
            row.is_some_and(|row| calendars.binary_search(&row.calendar_id).is_ok())
        })
    }
}
