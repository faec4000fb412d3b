//! A function on strings, made from a closure.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int64Array, ListBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::text_output::cast_texts;

/// The function of one row's strings; `None` is NULL.
#[derive(Clone)]
pub enum Body {
    /// One string to a number.
    Number(fn(&str) -> Option<i64>),
    /// One string to a string.
    Text(fn(&str) -> Option<String>),
    /// One string to a string, or an error.
    Checked(fn(&str) -> Result<String>),
    /// One string to bytes.
    Octets(fn(&str) -> Option<Vec<u8>>),
    /// One string to a list.
    Texts(fn(&str) -> Vec<String>),
    /// All strings joined.
    Joined,
    /// Two strings to a string.
    TextOfTwo(fn(&str, &str) -> Option<String>),
    /// Two strings to a boolean.
    Test(fn(&str, &str) -> Option<bool>),
    /// Two strings to a boolean, or an error.
    CheckedTest(fn(&str, &str) -> Result<bool>),
    /// One string to a number, by a closure.
    NumberOf(Closure<i64>),
    /// One string to a string, by a closure.
    TextOf(Closure<String>),
}

/// A closure from a string to a value; none is NULL.
pub type Closure<T> = Arc<dyn Fn(&str) -> Option<T> + Send + Sync>;

/// A named [`Body`].
pub struct TextFunction {
    name: &'static str,
    body: Body,
    signature: Signature,
}

/// Makes a function with this name. It converts arguments of any type to strings.
pub fn function(name: &'static str, body: Body) -> ScalarUDF {
    let any = |arguments| Signature::any(arguments, Volatility::Immutable);
    let signature = match body {
        Body::Number(_) | Body::Text(_) | Body::Checked(_) => any(1),
        Body::NumberOf(_) | Body::TextOf(_) => any(1),
        Body::Octets(_) | Body::Texts(_) => any(1),
        Body::TextOfTwo(_) | Body::Test(_) | Body::CheckedTest(_) => any(2),
        Body::Joined => Signature::variadic_any(Volatility::Immutable),
    };
    ScalarUDF::from(TextFunction {
        name,
        body,
        signature,
    })
}

impl std::fmt::Debug for TextFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for TextFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TextFunction {}

impl Hash for TextFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for TextFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match &self.body {
            Body::Number(_) | Body::NumberOf(_) => DataType::Int64,
            Body::Text(_) | Body::Checked(_) => DataType::Utf8,
            Body::TextOfTwo(_) | Body::TextOf(_) | Body::Joined => DataType::Utf8,
            Body::Octets(_) => DataType::Binary,
            Body::Texts(_) => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
            Body::Test(_) | Body::CheckedTest(_) => DataType::Boolean,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let texts = |value: &ColumnarValue| -> Result<StringArray> {
            let array = value.clone().into_array(rows)?;
            cast_texts(&array)
        };
        let first = texts(&args.args[0])?;
        let result: ArrayRef = match &self.body {
            Body::Number(of) => Arc::new(each(&first, of).collect::<Int64Array>()),
            Body::Text(of) => Arc::new(each(&first, of).collect::<StringArray>()),
            Body::NumberOf(of) => Arc::new(each(&first, |text| of(text)).collect::<Int64Array>()),
            Body::TextOf(of) => Arc::new(each(&first, |text| of(text)).collect::<StringArray>()),
            Body::Checked(of) => {
                let results = first.iter().map(|text| text.map(of).transpose());
                Arc::new(results.collect::<Result<StringArray>>()?)
            }
            Body::Octets(of) => Arc::new(each(&first, of).collect::<BinaryArray>()),
            Body::Texts(of) => lists(&first, *of),
            Body::Joined => {
                let all = args.args.iter().map(texts).collect::<Result<Vec<_>>>()?;
                Arc::new(joined(&all))
            }
            Body::TextOfTwo(of) => {
                let second = texts(&args.args[1])?;
                let pairs = first.iter().zip(second.iter());
                let results = pairs.map(|(a, b)| of(a?, b?));
                Arc::new(results.collect::<StringArray>())
            }
            Body::Test(of) => {
                let second = texts(&args.args[1])?;
                let pairs = first.iter().zip(second.iter());
                let results = pairs.map(|(a, b)| of(a?, b?));
                Arc::new(results.collect::<BooleanArray>())
            }
            Body::CheckedTest(of) => {
                let second = texts(&args.args[1])?;
                let pairs = first.iter().zip(second.iter());
                let test = |(a, b): (Option<&str>, Option<&str>)| a.zip(b).map(|(a, b)| of(a, b));
                let results = pairs.map(|pair| test(pair).transpose());
                Arc::new(results.collect::<Result<BooleanArray>>()?)
            }
        };
        debug_assert_eq!(result.len(), rows);
        Ok(ColumnarValue::Array(result))
    }
}

/// Joins strings, and allocates exactly the needed memory.
fn joined(parts: &[StringArray]) -> StringArray {
    let rows = parts.first().map_or(0, |part| part.len());
    let octets = parts.iter().map(|part| part.value_data().len()).sum();
    let mut out = StringBuilder::with_capacity(rows, octets);
    for row in 0..rows {
        if parts.iter().any(|part| part.is_null(row)) {
            out.append_null();
            continue;
        }
        for part in parts {
            // Writing to memory cannot fail.
            let _ = out.write_str(part.value(row));
        }
        out.append_value("");
    }
    out.finish()
}

fn lists(texts: &StringArray, of: fn(&str) -> Vec<String>) -> ArrayRef {
    let mut out = ListBuilder::new(StringBuilder::new());
    for text in texts {
        out.append_option(text.map(|text| of(text).into_iter().map(Some)));
    }
    Arc::new(out.finish())
}

fn each<T>(texts: &StringArray, of: impl Fn(&str) -> Option<T>) -> impl Iterator<Item = Option<T>> {
    texts.iter().map(move |text| text.and_then(&of))
}
