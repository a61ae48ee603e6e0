//! Options of a run, from the arguments after `--`.

use std::path::PathBuf;

/// Options of a run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Small sizes and one round, for continuous integration.
    pub(crate) quick: bool,
    /// Rounds of each load; the table has their medians.
    pub(crate) rounds: u64,
    /// Duration of each load.
    pub(crate) seconds: f64,
    /// Numbers of connections for bookings; empty: those of the mode.
    connections: Vec<u64>,
    /// Parts of the names of workloads; empty: all run.
    only: Vec<String>,
    /// Another program of slotbook, measured beside this one.
    pub(crate) against: Option<PathBuf>,
}

impl Options {
    /// Reads arguments. Cargo gives `--bench` to benchmarks that `cargo bench` runs.
    ///
    /// # Errors
    /// The first argument that is wrong, and what is possible.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let measuring = arguments.iter().any(|argument| argument == "--bench");
        let quick = !measuring || arguments.iter().any(|argument| argument == "quick");
        let mut options = Self {
            quick,
            rounds: if quick { 1 } else { 3 },
            seconds: if quick { 0.25 } else { 1.5 },
            connections: Vec::new(),
            only: Vec::new(),
            against: None,
        };
        for argument in arguments {
            let wrong = || {
                format!(
                    "{argument}: give quick, only=NAME,…, connections=NUMBER,…, rounds=NUMBER, \
                     seconds=NUMBER or against=PROGRAM"
                )
            };
            match argument.split_once('=') {
                Some(("only", names)) => options.only.extend(names.split(',').map(str::to_owned)),
                Some(("connections", numbers)) => {
                    for number in numbers.split(',') {
                        options.connections.push(number.parse().map_err(|_| wrong())?);
                    }
                }
                Some(("against", program)) => options.against = Some(program.into()),
                Some(("rounds", number)) => {
                    options.rounds = number.parse().map_err(|_| wrong())?;
                }
                Some(("seconds", number)) => {
                    options.seconds = number.parse().map_err(|_| wrong())?;
                }
                None if argument == "quick" || argument.starts_with("--") => {}
                // Cargo gives the filter of `cargo bench NAME` to every benchmark.
                None => options.only.push(argument.clone()),
                Some(_) => return Err(wrong()),
            }
        }
        if options.rounds == 0 || options.seconds.is_nan() || options.seconds <= 0.0 {
            return Err("rounds and seconds must be above 0".to_owned());
        }
        Ok(options)
    }

    /// Returns whether a workload runs.
    pub(crate) fn includes(&self, workload: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| workload.contains(part.as_str()))
    }

    /// Numbers of connections for bookings.
    pub(crate) fn connections(&self) -> Vec<u64> {
        if !self.connections.is_empty() {
            return self.connections.clone();
        }
        if self.quick { vec![1, 16] } else { vec![1, 16, 64, 256] }
    }

    /// Returns the value of the mode.
    pub(crate) fn choose<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}
