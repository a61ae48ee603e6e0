//! A new client. Reference 15.5.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::state::command::{Command, Put, RecordChange};
use crate::engine::Rejection;
use crate::http::GuardedRejection;
use crate::web::contact_fields::FieldView;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_fields::{changed_object, fiche_fields, filled_in, place_faults};
use crate::web::practice::revision::{faults_among, write};
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};

#[derive(Template)]
#[template(path = "web/practice/new_client.html")]
struct NewClientScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static ClientTexts,
    form: &'static FormTexts,
    action: String,
    fields: Vec<FieldView>,
    /// Sentences about the whole form.
    others: Vec<String>,
    has_faults: bool,
    list: String,
}

/// GET /p/{urlname}/clients/new.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let fields = blank_fields(&visit);
    respond_with_form(&visit, StatusCode::OK, fields, Vec::new())
}

/// POST /p/{urlname}/clients/new.
pub(crate) async fn make(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let blank = blank_fields(&visit);
    let mut fields = filled_in(&blank, &given);
    let object = changed_object(&blank, &fields);
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    let faults = match FICHE.parse_new(&object, &scope, Audience::Pro) {
        Ok(fields) => {
            let put = Put { id: None, fields };
            match write(&visit, Command::ChangeRecord(RecordChange::Fiche(put))).await {
                Ok(done) => {
                    let path = format!("/clients/{}", done.object);
                    return redirect(&visit.url(&path, &[("saved", "1")]));
                }
                Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => {
                    faults_among(refusals)
                }
                Err(rejection) => {
                    let error = rejection.into_error(visit.zone(), Audience::Pro);
                    return message::failed(&visit.request, &error);
                }
            }
        }
        Err(faults) => faults,
    };
    let text = FormTexts::in_language(visit.language());
    let others = place_faults(&mut fields, &faults, text);
    respond_with_form(&visit, StatusCode::BAD_REQUEST, fields, others)
}

/// The fields of a client with their defaults. A new one is not deleted.
fn blank_fields(visit: &ProVisit) -> Vec<FieldView> {
    let blank = Fiche::new(FicheId::new(1).expect("1 is an id"), visit.request.now);
    let mut fields = fiche_fields(&visit.state, &blank, visit.language());
    fields.retain(|field| !matches!(field.name.as_str(), "deleted" | "from_web"));
    fields
}

fn respond_with_form(
    visit: &ProVisit,
    status: StatusCode,
    fields: Vec<FieldView>,
    others: Vec<String>,
) -> Response {
    let text = ClientTexts::in_language(visit.language());
    let screen = NewClientScreen {
        frame: visit.frame(text.add, Section::Clients),
        text,
        form: FormTexts::in_language(visit.language()),
        action: visit.url("/clients/new", &[]),
        fields,
        others,
        has_faults: status == StatusCode::BAD_REQUEST,
        list: visit.url(Section::Clients.path(), &[]),
    };
    respond(status, Privacy::Client, render(&screen))
}
