//! The tables.

mod attributes;
mod batch;
mod columns;
mod current;
mod events;
mod filter;
#[cfg(test)]
mod inline_tests;
mod lookup;
mod peers;
mod routers;
mod routes;

pub use current::Current;
pub use events::EventsTable;
pub use filter::prefix_of;
pub use lookup::Lookup;
pub use peers::PeersTable;
pub use routers::{Router, RoutersTable};
pub use routes::{RoutesTable, Which};
