//! `length` and the like: of octets as well, and plain numbers of what is in a dictionary.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray as _, Int32Array};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::dictionaries;

/// The functions, and how many of them an octet is.
const OF_OCTETS: [(&str, i32); 3] = [
    ("character_length", 1),
    ("octet_length", 1),
    ("bit_length", 8),
];

/// Whether a function is one of them.
pub fn are_taken(name: &str) -> bool {
    OF_OCTETS.iter().any(|(known, _)| *known == name)
}

/// The same function that takes octets, too; `None`: it is another.
pub fn of(inner: &Arc<ScalarUDF>) -> Option<Arc<ScalarUDF>> {
    let (_, unit) = OF_OCTETS.iter().find(|(name, _)| *name == inner.name())?;
    Some(Arc::new(ScalarUDF::from(Length {
        inner: Arc::clone(inner),
        unit: *unit,
        signature: Signature::user_defined(Volatility::Immutable),
    })))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    inner: Arc<ScalarUDF>,
    unit: i32,
    signature: Signature,
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let [kind] = arguments else {
            return plan_err!("No function matches: {} takes one argument", self.name());
        };
        if kind.is_binary() {
            return Ok(vec![DataType::Binary]);
        }
        let field = Arc::new(Field::new("value", kind.clone(), true));
        let coerced = fields_with_udf(&[field], self.inner.as_ref())?;
        Ok(coerced
            .iter()
            .map(|field| field.data_type().clone())
            .collect())
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Binary] => Ok(DataType::Int32),
            arguments => Ok(dictionaries::kind(self.inner.return_type(arguments)?)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = &args.args[0];
        if value.data_type() != DataType::Binary {
            return dictionaries::call(&self.inner, args);
        }
        let values = value.to_array(args.number_rows)?;
        let lengths = values.as_binary::<i32>().iter().map(|octets| {
            let octets = i32::try_from(octets?.len()).ok()?;
            octets.checked_mul(self.unit)
        });
        Ok(ColumnarValue::Array(Arc::new(
            lengths.collect::<Int32Array>(),
        )))
    }
}
