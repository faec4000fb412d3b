//! Casts to `inet` and `cidr`: strings in PostgreSQL's notation, so that equal addresses are equal strings.

use std::net::IpAddr;

use datafusion::common::not_impl_err;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, ScalarUDF, binary_expr};

use super::text_function::{Body, function};
use crate::error::{INVALID, unreadable};

/// `x::inet`: without a full length.
pub const INET: &str = "network_inet";
/// `x::cidr`: with its length, without bits behind it.
pub const CIDR: &str = "network_cidr";
/// `x::inet::text`: with its length.
pub const TEXT: &str = "network_text";

/// Digits in the order of `inet`. Windows order by strings, and not by bytes.
const ORDER: &str = "network_order";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function(INET, Body::Checked(inet)),
        function(CIDR, Body::Checked(cidr)),
        function(TEXT, Body::Checked(text)),
        function(ORDER, Body::Text(|text| Some(order(&key(text)?)))),
        // IPv4 first, then by address, then the shorter prefix first.
        function("prefix_key", Body::Octets(key)),
    ]
}

fn order(key: &[u8]) -> String {
    key.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns whether an expression over the rows of a plan is a cast to `inet` or `cidr`.
pub fn is_network(expr: &Expr, rows: &LogicalPlan) -> bool {
    match expr {
        Expr::Column(column) => {
            let at = rows.schema().maybe_index_of_column(column);
            at.is_some_and(|at| is_network_column(rows, at))
        }
        expr => is_cast(expr),
    }
}

fn is_network_column(plan: &LogicalPlan, at: usize) -> bool {
    let is_one = |exprs: &[Expr], rows| exprs.get(at).is_some_and(|of| is_network(of, rows));
    match plan {
        LogicalPlan::Projection(of) => is_one(&of.expr, &of.input),
        LogicalPlan::Aggregate(of) => is_one(&of.group_expr, &of.input),
        LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Union(_) => plan.inputs().iter().any(|rows| is_network_column(rows, at)),
        _ => false,
    }
}

fn is_cast(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(named) => is_cast(&named.expr),
        Expr::ScalarFunction(call) => [INET, CIDR].contains(&call.func.name()),
        _ => false,
    }
}

/// Orders networks by their addresses: their strings have another order.
///
/// # Errors
/// For `min` and `max` of networks.
pub fn by_address(part: Expr, state: &SessionState) -> Result<Transformed<Expr>> {
    use Operator::{Gt, GtEq, Lt, LtEq};
    let order = |by: &mut Vec<Sort>| -> Result<()> {
        for by in by.iter_mut().filter(|by| is_cast(&by.expr)) {
            by.expr = ordered(std::mem::take(&mut by.expr), state)?;
        }
        Ok(())
    };
    match part {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ (Lt | LtEq | Gt | GtEq),
            right,
        }) if is_cast(&left) || is_cast(&right) => {
            let (left, right) = (ordered(*left, state)?, ordered(*right, state)?);
            Ok(Transformed::yes(binary_expr(left, op, right)))
        }
        Expr::Between(of) if is_cast(&of.expr) || is_cast(&of.low) => {
            not_impl_err!(
                "BETWEEN of inet and cidr is not offered: write prefix::inet >= … AND prefix::inet <= …"
            )
        }
        Expr::AggregateFunction(mut call) => {
            if ["min", "max"].contains(&call.func.name()) && call.params.args.iter().any(is_cast) {
                return not_impl_err!(
                    "min and max of inet and cidr are not offered: write (array_agg(prefix ORDER BY prefix_key(prefix)))[1]"
                );
            }
            order(&mut call.params.order_by)?;
            Ok(Transformed::yes(Expr::AggregateFunction(call)))
        }
        Expr::WindowFunction(mut call) => {
            order(&mut call.params.order_by)?;
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        }
        part => Ok(Transformed::no(part)),
    }
}

/// The order of a network, or of a string beside one. A string that is no network comes last, and is no error.
pub fn ordered(network: Expr, state: &SessionState) -> Result<Expr> {
    let value = match network {
        Expr::ScalarFunction(mut call) if [INET, CIDR].contains(&call.func.name()) => {
            call.args.pop().unwrap_or_default()
        }
        network => network,
    };
    match state.scalar_functions().get(ORDER) {
        Some(function) => Ok(function.call(vec![value])),
        None => not_impl_err!("the function {ORDER} is not registered"),
    }
}

/// Computes one of these functions; `None`: the string is invalid.
pub fn network_text(function: &str, of: &str) -> Option<String> {
    match function {
        INET => inet(of).ok(),
        CIDR => cidr(of).ok(),
        _ => text(of).ok(),
    }
}

fn inet(text: &str) -> Result<String> {
    let (address, len) = read(text, "inet")?;
    Ok(match len == full(address) {
        true => address.to_string(),
        false => format!("{address}/{len}"),
    })
}

fn cidr(text: &str) -> Result<String> {
    let (address, len) = read(text, "cidr")?;
    match masked(address, len) == address {
        true => Ok(format!("{address}/{len}")),
        false => wrong(format!(
            "invalid cidr value: \"{text}\" has bits set to the right of its mask"
        )),
    }
}

fn text(text: &str) -> Result<String> {
    let (address, len) = read(text, "inet")?;
    Ok(format!("{address}/{len}"))
}

fn read(text: &str, kind: &str) -> Result<(IpAddr, u8)> {
    match parse(text) {
        Some(parts) => Ok(parts),
        None => wrong(format!("{INVALID} {kind}: \"{text}\"")),
    }
}

/// Parses an address and its length. Without one, the length is full.
fn parse(text: &str) -> Option<(IpAddr, u8)> {
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => (address, Some(len)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = full(address);
    let len = match len {
        Some(len) if len.starts_with('+') => None,
        Some(len) => len.parse().ok().filter(|len| *len <= most),
        None => Some(most),
    };
    Some((address, len?))
}

/// An address with all bits behind a length set to zero.
fn masked(address: IpAddr, len: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

fn key(text: &str) -> Option<Vec<u8>> {
    let (address, len) = parse(text)?;
    let mut key = Vec::with_capacity(18);
    match masked(address, len) {
        IpAddr::V4(address) => {
            key.push(4);
            key.extend(address.octets());
        }
        IpAddr::V6(address) => {
            key.push(6);
            key.extend(address.octets());
        }
    }
    key.push(len);
    Some(key)
}

fn full(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn wrong<T>(why: String) -> Result<T> {
    Err(unreadable(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_addresses_have_one_string() {
        for (given, expected) in [
            ("10.1.2.3", ["10.1.2.3", "10.1.2.3/32", "10.1.2.3/32"]),
            ("10.1.2.3/32", ["10.1.2.3", "10.1.2.3/32", "10.1.2.3/32"]),
            ("10.0.0.0/8", ["10.0.0.0/8", "10.0.0.0/8", "10.0.0.0/8"]),
            (
                "2001:DB8:0::1",
                ["2001:db8::1", "2001:db8::1/128", "2001:db8::1/128"],
            ),
        ] {
            let of = |one: fn(&str) -> Result<String>| one(given).unwrap();
            assert_eq!([of(inet), of(cidr), of(text)], expected, "{given}");
        }
        assert_eq!(inet("10.1.2.3/8").unwrap(), "10.1.2.3/8");
        assert!(cidr("10.1.2.3/8").is_err());
        for none in [
            "",
            "x",
            "10.1.2.3/33",
            "10.1.2.3/+8",
            "10.1.2.3/",
            "::1/129",
        ] {
            assert!(inet(none).is_err(), "{none}");
        }
    }
}
