//! `md5` of texts and octets.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray as _, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    let kinds = [DataType::Utf8, DataType::Binary].map(|kind| TypeSignature::Exact(vec![kind]));
    let signature = Signature::one_of(kinds.into(), Volatility::Immutable);
    vec![ScalarUDF::from(Md5 { signature })]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Md5 {
    signature: Signature,
}

impl ScalarUDFImpl for Md5 {
    fn name(&self) -> &str {
        "md5"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let digest = |octets: &[u8]| format!("{:x}", md5::compute(octets));
        let digests: StringArray = match values.as_binary_opt::<i32>() {
            Some(octets) => octets.iter().map(|octets| octets.map(digest)).collect(),
            None => {
                let texts = values.as_string::<i32>().iter();
                texts
                    .map(|text| text.map(|text| digest(text.as_bytes())))
                    .collect()
            }
        };
        Ok(ColumnarValue::Array(Arc::new(digests)))
    }
}
