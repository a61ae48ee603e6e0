//! One server, which is killed and started again.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::play::{Host, Server};
use super::server::{Served, store_of};

/// A server with a store of its own.
pub(crate) struct Single {
    folder: TempDir,
    data: PathBuf,
}

impl Single {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), data: PathBuf::new() }
    }
}

impl Host for Single {
    const LIVES: u64 = 2;
    const CLIENTS_MAX: u64 = 64;
    const REFUSALS: RangeInclusive<u64> = 1..=20;

    async fn fill(&mut self, document: &Value) {
        self.data = store_of(self.folder.path(), document);
    }

    async fn serve(&mut self) -> Server {
        let served = Served::on(&self.data, &[]);
        let base = served.base.clone();
        // Dropped, it is killed, and gone.
        Server { base, ending: Box::new(move || drop(served)), remains: false }
    }

    async fn settle(&mut self) {}

    async fn end_former(&mut self) {}
}
