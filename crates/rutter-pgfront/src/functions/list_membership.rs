//! Membership in lists with PostgreSQL's NULL rules: a comparison with NULL is NULL.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, BooleanArray, ListArray, UInt64Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::Field;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

/// `item = ANY (list)`: NULL if the item is NULL, or if it is not found and some items are NULL; false for
/// an empty list.
pub fn has(function: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    let rows = args.number_rows;
    let [list, item] = args.args.as_slice() else {
        return function.invoke_with_args(args);
    };
    let Some(lists) = Lists::of(list)? else {
        return function.invoke_with_args(args);
    };
    let items = Values::of(item)?;
    if lists.are_known() && items.are_known() {
        return function.invoke_with_args(args);
    }
    let found = function.invoke_with_args(args)?.into_array(rows)?;
    let found = found.as_boolean();
    let answer = |row: usize| match lists.state(row)? {
        Items::None => Some(false),
        _ if !items.is_known(row) => None,
        _ if found.is_valid(row) && found.value(row) => Some(true),
        Items::Known => Some(false),
        Items::SomeNull => None,
    };
    Ok(of_rows((0..rows).map(answer).collect()))
}

/// `list @> items`: a NULL item is in no list.
pub fn has_all(function: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    let rows = args.number_rows;
    let [list, wanted] = args.args.as_slice() else {
        return function.invoke_with_args(args);
    };
    let (Some(lists), Some(wanted)) = (Lists::of(list)?, Lists::of(wanted)?) else {
        return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None)));
    };
    if lists.are_known() && wanted.are_known() {
        return function.invoke_with_args(args);
    }
    let found = function.invoke_with_args(args)?.into_array(rows)?;
    let found = found.as_boolean();
    let answer = |row: usize| {
        lists.state(row)?;
        Some(match wanted.state(row)? {
            Items::None => true,
            Items::SomeNull => false,
            Items::Known => found.is_valid(row) && found.value(row),
        })
    };
    Ok(of_rows((0..rows).map(answer).collect()))
}

/// `list && list`: NULL items are never common.
pub fn has_any(function: &ScalarUDF, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    let rows = args.number_rows;
    let [left, right] = args.args.as_slice() else {
        return function.invoke_with_args(args);
    };
    let (Some(left), Some(right)) = (Lists::of(left)?, Lists::of(right)?) else {
        return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None)));
    };
    if left.are_known() && right.are_known() {
        return function.invoke_with_args(args);
    }
    args.args[1] = right.known()?;
    let found = function.invoke_with_args(args)?.into_array(rows)?;
    let found = found.as_boolean();
    let answer = |row: usize| {
        left.state(row)?;
        right.state(row)?;
        Some(found.is_valid(row) && found.value(row))
    };
    Ok(of_rows((0..rows).map(answer).collect()))
}

fn of_rows(answers: BooleanArray) -> ColumnarValue {
    ColumnarValue::Array(Arc::new(answers))
}

/// A value for each row, or one for all.
struct Values {
    array: ArrayRef,
    is_one: bool,
}

impl Values {
    fn of(value: &ColumnarValue) -> Result<Self> {
        let (array, is_one) = match value {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array()?, true),
        };
        Ok(Self { array, is_one })
    }

    fn at(&self, row: usize) -> usize {
        if self.is_one { 0 } else { row }
    }

    fn is_known(&self, row: usize) -> bool {
        !self.array.is_null(self.at(row))
    }

    fn are_known(&self) -> bool {
        self.array.logical_null_count() == 0
    }
}

/// The items of a list that is not NULL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    None,
    Known,
    SomeNull,
}

/// A list for each row, or one for all.
struct Lists {
    lists: ListArray,
    is_one: bool,
}

impl Lists {
    /// `None`: another type, such as untyped NULL.
    fn of(value: &ColumnarValue) -> Result<Option<Self>> {
        let Values { array, is_one } = Values::of(value)?;
        let lists = array.as_list_opt::<i32>().cloned();
        Ok(lists.map(|lists| Self { lists, is_one }))
    }

    /// Returns whether no list and no item is NULL.
    fn are_known(&self) -> bool {
        self.lists.null_count() == 0 && self.lists.values().logical_null_count() == 0
    }

    /// The items of a row's list; `None`: the list is NULL.
    fn state(&self, row: usize) -> Option<Items> {
        let at = if self.is_one { 0 } else { row };
        if self.lists.is_null(at) {
            return None;
        }
        let items = self.lists.value(at);
        Some(match items.len() {
            0 => Items::None,
            _ if items.logical_null_count() > 0 => Items::SomeNull,
            _ => Items::Known,
        })
    }

    /// Removes NULL items from the lists.
    fn known(&self) -> Result<ColumnarValue> {
        let values = self.lists.values();
        let nulls = values.logical_nulls();
        let is_known = |at: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at));
        let (mut kept, mut lengths) = (Vec::new(), Vec::new());
        for range in self.lists.value_offsets().windows(2) {
            let before = kept.len();
            let range = range[0] as usize..range[1] as usize;
            kept.extend(range.filter(is_known).map(|at| at as u64));
            lengths.push(kept.len() - before);
        }
        let item = Arc::new(Field::new_list_field(self.lists.value_type(), true));
        let lists = Arc::new(ListArray::try_new(
            item,
            OffsetBuffer::from_lengths(lengths),
            take(values, &UInt64Array::from(kept), None)?,
            self.lists.nulls().cloned(),
        )?);
        Ok(match self.is_one {
            true => ColumnarValue::Scalar(ScalarValue::List(lists)),
            false => ColumnarValue::Array(lists),
        })
    }
}
