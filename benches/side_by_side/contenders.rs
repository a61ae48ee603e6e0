//! The servers that are compared, over stores with the same content, and loads on them in turn.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::data::write_document;
use crate::load::sample;
use crate::options::Options;
use crate::parameters::{
    BareParameters, Latencies, LoadParameters, LoadResult, Protocol, SearchSize, Shape, Target,
    Work,
};
use crate::postgres::Cluster;
use crate::processes::{Process, role_command};
use crate::search::Places;

/// Folder, options and PostgreSQL of a run.
pub(crate) struct Context {
    pub(crate) options: Options,
    /// Ended before the folder is removed.
    pub(crate) cluster: Option<Cluster>,
    pub(crate) folder: TempDir,
}

/// Server under test, over a store of its own.
pub(crate) struct Slotbook {
    pub(crate) process: Process,
    pub(crate) address: String,
}

/// The program that is measured.
const PROGRAM: &str = env!("CARGO_BIN_EXE_slotbook");

/// Returns a command of slotbook for a store, with the default options. It logs as it does by
/// default, to a file beside the store.
fn slotbook(program: &Path, data: &Path) -> Command {
    let mut command = Command::new(program);
    let log = File::options().create(true).append(true).open(data.with_extension("log"));
    command.stderr(log.expect("the folder can be written"));
    // Settings of the caller's environment do not apply.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SLOTBOOK_") {
            command.env_remove(name);
        }
    }
    // A client of the benchmark books more often than a person may.
    for limit in ["SOURCE_HOURLY", "SOURCE_DAILY", "CLIENT_HOURLY"] {
        command.env(format!("SLOTBOOK_BOOKINGS_{limit}_MAX"), "0");
    }
    command
}

impl Slotbook {
    /// Returns a command of the program that is measured, which logs beside a directory.
    pub(crate) fn command(data: &Path) -> Command {
        slotbook(Path::new(PROGRAM), data)
    }

    /// Imports the content of a shape; returns the data directory.
    pub(crate) fn import(folder: &Path, name: &str, shape: &Shape) -> PathBuf {
        Self::import_by(Path::new(PROGRAM), folder, name, shape, 0)
    }

    /// The same, with so many administrators of the first group.
    pub(crate) fn import_with(
        folder: &Path,
        name: &str,
        shape: &Shape,
        administrators: u64,
    ) -> PathBuf {
        Self::import_by(Path::new(PROGRAM), folder, name, shape, administrators)
    }

    fn import_by(
        program: &Path,
        folder: &Path,
        name: &str,
        shape: &Shape,
        administrators: u64,
    ) -> PathBuf {
        let document = folder.join(format!("{name}.json"));
        let data = folder.join(format!("{name}-store"));
        write_document(shape, administrators, &document).expect("the disk has room");
        let status = slotbook(program, &data)
            .args(["import", "--data"])
            .args([&data, &document])
            .stdout(Stdio::null())
            .status();
        assert!(status.expect("the program runs").success(), "{shape:?} is imported");
        std::fs::remove_file(&document).expect("the document was written");
        data
    }

    pub(crate) fn serve(data: &Path) -> Self {
        Self::serve_by(Path::new(PROGRAM), data, &[])
    }

    /// The same with more options.
    pub(crate) fn serve_with(data: &Path, options: &[&str]) -> Self {
        Self::serve_by(Path::new(PROGRAM), data, options)
    }

    fn serve_by(program: &Path, data: &Path, options: &[&str]) -> Self {
        let mut command = slotbook(program, data);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(options);
        let (process, address) = Process::start_server(&mut command);
        Self { process, address }
    }

    /// Serves a store; returns the address of the metrics too.
    pub(crate) fn serve_with_metrics(data: &Path) -> (Self, String) {
        // The port is free again for the server as soon as this listener is dropped.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let metrics = free.expect("the loopback interface has a free port").to_string();
        let mut command = slotbook(Path::new(PROGRAM), data);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        command.args(["--metrics-listen", &metrics]);
        let (process, address) = Process::start_server(&mut command);
        (Self { process, address }, metrics)
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            protocol: Protocol::Http,
            address: self.address.clone(),
            pids: vec![self.process.pid()],
        }
    }
}

/// One contender and the number of its next booking.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
    next_number: u64,
    /// Process that is not the cluster's; none if the cluster is asked directly.
    _process: Option<Process>,
    /// Folder of its store, if nothing else is in it.
    _folder: Option<TempDir>,
}

/// Every contender over one shape. The first is slotbook.
pub(crate) struct Contenders {
    pub(crate) list: Vec<Contender>,
    pub(crate) shape: Shape,
    name: String,
    folder: PathBuf,
}

/// Result of one contender: medians of its rounds.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) result: LoadResult,
}

/// Size of one load.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) work: Work,
    pub(crate) connections: u64,
    pub(crate) requests_max: u64,
}

pub(crate) const BARE: &str = "bare axum";

impl Contenders {
    /// Fills stores with a shape and starts every contender but the bare server.
    pub(crate) fn start(context: &Context, name: &str, shape: Shape) -> Self {
        eprintln!("side_by_side: filling stores for {name}");
        let folder = context.folder.path().to_owned();
        let server = Slotbook::serve(&Slotbook::import(&folder, name, &shape));
        let mut list = vec![Contender {
            name: "slotbook",
            target: server.target(),
            next_number: 0,
            _process: Some(server.process),
            _folder: None,
        }];
        if let Some(program) = &context.options.against {
            list.push(Contender::from_program(program, &folder, name, &shape));
        }
        if let Some(cluster) = &context.cluster {
            let (direct, behind_axum) = (format!("{name}_direct"), format!("{name}_axum"));
            cluster.fill(&direct, &shape, &folder);
            cluster.fill(&behind_axum, &shape, &folder);
            let address = cluster.address(&direct);
            list.push(Contender {
                name: "PostgreSQL, direct",
                target: Target { protocol: Protocol::Postgres, address, pids: vec![cluster.pid()] },
                next_number: 0,
                _process: None,
                _folder: None,
            });
            let mut handler = role_command("role=postgres", &cluster.address(&behind_axum));
            let (process, address) = Process::start_server(&mut handler);
            let pids = vec![process.pid(), cluster.pid()];
            list.push(Contender {
                name: "axum + PostgreSQL",
                target: Target { protocol: Protocol::Http, address, pids },
                next_number: 0,
                _process: Some(process),
                _folder: None,
            });
        }
        Self { list, shape, name: name.to_owned(), folder }
    }

    /// Starts the bare server, with bodies that slotbook answers now. An earlier one is ended.
    ///
    /// `status` is that of its answers to bookings.
    pub(crate) fn start_bare(&mut self, status: u16, size: Option<SearchSize>) {
        self.stop_bare();
        let slotbook = &mut self.list[0];
        let booking = if status == 201 {
            let booking = self.shape.booking(slotbook.next_number);
            slotbook.next_number += 1;
            booking
        } else {
            self.shape.booking_on_day(0, 0, u64::MAX)
        };
        let search = size.map(|size| (Places::seeded(self.shape, 1), size));
        let (booking_body, search_body) = sample(&slotbook.target.address, &booking, search);
        let write = |name: &str, body: Vec<u8>| {
            let path = self.folder.join(name);
            std::fs::write(&path, body).expect("the folder can be written");
            path.to_str().expect("the path is text").to_owned()
        };
        let parameters = BareParameters {
            booking_status: status,
            booking_body: write("booking.json", booking_body),
            search_body: write("search.json", search_body),
        };
        let parameters = serde_json::to_string(&parameters).expect("parameters are plain");
        let (process, address) = Process::start_server(&mut role_command("role=bare", &parameters));
        let pids = vec![process.pid()];
        let target = Target { protocol: Protocol::Http, address, pids };
        let bare = Contender {
            name: BARE,
            target,
            next_number: 0,
            _process: Some(process),
            _folder: None,
        };
        self.list.insert(1, bare);
    }

    /// Ends the bare server, where its answers would be wrong.
    pub(crate) fn stop_bare(&mut self) {
        self.list.retain(|contender| contender.name != BARE);
    }

    /// Runs a load on every contender in turn, for all rounds; returns the medians.
    ///
    /// `rates` are those of an open loop, one for each contender.
    pub(crate) fn measure(
        &mut self,
        options: &Options,
        load: &Load,
        rates: Option<&[f64]>,
    ) -> Vec<Measured> {
        let mut results: Vec<Vec<LoadResult>> = vec![Vec::new(); self.list.len()];
        for round in 0..options.rounds {
            for (index, contender) in self.list.iter_mut().enumerate() {
                let rate = rates.map(|rates| rates[index]);
                results[index].push(contender.run_load(options, self.shape, load, rate, round));
            }
        }
        let names = self.list.iter().map(|contender| contender.name);
        let medians = results.iter().map(|rounds| median_result(rounds));
        names.zip(medians).map(|(name, result)| Measured { name, result }).collect()
    }

    /// Ends every contender and removes its content.
    pub(crate) fn finish(self, context: &Context) {
        drop(self.list);
        if let Some(cluster) = &context.cluster {
            cluster.drop_database(&format!("{}_direct", self.name));
            cluster.drop_database(&format!("{}_axum", self.name));
        }
        for name in [self.name.clone(), format!("{}_against", self.name)] {
            let store = self.folder.join(format!("{name}-store"));
            if store.exists() {
                std::fs::remove_dir_all(store).expect("the store was written");
            }
        }
    }
}

impl Contender {
    /// Returns another program of slotbook over a store of its own.
    fn from_program(program: &Path, folder: &Path, name: &str, shape: &Shape) -> Self {
        let name = format!("{name}_against");
        let data = Slotbook::import_by(program, folder, &name, shape, 0);
        let server = Slotbook::serve_by(program, &data, &[]);
        Self {
            name: "slotbook, other program",
            target: server.target(),
            next_number: 0,
            _process: Some(server.process),
            _folder: None,
        }
    }

    /// Returns slotbook alone, with the folder of its store.
    pub(crate) fn from_slotbook(server: Slotbook, folder: TempDir) -> Self {
        Self {
            name: "slotbook",
            target: server.target(),
            next_number: 0,
            _process: Some(server.process),
            _folder: Some(folder),
        }
    }

    /// Runs a load once.
    pub(crate) fn run_load(
        &mut self,
        options: &Options,
        shape: Shape,
        load: &Load,
        rate: Option<f64>,
        round: u64,
    ) -> LoadResult {
        let mut work = load.work;
        if let Work::Burst { first_day, days, .. } = &mut work {
            *first_day += *days * round;
        }
        // No start is ever taken in the bare server.
        let requests_max = if self.name == BARE { u64::MAX } else { load.requests_max };
        let parameters = LoadParameters {
            target: self.target.clone(),
            shape,
            work,
            connections: load.connections,
            warm_up_seconds: options.seconds / 3.0,
            seconds: options.seconds,
            requests_max,
            rate,
            first_number: self.next_number,
            seed: round * 7_919 + 17,
        };
        let text = serde_json::to_string(&parameters).expect("parameters are plain");
        let output = role_command("role=load", &text).stderr(Stdio::inherit()).output();
        let output = output.expect("this program runs");
        assert!(output.status.success(), "{} failed under {text}", self.name);
        let result: LoadResult =
            serde_json::from_slice(&output.stdout).expect("a load prints its result");
        self.next_number += result.numbers_used;
        result
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the median of every figure. Figures are made rates first, as rounds differ in length.
pub(crate) fn median_result(rounds: &[LoadResult]) -> LoadResult {
    let of = |figure: &dyn Fn(&LoadResult) -> f64| median(rounds.iter().map(figure).collect());
    let latencies = |kind: &dyn Fn(&LoadResult) -> Latencies| Latencies {
        count: rounds.iter().map(|result| kind(result).count).sum(),
        p50: of(&|result| kind(result).p50),
        p99: of(&|result| kind(result).p99),
        p999: of(&|result| kind(result).p999),
    };
    LoadResult {
        requests: rounds.iter().map(|result| result.requests).sum(),
        numbers_used: rounds.iter().map(|result| result.numbers_used).sum(),
        rate: of(&|result| result.rate),
        processor_us: of(&|result| result.processor_us),
        bookings: latencies(&|result| result.bookings),
        searches: latencies(&|result| result.searches),
    }
}
