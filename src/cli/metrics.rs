//! The Prometheus metrics of a running server. Reference 11.4.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::{Counter, Gauge, Key, KeyName, Label, Level, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusRecorder};
use parking_lot::Mutex;
use strum::IntoEnumIterator as _;
use tokio::net::TcpListener;

use crate::domain::records::channel::Channel;

use crate::domain::records::message::MessageKind;
use crate::engine::Engine;
use crate::http::serve_metrics;
use crate::store::{Lease, uptime};
use crate::wire::message::PLANNED_SECONDS;

/// Upper bounds of histogram buckets for durations, in seconds: 50 µs to 10 s.
const SECONDS_BUCKETS: [f64; 16] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 10.0,
];
/// Upper bounds of histogram buckets for numbers of entries.
const ENTRIES_BUCKETS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0];
/// Interval at which samples are folded into histograms. Until then each sample takes memory.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The metrics, and where they are served. Without a listener nothing is measured.
pub(crate) struct MetricsExporter(Option<ServedMetrics>);

/// Sets gauges of values that exist elsewhere.
type Sampler = Box<dyn Fn() + Send + Sync>;

struct ServedMetrics {
    recorder: Arc<PrometheusRecorder>,
    /// They sample as the metrics are read.
    samplers: Arc<Mutex<Vec<Sampler>>>,
    /// `None` once the metrics are served.
    listener: Option<TcpListener>,
}

impl ServedMetrics {
    /// Has a sampler run before each reading, and serves the metrics from now on until the runtime
    /// ends.
    fn add(&mut self, sampler: Sampler) {
        self.samplers.lock().push(sampler);
        let Some(listener) = self.listener.take() else { return };
        let handle = self.recorder.handle();
        let samplers = Arc::clone(&self.samplers);
        let render = move || {
            samplers.lock().iter().for_each(|sample| sample());
            handle.render()
        };
        let handle = self.recorder.handle();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP_INTERVAL).await;
                handle.run_upkeep();
            }
        });
        tokio::spawn(serve_metrics(listener, Arc::new(render)));
    }
}

impl MetricsExporter {
    /// Returns an exporter without samples.
    pub(crate) fn new(listener: Option<TcpListener>) -> Self {
        Self(listener.map(|listener| {
            let recorder = Arc::new(create_recorder().expect("every histogram has buckets"));
            ServedMetrics { recorder, samplers: Arc::default(), listener: Some(listener) }
        }))
    }

    /// Serves the metrics of a server in a cluster, while it follows and later. Only within a
    /// runtime.
    pub(crate) fn serve_cluster(&mut self, lease: Arc<Lease>, tail_bytes: Arc<AtomicU64>) {
        let Some(served) = &mut self.0 else { return };
        let gauge = |name: &'static str, description: &'static str| {
            register_gauge(&served.recorder, name, description, Vec::new())
        };
        let decides = gauge("slotbook_cluster_decides", "1 while this server decides, else 0.");
        let lease_age = gauge(
            "slotbook_cluster_lease_age_seconds",
            "Seconds since the last good beat of a server that has taken over, else 0.",
        );
        let tail = gauge(
            "slotbook_cluster_tail_bytes",
            "Bytes of the journal since the newest snapshot, as far as they are applied here.",
        );
        let lag_rows = gauge(
            "slotbook_cluster_lag_rows",
            "Rows of the journal that a server that follows had not applied at its last beat.",
        );
        let lag_seconds = gauge(
            "slotbook_cluster_lag_seconds",
            "Seconds since a server that follows had applied all of the journal.",
        );
        let began = uptime();
        served.add(Box::new(move || {
            decides.set(if lease.is_held() { 1.0 } else { 0.0 });
            lease_age.set(lease.age().unwrap_or_default().as_secs_f64());
            tail.set(to_f64(tail_bytes.load(Ordering::Relaxed)));
            lag_rows.set(to_f64(lease.rows_behind()));
            lag_seconds.set(lease.time_behind(began, uptime()).as_secs_f64());
        }));
    }

    /// Returns the meters of the engine.
    pub(crate) fn engine_metrics(&self) -> crate::engine::metrics::EngineMetrics {
        match &self.0 {
            Some(ServedMetrics { recorder, .. }) => {
                crate::engine::metrics::EngineMetrics::from_recorder(recorder.as_ref())
            }
            None => crate::engine::metrics::EngineMetrics::default(),
        }
    }

    /// Returns the meters of the HTTP API.
    pub(crate) fn http_metrics(&self) -> crate::http::HttpMetrics {
        match &self.0 {
            Some(ServedMetrics { recorder, .. }) => {
                crate::http::HttpMetrics::from_recorder(Arc::clone(recorder) as _)
            }
            None => crate::http::HttpMetrics::default(),
        }
    }

    /// Serves the metrics until the runtime ends. `recovery` is the time that reading the store
    /// took.
    pub(crate) fn serve(self, engine: Engine, data: PathBuf, recovery: Duration) {
        let Some(mut served) = self.0 else { return };
        let sampler = GaugeSampler::new(&served.recorder, engine, data);
        let recovery_seconds = register_gauge(
            &served.recorder,
            "slotbook_recovery_seconds",
            "Duration of reading the store at the last start.",
            Vec::new(),
        );
        recovery_seconds.set(recovery.as_secs_f64());
        served.add(Box::new(move || sampler.sample()));
    }
}

fn create_recorder() -> Result<PrometheusRecorder, BuildError> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_entries".to_owned()), &ENTRIES_BUCKETS)?;
    Ok(builder.build_recorder())
}

fn register_gauge(
    recorder: &PrometheusRecorder,
    name: &'static str,
    description: &'static str,
    labels: Vec<Label>,
) -> Gauge {
    recorder.describe_gauge(KeyName::from(name), None::<Unit>, description.into());
    recorder.register_gauge(
        &Key::from_parts(name, labels),
        &Metadata::new(module_path!(), Level::INFO, None),
    )
}

fn register_counter(
    recorder: &PrometheusRecorder,
    name: &'static str,
    description: &'static str,
) -> Counter {
    recorder.describe_counter(KeyName::from(name), None::<Unit>, description.into());
    let metadata = Metadata::new(module_path!(), Level::INFO, None);
    recorder.register_counter(&Key::from_name(name), &metadata)
}

/// Gauges of values that exist elsewhere. They are sampled when the metrics are read.
struct GaugeSampler {
    accepting: Gauge,
    groups: Gauge,
    writes_under_way: Gauge,
    writes_of_fullest_group: Gauge,
    resident_bytes: Gauge,
    largest_group_bytes: Gauge,
    clock_ahead_seconds: Gauge,
    snapshot_bytes: Gauge,
    journal_bytes: Gauge,
    quarantined_groups: Gauge,
    failed_looks: Counter,
    open_keys: Gauge,
    planned_messages: Vec<(MessageKind, Gauge)>,
    oldest_message_seconds: [(Channel, Gauge); 2],
    /// The webhooks that are on, those that wait, and the seconds of the oldest change.
    webhooks: [Gauge; 3],
    /// The number of live holds, and their seconds together.
    chosen_holds: [Gauge; 2],
    unconfirmed_holds: [Gauge; 2],
    engine: Engine,
    /// The data directory.
    data: PathBuf,
}

impl GaugeSampler {
    fn new(recorder: &PrometheusRecorder, engine: Engine, data: PathBuf) -> Self {
        let gauge = |name: &'static str, description: &'static str| {
            register_gauge(recorder, name, description, Vec::new())
        };
        let store_bytes = |part: &'static str| {
            let labels = vec![Label::new("part", part)];
            register_gauge(recorder, "slotbook_store_bytes", "Bytes of the store on disk.", labels)
        };
        Self {
            accepting: gauge("slotbook_accepting", "1 while writes are taken, else 0."),
            groups: gauge("slotbook_groups", "Groups served."),
            writes_under_way: gauge(
                "slotbook_writes_under_way",
                "Writes that have a permit and no answer yet.",
            ),
            writes_of_fullest_group: gauge(
                "slotbook_writes_under_way_of_fullest_group",
                "Writes with a permit and no answer yet, of the group that has most.",
            ),
            resident_bytes: gauge("slotbook_resident_bytes", "Resident memory of the process."),
            largest_group_bytes: gauge(
                "slotbook_largest_group_bytes",
                "Bytes of the records of the group that takes most, against --group-mib.",
            ),
            clock_ahead_seconds: gauge(
                "slotbook_clock_ahead_seconds",
                "Seconds by which the clock is ahead of the last known time while it is in doubt, \
                 else 0.",
            ),
            snapshot_bytes: store_bytes("snapshots"),
            journal_bytes: store_bytes("journals"),
            quarantined_groups: gauge(
                "slotbook_groups_set_aside",
                "Groups that are not served because of a bug.",
            ),
            failed_looks: register_counter(
                recorder,
                "slotbook_disk_looks_failed_total",
                "Looks at the disk that it did not answer; ten seconds of them end the process.",
            ),
            open_keys: gauge(
                "slotbook_keys_of_any_origin",
                "Keys of earlier releases with which pages of all sites may book.",
            ),
            planned_messages: MessageKind::iter()
                .map(|kind| (kind, register_planned_messages(recorder, kind)))
                .collect(),
            oldest_message_seconds: Channel::ALL
                .map(|channel| (channel, register_oldest_message(recorder, channel))),
            webhooks: [
                gauge("slotbook_webhooks", "Webhooks that are on."),
                gauge("slotbook_webhooks_waiting", "Webhooks with changes that are not delivered."),
                gauge(
                    "slotbook_webhook_oldest_seconds",
                    "Seconds for which the oldest change has waited for its delivery to a webhook.",
                ),
            ],
            chosen_holds: register_holds(recorder, "chosen"),
            unconfirmed_holds: register_holds(recorder, "unconfirmed"),
            engine,
            data,
        }
    }

    /// Samples every gauge.
    fn sample(&self) {
        self.accepting.set(if self.engine.health().writes_unavailable().is_none() {
            1.0
        } else {
            0.0
        });
        self.groups.set(to_f64(self.engine.published().count_groups() as u64));
        let (whole, fullest) = self.engine.writes_in_flight();
        self.writes_under_way.set(to_f64(whole as u64));
        self.writes_of_fullest_group.set(to_f64(fullest as u64));
        if let Some(bytes) = read_resident_bytes() {
            self.resident_bytes.set(to_f64(bytes));
        }
        self.largest_group_bytes.set(to_f64(self.engine.largest_group_bytes()));
        let ahead_seconds = self.engine.clock_doubt_seconds().unwrap_or(0);
        self.clock_ahead_seconds.set(to_f64(u64::try_from(ahead_seconds).unwrap_or(0)));
        self.snapshot_bytes.set(to_f64(count_bytes(&self.data, "snapshots-")));
        self.journal_bytes.set(to_f64(count_bytes(&self.data, "journal-")));
        self.quarantined_groups.set(to_f64(self.engine.published().quarantined().len() as u64));
        self.failed_looks.absolute(self.engine.health().failed_looks());
        let directory = self.engine.published().directory();
        let open_keys = directory.apikeys.values().filter(|apikey| apikey.is_open_to_pages());
        self.open_keys.set(to_f64(open_keys.count() as u64));
        self.sample_messages();
        self.sample_webhooks();
        let held = self.engine.hold_stats();
        for (gauges, live) in
            [(&self.chosen_holds, held.chosen), (&self.unconfirmed_holds, held.unconfirmed)]
        {
            gauges[0].set(to_f64(live.count));
            gauges[1].set(to_f64(live.seconds));
        }
    }

    fn sample_webhooks(&self) {
        let stats = self.engine.webhook_stats();
        let now = self.engine.clock().now();
        let seconds = stats.oldest.map_or(0, |oldest| now.seconds_since(oldest));
        let values = [stats.on, stats.waiting, u64::try_from(seconds).unwrap_or(0)];
        for (gauge, value) in self.webhooks.iter().zip(values) {
            gauge.set(to_f64(value));
        }
    }

    fn sample_messages(&self) {
        let unsent = self.engine.outbox_stats(PLANNED_SECONDS);
        let now = self.engine.clock().now();
        for (kind, gauge) in &self.planned_messages {
            gauge.set(to_f64(unsent.planned.get(kind).copied().unwrap_or(0)));
        }
        for (channel, gauge) in &self.oldest_message_seconds {
            let seconds = match unsent.oldest.get(channel) {
                Some(since) => now.seconds_since(*since),
                None => 0,
            };
            gauge.set(to_f64(u64::try_from(seconds).unwrap_or(0)));
        }
    }
}

fn register_planned_messages(recorder: &PrometheusRecorder, kind: MessageKind) -> Gauge {
    let labels =
        vec![Label::new("channel", kind.channel().name()), Label::new("kind", kind.name())];
    register_gauge(
        recorder,
        "slotbook_messages_planned",
        "Messages to be sent within seven days.",
        labels,
    )
}

fn register_oldest_message(recorder: &PrometheusRecorder, channel: Channel) -> Gauge {
    register_gauge(
        recorder,
        "slotbook_message_oldest_seconds",
        "Seconds for which the oldest message that is due has waited.",
        vec![Label::new("channel", channel.name())],
    )
}

fn register_holds(recorder: &PrometheusRecorder, state: &'static str) -> [Gauge; 2] {
    let labels = vec![Label::new("state", state)];
    [
        register_gauge(recorder, "slotbook_holds", "Live holds.", labels.clone()),
        register_gauge(recorder, "slotbook_held_seconds", "Seconds that they keep.", labels),
    ]
}

/// Returns a number as a float, which is exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "no metric reaches 2^53")]
fn to_f64(number: u64) -> f64 {
    number as f64
}

/// Returns the size in bytes of all files and directories in `data` whose names begin with
/// `prefix`. Files that are removed meanwhile are left out.
fn count_bytes(data: &Path, prefix: &str) -> u64 {
    let mut paths = list_paths(data, prefix);
    let mut bytes = 0;
    while let Some(path) = paths.pop() {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_dir() {
            paths.extend(list_paths(&path, ""));
        } else {
            bytes += metadata.len();
        }
    }
    bytes
}

/// Returns the entries of a directory whose names begin with `prefix`.
fn list_paths(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return paths };
    for entry in entries {
        let Ok(entry) = entry else { continue };
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            paths.push(entry.path());
        }
    }
    paths
}

/// Returns the resident memory of this process in bytes, from Linux's /proc.
fn read_resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}
