//! The rows of the system catalogues, for the one database.

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use pgwire::api::Type;

use super::SCHEMA;
use super::columns::{RELATIONS, Row};
use super::oids::{self, SYSTEM};
use crate::application::{Application, FIRST_FUNCTION, FunctionDescription};
use crate::functions::type_name;
use crate::values::kind;

/// The OID of the only role.
const OWNER: i64 = 10;

/// The content of the database.
pub struct Database<'a> {
    application: &'a Application,
    /// The tables of the schema `public`, in the order of their names.
    tables: &'a [(String, SchemaRef)],
}

impl Database<'_> {
    fn oid_of(&self, relation: &str) -> i64 {
        oids::of_relation(self.application, relation).unwrap_or(0)
    }
}

/// Makes the rows of a catalogue.
type Rows = fn(&Database<'_>) -> Vec<Row>;

/// Catalogues that have rows; all others are empty.
const FILLED: &[(&str, Rows)] = &[
    ("pg_class", classes),
    ("pg_attribute", attributes),
    ("pg_type", |_| types()),
    ("pg_namespace", |_| namespaces()),
    ("pg_database", |db| vec![database(db)]),
    ("pg_roles", |db| vec![role(db)]),
    ("pg_user", |db| vec![user(db)]),
    ("pg_proc", functions),
    ("pg_settings", settings),
    ("pg_tables", listed),
    ("pg_stat_user_tables", watched),
    ("pg_tablespace", |_| vec![space()]),
    ("pg_timezone_names", |_| vec![zone()]),
    ("tables", tables),
    ("columns", columns),
    ("schemata", schemata),
    ("enabled_roles", |db| {
        vec![vec![("role_name", db.application.database.into())]]
    }),
    ("information_schema_catalog_name", |db| {
        vec![vec![("catalog_name", db.application.database.into())]]
    }),
];

/// The rows of a catalogue.
pub fn rows(name: &str, tables: &[(String, SchemaRef)], application: &Application) -> Vec<Row> {
    let filled = FILLED.iter().find(|(known, _)| *known == name);
    let database = Database {
        application,
        tables,
    };
    filled.map_or_else(Vec::new, |(_, rows)| rows(&database))
}

/// Returns whether a catalogue never has rows.
pub fn is_empty(name: &str) -> bool {
    let is = |known: &str| known == name;
    RELATIONS.iter().any(|relation| is(relation.name)) && !FILLED.iter().any(|(known, _)| is(known))
}

fn classes(db: &Database<'_>) -> Vec<Row> {
    let own = db
        .tables
        .iter()
        .map(|(name, schema)| class(db, name, oids::of_schema(SCHEMA), schema.fields().len()));
    let system = RELATIONS.iter().map(|relation| {
        let schema = oids::of_schema(relation.schema);
        class(db, relation.name, schema, relation.fields().count())
    });
    own.chain(system).collect()
}

fn class(db: &Database<'_>, name: &str, schema: Option<i64>, columns: usize) -> Row {
    vec![
        ("oid", db.oid_of(name).into()),
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

fn attributes(db: &Database<'_>) -> Vec<Row> {
    let own = db.tables.iter().flat_map(|(table, schema)| {
        let fields = schema.fields().iter().enumerate();
        fields.map(move |(at, field)| {
            let needed = !field.is_nullable();
            attribute(db, table, at, field.name(), field.data_type(), needed)
        })
    });
    let system = RELATIONS.iter().flat_map(|relation| {
        let fields = relation.fields().enumerate();
        fields.map(|(at, (name, kind))| attribute(db, relation.name, at, name, &kind, false))
    });
    own.chain(system).collect()
}

fn attribute(
    db: &Database<'_>,
    table: &str,
    at: usize,
    name: &str,
    data: &DataType,
    needed: bool,
) -> Row {
    let kind = kind(data);
    vec![
        ("attrelid", db.oid_of(table).into()),
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

/// Pseudo types and ranges, which no column has.
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

/// The bytes of a value; -1 if they vary.
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
    oids::SCHEMAS.iter().map(row).collect()
}

fn database(db: &Database<'_>) -> Row {
    vec![
        ("oid", 1.into()),
        ("datname", db.application.database.into()),
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

fn role(db: &Database<'_>) -> Row {
    vec![
        ("oid", OWNER.into()),
        ("rolname", db.application.database.into()),
        ("rolinherit", true.into()),
        ("rolcanlogin", true.into()),
        ("rolconnlimit", (-1).into()),
        ("rolpassword", "********".into()),
    ]
}

fn user(db: &Database<'_>) -> Row {
    vec![
        ("usename", db.application.database.into()),
        ("usesysid", OWNER.into()),
        ("passwd", "********".into()),
    ]
}

fn functions(db: &Database<'_>) -> Vec<Row> {
    let row = |(at, offered): (usize, &FunctionDescription)| {
        let arguments = offered.arguments.split(", ").count() as i64;
        vec![
            ("oid", (FIRST_FUNCTION + at as i64).into()),
            ("proname", offered.name.into()),
            ("pronamespace", oids::of_schema(SCHEMA).unwrap_or(0).into()),
            ("proowner", OWNER.into()),
            ("prokind", "f".into()),
            ("provolatile", "i".into()),
            ("proparallel", "s".into()),
            ("proisstrict", true.into()),
            ("proretset", offered.result.starts_with("TABLE").into()),
            ("pronargs", arguments.into()),
        ]
    };
    db.application
        .descriptions
        .iter()
        .enumerate()
        .map(row)
        .collect()
}

fn settings(db: &Database<'_>) -> Vec<Row> {
    let row = |(name, value): (&'static str, String)| {
        vec![
            ("name", name.into()),
            ("setting", value.as_str().into()),
            ("boot_val", value.as_str().into()),
            ("reset_val", value.as_str().into()),
            ("source", "default".into()),
            ("context", "internal".into()),
            ("vartype", "string".into()),
        ]
    };
    db.application.settings().map(row).collect()
}

fn listed(db: &Database<'_>) -> Vec<Row> {
    let row = |(name, _): &(String, SchemaRef)| {
        vec![
            ("schemaname", SCHEMA.into()),
            ("tablename", name.as_str().into()),
            ("tableowner", db.application.database.into()),
        ]
    };
    db.tables.iter().map(row).collect()
}

fn watched(db: &Database<'_>) -> Vec<Row> {
    let row = |(name, _): &(String, SchemaRef)| {
        vec![
            ("relid", db.oid_of(name).into()),
            ("schemaname", SCHEMA.into()),
            ("relname", name.as_str().into()),
        ]
    };
    db.tables.iter().map(row).collect()
}

/// PostgreSQL's OID of the default tablespace.
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

fn tables(db: &Database<'_>) -> Vec<Row> {
    let row = |schema: &str, name: &str, kind: &str| {
        vec![
            ("table_catalog", db.application.database.into()),
            ("table_schema", schema.into()),
            ("table_name", name.into()),
            ("table_type", kind.into()),
            ("is_insertable_into", "NO".into()),
            ("is_typed", "NO".into()),
        ]
    };
    let own = db
        .tables
        .iter()
        .map(|(name, _)| row(SCHEMA, name, "BASE TABLE"));
    let system = RELATIONS
        .iter()
        .map(|known| row(known.schema, known.name, "VIEW"));
    own.chain(system).collect()
}

fn columns(db: &Database<'_>) -> Vec<Row> {
    let own = db.tables.iter().flat_map(|(table, schema)| {
        let fields = schema.fields().iter().enumerate();
        fields.map(move |(at, field)| {
            let nullable = field.is_nullable();
            column(
                db,
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
        fields.map(move |(at, (name, kind))| column(db, table, at, name, &kind, true))
    });
    own.chain(system).collect()
}

fn column(
    db: &Database<'_>,
    table: (&str, &str),
    at: usize,
    name: &str,
    data: &DataType,
    nullable: bool,
) -> Row {
    let kind = kind(data);
    let said = match kind.name().starts_with('_') {
        true => "ARRAY".to_owned(),
        false => type_name(&kind.oid().to_string()).unwrap_or_default(),
    };
    vec![
        ("table_catalog", db.application.database.into()),
        ("table_schema", table.0.into()),
        ("table_name", table.1.into()),
        ("column_name", name.into()),
        ("ordinal_position", (at as i64 + 1).into()),
        ("is_nullable", if nullable { "YES" } else { "NO" }.into()),
        ("data_type", said.as_str().into()),
        ("udt_catalog", db.application.database.into()),
        ("udt_schema", "pg_catalog".into()),
        ("udt_name", kind.name().into()),
        ("is_identity", "NO".into()),
        ("is_generated", "NEVER".into()),
        ("is_updatable", "NO".into()),
    ]
}

fn schemata(db: &Database<'_>) -> Vec<Row> {
    let row = |(_, name): &(i64, &str)| {
        vec![
            ("catalog_name", db.application.database.into()),
            ("schema_name", (*name).into()),
            ("schema_owner", db.application.database.into()),
        ]
    };
    oids::SCHEMAS.iter().map(row).collect()
}
