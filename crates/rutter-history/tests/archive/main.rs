//! The archive: every past state of the table is found again, and every loss is recorded.

mod as_of;
mod disk;
mod read;
mod world;
