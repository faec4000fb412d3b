//! The IRR source with scripted servers: answers, faults, shrinking data, reloads and restarts.

mod bench;
mod fake_irrd;
mod faults;
mod files;
mod normal;
mod shrink;
