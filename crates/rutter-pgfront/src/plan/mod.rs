//! Corrections of DataFusion's plans.

pub mod filter_order;
pub mod sort_order;
pub mod subqueries;
