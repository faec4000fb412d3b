//! The order of the rows of a short list.

use std::cmp::Ordering;

use serde_json::Value;

use crate::problem::Problem;

/// An order: the name of a field, with `-` before it for the largest first.
pub(crate) struct RowOrder {
    field: String,
    is_descending: bool,
}

impl RowOrder {
    /// Reads `accepted` or `-accepted`.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let (field, is_descending) = match text.strip_prefix('-') {
            Some(field) => (field, true),
            None => (text, false),
        };
        if field.is_empty() {
            return Err(Problem::bad(
                "sort: write the name of a field, such as `accepted` or `-accepted`",
            ));
        }
        Ok(RowOrder {
            field: field.to_owned(),
            is_descending,
        })
    }

    /// Sorts rows. Rows without the field come last, in the order that they had.
    ///
    /// # Errors
    ///
    /// No row has the field.
    pub(crate) fn sort(&self, rows: &mut [Value]) -> Result<(), Problem> {
        let field = &self.field;
        let is_known = rows.is_empty() || rows.iter().any(|row| key(row, field).is_some());
        if !is_known {
            return Err(Problem::bad(format!(
                "sort: no row has the field `{field}`"
            )));
        }
        rows.sort_by(|one, other| match (key(one, field), key(other, field)) {
            (Some(one), Some(other)) if self.is_descending => compare(&other, &one),
            (Some(one), Some(other)) => compare(&one, &other),
            (one, other) => one.is_none().cmp(&other.is_none()),
        });
        Ok(())
    }
}

/// The value of a field. The routes of a session are those of all its families.
fn key(row: &Value, field: &str) -> Option<Value> {
    let own = row.get(field);
    let own = own.filter(|value| value.is_string() || value.is_number() || value.is_boolean());
    own.cloned().or_else(|| {
        let families = row.get("families")?.as_array()?;
        let counts = families.iter().filter_map(|family| family[field].as_u64());
        counts.reduce(|sum, count| sum + count).map(Value::from)
    })
}

fn compare(one: &Value, other: &Value) -> Ordering {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => text(one).cmp(&text(other)),
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(order: &str) -> Result<String, String> {
        let session = |name: &str, accepted: [u64; 2]| {
            let families = accepted.map(|count| json!({"accepted": count}));
            json!({"name": name, "families": families})
        };
        let mut rows = vec![
            session("b", [5, 0]),
            json!({"name": "down"}),
            session("C", [10, 100]),
            session("a", [3, 3]),
        ];
        let sorted = RowOrder::parse(order).and_then(|order| order.sort(&mut rows));
        sorted.map_err(|problem| problem.detail)?;
        let names = rows.iter().filter_map(|row| row["name"].as_str());
        Ok(names.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn rows_have_the_order_of_a_field() {
        assert_eq!(names("accepted").unwrap(), "b a C down");
        assert_eq!(names("-accepted").unwrap(), "C a b down");
        assert_eq!(names("name").unwrap(), "a b C down");
        assert!(names("acepted").unwrap_err().contains("`acepted`"));
        assert!(names("-").unwrap_err().contains("-accepted"));
    }
}
