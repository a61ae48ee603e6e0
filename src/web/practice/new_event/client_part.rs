//! The client of a new appointment: a known one, found by a search, or a new one. Reference 15.9.

use serde_json::{Map, Value};

use crate::domain::records::customfield::Model;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::state::command::Patch;
use crate::domain::state::group_state::GroupState;
use crate::http::ApiError;
use crate::web::contact_fields::FieldView;
use crate::web::practice::client_list::{ClientRow, ClientSearch, find_clients, view_client};
use crate::web::practice::record_fields::{
    attribute_fields, fiche_fields, filled_in, place_faults, wire_value,
};
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::texts::new_event::NewEventTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;

/// Number of clients that a search shows.
const FOUND_MAX: usize = 20;
/// The fields of a new client that every group asks for, as far as they are known.
const PLAIN_FIELDS: [&str; 4] = ["lastname", "firstname", "firstphone", "email"];
/// Prefix of the fields of a new client in the form.
const PREFIX: &str = "fiche.";

/// The part of the form about the client.
pub(crate) struct ClientPart {
    pub(crate) chosen: Option<PickedClient>,
    /// The words of a search, as they were typed.
    pub(crate) search: String,
    /// The result of a search.
    pub(crate) found: Option<FoundPart>,
    /// The sentence of a wrong search or choice; empty without a fault.
    pub(crate) fault: &'static str,
    /// The fields of a new client.
    pub(crate) fields: Vec<FieldView>,
}

/// A client as the form shows it.
pub(crate) struct PickedClient {
    pub(crate) id: FicheId,
    pub(crate) row: ClientRow,
}

/// The clients that a search has found.
pub(crate) struct FoundPart {
    pub(crate) clients: Vec<PickedClient>,
    /// The sentence of a search that has found more than are shown; empty otherwise.
    pub(crate) more: String,
}

/// The client of an appointment that is to be made.
pub(crate) enum WantedClient {
    Known(FicheId),
    New(Patch<Fiche>),
}

impl ClientPart {
    /// Reads the part. A client that was merged into another stands for that one.
    pub(crate) fn read(visit: &ProVisit, given: &Params) -> Self {
        let text = NewEventTexts::in_language(visit.language());
        let mut part = Self {
            chosen: None,
            search: given.value("search").unwrap_or_default().to_owned(),
            found: None,
            fault: "",
            fields: filled_in(&blank_fields(visit), given),
        };
        // A client that was found counts before the one that was chosen earlier.
        if let Some(id) = given.value("pick").or_else(|| given.value("client")) {
            match find_client(&visit.state, id) {
                Some(fiche) if fiche.deleted => part.fault = text.client_deleted,
                Some(fiche) => part.chosen = Some(pick(visit, fiche)),
                None => part.fault = text.client_unknown,
            }
        }
        part
    }

    /// Whether a value of a new client was typed.
    pub(crate) fn is_new_given(&self) -> bool {
        self.fields.iter().any(|field| !field.value.is_empty())
    }

    /// Whether the fields of a new client are open.
    pub(crate) fn is_new_open(&self) -> bool {
        let nothing_found = self.found.as_ref().is_some_and(|found| found.clients.is_empty());
        self.is_new_given() || nothing_found || !self.fault.is_empty()
    }

    /// Searches for the words that were typed. A search that finds no client begins a new one.
    ///
    /// # Errors
    /// 503 if too many long searches are waiting.
    pub(crate) async fn search(&mut self, visit: &ProVisit) -> Result<(), ApiError> {
        let wanted = ClientSearch {
            search: &self.search,
            with_deleted: false,
            for_booking: true,
            first: 0,
            results: FOUND_MAX,
        };
        let Some(found) = find_clients(visit, wanted).await? else {
            self.fault = ClientTexts::in_language(visit.language()).search_too_long;
            return Ok(());
        };
        let rows = found.page.iter().filter_map(|id| visit.state.fiches.get(id));
        let clients: Vec<PickedClient> = rows.map(|fiche| pick(visit, fiche)).collect();
        let mut more = String::new();
        if found.total > clients.len() {
            let text = NewEventTexts::in_language(visit.language());
            more = fill(text.found_more, "total", &found.total.to_string());
            more = fill(&more, "shown", &clients.len().to_string());
        }
        if clients.is_empty() && !self.is_new_given() {
            self.begin_new();
        }
        self.found = Some(FoundPart { clients, more });
        Ok(())
    }

    /// Takes the words of a search into the field of a new client that they fit.
    fn begin_new(&mut self) {
        let words = &self.search;
        let name = if words.contains('@') {
            "fiche.email"
        } else if words.contains(|c: char| c.is_ascii_digit()) {
            "fiche.firstphone"
        } else {
            "fiche.lastname"
        };
        for field in &mut self.fields {
            if field.name == name {
                words.clone_into(&mut field.value);
            }
        }
    }

    /// Returns the client to book for. `None` if the part is wrong, which then says so.
    pub(crate) fn wanted(&mut self, visit: &ProVisit) -> Option<WantedClient> {
        if let Some(chosen) = &self.chosen {
            return Some(WantedClient::Known(chosen.id));
        }
        if !self.is_new_given() {
            if self.fault.is_empty() {
                self.fault = NewEventTexts::in_language(visit.language()).client_missing;
            }
            return None;
        }
        let mut object: Map<String, Value> = Map::new();
        for field in &self.fields {
            if !field.value.is_empty() || field.is_checkbox() {
                object.insert(field.name.replacen(PREFIX, "", 1), wire_value(field));
            }
        }
        let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
        match FICHE.parse_new(&object, &scope, Audience::Pro) {
            Ok(patch) => Some(WantedClient::New(patch)),
            Err(faults) => {
                self.place(visit, &faults);
                None
            }
        }
    }

    /// Sets the sentence of each fault of the new client at its field. Returns those of faults
    /// without a field here.
    pub(crate) fn place(&mut self, visit: &ProVisit, faults: &[Fault]) -> Vec<String> {
        for field in &mut self.fields {
            field.name = field.name.replacen(PREFIX, "", 1);
        }
        let others =
            place_faults(&mut self.fields, faults, FormTexts::in_language(visit.language()));
        with_prefix(&mut self.fields);
        others
    }

    pub(crate) fn has_faults(&self) -> bool {
        !self.fault.is_empty() || self.fields.iter().any(|field| !field.fault.is_empty())
    }
}

fn pick(visit: &ProVisit, fiche: &Fiche) -> PickedClient {
    PickedClient { id: fiche.id, row: view_client(visit, fiche) }
}

/// Returns a client by its id, or the one that it was merged into.
fn find_client<'s>(state: &'s GroupState, id: &str) -> Option<&'s Fiche> {
    let fiche = state.fiches.get(&FicheId::new(id.parse().ok()?)?)?;
    match fiche.merged_into {
        Some(kept) => state.fiches.get(&kept).map(AsRef::as_ref),
        None => Some(fiche),
    }
}

/// The fields of a new client: the plain ones, and the attributes that professionals have to give.
fn blank_fields(visit: &ProVisit) -> Vec<FieldView> {
    let blank = Fiche::new(FicheId::new(1).expect("1 is an id"), visit.request.now);
    let mut fields = fiche_fields(&visit.state, &blank, visit.language());
    fields.retain(|field| PLAIN_FIELDS.contains(&field.name.as_str()));
    fields.extend(required_attributes(visit, Model::Fiche));
    with_prefix(&mut fields);
    fields
}

fn with_prefix(fields: &mut [FieldView]) {
    for field in fields {
        field.name.insert_str(0, PREFIX);
    }
}

/// The attributes of a model that professionals have to give.
pub(crate) fn required_attributes(visit: &ProVisit, model: Model) -> Vec<FieldView> {
    let names = visit.state.catalogue.required_customfields(model, true);
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    let mut fields = attribute_fields(&visit.state, model, None);
    fields.retain(|field| names.contains(&field.name));
    fields
}
