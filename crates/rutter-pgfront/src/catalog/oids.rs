//! OIDs of the catalogues by name, and back. `'routes'::regclass` is one.

use pgwire::api::Type;

use super::SCHEMA;
use super::columns::RELATIONS;
use crate::application::Application;

/// PostgreSQL's OID of `pg_catalog`.
pub const SYSTEM: i64 = 11;

/// All schemas.
pub const SCHEMAS: [(i64, &str); 3] = [
    (SYSTEM, "pg_catalog"),
    (2_200, SCHEMA),
    (11_999, "information_schema"),
];

/// PostgreSQL's first OID of user tables.
const FIRST: i64 = 16_384;

/// The OID of a schema.
pub fn of_schema(name: &str) -> Option<i64> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let found = SCHEMAS.iter().find(|(_, known)| *known == name);
    found.map(|(number, _)| *number)
}

/// The name of a schema.
pub fn schema_of(number: &str) -> Option<String> {
    let number: i64 = number.parse().ok()?;
    let found = SCHEMAS.iter().find(|(known, _)| *known == number);
    found.map(|(_, name)| (*name).to_owned())
}

/// The OID of a table. Its name may include the schema.
pub fn of_relation(application: &Application, name: &str) -> Option<i64> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let name = last(name);
    if let Some(at) = application.tables.iter().position(|known| *known == name) {
        return Some(FIRST + at as i64);
    }
    let found = RELATIONS.iter().find(|relation| relation.name == name);
    found.map(|relation| relation.number)
}

/// The name of a table; for an unknown OID, the OID.
pub fn relation_of(application: &Application, number: &str) -> Option<String> {
    let known: i64 = match number.parse() {
        Ok(known) => known,
        Err(_) => return Some(number.to_owned()),
    };
    if known == 0 {
        return Some("-".to_owned());
    }
    let own = usize::try_from(known - FIRST).ok();
    let own = own.and_then(|at| application.tables.get(at).copied());
    let system = || RELATIONS.iter().find(|relation| relation.number == known);
    let name = own.or_else(|| system().map(|relation| relation.name));
    Some(name.unwrap_or(number).to_owned())
}

/// The OID of a type.
pub fn of_type(name: &str) -> Option<i64> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let name = last(name).to_lowercase();
    let known = match name.as_str() {
        "boolean" => "bool",
        "smallint" => "int2",
        "integer" | "int" => "int4",
        "bigint" => "int8",
        "real" => "float4",
        "double precision" => "float8",
        "character varying" => "varchar",
        "timestamp with time zone" => "timestamptz",
        "timestamp without time zone" => "timestamp",
        name => name,
    };
    let known = match known.strip_suffix("[]") {
        Some(item) => format!("_{item}"),
        None => known.to_owned(),
    };
    let mut all = (1..5_000).filter_map(Type::from_oid);
    let found = all.find(|kind| kind.name() == known);
    found.map(|kind| i64::from(kind.oid()))
}

/// A name without schema and quotes.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relation_names_and_oids_round_trip() {
        let application = Application {
            tables: vec!["best", "routes"],
            ..Application::default()
        };
        let of_relation = |name: &str| of_relation(&application, name);
        for name in ["routes", "pg_class", "public.best", "\"public\".\"best\""] {
            let number = of_relation(name).unwrap();
            let found = relation_of(&application, &number.to_string());
            assert_eq!(found.unwrap(), last(name));
        }
        assert_eq!(of_relation("pg_catalog.pg_class"), Some(1_259));
        assert_eq!(of_relation("nonsense"), None);
        assert_eq!(of_type("pg_catalog.int8"), Some(20));
        assert_eq!(of_type("text[]"), of_type("_text"));
        assert_eq!(schema_of("2200").unwrap(), "public");
        assert_eq!(of_schema("pg_catalog"), Some(11));
    }
}
