//! Percent-escaping of raw characters in request targets. Reference 1.1.
//!
//! curl, and scripts that fill a URL template, send queries such as
//! `conditions[0][op]=>=&search="Zoé"` as they are written. hyper parses the target into an
//! `http::Uri` before the server sees it. That refuses the quote, `<`, `>`, the backtick and
//! bytes that are not UTF-8, with an empty 400 and no setting to change it. It takes `[`, `]` and
//! `|`, so those pass. This adapter below hyper escapes the refused ones, in the target alone.
//! Spaces and control characters end a target or a line, so they are left for hyper to refuse.
//!
//! The beginning of a target is known from the end of the request before it. The adapter reads that
//! from the same lines as hyper does, and less strictly: a request that hyper refuses ends the
//! connection. After a chunked body, an upgrade or contradictory lengths, the rest of the
//! connection passes unchanged. `Expect` needs no care: hyper reads such a body by its length, or
//! closes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum number of bytes of a header line that are examined. The relevant names, and any length
/// after them, are shorter.
const LINE_BYTES_MAX: usize = 64;

/// A stream in whose request targets the characters that hyper refuses are escaped.
#[derive(Debug)]
pub(crate) struct RequestTargetFilter<S> {
    stream: S,
    scanner: RequestScanner,
    /// Bytes of the last read, from the first one on that had to be escaped; usually empty. The
    /// stream is read again only when they are used up.
    pending: Vec<u8>,
    /// Number of bytes of `pending` that are used up.
    used: usize,
    /// Rest of an escape that did not fit into the buffer.
    pending_escape: &'static [u8],
}

impl<S> RequestTargetFilter<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            scanner: RequestScanner::new(),
            pending: Vec::new(),
            used: 0,
            pending_escape: &[],
        }
    }

    /// Moves pending bytes to the buffer, escaped where needed, until the former are used up or the
    /// latter is full.
    fn fill(&mut self, buffer: &mut ReadBuf<'_>) {
        loop {
            let fitting = self.pending_escape.len().min(buffer.remaining());
            let (now, later) = self.pending_escape.split_at(fitting);
            buffer.put_slice(now);
            self.pending_escape = later;
            let pending = &self.pending[self.used..];
            let next = &pending[..pending.len().min(buffer.remaining())];
            let clean = self.scanner.scan(next);
            buffer.put_slice(&next[..clean]);
            self.used += clean;
            let Some(&raw) = next.get(clean) else { break };
            self.pending_escape = &ESCAPES[usize::from(raw)];
            self.used += 1;
        }
        if self.used == self.pending.len() {
            (self.pending, self.used) = (Vec::new(), 0);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RequestTargetFilter<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.pending_escape.is_empty() && self.pending.is_empty() {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            let read = &buffer.filled()[before..];
            let clean = self.scanner.scan(read);
            if clean == read.len() {
                return Poll::Ready(Ok(()));
            }
            self.pending = read[clean..].to_vec();
            buffer.set_filled(before + clean);
        }
        self.fill(buffer);
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

/// Scanner for the request targets in the bytes of a connection.
#[derive(Debug)]
struct RequestScanner {
    position: ScanPosition,
    /// Beginning of a header line that has not ended yet: at most [`LINE_BYTES_MAX`] bytes and one
    /// that tells that there are more.
    line: Vec<u8>,
}

/// Part of a request to which the next byte belongs.
#[derive(Clone, Copy, Debug)]
enum ScanPosition {
    /// The method, which ends at a space. Empty lines may precede it.
    Method,
    /// The target, which ends at a space.
    Target,
    /// The lines after the target, which end at an empty one. The first holds the version of the
    /// protocol and looks like no header.
    Lines {
        /// Length of the body, if a line has given it.
        length: Option<u64>,
    },
    /// The body, of which this number of bytes is to come.
    Body(u64),
    /// Not known for the rest of the connection.
    Unknown,
}

impl RequestScanner {
    fn new() -> Self {
        Self { position: ScanPosition::Method, line: Vec::new() }
    }

    /// Returns the number of bytes that pass unchanged. If these are not all, the byte after them
    /// has to be escaped. That byte may be scanned again or skipped: the target goes on after it.
    fn scan(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let rest @ [_, ..] = &bytes[at..] {
            match self.position {
                ScanPosition::Method => match memchr(b' ', rest) {
                    Some(space) => {
                        self.position = ScanPosition::Target;
                        at += space + 1;
                    }
                    None => return bytes.len(),
                },
                ScanPosition::Target => {
                    let refused = |byte: &u8| !URI_BYTES[usize::from(*byte)];
                    let Some(end) = rest.iter().position(refused) else {
                        return bytes.len();
                    };
                    at += end;
                    match bytes[at] {
                        b' ' => {
                            self.position = ScanPosition::Lines { length: None };
                            at += 1;
                        }
                        // hyper refuses it and closes the connection.
                        byte if byte.is_ascii_control() => self.position = ScanPosition::Unknown,
                        _ => return at,
                    }
                }
                ScanPosition::Lines { length } => match memchr(b'\n', rest) {
                    Some(end) => {
                        self.position = self.position_after_line(&rest[..end], length);
                        at += end + 1;
                    }
                    None => {
                        self.keep_line_part(rest);
                        return bytes.len();
                    }
                },
                ScanPosition::Body(length) => {
                    // A length beyond usize is more than is here.
                    let here = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
                    let left = length - here as u64;
                    self.position =
                        if left == 0 { ScanPosition::Method } else { ScanPosition::Body(left) };
                    at += here;
                }
                ScanPosition::Unknown => return bytes.len(),
            }
        }
        bytes.len()
    }

    /// Keeps the beginning of a line until its end has come.
    fn keep_line_part(&mut self, part: &[u8]) {
        let room = LINE_BYTES_MAX + 1 - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Returns the position after a line whose last part is `last`, without its end.
    fn position_after_line(&mut self, last: &[u8], length: Option<u64>) -> ScanPosition {
        if self.line.is_empty() {
            return position_after(last, length);
        }
        self.keep_line_part(last);
        let line = std::mem::take(&mut self.line);
        position_after(&line, length)
    }
}

/// Returns the position after a line. A name with a space before its colon needs no care, because
/// hyper refuses it.
fn position_after(line: &[u8], length: Option<u64>) -> ScanPosition {
    let Some(colon) = memchr(b':', &line[..line.len().min(LINE_BYTES_MAX)]) else {
        let is_end_of_head = matches!(line, [] | b"\r");
        return match length {
            _ if !is_end_of_head => ScanPosition::Lines { length },
            Some(length) if length > 0 => ScanPosition::Body(length),
            _ => ScanPosition::Method,
        };
    };
    let name = &line[..colon];
    let value = &line[colon + 1..];
    if name.eq_ignore_ascii_case(b"transfer-encoding") || name.eq_ignore_ascii_case(b"upgrade") {
        return ScanPosition::Unknown;
    }
    if !name.eq_ignore_ascii_case(b"content-length") {
        return ScanPosition::Lines { length };
    }
    // A second length or one that is cut off is not understood.
    match (parse_decimal(value.trim_ascii()), length) {
        (Some(given), None) if line.len() <= LINE_BYTES_MAX => {
            ScanPosition::Lines { length: Some(given) }
        }
        _ => ScanPosition::Unknown,
    }
}

/// Parses decimal digits without a sign.
fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns whether a byte may stand in a `Uri`. Bytes beyond ASCII may only as valid UTF-8, which a
/// single byte cannot tell, so they are escaped too.
const fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'`')
}

/// Whether each byte may stand in a `Uri`. A look-up is faster than the comparisons.
static URI_BYTES: [bool; 256] = {
    let mut accepted = [false; 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        accepted[byte as usize] = is_uri_byte(byte);
        byte -= 1;
    }
    accepted
};

/// The escape of each byte: a percent sign and two hexadecimal digits.
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
