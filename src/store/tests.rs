//! The store as a whole, over real files.
