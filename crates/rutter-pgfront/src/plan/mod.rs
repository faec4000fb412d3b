//! Corrections of DataFusion's plans.

pub mod sort_order;
pub mod subqueries;
