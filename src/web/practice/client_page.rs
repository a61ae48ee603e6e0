//! One client: details, appointments, and the form that changes the record. Reference 15.5.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::taken_time::TakenInterval;
use crate::domain::directory::roles::GroupRight;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::state::command::{Command, Put, RecordChange};
use crate::domain::state::history::row::{HistoryObject, ObjectKind};
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::http::{GuardedRejection, show_record};
use crate::web::contact_fields::FieldView;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::appointment_lines::{ListedAppointment, appointment_lines};
use crate::web::practice::book_again::book_again_url;
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::{ObjectHistory, history_beside};
use crate::web::practice::message;
use crate::web::practice::record_fields::{
    Fact, VersionRow, changed_object, compare_versions, facts, fiche_fields, filled_in,
    place_faults,
};
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::{REVISION, faults_among, revision, still_at, write};
use crate::web::practice::settings::accounts_screen::{AccountLine, account_lines, close_path};
use crate::web::practice::settings::part::Part;
use crate::web::practice::texts::accounts::AccountsTexts;
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::texts::erasure::ErasureTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::texts::merge::MergeTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};

/// Number of past appointments that are shown at first.
const PAST_SHOWN: usize = 20;
/// Maximum number of appointments of each list on request.
const LISTED_MAX: usize = 1_000;

#[derive(Template)]
#[template(path = "web/practice/client.html")]
struct ClientScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static ClientTexts,
    form: &'static FormTexts,
    /// The address of this screen.
    here: String,
    name: String,
    /// Whether the professional changes the record.
    is_writable: bool,
    /// Whether the professional merges and erases clients.
    can_merge: bool,
    is_deleted: bool,
    is_erased: bool,
    is_saved: bool,
    facts: Vec<Fact>,
    upcoming: Vec<ListedAppointment>,
    past: Vec<ListedAppointment>,
    /// The link to all past appointments; empty if they are shown.
    all_past: String,
    all_past_label: String,
    book_again: String,
    /// The link to the export; empty if the role has no right to it.
    export: String,
    merge: String,
    merge_text: &'static MergeTexts,
    erase: String,
    erasure_text: &'static ErasureTexts,
    /// The accounts of the client, for administrators; empty without any.
    accounts: Vec<AccountLine>,
    accounts_text: &'static AccountsTexts,
    accounts_url: String,
    close_account: String,
    list: String,
    edit: EditForm,
    history: Option<ObjectHistory>,
}

/// The form that changes the record.
struct EditForm {
    fields: Vec<FieldView>,
    /// The revision that it was filled in on.
    revision: String,
    /// Sentences about the whole form.
    others: Vec<String>,
    has_faults: bool,
    /// The fields in which the record differs, if it was changed meanwhile.
    versions: Vec<VersionRow>,
}

impl EditForm {
    /// Whether the form is in the foreground, since it was refused.
    fn is_refused(&self) -> bool {
        self.has_faults || !self.versions.is_empty()
    }
}

/// GET /p/{urlname}/clients/{id}.
pub(crate) async fn show(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    let Some(fiche) = path.id(FicheId::new).and_then(|id| visit.state.fiches.get(&id)) else {
        return message::not_found(&visit.request);
    };
    if let Some(kept) = fiche.merged_into {
        return redirect(&visit.url(&format!("/clients/{kept}"), &[]));
    }
    let read_log = &visit.request.pages.server.read_log;
    read_log.note_client(visit.group().id, visit.author(), fiche.id, visit.request.now);
    let edit = EditForm {
        fields: fiche_fields(&visit.state, fiche, visit.language()),
        revision: revision(show_record::<Fiche>(fiche.id, Audience::Pro)(&visit.state)),
        others: Vec::new(),
        has_faults: false,
        versions: Vec::new(),
    };
    respond_with_client(&visit, StatusCode::OK, fiche, edit)
}

/// POST /p/{urlname}/clients/{id}.
pub(crate) async fn change(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some(fiche) = path.id(FicheId::new).and_then(|id| visit.state.fiches.get(&id)) else {
        return message::not_found(&visit.request);
    };
    let id = fiche.id;
    if let Some(kept) = fiche.merged_into {
        // What was typed is shown beside the record that was kept.
        let mine = filled_in(&fiche_fields(&visit.state, fiche, visit.language()), &given);
        return respond_with_versions(visit, kept, mine);
    }
    let before = fiche_fields(&visit.state, fiche, visit.language());
    let fields = filled_in(&before, &given);
    let based_on = given.value(REVISION).unwrap_or_default().to_owned();
    let object = changed_object(&before, &fields);
    let saved = visit.url(&format!("/clients/{id}"), &[("saved", "1")]);
    if object.is_empty() {
        return redirect(&saved);
    }
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    let patch = match FICHE.parse(&object, &scope, Audience::Pro) {
        Ok(patch) => patch,
        Err(faults) => return respond_with_faults(&visit, fiche, fields, based_on, &faults),
    };
    let command = Command::ChangeRecord(RecordChange::Fiche(Put { id: Some(id), fields: patch }))
        .only_if(still_at(&based_on, show_record::<Fiche>(id, Audience::Pro)));
    match write(&visit, command).await {
        Ok(_) => redirect(&saved),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => match refusals.first() {
            Some(Refusal::PreconditionFailed(_)) => respond_with_versions(visit, id, fields),
            Some(Refusal::NoResult) => message::not_found(&visit.request),
            _ => {
                let faults = faults_among(refusals);
                respond_with_faults(&visit, fiche, fields, based_on, &faults)
            }
        },
        Err(rejection) => {
            let error = rejection.into_error(visit.zone(), Audience::Pro);
            message::failed(&visit.request, &error)
        }
    }
}

/// Returns the screen with the faults of a form, each beside its field.
fn respond_with_faults(
    visit: &ProVisit,
    fiche: &Fiche,
    mut fields: Vec<FieldView>,
    revision: String,
    faults: &[Fault],
) -> Response {
    let text = FormTexts::in_language(visit.language());
    let others = place_faults(&mut fields, faults, text);
    let edit = EditForm { fields, revision, others, has_faults: true, versions: Vec::new() };
    respond_with_client(visit, StatusCode::BAD_REQUEST, fiche, edit)
}

/// Returns the screen of a record that was changed meanwhile, with both versions. The form keeps
/// what was typed, and is based on the newest record now.
fn respond_with_versions(mut visit: ProVisit, id: FicheId, mine: Vec<FieldView>) -> Response {
    visit.renew();
    let Some(fiche) = visit.state.fiches.get(&id) else {
        return message::not_found(&visit.request);
    };
    let theirs = fiche_fields(&visit.state, fiche, visit.language());
    let edit = EditForm {
        versions: compare_versions(&theirs, &mine, visit.language()),
        fields: mine,
        revision: revision(show_record::<Fiche>(id, Audience::Pro)(&visit.state)),
        others: Vec::new(),
        has_faults: false,
    };
    respond_with_client(&visit, StatusCode::PRECONDITION_FAILED, fiche, edit)
}

fn respond_with_client(
    visit: &ProVisit,
    status: StatusCode,
    fiche: &Fiche,
    edit: EditForm,
) -> Response {
    let text = ClientTexts::in_language(visit.language());
    let params = &visit.request.params;
    let shows_all = params.value("past") == Some("all");
    let appointments = visit.appointments_of(fiche.id);
    let now = visit.request.now;
    let (upcoming, past): (Vec<&TakenInterval>, Vec<&TakenInterval>) =
        appointments.iter().copied().partition(|taken| taken.interval.end > now);
    let shown = if shows_all { LISTED_MAX } else { PAST_SHOWN };
    let here = format!("/clients/{}", fiche.id);
    let mut stored = fiche_fields(&visit.state, fiche, visit.language());
    stored.retain(|field| field.name != "deleted");
    let latest =
        appointments.last().and_then(|taken| visit.state.rows.get(&taken.id)).map(AsRef::as_ref);
    let name = fiche.names();
    let erasure_text = ErasureTexts::in_language(visit.language());
    let title = if fiche.erased_at.is_some() {
        erasure_text.erased_name
    } else if name.trim().is_empty() {
        text.no_name
    } else {
        name.as_str()
    };
    let screen = ClientScreen {
        frame: visit.frame(title, Section::Clients),
        text,
        form: FormTexts::in_language(visit.language()),
        is_writable: visit.state.lets_write_client(visit.role(), fiche.id),
        can_merge: visit.role().has(GroupRight::Clients),
        is_deleted: fiche.deleted,
        is_erased: fiche.erased_at.is_some(),
        is_saved: status == StatusCode::OK && params.value("saved").is_some(),
        facts: facts(&stored, visit.language()),
        upcoming: appointment_lines(visit, upcoming.iter().take(LISTED_MAX).map(|taken| taken.id)),
        past: appointment_lines(visit, past.iter().rev().take(shown).map(|taken| taken.id)),
        all_past: if past.len() > shown && !shows_all {
            visit.url(&here, &[("past", "all")])
        } else {
            String::new()
        },
        all_past_label: fill(text.all_past, "total", &past.len().to_string()),
        book_again: book_again_url(visit, fiche.id, latest),
        export: if visit.role().has(GroupRight::Export) {
            visit.url(&format!("{here}/export"), &[])
        } else {
            String::new()
        },
        merge: visit.url(&format!("{here}/merge"), &[]),
        merge_text: MergeTexts::in_language(visit.language()),
        erase: visit.url(&format!("{here}/erase"), &[]),
        erasure_text,
        accounts: if visit.role().has(GroupRight::Keys) {
            account_lines(visit, fiche.id)
        } else {
            Vec::new()
        },
        accounts_text: AccountsTexts::in_language(visit.language()),
        accounts_url: visit.url(&Part::Accounts.path(), &[("from", &fiche.id.to_string())]),
        close_account: visit.url(&close_path(fiche.id), &[]),
        list: visit.url(Section::Clients.path(), &[]),
        here: visit.url(&here, &[]),
        name: title.to_owned(),
        edit,
        history: history_beside(
            visit,
            HistoryObject { kind: ObjectKind::Fiche, id: fiche.id.number() },
        ),
    };
    respond(status, Privacy::Client, render(&screen))
}
