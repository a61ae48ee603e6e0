//! Obstacles to a start, each in words and with what would remove it. Reference 15.9.

use crate::domain::availability::obstacle::{NotOffered, Obstacle, TakenBy};
use crate::domain::availability::slot_request::{BookingMode, Chain, Leg, SlotRequest};
use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;
use crate::http::ApiError;
use crate::web::format;
use crate::web::practice::obstacle_words::obstacle_in_words;
use crate::web::practice::target_obstacles::find_obstacles;
use crate::web::practice::texts::new_event::NewEventTexts;
use crate::web::practice::visit::ProVisit;

/// An obstacle, and the way to remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExplainedObstacle {
    pub(crate) sentence: String,
    pub(crate) remedy: &'static str,
    /// The screen that removes it; empty if none does.
    pub(crate) url: String,
}

/// A service at a time on a calendar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExplainedSlot {
    pub(crate) calendar: CalendarId,
    pub(crate) service: InterventionId,
    pub(crate) start: Instant,
    pub(crate) length_seconds: i64,
}

impl ExplainedSlot {
    /// The time that it takes.
    pub(crate) fn interval(self) -> Interval {
        Interval { start: self.start, end: self.start.plus_seconds(self.length_seconds) }
    }

    /// Returns the slot under the rules of a mode.
    pub(crate) fn request(self, mode: BookingMode) -> SlotRequest {
        let leg = Leg { intervention_id: self.service, length_seconds: self.length_seconds };
        let chain = Chain::new(vec![leg]).expect("one leg is a chain");
        SlotRequest::new(chain, self.start, mode)
    }

    /// Returns all that keeps clients from booking it online.
    ///
    /// # Errors
    /// 503 if too many long computations are waiting.
    pub(crate) async fn explain(
        self,
        visit: &ProVisit,
    ) -> Result<Vec<ExplainedObstacle>, ApiError> {
        // A professional learns of each event that takes time, and the public alone is bound by
        // the other rules.
        let by_pro = self.request(BookingMode::ModuleByPro);
        let mut obstacles = find_obstacles(visit, self.calendar, by_pro).await?;
        let by_public = self.request(BookingMode::Module);
        for obstacle in find_obstacles(visit, self.calendar, by_public).await? {
            if !matches!(obstacle, Obstacle::Taken { .. }) && !obstacles.contains(&obstacle) {
                obstacles.push(obstacle);
            }
        }
        Ok(explain_obstacles(visit, self.calendar, &obstacles))
    }
}

/// Returns obstacles on a calendar in words, without doubles.
pub(crate) fn explain_obstacles<'o>(
    visit: &ProVisit,
    calendar: CalendarId,
    obstacles: impl IntoIterator<Item = &'o Obstacle>,
) -> Vec<ExplainedObstacle> {
    let mut explained = Vec::new();
    for obstacle in obstacles {
        let one = explain_obstacle(visit, calendar, obstacle);
        if !explained.contains(&one) {
            explained.push(one);
        }
    }
    explained
}

fn explain_obstacle(
    visit: &ProVisit,
    calendar: CalendarId,
    obstacle: &Obstacle,
) -> ExplainedObstacle {
    let text = NewEventTexts::in_language(visit.language());
    let sentence = obstacle_in_words(visit, obstacle);
    let leading = |remedy: &'static str, url: String| ExplainedObstacle {
        sentence: sentence.clone(),
        remedy,
        url,
    };
    let calendar_setting = |field: &str| {
        let url = visit.url(&format!("/settings/calendars/{calendar}"), &[]);
        leading(text.to_calendar, format!("{url}#{field}"))
    };
    match obstacle {
        Obstacle::NotOffered(reason) => {
            let path = setting_of(*reason);
            leading(text.to_setting, visit.url(&path, &[]))
        }
        Obstacle::MintimeRdv { .. } => calendar_setting("mintime_rdv"),
        Obstacle::MaxRdvPeriod { .. } => calendar_setting("maxrdv_period"),
        Obstacle::OffGrid { .. } => calendar_setting("generate_interval"),
        Obstacle::OutsideAvailability { .. } => {
            leading(text.to_hours, visit.url(&format!("/hours/{calendar}"), &[]))
        }
        Obstacle::Taken { id, interval, by } => {
            let day = format::iso_day(visit.zone().civil_of(interval.start).day());
            let path = format!("/events/{id}");
            match by {
                TakenBy::Appointment => leading(text.to_appointment, visit.url(&path, &[])),
                TakenBy::Plage => leading(text.to_absence, visit.url(&path, &[("o", &day)])),
            }
        }
        Obstacle::Held { .. } => leading(text.ends_by_itself, String::new()),
        Obstacle::RepeatedHour => leading(text.first_pass, String::new()),
        Obstacle::UnverifiedShare { .. } => {
            let url = visit.url("/settings/booking", &[]);
            leading(text.to_setting, format!("{url}#unverified_day_percent"))
        }
    }
}

/// The path of the setting that keeps something from being offered.
fn setting_of(reason: NotOffered) -> String {
    match reason {
        NotOffered::ModuleInactive => "/settings/booking".to_owned(),
        NotOffered::CalendarDeleted(id) | NotOffered::CalendarHidden(id) => {
            format!("/settings/calendars/{id}")
        }
        NotOffered::InterventionDeleted(id) | NotOffered::InterventionHidden(id) => {
            format!("/settings/interventions/{id}")
        }
        NotOffered::InterventionsetHidden(_) => "/settings/interventionsets".to_owned(),
    }
}
