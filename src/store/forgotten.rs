//! The list of erased clients: a file of the data directory that is part of no generation, so that
//! erasures can be repeated on a restored store. Reference 17.2.
//!
//! A line is `GROUP ID CREATED_AT`, such as `1 17 2026-11-25T09:00:00Z`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::time::zone::{instant_of_utc, utc_of};
use crate::domain::time::{Civil, Instant};
use crate::store::error::StoreError;
use crate::store::files::sync_parent;

/// Name of the file in the data directory.
pub const FORGOTTEN: &str = "forgotten";
/// Maximum length of a line, in bytes.
pub const LINE_BYTES_MAX: usize = 80;

/// The record of a client that was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForgottenClient {
    /// The group.
    pub group: GroupId,
    /// The record.
    pub fiche: FicheId,
    /// The moment at which the record was made. A record that was made at another moment under the
    /// same id is another one.
    pub created_at: Instant,
}

impl ForgottenClient {
    /// Parses a line, without its end; `None` if it is none.
    ///
    /// ```
    /// use slotbook::store::ForgottenClient;
    /// let line = "1 17 2026-11-25T09:00:00Z";
    /// assert_eq!(ForgottenClient::parse(line).expect("a line").to_line(), line);
    /// for wrong in ["", "1 17", "0 17 2026-11-25T09:00:00Z", "1 17 2026-02-30T09:00:00Z"] {
    ///     assert_eq!(ForgottenClient::parse(wrong), None, "{wrong}");
    /// }
    /// ```
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        let parsed = Self {
            group: fields.next()?.parse().ok().and_then(GroupId::new)?,
            fiche: fields.next()?.parse().ok().and_then(FicheId::new)?,
            created_at: parse_utc(fields.next()?)?,
        };
        // The line is written again, so that its spelling is compared too.
        if parsed.to_line() == line { Some(parsed) } else { None }
    }

    /// Returns the line, without its end.
    pub fn to_line(&self) -> String {
        let civil = utc_of(self.created_at);
        let (year, month, day) = civil.day().ymd();
        let (hour, minute, second) = civil.hour_minute_second();
        let Self { group, fiche, .. } = self;
        format!("{group} {fiche} {year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Parses a moment such as `2026-11-25T09:00:00Z`.
fn parse_utc(text: &str) -> Option<Instant> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let year = i32::try_from(number(0, 4)?).ok()?;
    let [month, day] = [number(5, 7)?, number(8, 10)?];
    let [hour, minute, second] = [number(11, 13)?, number(14, 16)?, number(17, 19)?];
    Some(instant_of_utc(Civil::from_ymd_hms(year, month, day, hour, minute, second)?))
}

/// Reads a list of erased clients. A last line that a crash has left unfinished counts for nothing.
///
/// # Errors
/// The file cannot be read, or a line is none, which the error names.
pub fn read_forgotten(path: &Path) -> io::Result<Vec<ForgottenClient>> {
    let text = fs::read_to_string(path)?;
    let mut clients = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        match ForgottenClient::parse(line.trim_end_matches(['\n', '\r'])) {
            Some(client) => clients.push(client),
            None if !line.ends_with('\n') || line.trim().is_empty() => {}
            None => {
                let rule = format!("line {number} is none such as 1 17 2026-11-25T09:00:00Z");
                return Err(io::Error::new(ErrorKind::InvalidData, rule));
            }
        }
    }
    Ok(clients)
}

/// The file of a data directory. One process writes it at a time, that which has the store.
#[derive(Clone, Debug)]
pub struct ForgottenFile {
    path: PathBuf,
}

impl ForgottenFile {
    /// The file of a data directory, whether it exists or not.
    pub fn new(directory: &Path) -> Self {
        Self { path: directory.join(FORGOTTEN) }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends lines and waits until they are on the disk. Returns the length of the file before
    /// them, for [`ForgottenFile::take_back`]. A line that a crash has left unfinished is removed.
    ///
    /// # Errors
    /// The disk refuses. Then the file is as before, as far as the disk lets it.
    pub fn append(&self, clients: &[ForgottenClient]) -> Result<u64, StoreError> {
        let is_new = !self.path.exists();
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&self.path).map_err(StoreError::io("open", &self.path))?;
        let length = self.whole_length(&mut file)?;
        let mut lines = String::new();
        for client in clients {
            lines.push_str(&client.to_line());
            lines.push('\n');
        }
        let written = file
            .set_len(length)
            .and_then(|()| file.seek(SeekFrom::Start(length)))
            .and_then(|_| file.write_all(lines.as_bytes()))
            .and_then(|()| file.sync_all());
        if let Err(error) = written {
            // What is left of the lines names clients that are not erased.
            drop(file.set_len(length));
            return Err(StoreError::io("write", &self.path)(error));
        }
        if is_new {
            sync_parent(&self.path)?;
        }
        Ok(length)
    }

    /// Removes the lines that [`ForgottenFile::append`] has added: their clients were not erased.
    ///
    /// # Errors
    /// The disk refuses. The lines then name clients that are still there.
    pub fn take_back(&self, length: u64) -> Result<(), StoreError> {
        let file = OpenOptions::new().write(true).open(&self.path);
        let cut = file.and_then(|file| file.set_len(length).and_then(|()| file.sync_all()));
        cut.map_err(StoreError::io("write", &self.path))
    }

    /// Copies the file into another data directory, durably. Does nothing without a file.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn copy_to(&self, directory: &Path) -> Result<(), StoreError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(StoreError::io("read", &self.path)(error)),
        };
        let path = directory.join(FORGOTTEN);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&path).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.map_err(StoreError::io("write", &path))?;
        sync_parent(&path)
    }

    /// Returns the length of all whole lines.
    fn whole_length(&self, file: &mut File) -> Result<u64, StoreError> {
        let length = file.metadata().map_err(StoreError::io("look at", &self.path))?.len();
        let tail_bytes = length.min(LINE_BYTES_MAX as u64 + 1);
        let mut tail = Vec::new();
        let read = file
            .seek(SeekFrom::Start(length - tail_bytes))
            .and_then(|_| file.read_to_end(&mut tail));
        read.map_err(StoreError::io("read", &self.path))?;
        match tail.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => Ok(length - (tail.len() - at - 1) as u64),
            // A first line that is unfinished. Of a longer tail it is not known what it is.
            None if length <= LINE_BYTES_MAX as u64 => Ok(0),
            None => Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(id: u64) -> ForgottenClient {
        ForgottenClient {
            group: GroupId::new(1).expect("an id"),
            fiche: FicheId::new(id).expect("an id"),
            created_at: Instant(1_800_000_000),
        }
    }

    fn lines(directory: &Path) -> Vec<String> {
        let text = fs::read_to_string(directory.join(FORGOTTEN)).expect("a file");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_added_and_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let file = ForgottenFile::new(directory.path());
        assert_eq!(file.append(&[client(7)]).unwrap(), 0);
        let length = file.append(&[client(8), client(9)]).unwrap();
        assert_eq!(lines(directory.path()).len(), 3);
        file.take_back(length).unwrap();
        assert_eq!(lines(directory.path()), ["1 7 2027-01-15T08:00:00Z"]);
    }

    #[test]
    fn a_line_that_a_crash_has_cut_short_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FORGOTTEN);
        let file = ForgottenFile::new(directory.path());
        for (before, kept) in [("1 7 20", 1), ("1 7 2027-01-15T08:00:00Z\n1 8 2027-01", 2)] {
            fs::write(&path, before).unwrap();
            file.append(&[client(9)]).unwrap();
            let lines = lines(directory.path());
            assert_eq!(lines.len(), kept, "{lines:?}");
            assert!(lines.iter().all(|line| ForgottenClient::parse(line).is_some()), "{lines:?}");
        }
    }

    #[test]
    fn a_disk_that_refuses_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(FORGOTTEN)).unwrap();
        assert!(ForgottenFile::new(directory.path()).append(&[client(7)]).is_err());
    }

    #[test]
    fn a_list_is_read_without_empty_lines_and_an_unfinished_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FORGOTTEN);
        let line = client(7).to_line();
        for (text, read) in [
            (format!("{line}\n"), 1),
            (format!("{line}\r\n\n \n{line}\n"), 2),
            (format!("{line}\n1 8 2027-01"), 1),
            (format!("{line}\n{line}"), 2),
        ] {
            fs::write(&path, &text).unwrap();
            assert_eq!(read_forgotten(&path).unwrap(), vec![client(7); read], "{text:?}");
        }
        fs::write(&path, format!("{line}\n1 8 2027-01\n{line}\n")).unwrap();
        let error = read_forgotten(&path).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn an_unfinished_end_is_removed_unless_it_is_longer_than_a_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FORGOTTEN);
        let line = client(7).to_line();
        let longest = "9".repeat(LINE_BYTES_MAX);
        let unknown = "9".repeat(LINE_BYTES_MAX + 1);
        for (before, kept) in [
            (longest.clone(), String::new()),
            (format!("{line}\n{longest}"), format!("{line}\n")),
            (unknown.clone(), unknown),
        ] {
            fs::write(&path, &before).unwrap();
            ForgottenFile::new(directory.path()).append(&[client(9)]).unwrap();
            let expected = format!("{kept}{}\n", client(9).to_line());
            assert_eq!(fs::read_to_string(&path).unwrap(), expected, "after {before}");
        }
    }

    #[test]
    fn a_copy_of_the_list_replaces_that_of_the_other_directory() {
        let from = tempfile::tempdir().unwrap();
        let to = tempfile::tempdir().unwrap();
        let file = ForgottenFile::new(from.path());
        file.copy_to(to.path()).unwrap();
        assert!(!to.path().join(FORGOTTEN).exists(), "no list makes no copy");
        ForgottenFile::new(to.path()).append(&[client(1), client(2), client(3)]).unwrap();
        file.append(&[client(7)]).unwrap();
        file.copy_to(to.path()).unwrap();
        assert_eq!(lines(to.path()), ["1 7 2027-01-15T08:00:00Z"]);
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        assert!(file.copy_to(to.path()).is_err(), "a list that cannot be read is not missing");
    }
}
