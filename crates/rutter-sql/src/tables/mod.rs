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

pub use events::events;
pub use filter::prefix_of;
pub use lookup::Lookup;
pub use peers::peers;
pub use routers::{Router, routers};
pub use routes::{RoutesTable, Which};
