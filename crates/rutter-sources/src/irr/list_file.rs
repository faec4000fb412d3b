//! Lists of prefixes and of AS numbers, one per line.

use rutter_irr::ListEntry;
use rutter_net::{Asn, Ipv4Prefix, Ipv6Prefix, Prefix};

use super::parse_error::{ParseFileError, lines};

/// Parses a list of prefixes. A line has a prefix, then `le N`, `ge N` or both, then the origin if the list has origins:
///
/// ```text
/// 192.0.2.0/24
/// 198.51.100.0/22 le 24          # the prefix, and longer ones up to /24
/// 2001:db8::/32 ge 40 le 48 AS64500
/// ```
///
/// `ge N` without `le` allows all longer lengths. Each row keeps its line.
///
/// # Errors
/// If a line has another form, or the list has more than `limit` rows.
pub fn parse_prefix_list(text: &[u8], limit: usize) -> Result<Vec<ListEntry>, ParseFileError> {
    let mut rows = Vec::new();
    for line in lines(text) {
        let (number, content) = line?;
        check_limit(rows.len(), limit, number, "prefixes")?;
        let mut row = parse_row(content).map_err(|why| ParseFileError::new(number, why))?;
        row.line = u32::try_from(number).ok();
        rows.push(row);
    }
    Ok(rows)
}

/// Parses a list of AS numbers: one or more on each line, separated by spaces or commas, as `AS64500` or `64500`.
///
/// # Errors
/// If a word is no AS number, or the list has more than `limit` numbers.
pub fn parse_asn_list(text: &[u8], limit: usize) -> Result<Vec<u32>, ParseFileError> {
    let mut asns = Vec::new();
    for line in lines(text) {
        let (number, content) = line?;
        let words = content.split(|c: char| c.is_whitespace() || c == ',');
        for word in words.filter(|word| !word.is_empty()) {
            check_limit(asns.len(), limit, number, "AS numbers")?;
            let asn: Result<Asn, _> = word.parse();
            asns.push(
                asn.map_err(|error| ParseFileError::new(number, error.to_string()))?
                    .0,
            );
        }
    }
    Ok(asns)
}

/// Refuses one row more than the limit.
pub(crate) fn check_limit(
    rows: usize,
    limit: usize,
    line: usize,
    what: &str,
) -> Result<(), ParseFileError> {
    if rows < limit {
        return Ok(());
    }
    let why = format!("the file has more than {limit} {what}, which is the limit");
    Err(ParseFileError::new(line, why))
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
    use super::*;

    #[test]
    fn rows_have_lengths_origins_and_lines() {
        let text = b"# members\n192.0.2.0/24\n\n198.51.100.0/22 le 24 # some\r\n2001:db8::/32 ge 40 le 48 AS64500\n10.0.0.0/8 64501 ge 9\n";
        let rows = parse_prefix_list(text, 4).unwrap();
        let short: Vec<_> = rows
            .iter()
            .map(|r| (r.min_len, r.max_len, r.origin, r.line))
            .collect();
        assert_eq!(
            short,
            [
                (24, 24, None, Some(2)),
                (22, 24, None, Some(4)),
                (40, 48, Some(64_500), Some(5)),
                (9, 32, Some(64_501), Some(6)),
            ]
        );
        assert_eq!(parse_prefix_list(text, 3).unwrap_err().line, 6);
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
            let error = parse_prefix_list(format!("\n{line}\n").as_bytes(), 9).unwrap_err();
            assert!(
                error.line == 2 && error.why.contains(part),
                "{line}: {error}"
            );
        }
        let long = [b' '; 5000];
        assert!(
            parse_prefix_list(&long, 9)
                .unwrap_err()
                .why
                .contains("4096 bytes")
        );
        assert!(
            parse_prefix_list(b"\xff", 9)
                .unwrap_err()
                .why
                .contains("UTF-8")
        );
    }

    #[test]
    fn lists_of_asns_are_read() {
        assert_eq!(
            parse_asn_list(b"AS64500, 64501\n1.10 # dot\n", 9),
            Ok(vec![64_500, 64_501, 65_546])
        );
        assert_eq!(parse_asn_list(b"1\nfoo\n", 9).unwrap_err().line, 2);
        assert_eq!(parse_asn_list(b"1 2\n3", 2).unwrap_err().line, 2);
    }
}
