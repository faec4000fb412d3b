//! Functions and operators on prefixes, AS paths and communities, and those that clients ask of any server.

mod allowed;
mod amended;
mod among;
mod arithmetic;
mod bounded;
mod bounds;
mod communities;
mod digests;
mod expressions;
mod extremes;
mod forms;
mod gathered;
mod guards;
mod indexes;
mod intervals;
mod lengths;
mod letters;
mod like;
mod moments;
mod networks;

mod operators;
mod padding;
mod paths;
mod patterns;
mod plain;
mod prefixes;
mod rewritten;
mod rounding;
mod scalar;
mod signs;
mod singles;
mod small;
mod sum;
mod system;
mod templates;
mod texts;
mod utc;
mod written;

pub use allowed::{admit, register as register_allowed};
pub use arithmetic::{Checked, Signed, may_fail};
pub use forms::Forms;
pub use gathered::GATHERED;
pub use guards::Guards;
pub use indexes::Indexes;

pub use intervals::Dates;
pub use moments::spelled_out;
pub use networks::{CIDR, INET, TEXT, network_text};
pub use operators::PrefixOperators;
pub use prefixes::{CONTAINS_OR_EQUAL, KEY, WITHIN_OR_EQUAL};
pub use rounding::ROUND_TO_EVEN;
pub use singles::rules;
pub use small::Small;
pub use system::type_name;
pub use texts::{Lists, Texts};
pub use utc::TIMEZONE;

use datafusion::logical_expr::ScalarUDF;

/// All scalar functions.
pub fn all() -> Vec<ScalarUDF> {
    let mut all = prefixes::functions();
    all.extend(paths::functions());
    all.extend(communities::functions());
    all.extend(digests::functions());
    all.extend(like::functions());
    all.extend(networks::functions());
    all.extend(rounding::functions());
    all.extend(utc::functions());
    all.extend(system::functions());
    all.push(arithmetic::quotient());
    all.push(gathered::function());
    all
}
