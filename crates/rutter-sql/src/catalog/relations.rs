//! The rows of the system catalogues: what there is in the one database.

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use pgwire::api::Type;

use super::columns::{RELATIONS, Row};
use super::numbers::{self, SYSTEM};
use super::offered::FUNCTIONS;
use super::{DATABASE, SCHEMA};
use crate::forms::kind;
use crate::functions::type_name;
use crate::server::SETTINGS;

/// The owner of everything.
const OWNER: i64 = 10;
/// The number of the first function that is not PostgreSQL's own.
pub const FIRST_FUNCTION: i64 = 20_000;

/// The tables of the schema `public`, in the order of their names.
pub type Tables = [(String, SchemaRef)];

/// Makes the rows of a catalogue.
type Rows = fn(&Tables) -> Vec<Row>;

/// Catalogues that have rows; all others are empty.
const FILLED: &[(&str, Rows)] = &[
    ("pg_class", classes),
    ("pg_attribute", attributes),
    ("pg_type", |_| types()),
    ("pg_namespace", |_| namespaces()),
    ("pg_database", |_| vec![database()]),
    ("pg_roles", |_| vec![role()]),
    ("pg_user", |_| vec![user()]),
    ("pg_proc", |_| functions()),
    ("pg_settings", |_| settings()),
    ("pg_tables", listed),
    ("pg_stat_user_tables", watched),
    ("pg_tablespace", |_| vec![space()]),
    ("pg_timezone_names", |_| vec![zone()]),
    ("tables", tables),
    ("columns", columns),
    ("schemata", |_| schemata()),
    ("enabled_roles", |_| {
        vec![vec![("role_name", DATABASE.into())]]
    }),
    ("information_schema_catalog_name", |_| {
        vec![vec![("catalog_name", DATABASE.into())]]
    }),
];

/// The rows of a catalogue.
pub fn rows(name: &str, tables: &Tables) -> Vec<Row> {
    let filled = FILLED.iter().find(|(known, _)| *known == name);
    filled.map_or_else(Vec::new, |(_, rows)| rows(tables))
}

/// Whether nothing can ever be in a catalogue.
pub fn is_empty(name: &str) -> bool {
    let is = |known: &str| known == name;
    RELATIONS.iter().any(|relation| is(relation.name)) && !FILLED.iter().any(|(known, _)| is(known))
}

fn classes(tables: &Tables) -> Vec<Row> {
    let own = tables
        .iter()
        .map(|(name, schema)| class(name, numbers::of_schema(SCHEMA), schema.fields().len()));
    let system = RELATIONS.iter().map(|relation| {
        let schema = numbers::of_schema(relation.schema);
        class(relation.name, schema, relation.fields().count())
    });
    own.chain(system).collect()
}

fn class(name: &str, schema: Option<i64>, columns: usize) -> Row {
    vec![
        ("oid", numbers::of_relation(name).unwrap_or(0).into()),
        ("relname", name.into()),
        ("relnamespace", schema.unwrap_or(0).into()),
        ("relowner", OWNER.into()),
        ("relkind", "r".into()),
        ("relpersistence", "p".into()),
        ("relreplident", "n".into()),
        ("relnatts", (columns as i64).into()),
        ("reltuples", (-1).into()),
        ("relispopulated", true.into()),
    ]
}

fn attributes(tables: &Tables) -> Vec<Row> {
    let own = tables.iter().flat_map(|(table, schema)| {
        let fields = schema.fields().iter().enumerate();
        fields.map(move |(at, field)| {
            let needed = !field.is_nullable();
            attribute(table, at, field.name(), field.data_type(), needed)
        })
    });
    let system = RELATIONS.iter().flat_map(|relation| {
        let fields = relation.fields().enumerate();
        fields.map(|(at, (name, kind))| attribute(relation.name, at, name, &kind, false))
    });
    own.chain(system).collect()
}

fn attribute(table: &str, at: usize, name: &str, data: &DataType, needed: bool) -> Row {
    let kind = kind(data);
    vec![
        ("attrelid", numbers::of_relation(table).unwrap_or(0).into()),
        ("attnum", (at as i64 + 1).into()),
        ("attname", name.into()),
        ("atttypid", i64::from(kind.oid()).into()),
        ("attnotnull", needed.into()),
        ("atttypmod", (-1).into()),
        ("attlen", length(&kind).into()),
        ("attstattarget", (-1).into()),
        ("attstorage", "p".into()),
        ("attcompression", "".into()),
        ("attidentity", "".into()),
        ("attgenerated", "".into()),
        ("attislocal", true.into()),
    ]
}

/// PostgreSQL's own types, and lists of them.
fn types() -> Vec<Row> {
    let all: Vec<Type> = (1..5_000).filter_map(Type::from_oid).collect();
    let plain = all.iter().filter(|kind| !is_pseudo(kind.name()));
    plain.map(|kind| type_row(kind, &all)).collect()
}

/// Types of arguments and ranges, which no column here has.
fn is_pseudo(name: &str) -> bool {
    let of_functions = [
        "void",
        "record",
        "_record",
        "trigger",
        "event_trigger",
        "internal",
        "cstring",
        "_cstring",
        "unknown",
    ];
    name.contains("any")
        || name.contains("range")
        || name.ends_with("_handler")
        || of_functions.contains(&name)
}

fn type_row(kind: &Type, all: &[Type]) -> Row {
    let number = |name: &str| {
        let found = all.iter().find(|kind| kind.name() == name);
        found.map_or(0, |kind| i64::from(kind.oid()))
    };
    let element = kind.name().strip_prefix('_');
    let input = match element {
        Some(_) => "array_in".to_owned(),
        None => format!("{}in", kind.name()),
    };
    vec![
        ("oid", i64::from(kind.oid()).into()),
        ("typname", kind.name().into()),
        ("typnamespace", SYSTEM.into()),
        ("typowner", OWNER.into()),
        ("typelem", element.map_or(0, number).into()),
        ("typarray", number(&format!("_{}", kind.name())).into()),
        ("typtype", "b".into()),
        ("typcategory", category(kind).into()),
        ("typdelim", ",".into()),
        ("typlen", length(kind).into()),
        ("typtypmod", (-1).into()),
        ("typisdefined", true.into()),
        ("typinput", input.as_str().into()),
    ]
}

fn category(kind: &Type) -> &'static str {
    match kind.name() {
        name if name.starts_with('_') => "A",
        "bool" => "B",
        "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" | "oid" => "N",
        "text" | "varchar" | "bpchar" | "name" | "char" => "S",
        "date" | "time" | "timetz" | "timestamp" | "timestamptz" => "D",
        "interval" => "T",
        "inet" | "cidr" => "I",
        _ => "U",
    }
}

/// Octets of a value; -1 where they differ.
fn length(kind: &Type) -> i64 {
    match kind.name() {
        "bool" | "char" => 1,
        "int2" => 2,
        "int4" | "float4" | "oid" | "date" | "xid" | "cid" | "regproc" | "regclass" | "regtype" => {
            4
        }
        "int8" | "float8" | "time" | "timestamp" | "timestamptz" | "money" => 8,
        "interval" | "uuid" => 16,
        "name" => 64,
        _ => -1,
    }
}

fn namespaces() -> Vec<Row> {
    let row = |(number, name): &(i64, &str)| {
        vec![
            ("oid", (*number).into()),
            ("nspname", (*name).into()),
            ("nspowner", OWNER.into()),
        ]
    };
    numbers::SCHEMAS.iter().map(row).collect()
}

fn database() -> Row {
    vec![
        ("oid", 1.into()),
        ("datname", DATABASE.into()),
        ("datdba", OWNER.into()),
        ("encoding", 6.into()),
        ("datlocprovider", "c".into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("dattablespace", SPACE.into()),
        ("datcollate", "C".into()),
        ("datctype", "C".into()),
    ]
}

fn role() -> Row {
    vec![
        ("oid", OWNER.into()),
        ("rolname", DATABASE.into()),
        ("rolinherit", true.into()),
        ("rolcanlogin", true.into()),
        ("rolconnlimit", (-1).into()),
        ("rolpassword", "********".into()),
    ]
}

fn user() -> Row {
    vec![
        ("usename", DATABASE.into()),
        ("usesysid", OWNER.into()),
        ("passwd", "********".into()),
    ]
}

fn functions() -> Vec<Row> {
    let row = |(at, offered): (usize, &super::offered::Function)| {
        let arguments = offered.arguments.split(", ").count() as i64;
        vec![
            ("oid", (FIRST_FUNCTION + at as i64).into()),
            ("proname", offered.name.into()),
            (
                "pronamespace",
                numbers::of_schema(SCHEMA).unwrap_or(0).into(),
            ),
            ("proowner", OWNER.into()),
            ("prokind", "f".into()),
            ("provolatile", "i".into()),
            ("proparallel", "s".into()),
            ("proisstrict", true.into()),
            ("proretset", offered.result.starts_with("TABLE").into()),
            ("pronargs", arguments.into()),
        ]
    };
    FUNCTIONS.iter().enumerate().map(row).collect()
}

fn settings() -> Vec<Row> {
    let row = |(name, value): &(&str, &str)| {
        vec![
            ("name", (*name).into()),
            ("setting", (*value).into()),
            ("boot_val", (*value).into()),
            ("reset_val", (*value).into()),
            ("source", "default".into()),
            ("context", "internal".into()),
            ("vartype", "string".into()),
        ]
    };
    SETTINGS.iter().map(row).collect()
}

fn listed(tables: &Tables) -> Vec<Row> {
    let row = |(name, _): &(String, SchemaRef)| {
        vec![
            ("schemaname", SCHEMA.into()),
            ("tablename", name.as_str().into()),
            ("tableowner", DATABASE.into()),
        ]
    };
    tables.iter().map(row).collect()
}

fn watched(tables: &Tables) -> Vec<Row> {
    let row = |(name, _): &(String, SchemaRef)| {
        vec![
            ("relid", numbers::of_relation(name).unwrap_or(0).into()),
            ("schemaname", SCHEMA.into()),
            ("relname", name.as_str().into()),
        ]
    };
    tables.iter().map(row).collect()
}

/// The number of PostgreSQL's first space for tables.
const SPACE: i64 = 1_663;

fn space() -> Row {
    vec![
        ("oid", SPACE.into()),
        ("spcname", "pg_default".into()),
        ("spcowner", OWNER.into()),
    ]
}

fn zone() -> Row {
    vec![("name", "UTC".into()), ("abbrev", "UTC".into())]
}

fn tables(tables: &Tables) -> Vec<Row> {
    let row = |schema: &str, name: &str, kind: &str| {
        vec![
            ("table_catalog", DATABASE.into()),
            ("table_schema", schema.into()),
            ("table_name", name.into()),
            ("table_type", kind.into()),
            ("is_insertable_into", "NO".into()),
            ("is_typed", "NO".into()),
        ]
    };
    let own = tables
        .iter()
        .map(|(name, _)| row(SCHEMA, name, "BASE TABLE"));
    let system = RELATIONS
        .iter()
        .map(|known| row(known.schema, known.name, "VIEW"));
    own.chain(system).collect()
}

fn columns(tables: &Tables) -> Vec<Row> {
    let own = tables.iter().flat_map(|(table, schema)| {
        let fields = schema.fields().iter().enumerate();
        fields.map(move |(at, field)| {
            let nullable = field.is_nullable();
            column(
                (SCHEMA, table),
                at,
                field.name(),
                field.data_type(),
                nullable,
            )
        })
    });
    let system = RELATIONS.iter().flat_map(|relation| {
        let table = (relation.schema, relation.name);
        let fields = relation.fields().enumerate();
        fields.map(move |(at, (name, kind))| column(table, at, name, &kind, true))
    });
    own.chain(system).collect()
}

fn column(table: (&str, &str), at: usize, name: &str, data: &DataType, nullable: bool) -> Row {
    let kind = kind(data);
    let said = match kind.name().starts_with('_') {
        true => "ARRAY".to_owned(),
        false => type_name(&kind.oid().to_string()).unwrap_or_default(),
    };
    vec![
        ("table_catalog", DATABASE.into()),
        ("table_schema", table.0.into()),
        ("table_name", table.1.into()),
        ("column_name", name.into()),
        ("ordinal_position", (at as i64 + 1).into()),
        ("is_nullable", if nullable { "YES" } else { "NO" }.into()),
        ("data_type", said.as_str().into()),
        ("udt_catalog", DATABASE.into()),
        ("udt_schema", "pg_catalog".into()),
        ("udt_name", kind.name().into()),
        ("is_identity", "NO".into()),
        ("is_generated", "NEVER".into()),
        ("is_updatable", "NO".into()),
    ]
}

fn schemata() -> Vec<Row> {
    let row = |(_, name): &(i64, &str)| {
        vec![
            ("catalog_name", DATABASE.into()),
            ("schema_name", (*name).into()),
            ("schema_owner", DATABASE.into()),
        ]
    };
    numbers::SCHEMAS.iter().map(row).collect()
}
