//! Re-evaluation: after a policy or a neighbor's rank changed, a walk over the table applies it to the held routes.

mod client_preparation;
pub(crate) mod export;
mod export_preparation;
pub(crate) mod import;
pub(crate) mod outside_data;
#[cfg(test)]
mod preparation_tests;
mod set_visit;
pub(crate) mod unused_classes;
pub(crate) mod walk;
pub(crate) mod walk_progress;
