//! The figures of a running server, for Prometheus. Reference 11.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metrics::{Gauge, Key, KeyName, Label, Level, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use tokio::net::TcpListener;

use crate::cli::{Failed, listen};
use crate::config::MaybeAddress;
use crate::domain::messaging::outbox::{Channel, Kind};
use crate::engine::Engine;
use crate::http::serve_metrics;
use crate::wire::message::PLANNED_SECONDS;

/// Upper bounds of what is counted together, in seconds: 50 µs to 10 s.
const SECONDS: [f64; 16] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 10.0,
];
/// The same of entries.
const ENTRIES: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0];
/// How often what was measured is folded into its sums, asked for or not: until then each measurement takes memory.
const FOLD: Duration = Duration::from_secs(5);

/// What is measured and where it is read; nowhere, and nothing, unless an address is given.
pub(super) struct Figures(Option<(PrometheusRecorder, TcpListener)>);

impl Figures {
    /// Nothing measured yet.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub(super) async fn new(address: MaybeAddress) -> Result<Self, Failed> {
        let MaybeAddress(Some(address)) = address else { return Ok(Self(None)) };
        let listener = listen(address, "--metrics-listen").await?;
        tracing::info!("figures are served on http://{}/metrics", listener.local_addr()?);
        Ok(Self(Some((recorder().expect("there are bounds"), listener))))
    }

    /// Where the engine's figures go.
    pub(super) fn of_engine(&self) -> crate::engine::metrics::Meters {
        self.0
            .as_ref()
            .map(|(recorder, _)| crate::engine::metrics::Meters::of(recorder))
            .unwrap_or_default()
    }

    /// Where the API's figures go.
    pub(super) fn of_http(&self) -> crate::http::HttpMetrics {
        self.0
            .as_ref()
            .map(|(recorder, _)| crate::http::HttpMetrics::from_recorder(recorder))
            .unwrap_or_default()
    }

    /// Serves them until the runtime ends.
    pub(super) fn serve(self, engine: Engine, data: PathBuf, recovery: Duration) {
        let Some((recorder, listener)) = self.0 else { return };
        let looked_up = LookedUp::new(&recorder, engine, data);
        gauge(
            &recorder,
            "slotbook_recovery_seconds",
            "How long the last start took to read the store.",
            Vec::new(),
        )
        .set(recovery.as_secs_f64());
        let handle = recorder.handle();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(FOLD).await;
                handle.run_upkeep();
            }
        });
        tokio::spawn(serve_metrics(listener, Arc::new(move || looked_up.read())));
    }
}

fn recorder() -> Result<PrometheusRecorder, BuildError> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_entries".to_owned()), &ENTRIES)?;
    Ok(builder.build_recorder())
}

fn gauge(
    recorder: &PrometheusRecorder,
    name: &'static str,
    about: &'static str,
    labels: Vec<Label>,
) -> Gauge {
    recorder.describe_gauge(KeyName::from(name), None::<Unit>, about.into());
    recorder.register_gauge(
        &Key::from_parts(name, labels),
        &Metadata::new(module_path!(), Level::INFO, None),
    )
}

/// Figures that stand somewhere already.
struct LookedUp {
    accepting: Gauge,
    groups: Gauge,
    under_way: Gauge,
    fullest: Gauge,
    memory: Gauge,
    snapshots: Gauge,
    journals: Gauge,
    aside: Gauge,
    planned: Vec<(Kind, Gauge)>,
    oldest: [(Channel, Gauge); 2],
    engine: Engine,
    data: PathBuf,
    handle: PrometheusHandle,
}

impl LookedUp {
    fn new(recorder: &PrometheusRecorder, engine: Engine, data: PathBuf) -> Self {
        let of = |name: &'static str, about: &'static str| gauge(recorder, name, about, Vec::new());
        let part = |name: &'static str| {
            gauge(
                recorder,
                "slotbook_store_bytes",
                "Bytes of the store on disk.",
                vec![Label::new("part", name)],
            )
        };
        Self {
            accepting: of("slotbook_accepting", "1 while writes are taken, else 0."),
            groups: of("slotbook_groups", "Groups served."),
            under_way: of(
                "slotbook_writes_under_way",
                "Writes that have a permit and no answer yet.",
            ),
            fullest: of(
                "slotbook_writes_under_way_of_fullest_group",
                "The same of the group that has most.",
            ),
            memory: of("slotbook_resident_bytes", "Memory that the process holds."),
            snapshots: part("snapshots"),
            journals: part("journals"),
            aside: of("slotbook_groups_set_aside", "Groups that nobody is let into, after a bug."),
            planned: Kind::ALL.map(|kind| (kind, planned(recorder, kind))).to_vec(),
            oldest: Channel::ALL.map(|channel| (channel, oldest(recorder, channel))),
            engine,
            data,
            handle: recorder.handle(),
        }
    }

    fn read(&self) -> String {
        self.accepting.set(if self.engine.health().closed().is_none() { 1.0 } else { 0.0 });
        self.groups.set(float(self.engine.published().groups().count() as u64));
        let (whole, fullest) = self.engine.under_way();
        self.under_way.set(float(whole as u64));
        self.fullest.set(float(fullest as u64));
        if let Some(bytes) = resident_bytes() {
            self.memory.set(float(bytes));
        }
        self.snapshots.set(float(bytes_below(&self.data, "snapshots-")));
        self.journals.set(float(bytes_below(&self.data, "journal-")));
        self.aside.set(float(self.engine.published().aside().len() as u64));
        self.read_unsent();
        self.handle.render()
    }

    fn read_unsent(&self) {
        let (unsent, now) = (self.engine.unsent(PLANNED_SECONDS), self.engine.clock().now());
        for (kind, gauge) in &self.planned {
            gauge.set(float(unsent.planned.get(kind).copied().unwrap_or(0)));
        }
        for (channel, gauge) in &self.oldest {
            let age = unsent.oldest.get(channel).map_or(0, |since| now.seconds_since(*since));
            gauge.set(float(u64::try_from(age).unwrap_or(0)));
        }
    }
}

fn planned(recorder: &PrometheusRecorder, kind: Kind) -> Gauge {
    let labels = [("channel", kind.channel().name()), ("kind", kind.name())];
    let labels = labels.map(|(name, value)| Label::new(name, value)).to_vec();
    gauge(recorder, "slotbook_messages_planned", "Messages to be sent within seven days.", labels)
}

fn oldest(recorder: &PrometheusRecorder, channel: Channel) -> Gauge {
    let about = "How long the oldest message has waited whose time has come.";
    gauge(
        recorder,
        "slotbook_message_oldest_seconds",
        about,
        vec![Label::new("channel", channel.name())],
    )
}

/// Exact up to 2^53, which no figure reaches.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn float(number: u64) -> f64 {
    number as f64
}

/// Bytes of the files in the directories of `data` whose names begin so. What goes away meanwhile counts nothing.
fn bytes_below(data: &Path, prefix: &str) -> u64 {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let named =
        entries(data).filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let mut waiting: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    let mut bytes = 0;
    while let Some(path) = waiting.pop() {
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                waiting.extend(entries(&path).map(|entry| entry.path()))
            }
            Ok(metadata) => bytes += metadata.len(),
            Err(_) => {}
        }
    }
    bytes
}

/// Memory of this process in bytes, as Linux tells it.
fn resident_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1_024)
}
