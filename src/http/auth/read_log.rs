//! Reads of clients by professionals, gathered for the history. No answer waits for them.
//! Reference 16.6.

use std::collections::BTreeMap;

use crate::domain::records::author::Author;
use crate::domain::records::ids::{FicheId, GroupId, ProId};
use crate::domain::state::command::Command;
use crate::domain::state::read_note::ReadNote;
use crate::domain::time::Instant;
use crate::engine::Engine;
use crate::http::auth::gathering::{Gathering, NotedThisHour};

/// Maximum number of reads that wait to be written. Beyond it they are dropped.
const WAITING_MAX: usize = 10_000;
/// Maximum number of reads that are distinguished in an hour. Beyond it they are dropped.
const SEEN_MAX: usize = 100_000;
/// Maximum number of reads of one write.
const WRITE_MAX: usize = 500;

/// Gathers reads of clients, and writes them each second.
pub(crate) struct ReadLog {
    engine: Engine,
    waiting: Gathering<Read>,
    /// The subjects that each professional has read in this hour.
    seen: NotedThisHour<(GroupId, ProId, Subject)>,
}

/// Something that was read once in an hour: a client, or a list with or without a search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Client(FicheId),
    List { is_search: bool },
}

/// A read by an author in a group.
struct Read {
    group: GroupId,
    author: Author,
    note: ReadNote,
}

impl ReadLog {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, waiting: Gathering::new(WAITING_MAX), seen: NotedThisHour::new() }
    }

    /// Notes that an author has read the record of a client: once for each professional, client and
    /// hour. Others read nothing but their own.
    pub(crate) fn note_client(
        &self,
        group: GroupId,
        author: Author,
        client: FicheId,
        now: Instant,
    ) {
        self.note(group, author, Subject::Client(client), ReadNote::Client(client), now);
    }

    /// Notes that an author has read a list of clients: once for each professional and hour, and
    /// once more with a search.
    pub(crate) fn note_list(
        &self,
        group: GroupId,
        author: Author,
        count: usize,
        is_search: bool,
        now: Instant,
    ) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let note = ReadNote::List { count, is_search };
        self.note(group, author, Subject::List { is_search }, note, now);
    }

    fn note(&self, group: GroupId, author: Author, subject: Subject, note: ReadNote, now: Instant) {
        let Author::Professional { id, .. } = author else { return };
        let mut seen = self.seen.at(now);
        let place = (group, id, subject);
        if seen.len() >= SEEN_MAX || seen.contains(&place) {
            return;
        }
        let engine = self.engine.clone();
        let is_taken = self.waiting.add(Read { group, author, note }, async move |waiting| {
            write(&engine, waiting).await;
        });
        if is_taken {
            seen.insert(place);
        }
    }
}

/// Writes reads to their groups, those of one author together. What is rejected is lost.
async fn write(engine: &Engine, waiting: Vec<Read>) {
    let mut by_author: BTreeMap<(GroupId, Author), Vec<ReadNote>> = BTreeMap::new();
    for Read { group, author, note } in waiting {
        by_author.entry((group, author)).or_default().push(note);
    }
    for ((group, author), notes) in by_author {
        for part in notes.chunks(WRITE_MAX) {
            let command = Command::NoteReads(part.into());
            if let Err(rejection) = engine.write(group, author, command).await {
                tracing::warn!(group = group.number(), ?rejection, "reads are not in the history");
            }
        }
    }
}
