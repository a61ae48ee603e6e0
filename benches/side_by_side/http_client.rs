//! HTTP/1.1 client over one kept connection, which costs little: the same for every server.

use std::io::Write as _;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::data::{APIKEY, Booking, write_civil};
use crate::search::SearchPlace;

/// One connection. Requests are built in a buffer before they are sent.
pub(crate) struct HttpClient {
    stream: TcpStream,
    request: Vec<u8>,
    body: Vec<u8>,
    answer: Vec<u8>,
}

/// Status and body of an answer.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl HttpClient {
    /// Connects to an address and port, and waits until the server accepted the connection. Each
    /// client has a loopback address of its own, as clients have who book from their homes.
    pub(crate) async fn connect(address: &str, number: u64) -> Self {
        let socket = TcpSocket::new_v4().expect("the process may open a socket");
        let [.., high, low] = number.to_be_bytes();
        let own = SocketAddr::from(([127, 1, high, low], 0));
        socket.bind(own).expect("all of 127.0.0.0/8 is this machine");
        let server = address.parse().expect("an address and a port");
        let stream = socket.connect(server).await.expect("the server listens");
        stream.set_nodelay(true).expect("a TCP socket has this option");
        let buffer = || Vec::with_capacity(4_096);
        let mut client = Self { stream, request: buffer(), body: buffer(), answer: buffer() };
        client.request.extend_from_slice(b"GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n");
        assert_eq!(client.exchange().await.status, 200, "the server is healthy");
        client
    }

    /// Books; returns the answer.
    pub(crate) async fn book(&mut self, booking: &Booking) -> Answer<'_> {
        let Booking { group, calendar, start, client } = *booking;
        self.body.clear();
        let body = &mut self.body;
        let in_memory = "memory can be written";
        write!(body, r#"{{"appointment":{{"calendar_id":{calendar},"date":""#).expect(in_memory);
        write_civil(body, start).expect(in_memory);
        write!(body, r#"","intervention_ids":[{group}],"fiche":{{"lastname":"Client","email":"#)
            .expect(in_memory);
        write!(body, r#""c{client}@example.org"}}}}}}"#).expect(in_memory);
        self.request.clear();
        write!(
            self.request,
            "POST /api/v1/groups/{group}/appointments?apikey={APIKEY} HTTP/1.1\r\nHost: bench\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.body.len()
        )
        .expect(in_memory);
        self.request.extend_from_slice(&self.body);
        self.exchange().await
    }

    /// Searches; returns the answer.
    pub(crate) async fn search(&mut self, place: &SearchPlace) -> Answer<'_> {
        self.request.clear();
        self.request.extend_from_slice(place.http_request().as_bytes());
        self.exchange().await
    }

    /// Sends the request in the buffer and reads the answer to its end.
    async fn exchange(&mut self) -> Answer<'_> {
        self.stream.write_all(&self.request).await.expect("the server reads");
        self.answer.clear();
        let head_end = loop {
            self.read_more().await;
            // A head is short, so searching it again from the start costs nothing.
            if let Some(position) = self.answer.windows(4).position(|end| end == b"\r\n\r\n") {
                break position + 4;
            }
        };
        let head = str::from_utf8(&self.answer[..head_end]).expect("heads are text");
        let status = head.get(9..12).and_then(|digits| digits.parse().ok());
        let status = status.expect("an answer begins with HTTP/1.1 and the status");
        let end = head_end + content_length(head);
        while self.answer.len() < end {
            self.read_more().await;
        }
        assert_eq!(self.answer.len(), end, "one request has one answer");
        Answer { status, body: &self.answer[head_end..] }
    }

    async fn read_more(&mut self) {
        let bytes = self.stream.read_buf(&mut self.answer).await.expect("the server answers");
        assert!(bytes > 0, "the server keeps the connection");
    }
}

fn content_length(head: &str) -> usize {
    for line in head.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            return value.trim().parse().expect("a length is a number");
        }
    }
    panic!("an answer has a length: {head}");
}
