//! Damage: writes cut short at every byte, bytes and bits that flipped. What comes back is the same state, or a refusal
//! that says where; never less without a word, never a crash.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::rounds;
use super::server::{Served, booking, half_hour, practice, store_of};

const JOURNAL: &str = "journal-000001/db";

/// The files of a store, by their path in it.
#[derive(Clone, Default)]
struct Image(BTreeMap<PathBuf, Vec<u8>>);

impl Image {
    fn of(data: &Path) -> Self {
        fn read(folder: &Path, group_state: &Path, image: &mut Image) {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    read(&path, group_state, image);
                } else if path.is_file() {
                    let name = path.strip_prefix(group_state).expect("below").to_owned();
                    image.0.insert(name, std::fs::read(&path).expect("a file"));
                }
            }
        }
        let mut image = Self::default();
        read(data, data, &mut image);
        image
    }

    fn bytes(&self, name: &str) -> &Vec<u8> {
        self.0.get(Path::new(name)).expect("every store has it")
    }

    fn with(&self, name: &str, bytes: Vec<u8>) -> Self {
        let mut image = self.clone();
        image.0.insert(name.into(), bytes);
        image
    }

    /// What `slotbook check` says of it: the state of its group, or a refusal, which must name a file of the store.
    fn checked(&self) -> Result<String, String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in &self.0 {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, bytes).expect("written");
        }
        // sled looks for its blobs here, and an image holds no empty folders.
        for database in ["journal-000001", "snapshots-000001"] {
            std::fs::create_dir_all(folder.path().join(database).join("blobs")).expect("made");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
        let done = command
            .arg("check")
            .env("SLOTBOOK_DATA", folder.path())
            .env("RUST_BACKTRACE", "0")
            .output();
        let done = done.expect("the program runs");
        let said = String::from_utf8_lossy(&done.stdout);
        let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
        match done.status.code() {
            Some(0) => Ok(said
                .lines()
                .find(|line| line.starts_with("group 1:"))
                .expect("its group")
                .to_owned()),
            Some(1) => {
                let named = ["journal-0", "snapshots-0", "mark", "CURRENT"]
                    .iter()
                    .any(|name| complaint.contains(name));
                assert!(named, "a refusal without a place: {complaint}");
                Err(complaint)
            }
            other => panic!("ended with {other:?}: {complaint}"),
        }
    }
}

/// A store, as it was before its last three batches and after each.
async fn images(folder: &Path) -> Vec<Image> {
    let mut document = practice(2);
    // Nobody is written to, so that each booking is one event, and each batch one of the states compared.
    let group = &mut document["groups"][0];
    (group["sendmail"], group["mailreminder"], group["smsreminder"]) =
        (false.into(), 0.into(), 0.into());
    let data = store_of(folder, &document);
    let server = Served::on(&data, &[]);
    let http = reqwest::Client::new();
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    let mut images = Vec::new();
    for nth in 0..12 {
        let wish = booking(&format!("c{nth}"), &half_hour(nth * 2), 1, &[1]);
        assert_eq!(http.post(&url).json(&wish).send().await.expect("an answer").status(), 201);
        if nth >= 8 {
            images.push(Image::of(&data));
        }
    }
    server.end("KILL");
    images
}

/// Does something with every number on two threads.
fn for_all(numbers: &[usize], work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::SeqCst)) {
                    work(*number);
                }
            });
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_never_less_without_a_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let images = images(folder.path()).await;
    let (before, after) = (&images[0], &images[3]);
    let states: Vec<String> =
        images.iter().map(|image| image.checked().expect("it is whole")).collect();
    let (old, new) = (before.bytes(JOURNAL), after.bytes(JOURNAL));
    let differing: Vec<usize> = (0..new.len()).filter(|at| old.get(*at) != new.get(*at)).collect();
    let (first, last) = (differing[0], differing[differing.len() - 1]);
    let step = usize::try_from(rounds(11, 1)).expect("small");
    let places: Vec<usize> = (first..=last).step_by(step).collect();
    let (whole, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let same_or_refused = |image: &Image, what: &str, at: usize| match image.checked() {
        Ok(state) => {
            assert_eq!(state, states[3], "{what} at {at}");
            whole.fetch_add(1, Ordering::Relaxed);
        }
        Err(_) => drop(refused.fetch_add(1, Ordering::Relaxed)),
    };
    for_all(&places, |at| {
        let mut cut = old.clone();
        cut.resize(new.len(), 0);
        cut[..at].copy_from_slice(&new[..at]);
        // What was answered for is missed.
        same_or_refused(&after.with(JOURNAL, cut.clone()), "cut", at);
        // What nobody was answered for may be there or not, but never keeps the store from opening.
        let unmarked = before.with(JOURNAL, cut);
        let state = unmarked.checked().unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        assert!(states.contains(&state), "cut at {at}: {state}");
        let mut flipped = new.clone();
        flipped[at] ^= 0x55;
        same_or_refused(&after.with(JOURNAL, flipped), "flipped byte", at);
    });
    let tail = (whole.swap(0, Ordering::Relaxed), refused.swap(0, Ordering::Relaxed));
    println!(
        "{} places of the last three batches: {} the same state, {} refused",
        places.len(),
        tail.0,
        tail.1
    );

    let mut chance = StdRng::seed_from_u64(13);
    let files: Vec<(&PathBuf, &Vec<u8>)> =
        after.0.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    let count = usize::try_from(rounds(150, 5_000)).expect("small");
    let flips: Vec<(usize, usize, u32)> = (0..count)
        .map(|_| {
            let file = chance.random_range(0..files.len());
            // The part of a file that is written, for the most part: sled's files are mostly empty.
            let end = files[file].1.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1);
            (file, chance.random_range(0..end), chance.random_range(0..8))
        })
        .collect();
    for_all(&(0..count).collect::<Vec<_>>(), |nth| {
        let (file, at, bit) = flips[nth];
        let (name, bytes) = files[file];
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << bit;
        let name = name.to_str().expect("our own names");
        same_or_refused(&after.with(name, bytes), name, at);
    });
    let (whole, refused) = (whole.into_inner(), refused.into_inner());
    println!("{count} flipped bits elsewhere: {whole} the same state, {refused} refused");
    assert!(tail.1 > 0 && refused > 0 && whole > 0, "some of it matters and some does not");
}
