use std::collections::VecDeque;
use std::task::Waker;

use axum::http::Uri;
use proptest::prelude::*;

use super::*;

/// A stream that arrives in pieces. An empty piece stands for a moment without data.
struct PiecewiseStream(VecDeque<Vec<u8>>);

impl AsyncRead for PiecewiseStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(piece) = self.0.front_mut() else { return Poll::Ready(Ok(())) };
        let taken = piece.len().min(buffer.remaining());
        buffer.put_slice(&piece[..taken]);
        piece.drain(..taken);
        if piece.is_empty() {
            self.0.pop_front();
        }
        if taken == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

/// Returns the bytes read from these pieces into buffers of these sizes in turn.
fn read(pieces: Vec<Vec<u8>>, sizes: &[usize]) -> Vec<u8> {
    let moments = pieces.iter().filter(|piece| piece.is_empty()).count();
    let mut filter = RequestTargetFilter::new(PiecewiseStream(pieces.into()));
    let mut all = Vec::new();
    let mut pending = 0;
    for size in sizes.iter().cycle() {
        let mut space = vec![0; size + 1];
        let mut buffer = ReadBuf::new(&mut space);
        buffer.put_slice(b"!");
        match Pin::new(&mut filter).poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer)
        {
            Poll::Pending => pending += 1,
            Poll::Ready(read) => {
                read.expect("pieces do not fail");
                let (before, read) = buffer.filled().split_at(1);
                assert_eq!(before, b"!", "bytes already in the buffer stay");
                if read.is_empty() {
                    break;
                }
                all.extend_from_slice(read);
            }
        }
    }
    assert_eq!(pending, moments, "pending exactly when no data was there");
    all
}

/// Returns the bytes read when all arrive at once.
fn read_whole(bytes: &[u8]) -> Vec<u8> {
    read(vec![bytes.to_vec()], &[bytes.len() + 1])
}

/// Splits bytes into pieces that end at these places.
fn split(bytes: &[u8], ends: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut ends: Vec<_> =
        ends.iter().map(|end| end.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
    ends.sort_unstable();
    ends.windows(2).map(|ends| bytes[ends[0]..ends[1]].to_vec()).collect()
}

/// A request in its parts. `length` is the beginning of its Content-Length line.
#[derive(Clone, Debug)]
struct RawRequest {
    blank: &'static str,
    method: &'static str,
    target: Vec<u8>,
    headers: Vec<&'static str>,
    length: &'static str,
    body: Vec<u8>,
    end: &'static str,
}

impl RawRequest {
    /// Returns the bytes with this target.
    fn with_target(&self, target: &[u8]) -> Vec<u8> {
        let Self { blank, method, headers, length, body, end, .. } = self;
        let mut bytes = format!("{blank}{method} ").into_bytes();
        bytes.extend_from_slice(target);
        bytes.extend_from_slice(format!(" HTTP/1.1{end}").as_bytes());
        headers
            .iter()
            .for_each(|header| bytes.extend_from_slice(format!("{header}{end}").as_bytes()));
        if !body.is_empty() {
            bytes.extend_from_slice(format!("{length}{}{end}", body.len()).as_bytes());
        }
        bytes.extend_from_slice(end.as_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn raw(&self) -> Vec<u8> {
        self.with_target(&self.target)
    }

    /// Returns the bytes that hyper is to see.
    fn rewritten(&self) -> Vec<u8> {
        let mut target = String::new();
        for byte in &self.target {
            match byte {
                b'"' | b'<' | b'>' | b'`' | 0x80.. => target.push_str(&format!("%{byte:02X}")),
                _ => target.push(char::from(*byte)),
            }
        }
        self.with_target(target.as_bytes())
    }
}

fn raw_request() -> impl Strategy<Value = RawRequest> {
    let byte = prop_oneof![Just(b'>'), Just(b'='), Just(b'&'), b'!'..=b'~', 0x80..=0xFF_u8];
    let header = prop::sample::select(vec![
        "Host: shop.example",
        "X-Quoted: \"<raw> stays\"",
        "Content-Length-Not: 7",
        "X-Long: GET /long?>=12345678901234567890123456789012345678901234567890 HTTP/1.1",
        "Expect: 100-continue",
    ]);
    let body = prop_oneof![
        Just(b"{\"vevent\": {\"text\": \"a > b\"}}".to_vec()),
        Just(b"\r\n\r\nGET /not?a=>request HTTP/1.1\r\n\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let parts = (
        prop::sample::select(vec!["", "\r\n", "\n\r\n"]),
        prop::sample::select(vec!["GET", "POST", "DELETE"]),
        prop::collection::vec(byte, 0..40),
        prop::collection::vec(header, 0..4),
        prop::sample::select(vec!["Content-Length: ", "content-length:", "CONTENT-LENGTH: \t 000"]),
        body,
        prop::sample::select(vec!["\r\n", "\n"]),
    );
    parts.prop_map(|(blank, method, rest, headers, length, body, end)| {
        let target = [b"/", rest.as_slice()].concat();
        RawRequest { blank, method, target, headers, length, body, end }
    })
}

/// Requests after which the beginning of the next target is not known.
const AMBIGUOUS_REQUESTS: [&str; 7] = [
    "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /a HTTP/1.1\r\nContent-Length: 2\r\ntransfer-encoding:chunked\r\n\r\n",
    "GET /a HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "POST /a HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
    "POST /a HTTP/1.1\r\nContent-Length: +2\r\n\r\n",
    "POST /a HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
    "POST /a HTTP/1.1\r\nContent-Length: 000000000000000000000000000000000000000000000000000002\r\n\r\n",
];

proptest! {
    #[test]
    fn requests_in_any_pieces_are_read_as_if_each_had_been_rewritten_whole(
        requests in prop::collection::vec(raw_request(), 1..5),
        ends in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        sizes in prop::collection::vec(prop_oneof![1..5_usize, 1..400_usize], 1..6),
    ) {
        let raw = requests.iter().flat_map(RawRequest::raw).collect::<Vec<_>>();
        let rewritten = requests.iter().flat_map(RawRequest::rewritten).collect::<Vec<_>>();
        let read = read(split(&raw, &ends), &sizes);
        prop_assert_eq!(String::from_utf8_lossy(&read), String::from_utf8_lossy(&rewritten));
        prop_assert_eq!(read, rewritten);
    }

    #[test]
    fn bytes_after_an_ambiguous_request_pass_unchanged(
        before in raw_request(),
        ambiguous in prop::sample::select(&AMBIGUOUS_REQUESTS[..]),
        after in raw_request(),
        ends in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        sizes in prop::collection::vec(1..200_usize, 1..6),
    ) {
        let raw = [before.raw(), ambiguous.into(), after.raw()].concat();
        let read = read(split(&raw, &ends), &sizes);
        prop_assert_eq!(read, [before.rewritten(), ambiguous.into(), after.raw()].concat());
    }

    #[test]
    fn any_bytes_are_read_the_same_in_pieces_and_whole(
        parts in prop::collection::vec(prop::sample::select(vec![
            "GET", " ", "/", ">", "\r", "\n", "\r\n", "\r\n\r\n", ":", "Content-Length", "Content-Length: 3", "é", "\0", "7",
            "HTTP/1.1", "Upgrade", "                                                                ",
        ]), 0..30),
        ends in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        sizes in prop::collection::vec(1..20_usize, 1..6),
    ) {
        let raw = parts.concat().into_bytes();
        prop_assert_eq!(read(split(&raw, &ends), &sizes), read_whole(&raw));
    }
}

#[test]
fn exactly_the_bytes_that_no_uri_may_hold_are_escaped() {
    for byte in (b'!'..=b'~').filter(|byte| !b"?#".contains(byte)) {
        let taken = [&b"/a"[..], b"/?a="]
            .iter()
            .all(|before| Uri::try_from(&[before, &[byte][..]].concat()[..]).is_ok());
        assert_eq!(is_uri_byte(byte), taken, "{:?}", char::from(byte));
    }
    for byte in (b'!'..=0xFF).filter(|byte| *byte != 0x7F) {
        let request = [b"GET /a", &[byte][..], b"?b=", &[byte], b" HTTP/1.1\r\n\r\n"].concat();
        let read = read_whole(&request);
        let target = read.split(|byte| *byte == b' ').nth(1).expect("a target");
        let uri = Uri::try_from(target).expect("it is taken");
        let query = uri.query().unwrap_or_default().as_bytes();
        let (_, value) = form_urlencoded::parse(query).last().unwrap_or_default();
        match byte {
            // These mean something in a target.
            b'?' | b'#' | b'&' | b'+' | b'=' => {}
            0x80.. => assert_eq!(value, "\u{FFFD}", "one byte of some text"),
            _ => assert_eq!(value, char::from(byte).to_string()),
        }
    }
}

#[test]
fn bytes_that_end_a_line_or_a_target_are_left_for_hyper_to_refuse() {
    for byte in (0..=b' ').chain([0x7F]) {
        let request =
            [b"GET /a", &[byte][..], b"> HTTP/1.1\r\n\r\nGET /a> HTTP/1.1\r\n\r\n"].concat();
        assert!(
            read_whole(&request).starts_with(&[b"GET /a", &[byte][..], b">"].concat()),
            "{byte}"
        );
    }
}

#[test]
fn no_memory_is_held_once_all_is_read() {
    let mut filter = RequestTargetFilter::new(PiecewiseStream(VecDeque::from([
        b"GET /?a=> HTTP/1.1\r\n\r\n".to_vec(),
    ])));
    let mut space = [0; 100];
    let mut buffer = ReadBuf::new(&mut space);
    let read =
        Pin::new(&mut filter).poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer);
    assert!(matches!(read, Poll::Ready(Ok(()))));
    assert_eq!(buffer.filled(), b"GET /?a=%3E HTTP/1.1\r\n\r\n");
    assert_eq!((filter.pending.capacity(), filter.scanner.line.capacity()), (0, 0));
}
