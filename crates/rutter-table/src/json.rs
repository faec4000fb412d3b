//! Reads JSON objects, one per line, and writes them with more members.

use std::net::IpAddr;

use crate::answers::Row;
use crate::object::{Field, read};
use crate::stream::{Counts, RowError, Work, address};
use crate::{Answers, Column, Route, Set, Table};

/// Adds members to objects.
#[derive(Debug)]
pub struct Json<'t> {
    /// The member with the address.
    member: String,
    /// The members that are added.
    names: Vec<String>,
    answers: Answers<'t>,
}

impl<'t> Json<'t> {
    /// Appends these columns, each under its name. The address is the string in `member`.
    pub fn new(table: &'t Table, member: &str, columns: Vec<(Column, String)>) -> Self {
        let nothing: String = columns
            .iter()
            .map(|(_, name)| format!(",{}:null", text(name)))
            .collect();
        let names = columns.iter().map(|(_, name)| name.clone()).collect();
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
            names,
            answers: Answers::new(table, nothing, form),
        }
    }
}

/// Encodes a JSON string.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Work for Json<'_> {
    fn delimiter(&self) -> Option<u8> {
        None
    }

    fn work(&self, rows: &[u8], first_line: u64, out: &mut Vec<u8>) -> Result<Counts, RowError> {
        let mut counts = Counts::default();
        let mut batch = self.answers.rows();
        for (line, row) in (first_line..).zip(rows.split(|octet| *octet == b'\n')) {
            let body = row.trim_ascii();
            if body.is_empty() {
                continue;
            }
            let field = match read(row, &self.member, &self.names) {
                Ok(field) => field,
                Err(what) => {
                    batch.write(out);
                    return Err(RowError { line, what });
                }
            };
            counts.rows += 1;
            let body = body[..body.len() - 1].trim_ascii_end();
            let row = Row {
                before: [body, b""],
                addr: addr_in(&field, line, &mut counts),
                // No comma precedes the first member of an empty object.
                skip: usize::from(body == b"{"),
                after: b"}\n",
            };
            batch.push(row, out);
        }
        batch.write(out);
        Ok(counts)
    }
}

/// The address in a field. A row without one is counted.
fn addr_in(field: &Field<'_>, line: u64, counts: &mut Counts) -> Option<IpAddr> {
    let (text, addr) = match field {
        Field::Text(text) => (&**text, address(text.as_bytes())),
        Field::Other(text) => (&**text, None),
        Field::Absent => {
            counts.lacking(line);
            return None;
        }
    };
    if addr.is_none() {
        counts.without(line, text.as_bytes());
    }
    addr.map(|(_, addr)| addr)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enriched(rows: &str) -> Result<(String, Counts), RowError> {
        let table = Table::default();
        let json = Json::new(&table, "src", vec![(Column::Asn, "asn".into())]);
        let mut out = Vec::new();
        let counts = json.work(rows.as_bytes(), 1, &mut out)?;
        Ok((String::from_utf8(out).unwrap(), counts))
    }

    #[test]
    fn the_text_of_an_object_stays_as_it_is() {
        let (text, counts) =
            enriched("{ \"n\" : 1.50, \"src\":\"::1\" } \r\n\n{}\n{ \"src\":7}\n").unwrap();
        let expected = "{ \"n\" : 1.50, \"src\":\"::1\",\"asn\":null}\n{\"asn\":null}\n{ \"src\":7,\"asn\":null}\n";
        assert_eq!(text, expected);
        assert_eq!((counts.rows, counts.without, counts.lacking), (3, 2, 1));
        assert_eq!(counts.first, Some((3, None)));
        let (_, counts) = enriched("{\"src\":7}").unwrap();
        assert_eq!(counts.first, Some((1, Some("7".into()))));
    }

    #[test]
    fn an_invalid_object_or_a_duplicate_member_is_an_error_with_its_line() {
        let error = enriched("{\"src\":\"::1\"}\n{\"asn\":1}\n").unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.what.contains("--label"), "{}", error.what);
        assert_eq!(enriched("{}\n\n{\"src\":\"::1\",}\n").unwrap_err().line, 3);
    }
}
