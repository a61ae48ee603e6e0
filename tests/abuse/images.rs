//! Images that would take much memory or time: refused by their head, before a pixel is decoded.

use std::process::Command;

use reqwest::Method;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};

/// A chunk of a PNG.
fn chunk(name: &[u8], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short").to_be_bytes();
    let crc = crc32fast::hash(&[name, content].concat()).to_be_bytes();
    [&length, name, content, &crc].concat()
}

/// A PNG of 30,000 by 30,000 transparent pixels, 3.6 GB once decoded.
fn bomb() -> Vec<u8> {
    const SIDE: u32 = 30_000;
    let head = [&SIDE.to_be_bytes()[..], &SIDE.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    // As many lines as fit the limit on bytes.
    let line = vec![0; 30_000 * 4 + 1];
    for _ in 0..3_000 {
        std::io::Write::write_all(&mut packed, &line).expect("memory takes all");
    }
    let packed = packed.finish().expect("memory takes all");
    let signature = b"\x89PNG\r\n\x1a\n".to_vec();
    [signature, chunk(b"IHDR", &head), chunk(b"IDAT", &packed), chunk(b"IEND", b"")].concat()
}

async fn send(visitor: &Visitor, bytes: Vec<u8>) -> Answer {
    let request = visitor.request(Method::PUT, "/groups/1/images/logo").body(bytes);
    answer(request.basic_auth(ANNA.0, Some(ANNA.1))).await
}

/// Runs in a process of its own, since it measures the memory of the process.
#[tokio::test]
async fn bombs_are_refused_by_their_head_without_memory_for_their_pixels() {
    const ALONE: &str = "SLOTBOOK_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "images::bombs_are_refused_by_their_head_without_memory_for_their_pixels";
        let mut test = Command::new(std::env::current_exe().expect("a path"));
        let test = test.args([name, "--exact", "--nocapture"]).env(ALONE, "1").status();
        assert!(test.expect("it starts").success());
        return;
    }
    let practice = Practice::open().await;
    let visitor = practice.visitor("127.0.0.2");
    let bytes = bomb();
    assert!(bytes.len() < 512 * 1_024, "{} bytes", bytes.len());
    let before = peak_mib();
    for _ in 0..20 {
        let refused = send(&visitor, bytes.clone()).await;
        refused.refused(400, 2);
        assert!(refused.text.contains("30000 x 30000 pixels"), "{}", refused.text);
    }
    let grown = peak_mib().saturating_sub(before);
    println!("20 bombs: the most memory grew by {grown} MiB");
    // The pixels of one are 3.4 GiB; the bodies and the allocator take the rest.
    assert!(grown < 48, "{grown} MiB");
}

/// The most memory that this process has held, in MiB.
fn peak_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1_024
}
