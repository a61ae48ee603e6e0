//! Resolution of the names of receivers. Reference 18.6.

use std::future::Future;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Maximum number of names that are resolved at once. Each takes a thread of the runtime, also
/// after its attempt has been given up.
const LOOKUPS_MAX: usize = 32;

/// The addresses of a name.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A resolver of names.
pub trait ResolveHost: Send + Sync {
    /// Returns the addresses of a name, in the order in which they are tried.
    fn resolve(&self, host: &str) -> Lookup;
}

/// The resolver of this machine.
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }
}

impl ResolveHost for SystemResolver {
    fn resolve(&self, host: &str) -> Lookup {
        let lookups = Arc::clone(&self.lookups);
        let host = host.to_owned();
        Box::pin(async move {
            let place = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let look_up = move || {
                let _place = place;
                // The port is none of the lookup, and the type wants one.
                let found = (host.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(look_up).await.map_err(io::Error::other)?
        })
    }
}
