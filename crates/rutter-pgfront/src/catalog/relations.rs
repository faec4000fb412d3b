//! The rows of the system catalogues, for the one database.

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use pgwire::api::Type;

use super::SCHEMA;
use super::columns::{RELATIONS, Row};
use super::oids::{self, SYSTEM};
use crate::application::{Application, FIRST_FUNCTION, FunctionDescription};
use crate::functions::type_name;
use crate::values::kind;

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
    ("pg_tablespace", |_| {
        vec![Row::of("oid=1663;spcname=pg_default;spcowner=10")]
    }),
    ("pg_timezone_names", |_| {
        vec![Row::of("name=UTC;abbrev=UTC")]
    }),
    ("tables", tables),
    ("columns", columns),
    ("schemata", schemata),
    ("enabled_roles", |db| {
        vec![Row::default().with("role_name", db.application.database)]
    }),
    ("information_schema_catalog_name", |db| {
        vec![Row::default().with("catalog_name", db.application.database)]
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
    Row::of("relkind=r;relpersistence=p;relreplident=n;reltuples=-1;relispopulated=t;relowner=10")
        .with("oid", db.oid_of(name))
        .with("relname", name)
        .with("relnamespace", schema.unwrap_or(0))
        .with("relnatts", columns)
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
    Row::of(
        "atttypmod=-1;attstattarget=-1;attstorage=p;attcompression=;attidentity=;attgenerated=;attislocal=t",
    )
    .with("attrelid", db.oid_of(table))
    .with("attnum", at + 1)
    .with("attname", name)
    .with("atttypid", kind.oid())
    .with("attnotnull", flag(needed))
    .with("attlen", length(&kind))
}

fn flag(value: bool) -> &'static str {
    if value { "t" } else { "f" }
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
    Row::of("typowner=10;typtype=b;typdelim=,;typtypmod=-1;typisdefined=t")
        .with("oid", kind.oid())
        .with("typname", kind.name())
        .with("typnamespace", SYSTEM)
        .with("typelem", element.map_or(0, number))
        .with("typarray", number(&format!("_{}", kind.name())))
        .with("typcategory", category(kind))
        .with("typlen", length(kind))
        .with("typinput", input)
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
        let row = Row::of("nspowner=10").with("oid", number);
        row.with("nspname", name)
    };
    oids::SCHEMAS.iter().map(row).collect()
}

fn database(db: &Database<'_>) -> Row {
    Row::of(
        "oid=1;datdba=10;encoding=6;datlocprovider=c;datallowconn=t;datconnlimit=-1;dattablespace=1663;datcollate=C;datctype=C",
    )
    .with("datname", db.application.database)
}

fn role(db: &Database<'_>) -> Row {
    Row::of("oid=10;rolinherit=t;rolcanlogin=t;rolconnlimit=-1;rolpassword=********")
        .with("rolname", db.application.database)
}

fn user(db: &Database<'_>) -> Row {
    Row::of("usesysid=10;passwd=********").with("usename", db.application.database)
}

fn functions(db: &Database<'_>) -> Vec<Row> {
    let row = |(at, offered): (usize, &FunctionDescription)| {
        Row::of("proowner=10;prokind=f;provolatile=i;proparallel=s;proisstrict=t")
            .with("oid", FIRST_FUNCTION + at as i64)
            .with("proname", offered.name)
            .with("pronamespace", oids::of_schema(SCHEMA).unwrap_or(0))
            .with("proretset", flag(offered.result.starts_with("TABLE")))
            .with("pronargs", offered.arguments.split(", ").count())
    };
    let offered = db.application.descriptions.iter();
    offered.enumerate().map(row).collect()
}

fn settings(db: &Database<'_>) -> Vec<Row> {
    let row = |(name, value): (&'static str, String)| {
        Row::of("source=default;context=internal;vartype=string")
            .with("name", name)
            .with("setting", &value)
            .with("boot_val", &value)
            .with("reset_val", &value)
    };
    db.application.settings().map(row).collect()
}

fn listed(db: &Database<'_>) -> Vec<Row> {
    let row = |(name, _): &(String, SchemaRef)| {
        Row::of("schemaname=public")
            .with("tablename", name)
            .with("tableowner", db.application.database)
    };
    db.tables.iter().map(row).collect()
}

fn watched(db: &Database<'_>) -> Vec<Row> {
    let row = |(name, _): &(String, SchemaRef)| {
        Row::of("schemaname=public")
            .with("relid", db.oid_of(name))
            .with("relname", name)
    };
    db.tables.iter().map(row).collect()
}

fn tables(db: &Database<'_>) -> Vec<Row> {
    let row = |schema: &str, name: &str, kind: &str| {
        Row::of("is_insertable_into=NO;is_typed=NO")
            .with("table_catalog", db.application.database)
            .with("table_schema", schema)
            .with("table_name", name)
            .with("table_type", kind)
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
    let data_type = match kind.name().starts_with('_') {
        true => "ARRAY".to_owned(),
        false => type_name(&kind.oid().to_string()).unwrap_or_default(),
    };
    Row::of("udt_schema=pg_catalog;is_identity=NO;is_generated=NEVER;is_updatable=NO")
        .with("table_catalog", db.application.database)
        .with("table_schema", table.0)
        .with("table_name", table.1)
        .with("column_name", name)
        .with("ordinal_position", at + 1)
        .with("is_nullable", if nullable { "YES" } else { "NO" })
        .with("data_type", data_type)
        .with("udt_catalog", db.application.database)
        .with("udt_name", kind.name())
}

fn schemata(db: &Database<'_>) -> Vec<Row> {
    let row = |(_, name): &(i64, &str)| {
        Row::default()
            .with("catalog_name", db.application.database)
            .with("schema_name", name)
            .with("schema_owner", db.application.database)
    };
    oids::SCHEMAS.iter().map(row).collect()
}
