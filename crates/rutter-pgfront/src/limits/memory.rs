//! The memory of all queries, under one limit.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};

/// The memory of all queries together.
///
/// Operators report their memory after it has grown. While a buffer doubles, it holds its old and its new half.
/// So these operators are charged for their next growth in advance.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    limit: usize,
    /// In quarters of bytes.
    charged: AtomicUsize,
    /// The memory was large since the last call of `has_shrunk`.
    was_much: AtomicBool,
}

impl QueryMemory {
    /// A pool with a limit in bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.min(usize::MAX / 8),
            charged: AtomicUsize::new(0),
            was_much: AtomicBool::new(false),
        }
    }

    /// Returns whether queries have held much memory and now hold little: the allocator can then return free pages.
    pub fn has_shrunk(&self) -> bool {
        let little = self.charged.load(Relaxed) / 4 < MUCH / 4;
        little && self.was_much.swap(false, Relaxed)
    }

    fn charge(reservation: &MemoryReservation, octets: usize) -> usize {
        octets.saturating_mul(quarters(reservation.consumer().name()))
    }
}

/// The charge for a byte of an operator, in quarters of a byte. Measured with queries over millions of rows.
fn quarters(operator: &str) -> usize {
    match operator {
        // Lists and strings of all rows are copied once they are complete.
        name if name.starts_with("AggregateStream") => 8,
        name if name.contains("Aggregate") => 6,
        name if name.contains("Join") => 5,
        // Batches may have one row, and are then mostly overhead.
        "RecursiveQuery" => 12,
        _ => 4,
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} octets", self.reserved(), self.limit)
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "queries"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        let charge = Self::charge(reservation, additional);
        self.charged.fetch_add(charge, Relaxed);
    }

    fn shrink(&self, reservation: &MemoryReservation, less: usize) {
        let charge = Self::charge(reservation, less);
        self.charged.fetch_sub(charge, Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let charge = Self::charge(reservation, additional);
        let fits = |charged: usize| {
            let charged = charged.saturating_add(charge);
            (charged <= self.limit * 4).then_some(charged)
        };
        match self.charged.fetch_update(Relaxed, Relaxed, fits) {
            Ok(before) => {
                if before / 4 > MUCH {
                    self.was_much.store(true, Relaxed);
                }
                Ok(())
            }
            Err(_) => Err(DataFusionError::ResourcesExhausted(format!(
                "{} octets more for {}: {self} are in use",
                additional,
                reservation.consumer().name()
            ))),
        }
    }

    fn reserved(&self) -> usize {
        self.charged.load(Relaxed) / 4
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

/// The bytes of a batch. A slice counts its own rows only.
pub fn octets(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(octets_of).sum()
}

/// The bytes of a column.
pub(crate) fn octets_of(column: &ArrayRef) -> usize {
    match column.data_type() {
        // A slice of a view array counts its views only.
        DataType::Utf8View | DataType::BinaryView => column.get_array_memory_size(),
        _ => {
            let size = column.to_data().get_slice_memory_size();
            size.unwrap_or_else(|_| column.get_array_memory_size())
        }
    }
}

/// The bytes of the largest value of a batch.
pub(crate) fn largest(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(largest_of).max().unwrap_or(0)
}

fn largest_of(column: &ArrayRef) -> usize {
    let between = |ends: &[i32]| {
        let sizes = ends
            .windows(2)
            .map(|ends| ends[1].abs_diff(ends[0]) as usize);
        sizes.max().unwrap_or(0)
    };
    match column.data_type() {
        DataType::Utf8 => between(column.as_string::<i32>().value_offsets()),
        DataType::Binary => between(column.as_binary::<i32>().value_offsets()),
        DataType::Utf8View => {
            let texts = column.as_string_view().iter().flatten();
            texts.map(str::len).max().unwrap_or(0)
        }
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            let items = between(lists.value_offsets());
            let item = lists.values().get_array_memory_size() / lists.values().len().max(1);
            items.saturating_mul(item.max(largest_of(lists.values())))
        }
        DataType::Dictionary(_, _) => column
            .as_any_dictionary_opt()
            .map_or(0, |texts| largest_of(texts.values())),
        kind => kind
            .primitive_width()
            .unwrap_or_else(|| column.get_array_memory_size()),
    }
}

/// From this many bytes on, looking for free pages pays.
const MUCH: usize = 32 << 20;
