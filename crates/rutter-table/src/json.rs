//! JSON objects, one a line, in; the same with more members out.

use std::ops::Range;

use crate::stream::{Counts, RowError, Work, address};
use crate::{Column, Route, Set, Table, Told};

/// Adds members to objects.
#[derive(Debug)]
pub struct Json<'t> {
    /// The member with the address.
    member: String,
    told: Told<'t>,
}

impl<'t> Json<'t> {
    /// Adds these columns, each under its name, behind the others. The address is the text of `member`.
    pub fn new(table: &'t Table, member: &str, columns: Vec<(Column, String)>) -> Self {
        let nothing: String = columns
            .iter()
            .map(|(_, name)| format!(",{}:null", text(name)))
            .collect();
        let form = move |route: &Route, set: &Set| {
            let member = |(column, name): &(Column, String)| {
                let value = match (column, column.text(route, set)) {
                    (_, None) => "null".to_owned(),
                    (Column::Asn, Some(number)) => number,
                    (_, Some(value)) => text(&value),
                };
                format!(",{}:{value}", text(name))
            };
            columns.iter().map(member).collect::<String>().into_bytes()
        };
        Json {
            member: member.to_owned(),
            told: Told::new(table, nothing, form),
        }
    }
}

/// A JSON text.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Work for Json<'_> {
    fn delimiter(&self) -> Option<u8> {
        None
    }

    fn work(&self, rows: &[u8], first_line: u64, out: &mut Vec<u8>) -> Result<Counts, RowError> {
        let mut counts = Counts::default();
        for (line, row) in (first_line..).zip(rows.split(|octet| *octet == b'\n')) {
            let row = row.trim_ascii();
            if row.is_empty() {
                continue;
            }
            let found = find(row, self.member.as_bytes()).map_err(|what| RowError {
                line,
                what: what.into(),
            })?;
            let field = found.map_or(&b""[..], |range| &row[range]);
            let told = match address(field) {
                Some((_, addr)) => self.told.of(addr),
                None => {
                    counts.without(line, field);
                    self.told.nothing()
                }
            };
            counts.rows += 1;
            let body = row[..row.len() - 1].trim_ascii_end();
            out.extend_from_slice(body);
            // An object without members gets no comma before the first.
            let comma = usize::from(body == b"{");
            out.extend_from_slice(told.get(comma..).unwrap_or_default());
            out.extend_from_slice(b"}\n");
        }
        Ok(counts)
    }
}

/// Where the text of a member lies, without its quotes; `None` where there is no such member, or no text.
fn find(row: &[u8], member: &[u8]) -> Result<Option<Range<usize>>, &'static str> {
    if row.first() != Some(&b'{') || row.last() != Some(&b'}') {
        return Err("a JSON object must fill the line: { … }");
    }
    let (mut depth, mut at) = (0_usize, 0);
    let mut found = None;
    // The text at depth 1 that was passed last.
    let mut last: Option<Range<usize>> = None;
    let mut is_value = false;
    while at < row.len() {
        match row[at] {
            b'"' => {
                let end = text_end(row, at + 1).ok_or("a text does not end")?;
                let range = at + 1..end;
                let key = last.as_ref().filter(|_| depth == 1 && is_value);
                if key.is_some_and(|key| &row[key.clone()] == member) {
                    found = Some(range.clone());
                }
                if depth == 1 {
                    last = (!is_value).then_some(range);
                }
                at = end;
            }
            b':' if depth == 1 => is_value = true,
            b',' if depth == 1 => is_value = false,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1).ok_or("brackets do not match")?,
            _ => {}
        }
        at += 1;
    }
    match depth {
        0 => Ok(found),
        _ => Err("brackets do not match"),
    }
}

/// Where a text ends, at its closing quote.
fn text_end(row: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', row.get(at..)?)?;
        if row[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(row: &'a str, member: &str) -> Result<Option<&'a str>, &'static str> {
        Ok(find(row.as_bytes(), member.as_bytes())?.map(|range| &row[range]))
    }

    #[test]
    fn members_are_found_where_they_are_and_nowhere_else() {
        let row = r#"{"a":{"src":"1"},"b":["src","2"],"n":5 , "x":"src" ,"src" : "10.0.0.1","t":"\"src\":\"3\""}"#;
        assert_eq!(value(row, "src"), Ok(Some("10.0.0.1")));
        assert_eq!(value(row, "x"), Ok(Some("src")));
        assert_eq!(value(row, "n"), Ok(None));
        assert_eq!(value(row, "absent"), Ok(None));
        assert_eq!(value("{}", "src"), Ok(None));
        assert!(value("[1]", "src").is_err());
        assert!(value(r#"{"a":[}"#, "src").is_err());
        assert!(value(r#"{"a":"b}"#, "src").is_err());
    }
}
