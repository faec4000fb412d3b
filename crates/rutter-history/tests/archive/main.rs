//! The archive: every state that a table had is found again, and nothing is lost without being told.

mod as_of;
mod disk;
mod read;
mod world;
