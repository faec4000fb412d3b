//! Functions and operators on prefixes, AS paths and communities.

mod communities;
mod operators;
mod paths;
mod prefixes;
mod scalar;

pub use operators::PrefixOperators;
pub use prefixes::{CONTAINS_OR_EQUAL, WITHIN_OR_EQUAL};

use datafusion::logical_expr::ScalarUDF;

/// All scalar functions.
pub fn all() -> Vec<ScalarUDF> {
    let mut all = prefixes::functions();
    all.extend(paths::functions());
    all.extend(communities::functions());
    all
}
