//! `sum` with PostgreSQL's types: a `bigint` for integers of up to 32 bits, a `numeric` for larger ones, in which
//! every sum fits.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs, Volatility,
};

/// Replaces DataFusion's `sum`.
pub fn typed(sum: &Arc<AggregateUDF>) -> AggregateUDF {
    AggregateUDF::new_from_impl(Sum {
        inner: Arc::clone(sum),
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

/// Digits enough for the sum of any number of rows.
const WIDE: DataType = DataType::Decimal128(38, 0);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl Sum {
    /// Returns whether smaller integers were cast to 64 bits for DataFusion's `sum`.
    fn widens(args: &AccumulatorArgs) -> bool {
        let kind = args.expr_fields.first().map(|field| field.data_type());
        kind == Some(&DataType::Int32)
    }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
        let [kind] = arguments else {
            return plan_err!("sum takes one argument");
        };
        Ok(vec![match kind {
            Int8 | Int16 | Int32 | UInt8 | UInt16 => Int32,
            Int64 | UInt32 | UInt64 => WIDE,
            kind => {
                let field = Arc::new(Field::new("value", kind.clone(), true));
                let coerced = fields_with_udf(&[field], self.inner.as_ref())?;
                return Ok(coerced.iter().map(|f| f.data_type().clone()).collect());
            }
        }])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Int32] => Ok(DataType::Int64),
            arguments => self.inner.return_type(arguments),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let widens = Self::widens(&args);
        let inner = self.inner.accumulator(args)?;
        Ok(match widens {
            true => Box::new(Widened(inner)),
            false => inner,
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let widens = Self::widens(&args);
        let inner = self.inner.create_groups_accumulator(args)?;
        Ok(match widens {
            true => Box::new(WidenedGroups(inner)),
            false => inner,
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let widens = Self::widens(&args);
        let inner = self.inner.create_sliding_accumulator(args)?;
        Ok(match widens {
            true => Box::new(Widened(inner)),
            false => inner,
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(kind)
    }

    fn value_from_stats(&self, _args: &StatisticsArgs) -> Option<ScalarValue> {
        // Sums of integers may have wrapped around.
        None
    }
}

fn widen(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let wide = |values: &ArrayRef| Ok(cast(values, &DataType::Int64)?);
    values.iter().map(wide).collect()
}

/// A sum of all rows.
#[derive(Debug)]
struct Widened(Box<dyn Accumulator>);

impl Accumulator for Widened {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(&widen(values)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(&widen(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }
}

/// Sums of many groups.
struct WidenedGroups(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for WidenedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.0.update_batch(&widen(values)?, groups, filter, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.0.merge_batch(states, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.0.convert_to_state(&widen(values)?, filter)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
