//! The RPKI source with caches on loopback and with files.

mod caches;
mod fake_cache;
mod files;
mod lab;
