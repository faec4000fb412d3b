//! Functions of DataFusion whose results differ from PostgreSQL's: their arguments or results are corrected.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::{dictionaries, extremes, list_membership, padding};

/// The corrected call.
type Call = fn(&ScalarUDF, ScalarFunctionArgs) -> Result<ColumnarValue>;

/// The corrected functions.
const AMENDED: [(&str, Call); 11] = [
    ("ascii", dictionaries::call),
    ("character_length", dictionaries::call),
    ("octet_length", dictionaries::call),
    ("bit_length", dictionaries::call),
    ("lpad", padding::call),
    ("rpad", padding::call),
    ("array_max", extremes::call),
    ("array_min", extremes::call),
    ("array_has", list_membership::has),
    ("array_has_all", list_membership::has_all),
    ("array_has_any", list_membership::has_any),
];

/// A function with PostgreSQL's results.
pub fn amended(inner: &Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match AMENDED.iter().find(|(name, _)| *name == inner.name()) {
        Some((_, call)) => Arc::new(ScalarUDF::from(Amended {
            inner: Arc::clone(inner),
            call: *call,
        })),
        None => Arc::clone(inner),
    }
}

/// Returns whether a function is corrected.
pub fn is_amended(name: &str) -> bool {
    AMENDED.iter().any(|(known, _)| *known == name)
}

#[derive(Debug)]
struct Amended {
    inner: Arc<ScalarUDF>,
    call: Call,
}

impl PartialEq for Amended {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Amended {}

impl Hash for Amended {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Amended {
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
        Ok(dictionaries::kind(self.inner.return_type(arguments)?))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        let kind = dictionaries::kind(field.data_type().clone());
        Ok(match kind == *field.data_type() {
            true => field,
            false => Arc::new(field.as_ref().clone().with_data_type(kind)),
        })
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arguments)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        (self.call)(&self.inner, args)
    }
}
