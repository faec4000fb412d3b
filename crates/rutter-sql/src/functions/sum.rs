//! Sums of whole numbers that do not fit are an error: the engine's own begin anew. They are added up as decimal numbers, whose
//! sum always fits, so that parts may be larger than the whole.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs,
};

/// `sum` in the place of the engine's own.
pub fn checked(sum: &Arc<AggregateUDF>) -> AggregateUDF {
    AggregateUDF::new_from_impl(Sum(Arc::clone(sum)))
}

/// Enough for as many numbers as there can be rows.
const WIDE: DataType = DataType::Decimal128(38, 0);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum(Arc<AggregateUDF>);

fn is_whole(kind: &DataType) -> bool {
    matches!(kind, DataType::Int64 | DataType::UInt64)
}

/// A field of the type in which numbers are added up.
fn widened(field: &FieldRef) -> FieldRef {
    match is_whole(field.data_type()) {
        true => Arc::new(field.as_ref().clone().with_data_type(WIDE)),
        false => Arc::clone(field),
    }
}

/// What the engine makes an accumulator of, for wider numbers.
fn wide<'a>(args: &AccumulatorArgs<'a>) -> AccumulatorArgs<'a> {
    AccumulatorArgs {
        return_field: widened(&args.return_field),
        schema: args.schema,
        ignore_nulls: args.ignore_nulls,
        order_bys: args.order_bys,
        is_reversed: args.is_reversed,
        name: args.name,
        is_distinct: args.is_distinct,
        exprs: args.exprs,
        expr_fields: args.expr_fields,
    }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.0.return_type(arguments)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_type().clone();
        let inner = self.0.accumulator(wide(&args))?;
        Ok(match is_whole(&kind) {
            true => Box::new(Checked { inner, kind }),
            false => inner,
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(StateFieldsArgs {
            return_field: widened(&args.return_field),
            ..args
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let kind = args.return_type().clone();
        let inner = self.0.create_groups_accumulator(wide(&args))?;
        Ok(match is_whole(&kind) {
            true => Box::new(CheckedGroups { inner, kind }),
            false => inner,
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_type().clone();
        // The engine has this for its own numbers only.
        if args.is_distinct || !is_whole(&kind) {
            return self.0.create_sliding_accumulator(args);
        }
        let inner = self.0.create_sliding_accumulator(wide(&args))?;
        Ok(Box::new(Checked { inner, kind }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        self.0.inner().set_monotonicity(kind)
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        // Those of whole numbers may have begun anew.
        (!is_whole(args.return_type)).then(|| self.0.value_from_stats(args))?
    }
}

fn widen(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let wide = |values: &ArrayRef| Ok(cast(values, &WIDE)?);
    values.iter().map(wide).collect()
}

fn narrow(sums: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let fits = cast_with_options(sums, kind, &options);
    Ok(fits.map_err(|_| ArrowError::ArithmeticOverflow("Overflow happened on: sum".to_owned()))?)
}

/// A sum of all rows.
#[derive(Debug)]
struct Checked {
    inner: Box<dyn Accumulator>,
    kind: DataType,
}

impl Accumulator for Checked {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&widen(values)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&narrow(&sum, &self.kind)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&widen(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// Sums of many groups.
struct CheckedGroups {
    inner: Box<dyn GroupsAccumulator>,
    kind: DataType,
}

impl GroupsAccumulator for CheckedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.inner
            .update_batch(&widen(values)?, groups, filter, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        narrow(&self.inner.evaluate(emit)?, &self.kind)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&widen(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
