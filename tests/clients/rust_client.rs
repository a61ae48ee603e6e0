//! The Rust client of openapi-generator searches, books, moves, cancels, and reads an error.

use std::env;
use std::error::Error;

use reqwest::blocking::Client;
use reqwest::header::{HeaderMap, HeaderValue};
use slotbook_client::apis::appointments_api::{
    BookAppointmentError, book_appointment, cancel_appointment, move_appointment,
};
use slotbook_client::apis::availabletimeslots_api::search_slots;
use slotbook_client::apis::configuration::{ApiKey, Configuration};
use slotbook_client::apis::{self, ResponseContent};
use slotbook_client::models::{
    BookAppointmentRequest, Booking, BookingFiche, MoveAppointmentRequest,
    MoveAppointmentRequestAppointment,
};

const GROUP: i64 = 1;

fn wish(date: &str) -> BookAppointmentRequest {
    let mut fiche = BookingFiche::new();
    fiche.lastname = Some(Some("Joliot".to_owned()));
    fiche.email = Some(Some("joliot@example.org".to_owned()));
    let mut booking = Booking::new(date.to_owned(), vec![1]);
    booking.fiche = Some(Box::new(fiche));
    BookAppointmentRequest::new(booking)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut server = Configuration::new();
    server.base_path = env::args().nth(1).expect("the address of the server");
    let mut headers = HeaderMap::new();
    headers.insert("Prefer", HeaderValue::from_static("handling=strict"));
    server.client = Client::builder().default_headers(headers).build()?;
    server.api_key = Some(ApiKey { prefix: None, key: "demo-key-town-practice".to_owned() });
    let search = |id: Option<i64>, key: Option<&str>| {
        let slots = search_slots(
            &server,
            GROUP,
            vec![1],
            None,
            None,
            None,
            None,
            None,
            id,
            key,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        );
        slots.map(|slots| slots.availabletimeslots)
    };
    let free = search(None, None)?;
    let booked = book_appointment(&server, GROUP, wish(&free[0].start), None, None)?;
    let booked = &booked.records[0];
    let key = Some(booked.key.as_str());
    let others = search(Some(booked.id), key)?;
    let later = &others.last().expect("another start").start;
    let body = MoveAppointmentRequest::new(MoveAppointmentRequestAppointment::new(later.clone()));
    let moved = move_appointment(&server, GROUP, booked.id, body, None, key, None)?;
    assert_eq!(&moved.start, later);
    assert!(cancel_appointment(&server, GROUP, booked.id, None, key, None, None)?.deleted);
    match book_appointment(&server, GROUP, wish("2020-01-06 09:00:00"), None, None) {
        Err(apis::Error::ResponseError(ResponseContent {
            status,
            entity: Some(BookAppointmentError::Status400(refused)),
            ..
        })) => {
            let error = &refused.errors[0];
            assert_eq!((status.as_u16(), error.field.as_deref()), (400, Some("date")));
            let (code, message) = (error.code, &error.message);
            println!(
                "openapi-generator, Rust: booked, moved and cancelled; error {code}: {message}"
            );
            Ok(())
        }
        other => panic!("a past start is refused: {other:?}"),
    }
}
