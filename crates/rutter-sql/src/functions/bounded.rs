//! Functions whose results may be far larger than what they are given: what a call makes counts against the memory
//! of queries before it is made.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry as _;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::prelude::SessionContext;

/// How much a call makes, in octets.
type Bound = fn(&[ArrayRef]) -> Result<usize>;

/// The engine's functions that are bounded.
const FUNCTIONS: [(&str, Bound); 10] = [
    ("repeat", repeated),
    ("array_repeat", repeated),
    ("array_resize", resized),
    ("replace", replaced),
    ("concat", joined),
    ("concat_ws", separated),
    ("array_to_string", separated_items),
    ("array_replace_all", replaced_items),
    ("range", counted),
    ("generate_series", counted),
];

/// Rows that one value may be copied for.
const BATCH: usize = 8192;

/// A function that asks for its memory first.
pub struct Bounded {
    inner: Arc<ScalarUDF>,
    bound: Bound,
    pool: Arc<dyn MemoryPool>,
}

impl Bounded {
    /// `||` of texts.
    pub fn join(inner: ScalarUDF, pool: &Arc<dyn MemoryPool>) -> ScalarUDF {
        Self::wrap(Arc::new(inner), joined, pool)
    }

    fn wrap(inner: Arc<ScalarUDF>, bound: Bound, pool: &Arc<dyn MemoryPool>) -> ScalarUDF {
        ScalarUDF::from(Self {
            inner,
            bound,
            pool: Arc::clone(pool),
        })
    }
}

/// Puts bounded functions in the place of the engine's own.
pub fn register(context: &SessionContext, pool: &Arc<dyn MemoryPool>) {
    for (name, bound) in FUNCTIONS {
        // The build may have left a function out.
        if let Ok(inner) = context.udf(name) {
            context.register_udf(Bounded::wrap(inner, bound, pool));
        }
    }
}

impl fmt::Debug for Bounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arguments)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        // One value for all rows is copied for each of them sooner or later.
        let copies = match args.args.iter().all(is_scalar) {
            true => BATCH / args.number_rows.clamp(1, BATCH),
            false => 1,
        };
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let octets = (self.bound)(&arrays)?.saturating_mul(copies);
        let reservation = MemoryConsumer::new(self.name().to_owned()).register(&self.pool);
        reservation.try_grow(octets)?;
        self.inner.invoke_with_args(args)
    }
}

/// Each value so many times.
fn repeated(args: &[ArrayRef]) -> Result<usize> {
    let [values, counts, ..] = args else {
        return Ok(0);
    };
    let sizes = sizes(values)?;
    Ok(sum(numbers(counts)?.iter().zip(sizes).map(
        |(count, size)| size.max(1).saturating_mul(natural(count)),
    )))
}

/// Lists of so many items.
fn resized(args: &[ArrayRef]) -> Result<usize> {
    let [_, counts, rest @ ..] = args else {
        return Ok(0);
    };
    let item = rest.first().map_or(Ok(ITEM), |item| {
        Ok::<_, datafusion::error::DataFusionError>(sizes(item)?.into_iter().max().unwrap_or(0))
    })?;
    let counts = numbers(counts)?;
    let items = counts.iter().map(natural);
    Ok(sum(items.map(|count| count.saturating_mul(item.max(ITEM)))))
}

/// Texts with each occurrence of one text replaced by another.
fn replaced(args: &[ArrayRef]) -> Result<usize> {
    let [texts, from, to, ..] = args else {
        return Ok(0);
    };
    let (texts, from, to) = (sizes(texts)?, sizes(from)?, sizes(to)?);
    Ok(sum(texts.iter().zip(from).zip(to).map(
        |((text, from), to)| {
            let occurrences = text / from.max(1) + 1;
            text.saturating_add(occurrences.saturating_mul(to))
        },
    )))
}

/// All arguments, one after the other.
fn joined(args: &[ArrayRef]) -> Result<usize> {
    let mut all = 0usize;
    for arg in args {
        all = all.saturating_add(sum(sizes(arg)?));
    }
    Ok(all)
}

/// All arguments, with the first between them.
fn separated(args: &[ArrayRef]) -> Result<usize> {
    let between = args.first().map_or(Ok(0), |arg| sizes(arg).map(sum))?;
    Ok(joined(args)?.saturating_add(between.saturating_mul(args.len())))
}

/// The items of lists, with a text between them.
fn separated_items(args: &[ArrayRef]) -> Result<usize> {
    let [lists, between, ..] = args else {
        return Ok(0);
    };
    let between = sizes(between)?;
    let items = lengths(lists).into_iter().zip(between);
    let between = sum(items.map(|(items, between)| items.saturating_mul(between)));
    // Numbers become texts.
    Ok(between.saturating_add(lists.get_array_memory_size().saturating_mul(3)))
}

/// Lists with items replaced by another.
fn replaced_items(args: &[ArrayRef]) -> Result<usize> {
    let [lists, _, to, ..] = args else {
        return Ok(0);
    };
    let items = lengths(lists).into_iter().zip(sizes(to)?);
    let new = sum(items.map(|(items, to)| items.saturating_mul(to)));
    Ok(new.saturating_add(lists.get_array_memory_size()))
}

/// The numbers between two.
fn counted(args: &[ArrayRef]) -> Result<usize> {
    let (start, stop) = match args {
        [stop] => (None, stop),
        [start, stop, ..] => (Some(start), stop),
        [] => return Ok(0),
    };
    if !stop.data_type().is_integer() {
        // Days and months: the engine's own limits.
        return Ok(0);
    }
    let stops = numbers(stop)?;
    let starts = start.map_or_else(|| Ok(Int64Array::from(vec![0; stops.len()])), numbers)?;
    let steps = args
        .get(2)
        .map_or_else(|| Ok(Int64Array::from(vec![1; stops.len()])), numbers)?;
    let counts = (0..stops.len()).map(|row| {
        let far =
            stops.value(row).abs_diff(starts.value(row)) / steps.value(row).unsigned_abs().max(1);
        usize::try_from(far)
            .unwrap_or(usize::MAX)
            .saturating_mul(ITEM)
    });
    Ok(sum(counts))
}

/// Octets of an item that is a number.
const ITEM: usize = 8;

fn sum(sizes: impl IntoIterator<Item = usize>) -> usize {
    sizes.into_iter().fold(0, usize::saturating_add)
}

fn natural(count: Option<i64>) -> usize {
    usize::try_from(count.unwrap_or(0)).unwrap_or(0)
}

fn numbers(array: &ArrayRef) -> Result<Int64Array> {
    Ok(cast(array, &DataType::Int64)?
        .as_primitive::<Int64Type>()
        .clone())
}

/// Octets of each value.
fn sizes(array: &ArrayRef) -> Result<Vec<usize>> {
    let texts = |texts: &StringArray| texts.iter().map(|text| text.map_or(0, str::len)).collect();
    if let Some(held) = array.as_string_opt::<i32>() {
        return Ok(texts(held));
    }
    if let Some(lists) = array.as_list_opt::<i32>() {
        let of = |row: Option<ArrayRef>| row.map_or(0, |row| row.get_array_memory_size());
        return Ok(lists.iter().map(of).collect());
    }
    match cast(array, &DataType::Utf8) {
        Ok(held) => Ok(texts(held.as_string::<i32>())),
        Err(_) => Ok(vec![array.get_array_memory_size(); array.len()]),
    }
}

fn lengths(array: &ArrayRef) -> Vec<usize> {
    match array.as_list_opt::<i32>() {
        Some(lists) => lists
            .iter()
            .map(|row| row.map_or(0, |row| row.len()))
            .collect(),
        None => vec![0; array.len()],
    }
}
