//! The JSON output of bgpq4.

use std::collections::BTreeMap;

use rutter_irr::{ListEntry, ParseFileError};
use rutter_net::Prefix;
use serde::Deserialize;

use super::list_file::{ListFile, set_range};

/// A row of a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Row {
    Asn(u32),
    Prefix(PrefixRow),
}

#[derive(Deserialize)]
struct PrefixRow {
    prefix: String,
    #[serde(rename = "greater-equal")]
    ge: Option<u8>,
    #[serde(rename = "less-equal")]
    le: Option<u8>,
}

/// Parses a file: one or more lists by name, as `bgpq4 -j -l NAME AS-SET` and `bgpq4 -j -t -l NAME AS-SET` write them.
/// Rows have neither origins nor lines. The lists of all names are joined.
///
/// # Errors
/// If the JSON has another form, or more than `limit` rows.
pub(crate) fn parse(text: &[u8], limit: usize) -> Result<ListFile, ParseFileError> {
    let named: BTreeMap<String, Vec<Row>> = serde_json::from_slice(text)?;
    let mut list = ListFile::default();
    for (name, rows) in named {
        for row in rows {
            let rows = list.rows.len() + list.asns.len() + 1;
            ParseFileError::check_limit(rows, limit, 0, "rows")?;
            match row {
                Row::Asn(asn) => list.asns.push(asn),
                Row::Prefix(row) => {
                    let row = row.entry();
                    let named = |why| ParseFileError::new(0, format!("list `{name}`: {why}"));
                    list.rows.push(row.map_err(named)?);
                }
            }
        }
    }
    Ok(list)
}

impl PrefixRow {
    fn entry(&self) -> Result<ListEntry, String> {
        let prefix: Prefix = self.prefix.parse().map_err(|error| format!("{error}"))?;
        let mut row = ListEntry::from(prefix);
        set_range(&mut row, (self.ge, self.le))?;
        if row.max_len > super::list_file::max_len(prefix) {
            return Err(format!("`{prefix}` has a length of {}", row.max_len));
        }
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by hand in the form of bgpq4 1.15.
    const PREFIXES: &[u8] = br#"{ "AS-FOO": [
        { "prefix": "192.0.2.0\/24", "exact": true },
        { "prefix": "198.51.100.0/22", "exact": false, "less-equal": 24 },
        { "prefix": "10.0.0.0/8", "exact": false, "greater-equal": 24, "less-equal": 24 }
    ] }"#;

    #[test]
    fn prefixes_and_asns_are_read() {
        let lists = parse(PREFIXES, 9).unwrap();
        let lengths: Vec<_> = lists
            .rows
            .iter()
            .map(|row| (row.min_len, row.max_len))
            .collect();
        assert_eq!(lengths, [(24, 24), (22, 24), (24, 24)]);
        let lists = parse(b"{\"NN\": [\n  64501,64500, 64500\n]}", 9).unwrap();
        assert_eq!(lists.asns, [64_501, 64_500, 64_500]);
        assert_eq!(parse(b"{\"NN\": []}", 9), Ok(ListFile::default()));
    }

    #[test]
    fn errors_name_line_or_list() {
        let error = parse(b"{\"NN\": [\n 1,\n", 9).unwrap_err();
        assert_eq!(error.line, 3, "{error}");
        let wrong = br#"{"NN": [{"prefix": "192.0.2.0/24", "less-equal": 99}]}"#;
        let error = parse(wrong, 9).unwrap_err();
        assert!(error.why.contains("NN"), "{error}");
        assert!(parse(PREFIXES, 2).is_err());
        for wrong in [
            &b"[]"[..],
            b"{\"a\": [true]}",
            b"{\"a\": [4294967296]}",
            b"",
        ] {
            assert!(parse(wrong, 9).is_err());
        }
    }
}
