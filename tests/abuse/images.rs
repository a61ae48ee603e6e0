//! Images that would take much memory or time: refused by their head, before a pixel is decoded.

use std::process::Command;

use reqwest::Method;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::image_parts::{
    METADATA, TRANSPARENT, TURNED, chunk, lossless, lossy, packed, plain, png, webp,
};

/// A PNG of 30,000 by 30,000 transparent pixels, 3.6 GB once decoded.
fn bomb() -> Vec<u8> {
    const SIDE: u32 = 30_000;
    let head = [&SIDE.to_be_bytes()[..], &SIDE.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    // As many lines as fit the limit on bytes.
    png(&head, &[], &vec![0; (30_000 * 4 + 1) * 3_000])
}

/// A PNG of one pixel with a profile of 400 MB.
fn profile() -> Vec<u8> {
    let head = [&1_u32.to_be_bytes()[..], &1_u32.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    let profile = [b"Profile\0\0".to_vec(), packed(&vec![0; 400_000_000])].concat();
    png(&head, &[chunk(b"iCCP", &profile)], &[0; 5])
}

/// A WebP of 16 by 16 pixels whose metadata are 4 GB long, as they say.
fn metadata() -> Vec<u8> {
    let long = [b"EXIF", &0xffff_fff0_u32.to_le_bytes()[..], TURNED].concat();
    let pixels = lossless(&plain(16, 16, [9, 9, 9, 255]));
    webp(METADATA | TRANSPARENT, (16, 16), &[pixels, long])
}

/// A WebP of 16 by 16 pixels whose only frame has 16,383 by 16,383, 400 MB once decoded.
fn frame_bomb() -> Vec<u8> {
    webp(0, (16, 16), &[lossy(16_383, 16_383, 520_000)])
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
    for (name, bytes, repeats, refusal, mib_max) in [
        // The pixels of one are 3.4 GiB; the bodies and the allocator take the rest.
        ("a PNG", bomb(), 20, Some("30000 x 30000 pixels"), 48),
        ("a frame", frame_bomb(), 20, Some("16383 x 16383 pixels"), 48),
        ("metadata", metadata(), 20, Some("does not decode"), 48),
        // It is unpacked up to the memory that the pixels of an image may take.
        ("a profile", profile(), 2, None, 160),
    ] {
        assert!(bytes.len() < 512 * 1_024, "{name}: {} bytes", bytes.len());
        let before = ["VmHWM:", "VmPeak:"].map(status_mib);
        for _ in 0..repeats {
            let answered = send(&visitor, bytes.clone()).await;
            match refusal {
                Some(rule) => {
                    answered.refused(400, 2);
                    assert!(answered.text.contains(rule), "{name}: {}", answered.text);
                }
                None => drop(answered.is(200)),
            }
        }
        let after = ["VmHWM:", "VmPeak:"].map(status_mib);
        let [held, asked] = [0, 1].map(|at| after[at].saturating_sub(before[at]));
        println!("{name}, {repeats} times: it grew by {held} MiB, and asked for {asked} MiB");
        assert!(held < mib_max, "{name}: {held} MiB");
        // What a decoder asks for and does not touch can end the process too.
        assert!(asked < mib_max + 512, "{name}: {asked} MiB of addresses");
    }
}

/// A figure of this process in MiB: the most memory or the most addresses that it has held.
fn status_mib(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1_024
}
