//! The tables of `pg_catalog`.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use pgwire::api::Type;

use super::{DATABASE, SCHEMA};
use crate::server::kind;

/// Numbers of schemas, as PostgreSQL gives them to its own.
const SYSTEM: i64 = 11;
const PUBLIC: i64 = 2_200;
/// PostgreSQL's number of the first table that is not its own.
const FIRST: i64 = 16_384;
/// The owner of everything.
const OWNER: i64 = 10;

type Named = (&'static str, ArrayRef);

/// All of them; `tables` are those of the schema `public`.
pub fn all(tables: &[(String, SchemaRef)]) -> Result<Vec<(&'static str, MemTable)>> {
    let all = vec![
        ("pg_class", classes(tables)),
        ("pg_attribute", attributes(tables)),
        ("pg_type", types()),
        (
            "pg_namespace",
            vec![
                ("oid", numbers([SYSTEM, PUBLIC])),
                ("nspname", texts(["pg_catalog", SCHEMA])),
                ("nspowner", numbers([OWNER, OWNER])),
            ],
        ),
        (
            "pg_database",
            vec![
                ("oid", numbers([1])),
                ("datname", texts([DATABASE])),
                ("datdba", numbers([OWNER])),
                ("datallowconn", flags([true])),
                ("datistemplate", flags([false])),
            ],
        ),
        (
            "pg_roles",
            vec![
                ("oid", numbers([OWNER])),
                ("rolname", texts([DATABASE])),
                ("rolsuper", flags([false])),
            ],
        ),
        ("pg_am", nothing(&["oid"], &["amname"])),
        (
            "pg_attrdef",
            nothing(&["oid", "adrelid", "adnum"], &["adbin"]),
        ),
        ("pg_collation", nothing(&["oid"], &["collname"])),
        (
            "pg_description",
            nothing(&["objoid", "classoid", "objsubid"], &["description"]),
        ),
        (
            "pg_extension",
            nothing(&["oid"], &["extname", "extversion"]),
        ),
        (
            "pg_index",
            nothing(&["indexrelid", "indrelid"], &["indkey"]),
        ),
        (
            "pg_constraint",
            nothing(&["oid", "conrelid"], &["conname", "contype"]),
        ),
        ("pg_enum", nothing(&["oid", "enumtypid"], &["enumlabel"])),
        ("pg_range", nothing(&["rngtypid", "rngsubtype"], &[])),
    ];
    all.into_iter()
        .map(|(name, columns)| {
            let batch = RecordBatch::try_from_iter(columns)?;
            Ok((name, MemTable::try_new(batch.schema(), vec![vec![batch]])?))
        })
        .collect()
}

fn classes(tables: &[(String, SchemaRef)]) -> Vec<Named> {
    let count = tables.len();
    let same = |value: i64| numbers(vec![value; count]);
    let no = || flags(vec![false; count]);
    let names = tables.iter().map(|(name, _)| name.as_str());
    let natts = tables
        .iter()
        .map(|(_, schema)| schema.fields().len() as i64);
    let mut columns = vec![
        ("oid", numbers(FIRST..FIRST + count as i64)),
        ("relname", texts(names)),
        ("relnamespace", same(PUBLIC)),
        ("relowner", same(OWNER)),
        ("relkind", texts(vec!["r"; count])),
        ("relpersistence", texts(vec!["p"; count])),
        ("relreplident", texts(vec!["n"; count])),
        ("relnatts", numbers(natts)),
    ];
    let zeros = [
        "relam",
        "relchecks",
        "reltablespace",
        "reloftype",
        "reltoastrelid",
        "relpages",
        "reltuples",
    ];
    columns.extend(zeros.map(|name| (name, same(0))));
    let flags = [
        "relhasindex",
        "relhasrules",
        "relhastriggers",
        "relrowsecurity",
        "relforcerowsecurity",
        "relispartition",
        "relhassubclass",
    ];
    columns.extend(flags.map(|name| (name, no())));
    columns
}

fn attributes(tables: &[(String, SchemaRef)]) -> Vec<Named> {
    let mut rows = Vec::new();
    for (table, (_, schema)) in tables.iter().enumerate() {
        for (at, field) in schema.fields().iter().enumerate() {
            rows.push((FIRST + table as i64, at as i64 + 1, field));
        }
    }
    let count = rows.len();
    let of = |value: fn(&Type) -> i64| rows.iter().map(move |row| value(&kind(row.2.data_type())));
    vec![
        ("attrelid", numbers(rows.iter().map(|row| row.0))),
        ("attnum", numbers(rows.iter().map(|row| row.1))),
        (
            "attname",
            texts(rows.iter().map(|row| row.2.name().as_str())),
        ),
        ("atttypid", numbers(of(|kind| i64::from(kind.oid())))),
        (
            "attnotnull",
            flags(rows.iter().map(|row| !row.2.is_nullable())),
        ),
        ("atttypmod", numbers(vec![-1; count])),
        ("attlen", numbers(vec![-1; count])),
        ("attcollation", numbers(vec![0; count])),
        ("attisdropped", flags(vec![false; count])),
        ("atthasdef", flags(vec![false; count])),
        ("attidentity", texts(vec![""; count])),
        ("attgenerated", texts(vec![""; count])),
    ]
}

/// The types of columns, and those of which they are lists.
pub const TYPES: [Type; 10] = [
    Type::BOOL,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::FLOAT8,
    Type::TEXT,
    Type::TEXT_ARRAY,
    Type::TIMESTAMPTZ,
    Type::VARCHAR,
    Type::NAME,
];

fn types() -> Vec<Named> {
    let count = TYPES.len();
    let element = |kind: &Type| i64::from(*kind == Type::TEXT_ARRAY) * i64::from(Type::TEXT.oid());
    let list = |kind: &Type| i64::from(*kind == Type::TEXT) * i64::from(Type::TEXT_ARRAY.oid());
    let zeros = || numbers(vec![0; count]);
    vec![
        (
            "oid",
            numbers(TYPES.iter().map(|kind| i64::from(kind.oid()))),
        ),
        ("typname", texts(TYPES.iter().map(Type::name))),
        ("typnamespace", numbers(vec![SYSTEM; count])),
        ("typelem", numbers(TYPES.iter().map(element))),
        ("typarray", numbers(TYPES.iter().map(list))),
        ("typtype", texts(vec!["b"; count])),
        ("typdelim", texts(vec![","; count])),
        ("typrelid", zeros()),
        ("typbasetype", zeros()),
        ("typcollation", zeros()),
        ("typlen", numbers(vec![-1; count])),
        ("typnotnull", flags(vec![false; count])),
    ]
}

fn nothing(of_numbers: &[&'static str], of_texts: &[&'static str]) -> Vec<Named> {
    let of_numbers = of_numbers.iter().map(|name| (*name, numbers([])));
    let of_texts = of_texts.iter().map(|name| (*name, texts([])));
    of_numbers.chain(of_texts).collect()
}

fn numbers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn flags(values: impl IntoIterator<Item = bool>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<BooleanArray>())
}
