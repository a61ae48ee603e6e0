//! Backups of a cluster, from which one server can serve.

use super::from_one_to_three::book;
use super::postgres::Pair;
use super::servers::{ServerOptions, Servers};
use crate::server::{Served, appointments, complaint, exported, practice, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_cluster_serves_alone() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("backup");
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let first = servers.deciding().await;
    let base = servers.members[first].base();
    book(&base, 1).await;
    book(&base, 2).await;
    let backup = ["backup", to.to_str().expect("a plain path")];
    let done = run(&backup, &servers.members[first].data);
    assert!(done.status.success(), "{}", complaint(&done));
    let (whole, copy) = (servers.exported(first), exported(&to));
    assert_eq!(appointments(&whole).count(), 2);
    assert!(appointments(&copy).eq(appointments(&whole)), "{copy}");
    let single = Served::on(&to, &[]);
    book(&single.base, 3).await;
    assert_eq!(single.terminate(), Some(0));
    assert_eq!(appointments(&exported(&to)).count(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_disk_of_a_server_without_files_holds_up_its_backups_only() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    // More than any disk has.
    let arguments = ["--disk-reserve-mib", "1000000000"].map(str::to_owned).to_vec();
    let options = ServerOptions { arguments, ..ServerOptions::default() };
    let mut servers = Servers::start_with(&pair.ports, &practice(1), &[options]).await;
    let first = servers.deciding().await;
    book(&servers.members[first].base(), 1).await;
    let to = servers.store().with_file_name("backup");
    let backup = ["backup", to.to_str().expect("a plain path")];
    let refused = run(&backup, &servers.members[first].data);
    assert_eq!(refused.status.code(), Some(1));
    let said = complaint(&refused);
    assert!(said.contains("beside 1000000000 MiB of reserve"), "{said}");
    assert!(!to.exists());
}
