//! What goes over the wire: how each resource's fields are read, shown, sorted and limited. No rule of booking is here.

pub mod datetime;
