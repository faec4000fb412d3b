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

/// A value of a catalogue.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Number(i64),
    Text(String),
    Flag(bool),
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

/// The values of a row that are not defaults.
pub type Row = Vec<(&'static str, Cell)>;

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
    let cells = || {
        rows.iter().map(|row| {
            let cell = row.iter().find(|(known, _)| *known == name);
            cell.map(|(_, cell)| cell)
        })
    };
    let number = |cell: Option<&Cell>| match cell {
        Some(Cell::Number(number)) => *number,
        _ => 0,
    };
    let list = |item| {
        let kind = DataType::List(Arc::new(Field::new_list_field(item, true)));
        new_null_array(&kind, rows.len())
    };
    match kind {
        Kind::Text => Arc::new(StringArray::from_iter(cells().map(|cell| match cell {
            Some(Cell::Text(text)) => Some(text.as_str()),
            _ => None,
        }))),
        Kind::Number => Arc::new(Int64Array::from_iter_values(cells().map(number))),
        Kind::Flag => {
            let flags = cells().map(|cell| Some(cell == Some(&Cell::Flag(true))));
            Arc::new(flags.collect::<BooleanArray>())
        }
        Kind::Float => {
            let floats = cells().map(|cell| number(cell) as f64);
            Arc::new(Float64Array::from_iter_values(floats))
        }
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
    fn each_catalogue_is_there_once() {
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
