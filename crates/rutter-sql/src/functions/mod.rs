//! Functions and operators of prefixes, AS paths and communities.

mod communities;
mod descriptions;
mod operators;
mod paths;
mod prefixes;

use datafusion::logical_expr::ScalarUDF;

pub use descriptions::DESCRIPTIONS;
pub use operators::PrefixOperators;
pub use prefixes::{CONTAINS_OR_EQUAL, WITHIN_OR_EQUAL};

/// All scalar functions.
pub fn all() -> Vec<ScalarUDF> {
    let mut all = prefixes::functions();
    all.extend(paths::functions());
    all.extend(communities::functions());
    all
}
