//! The screens that a professional's role opens. The decision of each write checks the role again.
//! Reference 3.9.

use axum::response::Response;
use percent_encoding::percent_decode_str;

use crate::domain::directory::roles::{GroupRight, ProRole};
use crate::domain::records::ids::{CalendarId, FicheId, VeventId};
use crate::domain::state::group_state::GroupState;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;

/// The role of a visitor, and what it is compared with.
pub(crate) struct RoleGate<'v> {
    pub(crate) request: &'v ScreenRequest,
    pub(crate) state: &'v GroupState,
    pub(crate) role: &'v ProRole,
}

impl RoleGate<'_> {
    /// Checks that the role goes as far as the screen with a path below `/p/<urlname>`.
    ///
    /// # Errors
    /// The page that names the missing right. For a record that the role does not read, the page
    /// that says that there is none.
    pub(crate) fn check(&self, path: &str) -> Result<(), Box<Response>> {
        // As the handlers read them: escapes stand for their characters.
        let decode = |segment| percent_decode_str(segment).decode_utf8_lossy();
        let mut segments = path.trim_start_matches('/').split('/').map(decode);
        let section = segments.next().unwrap_or_default();
        let number = segments.next().and_then(|text| text.parse::<u64>().ok());
        let action = segments.next();
        match &*section {
            "settings" => self.require(GroupRight::Settings),
            "history" => self.require(GroupRight::History),
            "clients" => match number.and_then(FicheId::new) {
                Some(id) => self.check_client(id, action.as_deref()),
                None => Ok(()),
            },
            "events" => match number.and_then(VeventId::new) {
                Some(id) => self.check_event(id, action.as_deref()),
                None => Ok(()),
            },
            "hours" => match number.and_then(CalendarId::new) {
                Some(id) => self.check_calendar(id, self.request.is_form()),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn require(&self, right: GroupRight) -> Result<(), Box<Response>> {
        if self.role.has(right) {
            Ok(())
        } else {
            Err(Box::new(message::lacks(self.request, right)))
        }
    }

    fn check_client(&self, id: FicheId, action: Option<&str>) -> Result<(), Box<Response>> {
        if !self.state.shows_client(&self.role.sight(), id) {
            return Err(Box::new(message::not_found(self.request)));
        }
        if matches!(action, Some("merge" | "erase")) {
            return self.require(GroupRight::Clients);
        }
        if action == Some("export") {
            return self.require(GroupRight::Export);
        }
        if self.request.is_form() && !self.state.lets_write_client(self.role, id) {
            return Err(Box::new(message::lacks(self.request, GroupRight::Clients)));
        }
        Ok(())
    }

    fn check_event(&self, id: VeventId, action: Option<&str>) -> Result<(), Box<Response>> {
        let Some(row) = self.state.rows.get(&id) else { return Ok(()) };
        self.check_calendar(row.calendar_id, self.request.is_form() || action == Some("move"))
    }

    fn check_calendar(&self, id: CalendarId, is_write: bool) -> Result<(), Box<Response>> {
        if !self.role.sight().shows_calendar(id) {
            return Err(Box::new(message::not_found(self.request)));
        }
        if is_write && !self.role.writes_on(id) {
            return Err(Box::new(message::lacks(self.request, GroupRight::Agenda)));
        }
        Ok(())
    }
}
