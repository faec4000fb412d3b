//! All times are UTC. Other zones are refused.

use std::ops::ControlFlow;

use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::sqlparser::ast::{Expr, Value, visit_expressions};
use datafusion::sql::parser::Statement;

/// The name of the only zone in column types.
pub const UTC: &str = "UTC";

/// Refuses `AT TIME ZONE` with any zone but UTC.
pub fn check(statement: &Statement) -> Result<()> {
    let Statement::Statement(statement) = statement else {
        return Ok(());
    };
    let found = visit_expressions(&**statement, |part| match part {
        Expr::AtTimeZone { time_zone, .. } if !is_named_utc(time_zone) => {
            ControlFlow::Break(time_zone.to_string())
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(zone) => Err(unknown(&zone)),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn unknown(zone: &str) -> DataFusionError {
    DataFusionError::Plan(format!(
        "AT TIME ZONE {zone}: all times are UTC here, and no other zone is known; add an interval, or convert in the client"
    ))
}

fn is_named_utc(zone: &Expr) -> bool {
    match zone {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(name) => is_utc(name),
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether a zone is UTC.
pub fn is_utc(zone: &str) -> bool {
    let names = ["UTC", "GMT", "Etc/UTC", "Zulu", "Z", "DEFAULT", "LOCAL"];
    names.iter().any(|name| name.eq_ignore_ascii_case(zone))
        || matches!(zone, "0" | "+00" | "+00:00" | "-00")
}
