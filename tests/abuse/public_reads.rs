//! What a stranger reads costs little: it is compressed once, or short. `cargo bench --bench
//! public_reads` prints the processor time of each.

use reqwest::Method;

use crate::fixture::Practice;
use crate::public_paths::public_paths;

/// Bytes that are compressed in less than a millisecond of processor time: gzip took 6.8 ms for the
/// 411 KiB of the OpenAPI document.
const COMPRESSED_BYTES_MAX: usize = 48 * 1_024;

#[tokio::test]
async fn every_read_of_a_stranger_is_compressed_once_or_short() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.3");
    let paths = public_paths(&practice).await;
    for once in ["/api/v1/openapi", "/docs", "/docs/errors"] {
        assert!(paths.iter().any(|path| path == once), "{once}");
    }
    let mut once = Vec::new();
    for path in paths {
        let sent = async |coding: &str| {
            let request = stranger.at_root(Method::GET, &path).header("accept-encoding", coding);
            let response = request.send().await.expect("the server answers");
            // `/` leads to the only booking page.
            assert_eq!(response.status(), if path == "/" { 303 } else { 200 }, "{path}");
            let headers = response.headers().clone();
            (headers, response.bytes().await.expect("a body"))
        };
        let (_, plain) = sent("identity").await;
        let (headers, zipped) = sent("gzip").await;
        // An answer that is compressed on its way has no length before its end.
        let is_whole = headers.contains_key("content-length");
        if headers.contains_key("content-encoding") && is_whole {
            assert_eq!(sent("gzip").await.1, zipped, "{path}");
            assert!(zipped.len() < plain.len(), "{path}");
            once.push(path);
        } else {
            assert!(plain.len() <= COMPRESSED_BYTES_MAX, "{path}: {} bytes", plain.len());
        }
    }
    assert_eq!(once, ["/api/v1/openapi", "/docs", "/docs/errors"]);
}
