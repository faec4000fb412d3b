//! PostgreSQL's functions: DataFusion's own within the limits of queries, and the functions that it lacks.

mod allowed;
mod array_subquery;
mod bounded;
mod bounds;
mod casts;
mod catalog_functions;
mod inet;
mod intervals;
mod like;
mod operators;
mod regex_cost;
mod rewritten;
mod signed;
mod text_function;
mod text_output;
mod time_text;

pub use allowed::{admit, register as register_allowed};
pub use array_subquery::GATHERED;
pub use casts::Casts;
pub use catalog_functions::type_name;
pub use inet::{CIDR, INET, KEY, TEXT, network_text};
pub use intervals::Dates;
pub use operators::{Operators, is_text};
pub use signed::Signed;
pub use text_function::{Body, function as text_function};
pub use time_text::with_seconds;

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use crate::application::Application;

/// The scalar functions that are not DataFusion's.
pub fn all(application: &Arc<Application>) -> Vec<ScalarUDF> {
    let mut all = inet::functions();
    all.extend(like::functions());
    all.extend(catalog_functions::functions(application));
    all.push(array_subquery::function());
    all
}
