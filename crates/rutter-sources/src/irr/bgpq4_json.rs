//! The JSON output of bgpq4.

use std::collections::BTreeMap;

use rutter_irr::ListEntry;
use rutter_net::Prefix;
use serde::Deserialize;

use super::list_file::{check_limit, set_range};
use super::parse_error::ParseFileError;

/// What one bgpq4 file has: the lists of all names, joined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bgpq4Lists {
    /// The prefixes of `bgpq4 -j -4 …` or `-6`. They have no origins and no lines.
    pub prefixes: Vec<ListEntry>,
    /// The AS numbers of `bgpq4 -j -t …` (also `-f`), in order, without duplicates.
    pub asns: Vec<u32>,
}

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

impl Bgpq4Lists {
    /// Parses a file: one or more lists by name, as `bgpq4 -j -l NAME AS-SET` and `bgpq4 -j -t -l NAME AS-SET` write
    /// them.
    ///
    /// # Errors
    /// If the JSON has another form, or more than `limit` rows.
    pub fn parse(text: &[u8], limit: usize) -> Result<Self, ParseFileError> {
        let named: BTreeMap<String, Vec<Row>> = serde_json::from_slice(text)?;
        let mut lists = Bgpq4Lists::default();
        for (name, rows) in named {
            for row in rows {
                check_limit(lists.prefixes.len() + lists.asns.len(), limit, 0, "rows")?;
                match row {
                    Row::Asn(asn) => lists.asns.push(asn),
                    Row::Prefix(row) => {
                        let row = row.entry();
                        let named = |why| ParseFileError::new(0, format!("list `{name}`: {why}"));
                        lists.prefixes.push(row.map_err(named)?);
                    }
                }
            }
        }
        lists.asns.sort_unstable();
        lists.asns.dedup();
        Ok(lists)
    }
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
        let lists = Bgpq4Lists::parse(PREFIXES, 9).unwrap();
        let lengths: Vec<_> = lists
            .prefixes
            .iter()
            .map(|row| (row.min_len, row.max_len))
            .collect();
        assert_eq!(lengths, [(24, 24), (22, 24), (24, 24)]);
        let lists = Bgpq4Lists::parse(b"{\"NN\": [\n  64501,64500, 64500\n]}", 9).unwrap();
        assert_eq!(lists.asns, [64_500, 64_501]);
        assert_eq!(
            Bgpq4Lists::parse(b"{\"NN\": []}", 9),
            Ok(Bgpq4Lists::default())
        );
    }

    #[test]
    fn errors_name_line_or_list() {
        let error = Bgpq4Lists::parse(b"{\"NN\": [\n 1,\n", 9).unwrap_err();
        assert_eq!(error.line, 3, "{error}");
        let wrong = br#"{"NN": [{"prefix": "192.0.2.0/24", "less-equal": 99}]}"#;
        let error = Bgpq4Lists::parse(wrong, 9).unwrap_err();
        assert!(error.why.contains("NN"), "{error}");
        assert!(Bgpq4Lists::parse(PREFIXES, 2).is_err());
        for wrong in [
            &b"[]"[..],
            b"{\"a\": [true]}",
            b"{\"a\": [4294967296]}",
            b"",
        ] {
            assert!(Bgpq4Lists::parse(wrong, 9).is_err());
        }
    }
}
