//! Casts to types that DataFusion lacks.

use datafusion::logical_expr::sqlparser::ast::{
    ArrayElemTypeDef, DataType, ExactNumberInfo, Expr, Interval, Value,
};
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::parser::Parser;

use super::inet;
use super::rewrite::{last, parsed};
use crate::values::Span;

/// Rewrites a cast for DataFusion, if needed.
pub fn rewritten_form(cast: &mut Expr) -> Option<Expr> {
    let Expr::Cast {
        expr, data_type, ..
    } = cast
    else {
        return None;
    };
    if let (Some(text), DataType::Interval { .. }) = (literal(expr), &*data_type)
        && let Some(words) = words(text)
    {
        **expr = words;
    }
    if let Some(of) = inet::cast(expr, data_type) {
        return Some(of);
    }
    if let Some(known) = plain(data_type) {
        *data_type = known;
    }
    let name = name(data_type)?;
    let rewritten_form = is_rewritten(expr);
    match (name.as_str(), rewritten_form) {
        ("regclass", true) => parsed(&format!("relation_number({expr})")),
        ("regclass", false) => parsed(&format!("relation_name({expr})")),
        ("regtype", true) => parsed(&format!("type_number({expr})")),
        ("regtype", false) => parsed(&format!("format_type({expr}, NULL)")),
        ("regnamespace", true) => parsed(&format!("schema_number({expr})")),
        ("regnamespace", false) => parsed(&format!("schema_name({expr})")),
        ("regrole", _) => parsed("CAST(10 AS BIGINT)"),
        ("regproc" | "regprocedure" | "regoper" | "regoperator", _) => {
            let name = literal(expr).map(|name| name.trim_start_matches("pg_catalog."));
            let value = name.map_or_else(|| expr.to_string(), |name| format!("'{name}'"));
            parsed(&format!("CAST({value} AS TEXT)"))
        }
        _ => None,
    }
}

/// Rewrites `INTERVAL '1 day 02:03:04'` for DataFusion.
pub fn interval(interval: &mut Interval) {
    if interval.leading_field.is_none()
        && let Some(words) = literal(&interval.value).and_then(words)
    {
        *interval.value = words;
    }
}

fn words(interval: &str) -> Option<Expr> {
    let span = Span::of_text(interval)?;
    parsed(&format!("'{}'", span.words()))
}

/// DataFusion's equivalent of a PostgreSQL type.
fn plain(kind: &DataType) -> Option<DataType> {
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(item, size)) = kind {
        let item = Box::new(plain(item)?);
        return Some(DataType::Array(ArrayElemTypeDef::SquareBracket(
            item, *size,
        )));
    }
    let known = match name(kind)?.as_str() {
        "oid" | "xid" | "xid8" | "cid" => "BIGINT",
        "name" | "char" | "bpchar" | "cstring" | "text" | "varchar" | "unknown" | "citext" => {
            "TEXT"
        }
        "inet" | "cidr" | "uuid" | "json" | "jsonb" | "pg_node_tree" | "aclitem" => "TEXT",
        "bool" => "BOOLEAN",
        "int2" => "SMALLINT",
        "int4" => "INT",
        "int8" => "BIGINT",
        "float4" => "REAL",
        "float8" => "DOUBLE PRECISION",
        "numeric" => "NUMERIC",
        "date" => "DATE",
        "timestamp" => "TIMESTAMP",
        "timestamptz" => "TIMESTAMPTZ",
        "interval" => "INTERVAL",
        "bytea" => "BYTEA",
        _ => return None,
    };
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(known);
    parser.ok()?.parse_data_type().ok()
}

/// The name of a type that DataFusion does not know.
pub fn name(kind: &DataType) -> Option<String> {
    let known = match kind {
        DataType::Custom(name, _) => return Some(last(name)?.to_lowercase()),
        DataType::Regclass => "regclass",
        DataType::CharacterVarying(_) | DataType::CharVarying(_) => "varchar",
        DataType::Character(_) => "bpchar",
        DataType::Uuid => "uuid",
        DataType::JSON | DataType::JSONB => "json",
        // DataFusion's `float` has 32 bits, PostgreSQL's 64.
        DataType::Float(ExactNumberInfo::Precision(25..) | ExactNumberInfo::None) => "float8",
        _ => return None,
    };
    Some(known.to_owned())
}

/// The string of a literal.
pub fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        Expr::Nested(inner) => literal(inner),
        _ => None,
    }
}

/// Returns whether a value is a literal or a parameter: it is cast to an OID. Values of tables are cast to names.
fn is_rewritten(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => !matches!(value.value, Value::Number(..)),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_rewritten(expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_to_catalogue_types_become_functions() {
        for (sql, expected) in [
            (
                "'public.routes'::regclass",
                "relation_number('public.routes')",
            ),
            ("c.oid::pg_catalog.regclass", "relation_name(c.oid)"),
            ("$1::text::regclass", "relation_number($1::TEXT)"),
            ("a.atttypid::regtype", "format_type(a.atttypid, NULL)"),
            ("x::pg_catalog.text", "x::TEXT"),
            ("x::pg_catalog.int2[]", "x::SMALLINT[]"),
            ("x::oid", "x::BIGINT"),
            (
                "'10.0.0.0/8'::cidr",
                "network_cidr(CAST('10.0.0.0/8' AS TEXT))",
            ),
            ("x::float", "x::DOUBLE PRECISION"),
            ("x::float(53)", "x::DOUBLE PRECISION"),
            ("x::float(24)", "x::FLOAT(24)"),
            ("'{a,b}'::text[]", "'{a,b}'::TEXT[]"),
            ("x::varchar", "x::VARCHAR"),
            ("x::numeric::int4", "x::NUMERIC::INT4"),
            ("'pg_catalog.array_in'::regproc", "CAST('array_in' AS TEXT)"),
        ] {
            let mut cast = parsed(sql).unwrap();
            let other = rewritten_form(&mut cast).unwrap_or(cast);
            assert_eq!(other.to_string(), expected, "{sql}");
        }
    }
}
