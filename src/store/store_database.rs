//! A database of a store, as recoveries and compactions use it: one of sled, or one of a simulated
//! disk.

use std::fmt::Debug;
use std::path::Path;

use crate::store::database::{Database, DatabaseEntries, DatabaseEntry};
use crate::store::error::StoreError;
use crate::store::files::drop_page_cache;
use crate::store::io_throttle::IoThrottle;

/// Keys to be set (`Some`) or removed (`None`).
pub(crate) type Changes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Keys and values in ascending order of the keys.
pub(crate) type Entries<'a> = Box<dyn Iterator<Item = DatabaseEntry> + 'a>;

/// One database of a store. Each write is durable when it returns.
pub(crate) trait StoreDatabase: Debug + Send {
    /// Its directory.
    fn path(&self) -> &Path;

    /// Sets and removes keys, all or none.
    fn write(&mut self, changes: Changes) -> Result<(), StoreError>;

    /// Returns the value of `key`.
    fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the largest key.
    fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Iterates over keys and values after `key`. It ends after the first error.
    fn after(&self, key: &[u8]) -> Entries<'_>;

    /// Closes the database, and opens a copy of it that was read back from the disk.
    fn reopen(
        self: Box<Self>,
        throttle: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError>;

    /// Closes the database.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}

impl StoreDatabase for Database {
    fn path(&self) -> &Path {
        Self::path(self)
    }

    fn write(&mut self, changes: Changes) -> Result<(), StoreError> {
        Self::write(self, changes)
    }

    fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Self::value(self, key)
    }

    fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Self::last_key(self)
    }

    fn after(&self, key: &[u8]) -> Entries<'_> {
        let entries: DatabaseEntries<'_> = Self::after(self, key);
        Box::new(entries)
    }

    fn reopen(
        self: Box<Self>,
        throttle: Option<&mut IoThrottle>,
    ) -> Result<Box<dyn StoreDatabase>, StoreError> {
        let path = Self::path(&self).to_owned();
        Self::close(*self)?;
        drop_page_cache(&path)?;
        Ok(Box::new(Self::open_copy(&path, throttle)?))
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Self::close(*self)
    }
}
