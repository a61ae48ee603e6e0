//! The form of the weekly hours of a calendar: seven days, their services and weeks, and the day
//! from which they hold. Reference 15.8.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::timetable::{
    DayHours, OpenWeeks, TimetableChange, TimetableKey, Validity, change_hours, changes_after,
    drop_ended, find_conflict, hours_from, timetables,
};
use crate::domain::availability::weekly_hours::{DayTimes, WeeklyRange};
use crate::domain::records::ids::CalendarId;
use crate::domain::records::vevent::Permits;
use crate::domain::recurrence::WEEK;
use crate::domain::state::command::{Command, PutVevents};
use crate::domain::state::put_vevent::PutHours;
use crate::domain::time::CivilDay;
use crate::http::show_hours;
use crate::notify::language::weekday_name;
use crate::web::format::iso_day;
use crate::web::page::redirect;
use crate::web::practice::form::ProForm;
use crate::web::practice::hours::calendar_hours::{CalendarHours, read_hours};
use crate::web::practice::hours::calendar_screen::{CalendarForm, respond_with_calendar};
use crate::web::practice::hours::day_ranges::DayRanges;
use crate::web::practice::hours::form_parts::{DayField, read_services, services};
use crate::web::practice::hours::saving::{NotSaved, save_as_expected};
use crate::web::practice::hours::timetable_address::{
    FROM, NEW, TIMETABLE, parse_timetable, parse_weeks, timetable_slug,
};
use crate::web::practice::hours::words::{
    long_date, minute_in_words, timetable_in_words, week_in_words,
};
use crate::web::practice::message;
use crate::web::practice::record_fields::VersionRow;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::{REVISION, revision, still_at};
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::typed_start::parse_legal_day;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::hours::RANGES_MAX;
use crate::wire::params::Params;

/// The timetable of every week and all services.
const fn plain_timetable() -> TimetableKey {
    TimetableKey { weeks: OpenWeeks::Every, permits: Permits::All }
}

/// Returns the calendar of a path; `None` if the group has no such live one.
pub(crate) fn find_calendar(visit: &ProVisit, path: &RecordPath) -> Option<CalendarId> {
    let id = path.id(CalendarId::new)?;
    let calendar = visit.state.catalogue.calendars.get(&id)?;
    if calendar.deleted { None } else { Some(id) }
}

/// GET /p/{urlname}/hours/{id}: the hours as they are from the day that the parameter `from` names.
pub(crate) async fn show(visit: ProVisit, Path(path): Path<RecordPath>) -> Response {
    let Some(id) = find_calendar(&visit, &path) else { return message::not_found(&visit.request) };
    let hours = match read_hours(&visit, vec![id]).await {
        Ok(hours) => hours,
        Err(error) => return message::failed(&visit.request, &error),
    };
    let params = &visit.request.params;
    let from = params.value(FROM).and_then(parse_legal_day).unwrap_or_else(|| visit.today());
    let slug = params.value(TIMETABLE).unwrap_or_default();
    let key = parse_timetable(slug).filter(|key| names_services(&visit, key));
    let is_new = slug == NEW;
    let hours = &hours[0];
    let key = match key {
        Some(key) => key,
        None if is_new => plain_timetable(),
        None => first_timetable(hours, visit.today()),
    };
    let form = fill_in(&visit, hours, key, is_new, from);
    respond_with_calendar(&visit, StatusCode::OK, hours, form)
}

/// Returns the timetable that a calendar shows first: that of all services and weeks, unless it has
/// others alone.
fn first_timetable(hours: &CalendarHours, today: CivilDay) -> TimetableKey {
    let is_over = |range: &WeeklyRange| range.last().is_some_and(|last| last < today);
    let live: Vec<WeeklyRange> =
        hours.ranges.iter().filter(|range| !is_over(range)).cloned().collect();
    let plain = plain_timetable();
    let keys = timetables(&live);
    if keys.contains(&plain) { plain } else { keys.into_iter().next().unwrap_or(plain) }
}

fn names_services(visit: &ProVisit, key: &TimetableKey) -> bool {
    match &key.permits {
        Permits::All => true,
        Permits::Only(ids) => {
            ids.iter().all(|id| visit.state.catalogue.interventions.contains_key(id))
        }
    }
}

/// Returns the form of a timetable with its hours from a day on.
fn fill_in(
    visit: &ProVisit,
    hours: &CalendarHours,
    key: TimetableKey,
    is_new: bool,
    from: CivilDay,
) -> CalendarForm {
    let text = HoursTexts::in_language(visit.language());
    let shown = if is_new { Vec::new() } else { hours_from(&hours.ranges, &key, from) };
    let days = WEEK.into_iter().enumerate().map(|(index, weekday)| {
        let of_day = shown.iter().filter(|hours| hours.weekday == weekday);
        let times: Vec<DayTimes> = of_day.map(|hours| hours.times).collect();
        let label = weekday_name(visit.language(), weekday).to_owned();
        DayRanges::filled_in(format!("d{index}"), label, &times)
    });
    CalendarForm {
        days: days.collect(),
        timetable: if is_new { NEW.to_owned() } else { timetable_slug(&key) },
        weeks: key.weeks,
        services: services(&visit.state, text, &key.permits),
        key: if is_new { None } else { Some(key) },
        from: DayField::new(&iso_day(from)),
        revision: revision(show_hours(&visit.state, hours.id)),
        faults: Vec::new(),
        is_overtaken: false,
        versions: Vec::new(),
        question: None,
    }
}

/// POST /p/{urlname}/hours/{id}: the hours of the form from its day on, up to the next change that
/// is planned.
pub(crate) async fn act(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let Some(id) = find_calendar(&visit, &path) else { return message::not_found(&visit.request) };
    let hours = match read_hours(&visit, vec![id]).await {
        Ok(hours) => hours,
        Err(error) => return message::failed(&visit.request, &error),
    };
    let hours = &hours[0];
    let Some(mut form) = read_form(&visit, &given) else {
        return message::not_found(&visit.request);
    };
    if let Some(day) = given.value("more").and_then(|day| day.parse::<usize>().ok()) {
        if let Some(day) = form.days.get_mut(day) {
            day.add_pair();
        }
        return respond_with_calendar(&visit, StatusCode::OK, hours, form);
    }
    let Some((changed, key)) = read_change(&visit, hours, &mut form, &given) else {
        return respond_with_calendar(&visit, StatusCode::BAD_REQUEST, hours, form);
    };
    let put = PutHours { calendar_id: id, ranges: changed, taker: visit.creator() };
    let command = Command::PutVevents(Box::new(PutVevents::Hours(put)));
    let command = command.only_if(still_at(&form.revision, move |state| show_hours(state, id)));
    let unsaved = match save_as_expected(&mut visit, command, &given).await {
        Ok(()) => {
            let timetable = timetable_slug(&key);
            let pairs = [(TIMETABLE, timetable.as_str()), ("saved", "1")];
            return redirect(&visit.url(&format!("/hours/{id}"), &pairs));
        }
        Err(unsaved) => unsaved,
    };
    let hours = match read_hours(&visit, vec![id]).await {
        Ok(hours) => hours,
        Err(error) => return message::failed(&visit.request, &error),
    };
    let Some(hours) = hours.first() else { return message::not_found(&visit.request) };
    answer_unsaved(&visit, hours, form, unsaved)
}

/// Returns the form again, with the reason why it was not saved.
fn answer_unsaved(
    visit: &ProVisit,
    hours: &CalendarHours,
    mut form: CalendarForm,
    unsaved: NotSaved,
) -> Response {
    let status = match unsaved {
        NotSaved::Asked(question) => {
            let status = question.status();
            form.question = Some(question);
            status
        }
        NotSaved::Refused(faults) => {
            form.faults = faults.into_iter().map(|fault| fault.rule).collect();
            StatusCode::BAD_REQUEST
        }
        NotSaved::Overtaken => {
            form.is_overtaken = true;
            form.versions = compare(visit, hours, &form);
            form.revision = revision(show_hours(&visit.state, hours.id));
            StatusCode::PRECONDITION_FAILED
        }
        NotSaved::Failed(error) => return message::failed(&visit.request, &error),
    };
    respond_with_calendar(visit, status, hours, form)
}

/// Returns the form as it was filled in; `None` if it names no timetable.
fn read_form(visit: &ProVisit, given: &Params) -> Option<CalendarForm> {
    let text = HoursTexts::in_language(visit.language());
    let timetable = given.value(TIMETABLE).unwrap_or_default();
    let key = match timetable {
        NEW => None,
        slug => Some(parse_timetable(slug)?),
    };
    let days = WEEK.into_iter().enumerate().map(|(index, weekday)| {
        let label = weekday_name(visit.language(), weekday).to_owned();
        DayRanges::given(format!("d{index}"), label, given)
    });
    let permits = read_services(&visit.state, given).unwrap_or(Permits::All);
    Some(CalendarForm {
        days: days.collect(),
        timetable: timetable.to_owned(),
        weeks: given.value("weeks").and_then(parse_weeks).unwrap_or(OpenWeeks::Every),
        services: services(&visit.state, text, &permits),
        key,
        from: DayField::new(given.value(FROM).unwrap_or_default()),
        revision: given.value(REVISION).unwrap_or_default().to_owned(),
        faults: Vec::new(),
        is_overtaken: false,
        versions: Vec::new(),
        question: None,
    })
}

/// Reads the change of a form: all hours of the calendar after it, and the timetable that has the
/// hours of the form. `None` if some value is wrong, which then has its fault.
fn read_change(
    visit: &ProVisit,
    hours: &CalendarHours,
    form: &mut CalendarForm,
    given: &Params,
) -> Option<(Vec<WeeklyRange>, TimetableKey)> {
    let text = HoursTexts::in_language(visit.language());
    let mut wanted = Vec::new();
    for (weekday, day) in WEEK.into_iter().zip(&mut form.days) {
        wanted.extend(day.read(text).into_iter().map(|times| DayHours { weekday, times }));
    }
    let from = form.from.read(text);
    let permits = read_services(&visit.state, given);
    let weeks = given.value("weeks").and_then(parse_weeks);
    let (Ok(permits), Some(weeks)) = (permits, weeks) else {
        form.faults.push(text.bad_choice.to_owned());
        return None;
    };
    if form.days.iter().any(|day| !day.faults.is_empty()) {
        return None;
    }
    let from = from?;
    let new = TimetableKey { weeks, permits };
    let old = form.key.clone().unwrap_or_else(|| new.clone());
    let is_held = |range: &WeeklyRange| {
        TimetableKey::new(range) == new && range.last().is_none_or(|last| from <= last)
    };
    if form.key.is_none() && hours.ranges.iter().any(is_held) {
        form.faults.push(text.timetable_exists.to_owned());
        return None;
    }
    let validity =
        Validity { from, before: changes_after(&hours.ranges, &old, from).first().copied() };
    let change = TimetableChange { old: &old, new: &new, validity };
    if let Some((of_day, other)) = find_conflict(&hours.ranges, &change, &wanted) {
        let fault = describe_conflict(visit, of_day, &other);
        form.days[usize::from(of_day.weekday.days_since_monday())].add_fault(of_day.times, fault);
        return None;
    }
    let mut changed = change_hours(&hours.ranges, &change, &wanted);
    drop_ended(&mut changed, visit.today(), RANGES_MAX);
    if changed.len() > RANGES_MAX {
        form.faults.push(fill(text.too_many, "max", &RANGES_MAX.to_string()));
        return None;
    }
    Some((changed, new))
}

fn describe_conflict(visit: &ProVisit, hours: DayHours, other: &WeeklyRange) -> String {
    let text = HoursTexts::in_language(visit.language());
    let key = TimetableKey::new(other);
    let of_key = timetable_in_words(&visit.state, visit.language(), &key, visit.today());
    let span = |times: DayTimes| {
        let start = minute_in_words(times.start_minute());
        format!("{start}–{}", minute_in_words(times.end_minute()))
    };
    let since = long_date(visit.language(), other.first());
    let others = format!("{} ({since}) {of_key}", span(other.times()));
    let sentence = fill(text.conflict, "times", &span(hours.times));
    fill(&sentence, "others", others.trim())
}

/// Returns the days in which the saved hours differ from those of the form; the whole week if none
/// does.
fn compare(visit: &ProVisit, hours: &CalendarHours, form: &CalendarForm) -> Vec<VersionRow> {
    let text = HoursTexts::in_language(visit.language());
    let from = parse_legal_day(&form.from.value).unwrap_or_else(|| visit.today());
    let key = form.key.clone().unwrap_or_else(plain_timetable);
    let theirs = fill_in(visit, hours, key.clone(), false, from);
    let mut rows = Vec::new();
    for (saved, mine) in theirs.days.iter().zip(&form.days) {
        let both = [saved, mine].map(DayRanges::as_typed);
        let [theirs, mine] =
            both.map(|times| if times.is_empty() { text.closed.to_owned() } else { times });
        if theirs != mine {
            rows.push(VersionRow { label: saved.label.clone(), theirs, mine });
        }
    }
    if rows.is_empty() {
        let mut all = Vec::new();
        for key in timetables(&hours.ranges) {
            let week = hours_from(&hours.ranges, &key, from);
            let words = timetable_in_words(&visit.state, visit.language(), &key, from);
            let week = week_in_words(visit.language(), &week);
            all.push(if words.is_empty() { week } else { format!("{words} : {week}") });
        }
        let mine = text.same_days.to_owned();
        rows.push(VersionRow { label: text.title.to_owned(), theirs: all.join("\n"), mine });
    }
    rows
}
