//! Columns of attribute sets. Each set is read once per batch, however many routes share it.

use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, ListBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use rutter_rib::AttrSet;
use rutter_wire::attr::Origin;

use super::columns::Column;

/// The attribute sets of a batch.
pub struct Sets {
    /// The row of each set by its address. The address is valid while a snapshot or `held` keeps the set.
    known: HashMap<usize, i32>,
    keys: Vec<i32>,
    columns: Vec<(Column, Values)>,
    /// The sets, if nothing else keeps them alive.
    held: Option<Vec<AttrSet>>,
}

enum Values {
    Text(StringBuilder),
    List(ListBuilder<StringBuilder>),
}

impl Sets {
    /// Builds these columns.
    pub fn new(columns: &[Column]) -> Self {
        let of_set = |column: &&Column| column.is_text_of_set() || column.is_list();
        Self {
            known: HashMap::new(),
            keys: Vec::new(),
            columns: columns
                .iter()
                .filter(of_set)
                .map(|column| (*column, Values::of(*column)))
                .collect(),
            held: None,
        }
    }

    /// Keeps the sets alive, so that their addresses are not reused.
    pub fn hold(&mut self) {
        self.held = Some(Vec::new());
    }

    /// Returns whether any column reads the sets.
    pub fn is_wanted(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Adds a route's set.
    pub fn push(&mut self, set: &AttrSet) {
        let next = self.known.len() as i32;
        let key = *self
            .known
            .entry(set.block().as_ptr().addr())
            .or_insert(next);
        self.keys.push(key);
        if key == next {
            if let Some(held) = &mut self.held {
                held.push(set.clone());
            }
            for (column, values) in &mut self.columns {
                values.push(*column, set);
            }
        }
    }

    /// Returns the columns and starts the next batch.
    pub fn finish(&mut self) -> Result<Vec<(Column, ArrayRef)>> {
        self.known.clear();
        let keys = Int32Array::from(std::mem::take(&mut self.keys));
        let finish = |(column, values): &mut (Column, Values)| Ok((*column, values.finish(&keys)?));
        self.columns.iter_mut().map(finish).collect()
    }
}

impl Values {
    fn of(column: Column) -> Self {
        if column.is_list() {
            let item = Arc::new(Field::new_list_field(DataType::Utf8, false));
            Values::List(ListBuilder::new(StringBuilder::new()).with_field(item))
        } else {
            Values::Text(StringBuilder::new())
        }
    }

    fn push(&mut self, column: Column, set: &AttrSet) {
        let attributes = set.attributes();
        match (self, column) {
            (Values::Text(out), Column::Origin) => {
                out.append_option(attributes.origin().map(origin_name));
            }
            (Values::Text(out), Column::AsPath) => append_or_null(out, attributes.as_path()),
            (Values::Text(out), _) => append_or_null(out, set.next_hop()),
            (Values::List(out), Column::Communities) => append(out, attributes.communities()),
            (Values::List(out), Column::ExtendedCommunities) => {
                append(out, attributes.extended_communities());
            }
            (Values::List(out), _) => append(out, attributes.large_communities()),
        }
    }

    fn finish(&mut self, keys: &Int32Array) -> Result<ArrayRef> {
        Ok(match self {
            Values::Text(values) => {
                let values = Arc::new(values.finish());
                let keys = match values.null_count() {
                    0 => keys.clone(),
                    _ => keys_of_values(keys, &values),
                };
                Arc::new(DictionaryArray::try_new(keys, values)?)
            }
            Values::List(values) => take(&values.finish() as &dyn Array, keys, None)?,
        })
    }
}

/// The keys, null where their value is: a reader need not look at the values to find nulls.
fn keys_of_values(keys: &Int32Array, values: &StringArray) -> Int32Array {
    let has_value = |key: &i32| values.is_valid(*key as usize);
    keys.iter().map(|key| key.filter(has_value)).collect()
}

fn append_or_null(out: &mut StringBuilder, value: Option<impl Display>) {
    match value {
        Some(value) => {
            let _ = write!(out, "{value}");
            out.append_value("");
        }
        None => out.append_null(),
    }
}

fn append(out: &mut ListBuilder<StringBuilder>, values: impl Iterator<Item = impl Display>) {
    for value in values {
        let _ = write!(out.values(), "{value}");
        out.values().append_value("");
    }
    out.append(true);
}

/// The name of an ORIGIN in every table.
fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Igp => "igp",
        Origin::Egp => "egp",
        Origin::Incomplete => "incomplete",
    }
}
