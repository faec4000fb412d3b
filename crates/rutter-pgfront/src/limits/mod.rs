//! Guards of the server: how complex a query may be, how much memory it may take, and how soon it gives way to others.

pub mod complexity;
pub mod cooperative_yield;
pub mod inline_query;
pub mod interruptible;
pub mod memory;
