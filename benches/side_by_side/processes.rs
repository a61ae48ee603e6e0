//! Child processes: starting, stopping, processor time and memory.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time between two looks at whether a process has something to do.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// Most looks before it counts as busy for ever.
const IDLE_LOOKS_MAX: u32 = 300;
/// Looks in a row at which an idle process has to be idle.
const IDLE_LOOKS: u32 = 3;

/// A process that is killed when it is dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts a server that prints `listening on http://ADDRESS` when it is ready; returns the
    /// address too.
    pub(crate) fn start_server(command: &mut Command) -> (Self, String) {
        let (process, line) = Self::start(command);
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("the server printed {line:?}"));
        (process, address.to_owned())
    }

    /// Starts a process that prints a line when it is ready; returns the line too.
    pub(crate) fn start(command: &mut Command) -> (Self, String) {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("stdout is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the program prints a line");
        (Self(child), line)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Ends the process by SIGTERM and waits for it.
    pub(crate) fn terminate(mut self) {
        send_signal(self.pid(), "TERM");
        self.0.wait().expect("the process ends");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn send_signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.expect("kill is installed").success(), "process {pid} runs");
}

/// Returns a command that runs this program in another role.
pub(crate) fn role_command(role: &str, parameters: &str) -> Command {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.arg(role).arg(parameters);
    command
}

/// Returns the user and system time of processes and their children, in microseconds.
///
/// Children that ended count through their parent, which waited for them.
pub(crate) fn processor_us(pids: &[u32]) -> f64 {
    let mut ticks = 0;
    for pid in pids {
        let Some(fields) = stat_fields(&pid.to_string()) else { continue };
        // utime, stime, cutime and cstime are fields 14 to 17.
        ticks += fields[11..15].iter().sum::<u64>();
        ticks += ticks_of_children(u64::from(*pid));
    }
    // The kernel counts in hundredths of a second on every Linux.
    ticks as f64 * 10_000.0
}

/// Waits until a process takes at most a tenth of a core for some seconds. An unoptimised server
/// with nothing to do has taken 6 % on a slow machine.
///
/// # Panics
/// Panics if it does not within five minutes.
#[expect(clippy::disallowed_methods, reason = "another process tells nobody that it is idle")]
pub(crate) fn wait_until_idle(pid: u32) {
    let mut before = processor_us(&[pid]);
    let mut idle_looks = 0;
    for _ in 0..IDLE_LOOKS_MAX {
        std::thread::sleep(IDLE_LOOK);
        let now = processor_us(&[pid]);
        let is_idle = now - before <= IDLE_LOOK.as_micros() as f64 / 10.0;
        idle_looks = if is_idle { idle_looks + 1 } else { 0 };
        if idle_looks == IDLE_LOOKS {
            return;
        }
        before = now;
    }
    panic!("process {pid} is still busy");
}

fn ticks_of_children(parent: u64) -> u64 {
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc").expect("Linux") {
        let name = entry.expect("Linux").file_name();
        let Some(fields) = name.to_str().and_then(stat_fields) else { continue };
        // Field 4 is the parent.
        if fields[1] == parent {
            ticks += fields[11..15].iter().sum::<u64>();
        }
    }
    ticks
}

/// Returns the fields of `/proc/PID/stat` from the third on, 0 for what is no number.
fn stat_fields(pid: &str) -> Option<Vec<u64>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may contain spaces.
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split(' ').map(|field| field.trim().parse().unwrap_or(0)).collect())
}

/// Returns the resident memory of a process in bytes.
pub(crate) fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    for line in status.lines() {
        if let Some(size) = line.strip_prefix("VmRSS:") {
            let kib: u64 = size.trim().trim_end_matches("kB").trim().parse().expect("a number");
            return kib * 1_024;
        }
    }
    panic!("a process that runs has resident memory");
}
