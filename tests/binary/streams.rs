//! Streams of changes and the end of the server. Reference 18.3.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::server::{Served, practice, store_of};

#[test]
fn a_server_that_stops_ends_its_streams_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Served::on(&store_of(folder.path(), &practice(1)), &[]);
    let host = server.base.strip_prefix("http://").expect("an address").to_owned();
    let login = STANDARD.encode("pro@example.org:secret");
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(&host).expect("it listens");
        let request = format!(
            "GET /api/v1/groups/1/events?apikey=test-key HTTP/1.1\r\nHost: {host}\r\n\
             Authorization: Basic {login}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut read = [0; 4_096];
        let bytes = stream.read(&mut read).expect("an answer");
        assert!(read[..bytes].starts_with(b"HTTP/1.1 200 OK\r\n"));
        streams.push(stream);
    }
    // Without an end of its streams it would wait for its longest time, and break them.
    assert_eq!(server.terminate(), Some(0));
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("the end");
        assert!(rest.ends_with(b"0\r\n\r\n"), "the body has its end");
    }
}
