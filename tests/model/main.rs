//! The rules, told as scripts and held against naive models; then the engine around them, in simulated time.

mod agenda;
mod agenda_window;
mod alike;
mod batches;
mod bookings;
mod cancellations;
mod clock_ahead;
mod dry_runs;
mod engine;
mod held_share;
mod holds;
mod hours;
mod idempotency;
mod in_flight;
mod merges;
mod naive_agenda;
mod notices;
mod reminders;
mod replay;
mod series_parts;
mod shop;
mod simulation;
mod simulation_history;
mod slots;
mod timetables;
mod upkeep;
