//! Request targets as clients write them: `conditions[0][op]=>=` goes without percent signs too. Reference 1.
//!
//! hyper refuses a request line whose target holds bytes that no URI may hold, and says nothing but 400. So they are
//! percent-encoded before hyper reads them: in the target alone, never in a header and never in a body.
//!
//! To know where a target begins is to know where the request before it ended. That is read from the same lines as hyper
//! reads it from, and no better: what hyper refuses is the end of the connection, so only what it takes has to be
//! understood. Where that would be much (chunked bodies) or not plain (an upgrade, lengths that contradict each other), all
//! that follows on the connection passes as it came. `Expect` is not looked at: hyper reads such a body by its length, or
//! closes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of a header's line that are looked at. The two headers that matter, and any length in them, are shorter.
const LINE_BYTES_MAX: usize = 64;

/// A stream whose requests' targets hold only what a URI may hold.
#[derive(Debug)]
pub(crate) struct RequestTargetFilter<S> {
    stream: S,
    requests: Requests,
    /// What was read from the first byte on that had to be replaced; empty as a rule. At most what one read gave, since
    /// nothing is read before it is used up.
    kept: Vec<u8>,
    /// How many bytes of `kept` are used up.
    used: usize,
    /// What is left of an escape for which there was no room.
    owed: &'static [u8],
}

impl<S> RequestTargetFilter<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, requests: Requests::new(), kept: Vec::new(), used: 0, owed: &[] }
    }

    /// Moves what is kept to the buffer, escapes in place of what must be replaced, until one is empty or the other full.
    fn give(&mut self, buffer: &mut ReadBuf<'_>) {
        loop {
            let (now, later) = self.owed.split_at(self.owed.len().min(buffer.remaining()));
            buffer.put_slice(now);
            self.owed = later;
            let kept = &self.kept[self.used..];
            let next = &kept[..kept.len().min(buffer.remaining())];
            let clean = self.requests.pass(next);
            buffer.put_slice(&next[..clean]);
            self.used += clean;
            let Some(&raw) = next.get(clean) else { break };
            self.owed = &ESCAPES[usize::from(raw)];
            self.used += 1;
        }
        if self.used == self.kept.len() {
            (self.kept, self.used) = (Vec::new(), 0);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RequestTargetFilter<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.owed.is_empty() && self.kept.is_empty() {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            let read = &buffer.filled()[before..];
            let clean = self.requests.pass(read);
            if clean == read.len() {
                return Poll::Ready(Ok(()));
            }
            self.kept = read[clean..].to_vec();
            buffer.set_filled(before + clean);
        }
        self.give(buffer);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RequestTargetFilter<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Where in the requests of a connection its next byte stands.
#[derive(Debug)]
struct Requests {
    place: Place,
    /// The beginning of a header's line of which more is to come, [`LINE_BYTES_MAX`] and one byte at most.
    line: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Before the space that ends the method; empty lines may stand before it.
    Method,
    /// In the target, which ends at a space.
    Target,
    /// Behind it, in lines until an empty one. The first of them is the protocol's version and looks like no header.
    Lines {
        /// The body's length, once a line has told it.
        length: Option<u64>,
    },
    /// In a body, of which so many bytes are to come.
    Body(u64),
    /// Where nothing is known any more.
    Unknown,
}

impl Requests {
    fn new() -> Self {
        Self { place: Place::Method, line: Vec::new() }
    }

    /// How many of the next bytes pass as they are. If not all do, the one after them is to be replaced; whether it is shown
    /// again or not makes no difference, since the target goes on behind it.
    fn pass(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let rest @ [_, ..] = &bytes[at..] {
            match self.place {
                Place::Method => match memchr(b' ', rest) {
                    Some(space) => (self.place, at) = (Place::Target, at + space + 1),
                    None => return bytes.len(),
                },
                Place::Target => {
                    let Some(end) = rest.iter().position(|byte| !passes(*byte)) else {
                        return bytes.len();
                    };
                    at += end;
                    match bytes[at] {
                        b' ' => (self.place, at) = (Place::Lines { length: None }, at + 1),
                        byte if byte.is_ascii_control() => self.place = Place::Unknown,
                        _ => return at,
                    }
                }
                Place::Lines { length } => match memchr(b'\n', rest) {
                    Some(end) => {
                        self.place = self.after_line(&rest[..end], length);
                        at += end + 1;
                    }
                    None => {
                        self.keep(rest);
                        return bytes.len();
                    }
                },
                Place::Body(length) => {
                    let here =
                        usize::try_from(length).map_or(rest.len(), |length| length.min(rest.len()));
                    let left = length - here as u64;
                    self.place = if left == 0 { Place::Method } else { Place::Body(left) };
                    at += here;
                }
                Place::Unknown => return bytes.len(),
            }
        }
        bytes.len()
    }

    /// Keeps the beginning of a line for when its end is there, and one byte that tells that there was more.
    fn keep(&mut self, part: &[u8]) {
        let room = LINE_BYTES_MAX + 1 - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Where the byte after a line stands, whose last part is given without its end.
    fn after_line(&mut self, last: &[u8], length: Option<u64>) -> Place {
        if self.line.is_empty() {
            return after(last, length);
        }
        self.keep(last);
        let line = std::mem::take(&mut self.line);
        after(&line, length)
    }
}

/// Where the byte after a line stands. A name that is not followed at once by its colon is refused by hyper.
fn after(line: &[u8], length: Option<u64>) -> Place {
    let Some(colon) = memchr(b':', &line[..line.len().min(LINE_BYTES_MAX)]) else {
        return match line {
            [] | b"\r" => length.filter(|length| *length > 0).map_or(Place::Method, Place::Body),
            _ => Place::Lines { length },
        };
    };
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    if is("transfer-encoding") || is("upgrade") {
        return Place::Unknown;
    }
    if !is("content-length") {
        return Place::Lines { length };
    }
    match (number(value.trim_ascii()), length) {
        (Some(told), None) if line.len() <= LINE_BYTES_MAX => Place::Lines { length: Some(told) },
        _ => Place::Unknown,
    }
}

/// Decimal digits and nothing else.
fn number(digits: &[u8]) -> Option<u64> {
    let all = digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(digits).ok().filter(|_| all)?.parse().ok()
}

/// Whether a byte may stand in a target. Those beyond ASCII may if they are UTF-8, which one byte cannot tell.
const fn passes(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'`')
}

/// Each byte with its value in hexadecimal digits behind a percent sign.
static ESCAPES: [[u8; 3]; 256] = {
    let digits = b"0123456789ABCDEF";
    let mut escapes = [*b"%00"; 256];
    let mut byte = 0;
    while byte < 256 {
        escapes[byte] = [b'%', digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    escapes
};

#[cfg(test)]
mod tests;
