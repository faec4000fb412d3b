//! PostgreSQL's functions: DataFusion's own within the limits of queries, and the functions that it lacks.

mod adjusted;
mod allowed;
mod arithmetic;
mod array_subquery;
mod bounded;
mod bounds;
mod extremes;
mod inet;
mod intervals;
mod like;
mod list_membership;
mod regex_syntax;
mod syntax;
mod timestamp_text;

mod casts;
mod catalog_functions;
mod dictionaries;
mod distinct_aggregate;
mod operators;
mod padding;
mod regex_cost;
mod rewritten;
mod sum;
mod sum_literals;
mod text_function;
mod text_output;
mod time_patterns;
mod utc;

pub use allowed::{admit, register as register_allowed};
pub use arithmetic::{Checked, Signed, may_fail};
pub use array_subquery::GATHERED;
pub use syntax::Forms;

pub use casts::{Lists, Texts};
pub use catalog_functions::type_name;
pub use distinct_aggregate::rules;
pub use inet::{CIDR, INET, KEY, TEXT, network_text};
pub use intervals::Dates;
pub use operators::{Operators, is_text};
pub use sum_literals::Small;
pub use text_function::{Body, function as text_function};
pub use timestamp_text::spelled_out;
pub use utc::TIMEZONE;

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use crate::application::Application;

/// The scalar functions that are not DataFusion's.
pub fn all(application: &Arc<Application>) -> Vec<ScalarUDF> {
    let mut all = inet::functions();
    all.extend(like::functions());
    all.extend(utc::functions());
    all.extend(catalog_functions::functions(application));
    all.push(arithmetic::quotient());
    all.push(array_subquery::function());
    all
}
