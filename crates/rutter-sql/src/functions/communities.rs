//! Communities: lists of strings.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray as _, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![ScalarUDF::from(HasCommunity {
        signature: Signature::any(2, Volatility::Immutable),
    })]
}

/// `has_community(communities, '64500:1')`; a `*` stands for any number: `64500:*`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct HasCommunity {
    signature: Signature,
}

impl ScalarUDFImpl for HasCommunity {
    fn name(&self) -> &str {
        "has_community"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].clone().into_array(args.number_rows)?;
        let wanted = args.args[1].clone().into_array(args.number_rows)?;
        let wanted = cast(&wanted, &DataType::Utf8)?;
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return exec_err!("has_community: the first argument is not a list of communities");
        };
        let wanted = wanted.as_string::<i32>();
        if let Some(wrong) = wanted.iter().flatten().find(|wanted| !is_pattern(wanted)) {
            return exec_err!(
                "has_community: '{wrong}' is no community: write 64500:1, 64500:1:2, rt:64500:1 or 0x4300000000000001; * is any number"
            );
        }
        let found = (0..lists.len()).map(|row| {
            if lists.is_null(row) || wanted.is_null(row) {
                return None;
            }
            let held = lists.value(row);
            let mut held = held.as_string::<i32>().iter().flatten();
            Some(held.any(|community| matches(community, wanted.value(row))))
        });
        Ok(ColumnarValue::Array(Arc::new(
            found.collect::<BooleanArray>(),
        )))
    }
}

/// Returns whether a pattern can match any community. An invalid pattern would silently match nothing.
fn is_pattern(wanted: &str) -> bool {
    let is_number = |part: &&str| *part == "*" || part.parse::<u32>().is_ok();
    let parts: Vec<&str> = wanted.split(':').collect();
    match parts[..] {
        [octets] => octets.starts_with("0x") && octets.len() == 18,
        ["rt" | "ro", ref numbers @ ..] => numbers.len() == 2 && numbers.iter().all(is_number),
        ref numbers => numbers.len() <= 3 && numbers.iter().all(is_number),
    }
}

fn matches(community: &str, wanted: &str) -> bool {
    let (mut held, mut parts) = (community.split(':'), wanted.split(':'));
    loop {
        match (held.next(), parts.next()) {
            (None, None) => return true,
            (Some(held), Some(part)) if part == "*" || held == part => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_one_field_of_a_community() {
        assert!(matches("64500:1", "64500:1"));
        assert!(matches("64500:1:2", "64500:*:2"));
        assert!(!matches("64500:1:2", "64500:*"));
        assert!(!matches("64500:1", "64500:11"));
    }

    #[test]
    fn community_patterns_are_recognized() {
        for text in [
            "64500:1",
            "*:*",
            "1:2:*",
            "rt:64500:1",
            "ro:*:*",
            "0x4300000000000001",
        ] {
            assert!(is_pattern(text), "{text}");
        }
        for text in [
            "", "64500", "64500:", "a:1", "64500:1%", "1:2:3:4", "rt:1", "rt:1:2:3", "0x43",
        ] {
            assert!(!is_pattern(text), "{text}");
        }
    }
}
