//! The JSON output of bgpq4.

use std::fmt;

use rutter_irr::{ListEntry, ParseFileError};
use rutter_net::Prefix;
use serde::de::{
    DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
    value::MapAccessDeserializer,
};
use serde::{Deserialize, de};

use super::list_file::{ListFile, max_len, set_range};

/// Parses a file: one or more lists by name, as `bgpq4 -j -l NAME AS-SET` and `bgpq4 -j -t -l NAME AS-SET` write them.
/// Rows have neither origins nor lines. The lists of all names are joined.
///
/// # Errors
/// If the JSON has another form, or more than `limit` rows.
pub(crate) fn parse(text: &[u8], limit: usize) -> Result<ListFile, ParseFileError> {
    let mut list = ListFile::default();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let lists = Lists {
        list: &mut list,
        limit,
    };
    (&mut reader).deserialize_map(lists)?;
    reader.end()?;
    Ok(list)
}

/// Reads the lists of all names into one.
struct Lists<'a> {
    list: &'a mut ListFile,
    limit: usize,
}

impl<'de> Visitor<'de> for Lists<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lists by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(Rows {
                name: &name,
                list: self.list,
                limit: self.limit,
            })?;
        }
        Ok(())
    }
}

/// Reads the rows of one list.
struct Rows<'a> {
    name: &'a str,
    list: &'a mut ListFile,
    limit: usize,
}

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rows of list `{}`", self.name)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        let named = |why: String| A::Error::custom(format_args!("list `{}`: {why}", self.name));
        while let Some(row) = rows.next_element()? {
            let count = self.list.rows.len() + self.list.asns.len() + 1;
            let checked = ParseFileError::check_limit(count, self.limit, 0, "rows");
            checked.map_err(|error| named(error.why))?;
            match row {
                Row::Asn(asn) => self.list.asns.push(asn),
                Row::Prefix(row) => self.list.rows.push(row.entry().map_err(named)?),
            }
        }
        Ok(())
    }
}

/// A row of a list. Serde's derived form for such a choice keeps each row as a tree first, which takes most of the time.
enum Row {
    Asn(u32),
    Prefix(PrefixRow),
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AS number, or an object with a `prefix`")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Row, E> {
        let asn = u32::try_from(number);
        let asn = asn.map_err(|_| E::custom(format_args!("{number} is not an AS number")))?;
        Ok(Row::Asn(asn))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Row, A::Error> {
        PrefixRow::deserialize(MapAccessDeserializer::new(map)).map(Row::Prefix)
    }
}

#[derive(Deserialize)]
struct PrefixRow {
    #[serde(deserialize_with = "prefix")]
    prefix: Prefix,
    #[serde(rename = "greater-equal")]
    ge: Option<u8>,
    #[serde(rename = "less-equal")]
    le: Option<u8>,
}

impl PrefixRow {
    fn entry(&self) -> Result<ListEntry, String> {
        let mut row = ListEntry::from(self.prefix);
        set_range(&mut row, (self.ge, self.le))?;
        if row.max_len > max_len(self.prefix) {
            return Err(format!("`{}` has a length of {}", self.prefix, row.max_len));
        }
        Ok(row)
    }
}

/// Reads a prefix. bgpq4 may escape its slash, so it is not always a part of the text.
fn prefix<'de, D: Deserializer<'de>>(reader: D) -> Result<Prefix, D::Error> {
    struct PrefixVisitor;
    impl Visitor<'_> for PrefixVisitor {
        type Value = Prefix;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a prefix such as \"192.0.2.0/24\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Prefix, E> {
            text.parse().map_err(E::custom)
        }
    }
    reader.deserialize_str(PrefixVisitor)
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
            .build()
            .iter()
            .map(|row| (row.min_len, row.max_len))
            .collect();
        assert_eq!(lengths, [(24, 24), (24, 24), (22, 24)]);
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
        let wrong = b"{\"NN\": [{\"prefix\": \"192.0.2.0/24\"},\n{\"prefix\": \"192.0.2.1/24\"}]}";
        let error = parse(wrong, 9).unwrap_err();
        assert_eq!(error.line, 2, "{error}");
        assert!(error.why.contains("bits below the length"), "{error}");
        let error = parse(PREFIXES, 2).unwrap_err();
        assert!(error.why.contains("more than 2 rows"), "{error}");
        for wrong in [
            &b"[]"[..],
            b"{\"a\": [true]}",
            b"{\"a\": [4294967296]}",
            b"{\"a\": [-1]}",
            b"{\"a\": [{}]}",
            b"{\"a\": []} {}",
            b"",
        ] {
            assert!(parse(wrong, 9).is_err());
        }
    }
}
