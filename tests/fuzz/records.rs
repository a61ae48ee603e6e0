//! Records behind a valid checksum: batches of the journal, and frames of snapshots. A start that
//! reads them ends with a state, an error or a group that is set aside.
//!
//! The first byte of an input tells what the rest is: `J` the body of a batch, `G` the frames of a
//! group, `D` those of the directory. Frames follow the number of their format (two bytes), each
//! after its length (two bytes), big-endian.

use std::convert::Infallible;

use slotbook::domain::records::ids::GroupId;
use slotbook::domain::state::invariants;
use slotbook::domain::time::Instant;
use slotbook::engine::{RecoveredStates, StateRebuilder};
use slotbook::password::hash_password;
use slotbook::store::codec::SNAPSHOT_FORMAT;
use slotbook::store::{
    BatchNumber, Position, RecoveryVisitor as _, SimulatedDisk, StoreError, Stream, state,
};
use slotbook::transfer::import;

use crate::harness::{AllocationBound, CaughtPanics, Target};

const NOW: Instant = Instant(1_764_576_000);
const EXAMPLE: &[u8] = include_bytes!("../../data/import.example.json");
const BOUND: AllocationBound = AllocationBound { bytes: 2 << 20, per_input_byte: 1 << 10 };

/// A stream with the frames of its snapshot.
pub(crate) type StreamFrames = (Stream, Vec<Vec<u8>>);

pub(crate) fn target() -> Target {
    let frames = example_frames();
    Target::new(BOUND, CaughtPanics::OfReplay, move |input| {
        let Some((kind, rest)) = input.split_first() else { return };
        let mut rebuilder = StateRebuilder::default();
        for (stream, frames) in &frames {
            read_frames(&mut rebuilder, *stream, SNAPSHOT_FORMAT, frames.iter().map(Vec::as_slice))
                .expect("they were just written");
        }
        let outcome = match kind {
            b'J' => read_batch(&mut rebuilder, rest),
            b'G' => read_given_frames(&mut rebuilder, group_stream(), rest),
            b'D' => read_given_frames(&mut rebuilder, Stream::Directory, rest),
            _ => return,
        };
        if outcome.is_ok() {
            check(&rebuilder.into_recovered());
        }
    })
}

fn group_stream() -> Stream {
    Stream::Group(GroupId::new(1).expect("an id"))
}

/// The snapshots of a small store.
pub(crate) fn example_frames() -> Vec<StreamFrames> {
    let content = import::read_document(EXAMPLE, NOW, &|sha1| hash_password(sha1));
    let content = content.expect("the example is legal");
    let mut directory = Vec::new();
    let written: Result<(), Infallible> = state::write_directory(&content.directory, |frame| {
        directory.push(frame.to_vec());
        Ok(())
    });
    written.expect("memory takes it");
    let mut streams = vec![(Stream::Directory, directory)];
    for group_state in &content.group_states {
        let mut frames = Vec::new();
        let written: Result<(), Infallible> = state::write_group(group_state, |frame| {
            frames.push(frame.to_vec());
            Ok(())
        });
        written.expect("memory takes it");
        streams.push((Stream::Group(group_state.catalogue.group.id), frames));
    }
    streams
}

fn read_frames<'f>(
    rebuilder: &mut StateRebuilder,
    stream: Stream,
    format: u16,
    mut frames: impl Iterator<Item = &'f [u8]>,
) -> Result<(), StoreError> {
    let position = Position { epoch: 0, sequence: 0 };
    rebuilder.read_snapshot(stream, position, format, || Ok(frames.next().map(<[u8]>::to_vec)))
}

fn read_given_frames(
    rebuilder: &mut StateRebuilder,
    stream: Stream,
    input: &[u8],
) -> Result<(), StoreError> {
    let Some((format, mut rest)) = split_number(input) else { return Ok(()) };
    let mut frames = Vec::new();
    while let Some((length, bytes)) = split_number(rest) {
        let (frame, after) = bytes.split_at(usize::from(length).min(bytes.len()));
        frames.push(frame);
        rest = after;
    }
    // A newer format is refused before any frame is read.
    let format = format.clamp(1, SNAPSHOT_FORMAT);
    read_frames(rebuilder, stream, format, frames.into_iter())
}

fn split_number(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*number), rest))
}

fn read_batch(rebuilder: &mut StateRebuilder, body: &[u8]) -> Result<(), StoreError> {
    let disk = SimulatedDisk::new();
    disk.put_batch(BatchNumber(1), body);
    disk.recover(|number, record| rebuilder.record(number, record)).map(drop)
}

/// Looks at the states as a start does.
fn check(recovered: &RecoveredStates) {
    for group_state in recovered.group_states.iter() {
        state::hash(group_state);
        invariants::find_broken(group_state);
    }
}
