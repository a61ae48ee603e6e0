//! A server that is killed between a form and its answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::program::{Served, appointments, exported, half_hour, practice, store_of};
use crate::visitor::{Visitor, set};

/// Bookings, each with a server that is killed.
const ROUNDS: u64 = 6;

/// Sends a form and reads nothing of the answer.
fn send_blind(address: &str, form: &[(String, String)]) -> TcpStream {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(form);
    let body = body.finish();
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let request = format!(
        "POST /b/practice/you HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    stream.write_all(request.as_bytes()).expect("the server reads");
    stream
}

#[tokio::test]
async fn a_form_books_once_although_the_server_is_killed_before_its_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["urlname"] = json!("practice");
    let data = store_of(folder.path(), &document);
    for round in 0..ROUNDS {
        let server = Served::on(&data, &[]);
        let address = server.base.trim_start_matches("http://").to_owned();
        let time = half_hour(round).replacen(' ', "T", 1)[..16].to_owned();
        let page = Visitor::at(&address).open(&format!("/b/practice/you?s=1&t={time}")).await;
        let mut form = page.hidden();
        set(&mut form, "fiche.lastname", "Durand");
        set(&mut form, "fiche.email", &format!("client{round}@example.org"));
        let mut stream = send_blind(&address, &form);
        if round % 2 == 1 {
            // The booking is on the disk, and the rest of the answer is lost.
            stream.read_exact(&mut [0]).expect("the answer begins");
        }
        server.end("KILL");
        let server = Served::on(&data, &[]);
        let visitor = Visitor::at(server.base.trim_start_matches("http://"));
        let first = visitor.post("/b/practice/you", &form).await.location().to_owned();
        let again = visitor.post("/b/practice/you", &form).await;
        assert_eq!(again.location(), first, "round {round}");
        visitor.speaking("fr").open(&first).await.shows(&time[11..]);
        assert_eq!(server.terminate(), Some(0));
    }
    assert_eq!(appointments(&exported(&data)).count() as u64, ROUNDS);
}
