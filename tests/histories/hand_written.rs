//! Histories written by hand.
