//! PostgreSQL's SQL, rewritten to the SQL that DataFusion understands.
//!
//! Statements are rewritten after they are parsed, so that quoted strings stay as they are. `rewrite.rs` visits a statement
//! once; the other files hold one rewrite each.

mod any_all;
mod array_subquery;
mod casts;
mod column_names;
mod empty_catalogs;
mod inet;
pub mod lexer;
mod lists;
pub mod literals;
pub mod rewrite;
mod system_functions;
pub mod time_zone;
mod unsupported;

pub use column_names::shown;
