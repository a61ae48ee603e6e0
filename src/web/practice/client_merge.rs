//! Two records of one client made one: the choice of the other, and of the values that stay.
//! Reference 15.5.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::state::command::{Command, MergeFiches, Patch, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::http::{GuardedRejection, show_record};
use crate::web::contact_fields::FieldView;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::client_list::{ClientRow, ClientSearch, find_clients, view_client};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_fields::{differ, fiche_fields, value_in_words, wire_value};
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::{REVISION, faults_among, revision, still_at, write};
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::texts::merge::MergeTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;

/// Number of clients that a search for the other record shows.
const FOUND_MAX: usize = 20;
/// The hidden field with the revision of the other record.
const OTHER_REVISION: &str = "other_revision";

/// The choice of the other record.
#[derive(Template)]
#[template(path = "web/practice/merge_search.html")]
struct MergeSearchScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static MergeTexts,
    client_text: &'static ClientTexts,
    action: String,
    lang: Option<&'static str>,
    name: String,
    search: &'v str,
    fault: &'static str,
    rows: Vec<ClientRow>,
    back: String,
}

/// Both records side by side.
#[derive(Template)]
#[template(path = "web/practice/merge.html")]
struct MergeScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static MergeTexts,
    action: String,
    kept: MergeSide,
    other: MergeSide,
    rows: Vec<MergeRow>,
    is_overtaken: bool,
    /// Sentences of a refusal.
    faults: Vec<String>,
    back: String,
}

/// One of the two records.
struct MergeSide {
    id: u64,
    name: String,
    revision: String,
    appointments: usize,
}

/// A field in which the records differ.
struct MergeRow {
    name: String,
    label: String,
    kept: String,
    other: String,
    picked: Pick,
    /// Whether both values can stay, one after the other.
    can_join: bool,
}

impl MergeRow {
    fn is_kept(&self) -> bool {
        self.picked == Pick::Kept
    }

    fn is_other(&self) -> bool {
        self.picked == Pick::Other
    }

    fn is_both(&self) -> bool {
        self.picked == Pick::Both
    }
}

/// The value that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pick {
    Kept,
    Other,
    Both,
}

/// A field of both records.
struct FieldPair {
    kept: FieldView,
    other: FieldView,
}

impl FieldPair {
    /// Whether both values can stay: comments, if both have some.
    fn can_join(&self) -> bool {
        self.kept.name == "comments" && !self.kept.value.is_empty() && !self.other.value.is_empty()
    }

    /// The value that a form picks, or else the one that is there.
    fn pick(&self, given: &Params) -> Pick {
        match given.value(&format!("pick_{}", self.kept.name)) {
            Some("kept") => Pick::Kept,
            Some("other") => Pick::Other,
            Some("both") if self.can_join() => Pick::Both,
            _ if self.can_join() => Pick::Both,
            _ if self.kept.value.is_empty() && !self.kept.is_checkbox() => Pick::Other,
            _ => Pick::Kept,
        }
    }
}

/// The two records of a merge.
#[derive(Clone, Copy)]
struct MergedPair<'v> {
    kept: &'v Fiche,
    other: &'v Fiche,
}

impl<'v> MergedPair<'v> {
    /// Finds both records by their ids.
    fn find(visit: &'v ProVisit, kept: FicheId, other: FicheId) -> Option<Self> {
        let other = visit.state.fiches.get(&other)?;
        Some(Self { kept: visit.state.fiches.get(&kept)?, other })
    }

    /// The fields in which both differ. The one that is kept stays live.
    fn fields(self, visit: &ProVisit) -> Vec<FieldPair> {
        let kept = fiche_fields(&visit.state, self.kept, visit.language());
        let mut other = Fiche::clone(self.other);
        // The last name of a deleted record is shown with a sign of its own.
        other.deleted = false;
        let other = fiche_fields(&visit.state, &other, visit.language());
        let pairs = kept.into_iter().zip(other).map(|(kept, other)| FieldPair { kept, other });
        pairs
            .filter(|pair| pair.kept.name != "deleted" && differ(&pair.kept, &pair.other))
            .collect()
    }
}

/// GET /p/{urlname}/clients/{id}/merge: the choice of the other record, or both side by side.
pub(crate) async fn show(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    let Some(kept) = find_kept(&visit, &path) else { return message::not_found(&visit.request) };
    let Some(other) = visit.request.params.value("other") else {
        return search(&visit, kept).await;
    };
    let other = other.parse().ok().and_then(FicheId::new).filter(|other| *other != kept.id);
    let Some(pair) = other.and_then(|other| MergedPair::find(&visit, kept.id, other)) else {
        return message::not_found(&visit.request);
    };
    respond_with_pair(&visit, StatusCode::OK, pair, &Params::default(), Vec::new())
}

/// POST /p/{urlname}/clients/{id}/merge.
pub(crate) async fn merge(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let Some(kept) = find_kept(&visit, &path) else { return message::not_found(&visit.request) };
    let kept = kept.id;
    let other = given.value("other").and_then(|text| text.parse().ok()).and_then(FicheId::new);
    let Some(other) = other.filter(|other| *other != kept) else {
        return message::not_found(&visit.request);
    };
    let Some(pair) = MergedPair::find(&visit, kept, other) else {
        return message::not_found(&visit.request);
    };
    let fields = match read_picks(&visit, pair, &given) {
        Ok(fields) => fields,
        Err(faults) => {
            return respond_with_pair(&visit, StatusCode::BAD_REQUEST, pair, &given, faults);
        }
    };
    let merge = RecordChange::MergeFiches(MergeFiches { kept, merged: other, fields });
    let both = given.value(REVISION).unwrap_or_default().to_owned()
        + given.value(OTHER_REVISION).unwrap_or_default();
    let command = Command::ChangeRecord(merge).only_if(still_at(&both, show_both(kept, other)));
    let refusals = match write(&visit, command).await {
        Ok(_) => return redirect(&visit.url(&format!("/clients/{kept}"), &[("saved", "1")])),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => refusals,
        Err(rejection) => {
            let error = rejection.into_error(visit.zone(), Audience::Pro);
            return message::failed(&visit.request, &error);
        }
    };
    visit.renew();
    let Some(pair) = MergedPair::find(&visit, kept, other) else {
        return message::not_found(&visit.request);
    };
    match refusals.first() {
        Some(Refusal::PreconditionFailed(_)) => {
            respond_with_pair(&visit, StatusCode::PRECONDITION_FAILED, pair, &given, Vec::new())
        }
        _ => {
            let faults = faults_among(refusals).into_iter().map(|fault| fault.rule).collect();
            respond_with_pair(&visit, StatusCode::BAD_REQUEST, pair, &given, faults)
        }
    }
}

/// Returns the client of a path, if others can be merged into it.
fn find_kept<'v>(visit: &'v ProVisit, path: &RecordPath) -> Option<&'v Fiche> {
    let fiche = visit.state.fiches.get(&path.id(FicheId::new)?)?;
    if fiche.deleted { None } else { Some(fiche) }
}

/// Shows both records as one object, whose tag is the revisions of both.
fn show_both(
    kept: FicheId,
    other: FicheId,
) -> impl Fn(&GroupState) -> Option<ShownObject> + Send + Sync + 'static {
    move |state| {
        let mut shown = show_record::<Fiche>(kept, Audience::Pro)(state)?;
        shown.tag = record_revision(state, kept) + &record_revision(state, other);
        Some(shown)
    }
}

fn record_revision(state: &GroupState, id: FicheId) -> String {
    revision(show_record::<Fiche>(id, Audience::Pro)(state))
}

/// Reads the values that a form picks, as fields for the record that is kept.
///
/// # Errors
/// A sentence for each value that breaks a rule.
fn read_picks(
    visit: &ProVisit,
    pair: MergedPair<'_>,
    given: &Params,
) -> Result<Patch<Fiche>, Vec<String>> {
    let mut object: Map<String, Value> = Map::new();
    for field in pair.fields(visit) {
        let picked = match field.pick(given) {
            Pick::Kept => &field.kept,
            Pick::Other => &field.other,
            // The merge joins them.
            Pick::Both => continue,
        };
        object.insert(picked.name.clone(), wire_value(picked));
    }
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    FICHE.parse(&object, &scope, Audience::Pro).map_err(|faults| {
        faults.into_iter().map(|fault| format!("{}: {}", fault.field, fault.rule)).collect()
    })
}

/// Returns the screen that searches for the other record.
async fn search(visit: &ProVisit, kept: &Fiche) -> Response {
    let text = MergeTexts::in_language(visit.language());
    let params = &visit.request.params;
    let search = params.value("search").unwrap_or_default();
    let is_asked = !search.is_empty();
    let wanted = ClientSearch {
        search,
        with_deleted: true,
        for_booking: false,
        first: 0,
        results: FOUND_MAX + 1,
    };
    let found = match find_clients(visit, wanted).await {
        Ok(found) => found,
        Err(error) => return message::failed(&visit.request, &error),
    };
    let client_text = ClientTexts::in_language(visit.language());
    let is_too_long = found.is_none();
    let mut rows = Vec::new();
    for id in found.map(|found| found.page).unwrap_or_default() {
        if let Some(fiche) = visit.state.fiches.get(&id)
            && is_asked
            && id != kept.id
        {
            let path = format!("/clients/{}/merge", kept.id);
            let url = visit.url(&path, &[("other", &id.to_string())]);
            rows.push(ClientRow { url, ..view_client(visit, fiche) });
        }
    }
    let screen = MergeSearchScreen {
        frame: visit.frame(text.title, Section::Clients),
        text,
        client_text,
        action: visit.url(&format!("/clients/{}/merge", kept.id), &[]),
        lang: params.value("lang").map(|_| visit.frame("", Section::Clients).lang),
        name: kept.names(),
        search,
        fault: if is_too_long { client_text.search_too_long } else { "" },
        rows,
        back: visit.url(&format!("/clients/{}", kept.id), &[]),
    };
    let status = if is_too_long { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    respond(status, Privacy::Client, render(&screen))
}

/// Returns both records side by side.
fn respond_with_pair(
    visit: &ProVisit,
    status: StatusCode,
    pair: MergedPair<'_>,
    given: &Params,
    faults: Vec<String>,
) -> Response {
    let text = MergeTexts::in_language(visit.language());
    let language = visit.language();
    let side = |fiche: &Fiche| MergeSide {
        id: fiche.id.number(),
        name: fiche.names(),
        revision: record_revision(&visit.state, fiche.id),
        appointments: visit.state.appointments_of(fiche.id).len(),
    };
    let words = |field: &FieldView| match field.value.as_str() {
        "" if !field.is_checkbox() => FormTexts::in_language(language).nothing_chosen.to_owned(),
        _ => value_in_words(field, language),
    };
    let row = |field: FieldPair| MergeRow {
        name: field.kept.name.clone(),
        label: field.kept.label.clone(),
        kept: words(&field.kept),
        other: words(&field.other),
        picked: field.pick(given),
        can_join: field.can_join(),
    };
    let here = format!("/clients/{}", pair.kept.id);
    let screen = MergeScreen {
        frame: visit.frame(text.title, Section::Clients),
        text,
        action: visit.url(&format!("{here}/merge"), &[]),
        kept: side(pair.kept),
        other: side(pair.other),
        rows: pair.fields(visit).into_iter().map(row).collect(),
        is_overtaken: status == StatusCode::PRECONDITION_FAILED,
        faults,
        back: visit.url(&here, &[]),
    };
    respond(status, Privacy::Client, render(&screen))
}
