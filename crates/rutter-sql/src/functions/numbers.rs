//! Rounding, as dashboards group times by it. The engine's own set of mathematical functions would bring a hundred
//! more into every build.

use super::scalar::{Body, function};
use datafusion::logical_expr::ScalarUDF;

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function("floor", Body::Float(f64::floor)),
        function("ceil", Body::Float(f64::ceil)),
        function("round", Body::Float(f64::round)),
        function("abs", Body::Float(f64::abs)),
        function("sqrt", Body::Float(f64::sqrt)),
    ]
}
