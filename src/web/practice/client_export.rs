//! Everything about one client, as a file. Reference 15.5, 17.4.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::Response;

use crate::domain::records::ids::FicheId;
use crate::http::export_client;
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::visit::ProVisit;

/// GET /p/{urlname}/clients/{id}/export: the answer of the API, which a browser saves.
pub(crate) async fn download(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    let known = path.id(FicheId::new).filter(|id| visit.state.fiches.contains_key(id));
    let Some(id) = known else { return message::not_found(&visit.request) };
    let author = visit.author();
    let ProVisit { request, state, .. } = visit;
    let server = Arc::clone(&request.pages.server);
    let directory = Arc::clone(&request.directory);
    match export_client(server, directory, state, id, author, request.now).await {
        Ok(mut response) => {
            let disposition = format!("attachment; filename=\"client-{id}.json\"");
            let disposition = HeaderValue::from_str(&disposition).expect("a number is ASCII");
            response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
            response
        }
        Err(error) => message::failed(&request, &error),
    }
}
