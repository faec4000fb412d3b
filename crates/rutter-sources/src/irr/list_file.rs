//! Lists of prefixes and AS numbers in files.

use std::path::Path;

use rutter_irr::{IrrListBuilder, ListEntry, ParseFileError};
use rutter_net::{Asn, Ipv4Prefix, Ipv6Prefix, Prefix};

use super::bgpq4_json;
use super::files::{MAX_ROWS, read_bounded};
use super::plain_row::plain_row;
use super::text_lines::{line_content, valid_lines};

/// The number of rows of a list, for checks before the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListSummary {
    /// The prefixes.
    pub prefixes: usize,
    /// The AS numbers, those of the prefixes' origins included.
    pub asns: usize,
}

impl ListSummary {
    /// Reads a list.
    ///
    /// # Errors
    /// If it cannot be read or has another form.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = read_bounded(path)?;
        let list = ListFile::parse(&text, MAX_ROWS).map_err(|error| error.to_string())?;
        Ok(ListSummary {
            prefixes: list.rows.len(),
            asns: list.asns.len(),
        })
    }
}

/// The content of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ListFile {
    /// The prefixes.
    pub rows: IrrListBuilder,
    /// The AS numbers, in order, without duplicates.
    pub asns: Vec<u32>,
    /// The origins of the rows that are read so far.
    origins: Vec<u32>,
}

impl ListFile {
    /// Parses a list: the JSON of bgpq4 if it begins with `{`, else text. A line of text has an AS number, or a prefix,
    /// then `le N`, `ge N` or both, then the origin if the list has origins:
    ///
    /// ```text
    /// AS64501
    /// 192.0.2.0/24
    /// 198.51.100.0/22 le 24          # the prefix, and longer ones up to /24
    /// 2001:db8::/32 ge 40 le 48 AS64500
    /// ```
    ///
    /// `ge N` without `le` allows all longer lengths. Each row of text keeps its line. The origins of rows are AS numbers
    /// of the list.
    ///
    /// # Errors
    /// If a line has another form, or the list has more than `limit` rows.
    pub fn parse(text: &[u8], limit: usize) -> Result<Self, ParseFileError> {
        let mut list = match text.trim_ascii_start().first() {
            Some(b'{') => bgpq4_json::parse(text, limit)?,
            _ => Self::parse_text(text, limit)?,
        };
        list.asns.append(&mut list.origins);
        list.asns.sort_unstable();
        list.asns.dedup();
        Ok(list)
    }

    fn parse_text(text: &[u8], limit: usize) -> Result<Self, ParseFileError> {
        let mut list = ListFile::default();
        let (mut rest, error) = valid_lines(text);
        let mut number = 0;
        while !rest.is_empty() {
            number += 1;
            if let Some((row, behind)) = plain_row(rest.as_bytes()) {
                // A plain line is ASCII, so the text behind it begins at a character.
                rest = &rest[rest.len() - behind.len()..];
                list.add_row(row, number, limit)?;
                continue;
            }
            let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
            rest = behind;
            let content = line_content(number, line)?;
            match as_number(content) {
                _ if content.is_empty() => {}
                Some(asn) => {
                    list.check_limit(number, limit)?;
                    list.asns.push(asn);
                }
                None => {
                    list.check_limit(number, limit)?;
                    let row = parse_row(content).map_err(|why| ParseFileError::new(number, why))?;
                    list.add_row(row, number, limit)?;
                }
            }
        }
        error.map_or(Ok(list), Err)
    }

    fn add_row(
        &mut self,
        row: ListEntry,
        number: usize,
        limit: usize,
    ) -> Result<(), ParseFileError> {
        self.check_limit(number, limit)?;
        let line = u32::try_from(number).ok();
        self.rows.push(ListEntry { line, ..row });
        // Rows of one origin mostly follow each other.
        let origin = row
            .origin
            .filter(|origin| self.origins.last() != Some(origin));
        self.origins.extend(origin);
        Ok(())
    }

    fn check_limit(&self, number: usize, limit: usize) -> Result<(), ParseFileError> {
        let rows = self.rows.len() + self.asns.len() + 1;
        ParseFileError::check_limit(rows, limit, number, "rows")
    }
}

/// An AS number as `AS64500`.
fn as_number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("AS").or(word.strip_prefix("as"))?;
    let asn: Asn = digits.parse().ok()?;
    Some(asn.0)
}

fn parse_row(content: &str) -> Result<ListEntry, String> {
    let mut words = content.split_whitespace();
    let prefix: Result<Prefix, _> = words.next().unwrap_or_default().parse();
    let mut row = ListEntry::from(prefix.map_err(|error| error.to_string())?);
    let mut range = (None, None);
    while let Some(word) = words.next() {
        match word {
            "ge" => range.0 = Some(length(&row, words.next())?),
            "le" => range.1 = Some(length(&row, words.next())?),
            _ => {
                let asn: Result<Asn, _> = word.parse();
                let asn = asn.map_err(|_| {
                    format!("`{word}` is neither `le N`, `ge N` nor an origin such as AS64500")
                })?;
                if row.origin.replace(asn.0).is_some() {
                    return Err("the line has two origins; write one line for each".to_owned());
                }
            }
        }
    }
    set_range(&mut row, range)?;
    Ok(row)
}

/// Sets the lengths that a row matches.
///
/// # Errors
/// If no length can match.
pub(crate) fn set_range(
    row: &mut ListEntry,
    (ge, le): (Option<u8>, Option<u8>),
) -> Result<(), String> {
    if ge.is_none() && le.is_none() {
        return Ok(());
    }
    row.min_len = ge.unwrap_or(row.prefix.len());
    row.max_len = le.unwrap_or(max_len(row.prefix));
    if row.min_len < row.prefix.len() || row.max_len < row.min_len {
        return Err(format!(
            "no length matches {} from /{} to /{}",
            row.prefix, row.min_len, row.max_len
        ));
    }
    Ok(())
}

/// The longest length of the prefix's family.
pub(crate) fn max_len(prefix: Prefix) -> u8 {
    match prefix {
        Prefix::V4(_) => Ipv4Prefix::MAX_LEN,
        Prefix::V6(_) => Ipv6Prefix::MAX_LEN,
    }
}

fn length(row: &ListEntry, word: Option<&str>) -> Result<u8, String> {
    let longest = max_len(row.prefix);
    let parsed = word.and_then(|word| word.parse().ok());
    parsed
        .filter(|len| *len <= longest)
        .ok_or_else(|| format!("`ge` and `le` need a length up to {longest}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_have_lengths_origins_and_lines() {
        let text = b"# members\n192.0.2.0/24\n\n198.51.100.0/22 le 24 # some\r\n2001:db8::/32 ge 40 le 48 AS64500\n10.0.0.0/8 64501 ge 9\n";
        let rows = ListFile::parse(text, 4).unwrap().rows.build();
        let short: Vec<_> = rows
            .iter()
            .map(|r| (r.min_len, r.max_len, r.origin, r.line))
            .collect();
        assert_eq!(
            short,
            [
                (9, 32, Some(64_501), Some(6)),
                (24, 24, None, Some(2)),
                (22, 24, None, Some(4)),
                (40, 48, Some(64_500), Some(5)),
            ]
        );
        assert_eq!(ListFile::parse(text, 3).unwrap_err().line, 6);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (line, part) in [
            ("192.0.2.1/24", "bits below the length"),
            ("192.0.2.0", "ADDRESS/LENGTH"),
            ("192.0.2.0/24 le 33", "up to 32"),
            ("192.0.2.0/24 le", "up to 32"),
            ("192.0.2.0/24 le 23", "no length matches"),
            ("192.0.2.0/24 ge 20", "no length matches"),
            ("192.0.2.0/24 upto 25", "`upto`"),
            ("192.0.2.0/24 AS1 AS2", "two origins"),
        ] {
            let error = ListFile::parse(format!("\n{line}\n").as_bytes(), 9).unwrap_err();
            assert!(
                error.line == 2 && error.why.contains(part),
                "{line}: {error}"
            );
        }
        let long = [b' '; 5000];
        assert!(
            ListFile::parse(&long, 9)
                .unwrap_err()
                .why
                .contains("4096 bytes")
        );
        assert!(
            ListFile::parse(b"\xff", 9)
                .unwrap_err()
                .why
                .contains("UTF-8")
        );
    }

    #[test]
    fn as_numbers_are_those_of_lines_and_rows() {
        let text = b"AS64502\n192.0.2.0/24 AS64500\nas64500\n1.10 # no AS number\n";
        assert_eq!(ListFile::parse(text, 9).unwrap_err().line, 4);
        let list = ListFile::parse(&text[..37], 9).unwrap();
        assert_eq!((list.asns, list.rows.len()), (vec![64_500, 64_502], 1));
        assert_eq!(ListFile::parse(text, 2).unwrap_err().line, 3);
        let json = ListFile::parse(b" {\"NN\": [64501]}", 9).unwrap();
        assert_eq!(json.asns, [64_501]);
    }

    /// Strings of a few characters that make prefixes and lines.
    fn words() -> impl Strategy<Value = String> {
        let words = prop::sample::select(vec![
            "192.0.2.0/24",
            "10.0.0.0/8",
            "10.1.0.0/016",
            "192.0.2.1/24",
            "2001:db8::/32",
            "2001:db8:0:0:1::/80",
            "::/0",
            "::1/128",
            "1:2:3:4:5:6:7:8/128",
            " ",
            " ",
            "\n",
            "\n",
            "\n",
            "\r\n",
            " AS64500",
            " 64501",
            " 1.10",
            "AS1",
            " as2",
            " le 25",
            " ge 9",
            "#",
            "\u{e9}",
            "0",
            "/",
        ]);
        prop::collection::vec(words, 0..12).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn plain_lines_are_read_as_all_others(text in words()) {
            // A blank before a line changes nothing, except that the line is not plain.
            let blank = text.split('\n').map(|line| format!(" {line}"));
            let blank = blank.collect::<Vec<_>>().join("\n");
            let read = |text: &str| ListFile::parse(text.as_bytes(), 9);
            prop_assert_eq!(read(&text), read(&blank));
        }
    }
}
