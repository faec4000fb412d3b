//! The columns of the system catalogues: all that PostgreSQL has, so that every query of a tool finds them.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::datasource::MemTable;
use datafusion::error::Result;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Flag,
    Float,
    Time,
    Texts,
    Numbers,
}

/// One catalogue.
#[derive(Debug)]
pub struct Relation {
    /// PostgreSQL's OID, or one that PostgreSQL does not use.
    pub number: i64,
    pub schema: &'static str,
    pub name: &'static str,
    columns: Vec<(&'static str, Kind)>,
}

/// All catalogues.
pub static RELATIONS: LazyLock<Vec<Relation>> = LazyLock::new(|| {
    let lines = include_str!("columns.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.enumerate().filter_map(relation).collect()
});

fn relation((at, line): (usize, &'static str)) -> Option<Relation> {
    let mut words = line.split(' ');
    let number = words.next()?.parse();
    let (schema, name) = words.next()?.split_once('.')?;
    Some(Relation {
        number: number.unwrap_or(UNNUMBERED + at as i64),
        schema,
        name,
        columns: words.map(column).collect(),
    })
}

fn column(word: &'static str) -> (&'static str, Kind) {
    let (name, kind) = word.split_once(':').unwrap_or((word, ""));
    let kind = match kind {
        "number" => Kind::Number,
        "flag" => Kind::Flag,
        "float" => Kind::Float,
        "time" => Kind::Time,
        "texts" => Kind::Texts,
        "numbers" => Kind::Numbers,
        _ => Kind::Text,
    };
    (name, kind)
}

/// The values of a row that are not defaults, as text: numbers in digits, flags as `t`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(Vec<(&'static str, String)>);

impl Row {
    /// Constant values: `relkind=r;reltuples=-1`.
    pub fn of(values: &'static str) -> Self {
        let values = values.split(';').filter_map(|value| value.split_once('='));
        Self(
            values
                .map(|(name, value)| (name, value.to_owned()))
                .collect(),
        )
    }

    /// Adds a value.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.0.push((name, value.to_string()));
        self
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> i64 {
        self.get(name)
            .and_then(|value| value.parse().ok())
            .unwrap_or(0)
    }
}

impl Relation {
    /// The catalogue as a table. Values that a row lacks are zero, false or NULL.
    pub fn table(&self, rows: &[Row]) -> Result<MemTable> {
        let columns = self.columns.iter().map(|(name, kind)| {
            debug_assert!(!name.is_empty(), "{}", self.name);
            (*name, array(name, *kind, rows), true)
        });
        let batch = RecordBatch::try_from_iter_with_nullable(columns)?;
        MemTable::try_new(batch.schema(), vec![vec![batch]])
    }

    /// The names of its columns with their Arrow types.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, DataType)> {
        let of = |kind| array("", kind, &[]).data_type().clone();
        self.columns
            .iter()
            .map(move |(name, kind)| (*name, of(*kind)))
    }
}

fn array(name: &str, kind: Kind, rows: &[Row]) -> ArrayRef {
    let numbers = || rows.iter().map(|row| row.number(name));
    let list = |item| {
        let kind = DataType::List(Arc::new(Field::new_list_field(item, true)));
        new_null_array(&kind, rows.len())
    };
    match kind {
        Kind::Text => Arc::new(
            rows.iter()
                .map(|row| row.get(name))
                .collect::<StringArray>(),
        ),
        Kind::Number => Arc::new(Int64Array::from_iter_values(numbers())),
        Kind::Flag => {
            let flags = rows.iter().map(|row| Some(row.get(name) == Some("t")));
            Arc::new(flags.collect::<BooleanArray>())
        }
        Kind::Float => Arc::new(Float64Array::from_iter_values(numbers().map(|n| n as f64))),
        Kind::Time => {
            let none = TimestampMicrosecondArray::from(vec![None; rows.len()]);
            Arc::new(none.with_timezone("UTC"))
        }
        Kind::Texts => list(DataType::Utf8),
        Kind::Numbers => list(DataType::Int64),
    }
}

/// The first OID of catalogues whose own OID differs between versions.
const UNNUMBERED: i64 = 12_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogue_names_and_numbers_are_unique() {
        let mut names: Vec<_> = RELATIONS
            .iter()
            .map(|known| (known.schema, known.name))
            .collect();
        let mut numbers: Vec<_> = RELATIONS.iter().map(|known| known.number).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        numbers.sort();
        numbers.dedup();
        assert_eq!((names.len(), numbers.len()), (count, count));
        assert!(names.contains(&("pg_catalog", "pg_class")));
        assert!(names.contains(&("information_schema", "columns")));
    }
}
