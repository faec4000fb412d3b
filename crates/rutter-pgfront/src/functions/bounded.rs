//! Functions whose results may be far larger than their arguments. The memory of a call is reserved before it is
//! computed.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

pub use super::bounds::BOUNDED;
use super::bounds::{Bound, joined};
use super::regex_cost;

/// The rows for which one value may be copied.
const BATCH: usize = 8192;

/// A function that reserves its memory first.
pub struct Bounded {
    inner: Arc<ScalarUDF>,
    bound: Bound,
    pool: Arc<dyn MemoryPool>,
}

impl Bounded {
    /// `||` of strings.
    pub fn join(inner: ScalarUDF, pool: &Arc<dyn MemoryPool>) -> ScalarUDF {
        Self::wrap(&Arc::new(inner), joined, pool)
    }

    /// Wraps a function of DataFusion.
    pub fn wrap(inner: &Arc<ScalarUDF>, bound: Bound, pool: &Arc<dyn MemoryPool>) -> ScalarUDF {
        ScalarUDF::from(Self {
            inner: Arc::clone(inner),
            bound,
            pool: Arc::clone(pool),
        })
    }
}

/// Reserves memory. Offsets have 31 bits.
fn reserve(reservation: &MemoryReservation, octets: usize) -> Result<()> {
    if octets >= 1 << 30 {
        let why = format!("{octets} octets for one call");
        return Err(DataFusionError::ResourcesExhausted(why));
    }
    reservation.try_grow(octets)
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
        // A value for all rows is copied for each row later.
        let copies = match args.args.iter().all(is_scalar) {
            true => BATCH / args.number_rows.clamp(1, BATCH),
            false => 1,
        };
        let reservation = MemoryConsumer::new(self.name().to_owned()).register(&self.pool);
        if copies == 1 {
            // A value for all rows is written for each row.
            let spread = args.args.iter().map(|value| match value {
                ColumnarValue::Scalar(value) => value.size().saturating_mul(args.number_rows),
                ColumnarValue::Array(_) => 0,
            });
            reserve(&reservation, spread.fold(0, usize::saturating_add))?;
        }
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        if self.name().starts_with("regexp_") {
            reserve(&reservation, regex_cost::compiled(&arrays)?)?;
        }
        reserve(&reservation, (self.bound)(&arrays)?.saturating_mul(copies))?;
        self.inner.invoke_with_args(args)
    }
}
