//! A PostgreSQL of the benchmark's own: a new cluster on the same disk, with every commit durable.

use std::fs::File;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::data::write_copy_files;
use crate::parameters::Shape;
use crate::postgres_client::{CONSTRAINTS_SQL, TABLES, TABLES_SQL, connect};
use crate::postgres_programs::{Account, find_account, find_programs};
use crate::processes::{Process, send_signal};

/// Settings beside the defaults. `fsync` and `synchronous_commit` are stated although they are
/// defaults.
const SETTINGS: [&str; 12] = [
    "listen_addresses=",
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "max_connections=320",
    "shared_buffers=512MB",
    "work_mem=16MB",
    "max_wal_size=4GB",
    "checkpoint_timeout=30min",
    "random_page_cost=1.1",
    // Tables of bookings begin empty: without this, plans made then would scan them as they grow.
    "enable_seqscan=off",
    // Statements are short, so compiling them costs more than it gains.
    "jit=off",
];

/// A running cluster. Dropped, it is shut down.
pub(crate) struct Cluster {
    process: Process,
    socket: TempDir,
    pub(crate) version: String,
}

impl Cluster {
    /// Makes a cluster below `folder` and starts it.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(crate) fn start(folder: &Path) -> Result<Self, String> {
        let programs =
            find_programs().ok_or("initdb is not installed: apt-get install postgresql")?;
        let account = find_account()?;
        let data = folder.join("postgres");
        std::fs::create_dir(&data).map_err(|error| error.to_string())?;
        // The path of a socket has at most 107 characters, so it is not below the target folder.
        let socket = TempDir::new().map_err(|error| error.to_string())?;
        if let Some((user, group)) = account {
            for path in [data.as_path(), socket.path()] {
                chown(path, Some(user), Some(group)).map_err(|error| error.to_string())?;
            }
        }
        let log = File::create(folder.join("postgres.log")).map_err(|error| error.to_string())?;
        let made = command(&programs.join("initdb"), account, &log)?
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data)
            .status();
        if !made.map_err(|error| error.to_string())?.success() {
            return Err(format!("initdb failed, see {}/postgres.log", folder.display()));
        }
        let mut server = command(&programs.join("postgres"), account, &log)?;
        server.arg("-D").arg(&data).arg("-k").arg(socket.path());
        for setting in SETTINGS {
            server.args(["-c", setting]);
        }
        let process = Process(server.spawn().map_err(|error| error.to_string())?);
        let mut cluster = Self { process, socket, version: String::new() };
        cluster.version = cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// Process id of the postmaster, the parent of every other process of the cluster.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Connection string of a database.
    pub(crate) fn address(&self, database: &str) -> String {
        format!("host={} user=postgres dbname={database}", self.socket.path().display())
    }

    fn wait_until_ready(&self) -> Result<String, String> {
        block_on(async {
            let mut last = String::new();
            for _ in 0..300 {
                match connect(&self.address("postgres")).await {
                    Ok(client) => {
                        let row = client.query_one("SHOW server_version", &[]).await;
                        return row.map(|row| row.get(0)).map_err(|error| error.to_string());
                    }
                    Err(error) => last = error.to_string(),
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(format!("PostgreSQL is not ready after 30 s: {last}"))
        })
    }

    /// Makes a database with the content of a shape.
    pub(crate) fn fill(&self, database: &str, shape: &Shape, folder: &Path) {
        let files = folder.join(format!("{database}-copy"));
        std::fs::create_dir(&files).expect("the folder can be written");
        write_copy_files(shape, &files).expect("the disk has room");
        block_on(async {
            let client = connect(&self.address("postgres")).await.expect("it accepts connections");
            let create = format!("CREATE DATABASE {database}");
            client.batch_execute(&create).await.expect("the database is new");
            let client = connect(&self.address(database)).await.expect("it accepts connections");
            client.batch_execute(TABLES_SQL).await.expect("the tables are right");
            for (table, columns) in TABLES {
                let file = files.join(table);
                let copy = format!("COPY {table} ({columns}) FROM '{}'", file.display());
                client.batch_execute(&copy).await.expect("the file is right");
            }
            client.batch_execute(CONSTRAINTS_SQL).await.expect("the content is right");
            for statement in ["VACUUM ANALYZE", "CHECKPOINT"] {
                client.batch_execute(statement).await.expect("the statement is right");
            }
        });
        std::fs::remove_dir_all(&files).expect("the folder can be removed");
    }

    pub(crate) fn drop_database(&self, database: &str) {
        block_on(async {
            let client = connect(&self.address("postgres")).await.expect("it accepts connections");
            let drop = format!("DROP DATABASE {database} WITH (FORCE)");
            client.batch_execute(&drop).await.expect("the database exists");
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SIGINT ends connections and shuts down in order; the process is waited for when it drops.
        send_signal(self.pid(), "INT");
        let _ = self.process.0.wait();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(future)
}

fn command(program: &Path, account: Account, log: &File) -> Result<Command, String> {
    let clone = || log.try_clone().map(Stdio::from).map_err(|error| error.to_string());
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(clone()?).stderr(clone()?);
    // The current folder may be closed to the account.
    command.current_dir("/");
    if let Some((user, group)) = account {
        command.uid(user).gid(group);
    }
    Ok(command)
}

/// Makes a folder that the account of PostgreSQL can enter.
pub(crate) fn open_folder(parent: &Path) -> TempDir {
    let folder = tempfile::Builder::new().prefix("run-").tempdir_in(parent);
    let folder = folder.expect("the target folder can be written");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))
        .expect("the folder is this process's");
    folder
}
