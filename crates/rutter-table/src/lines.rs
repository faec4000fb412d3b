//! Reads one address per line and writes its route.

use rutter_api::{Line, LookupRow};

use crate::answers::Row;
use crate::stream::{Counts, RowError, Work, address, shown};
use crate::{Answers, Route, Set, Table};

/// Looks up one address per line. Empty lines and lines that begin with `#` are skipped.
#[derive(Debug)]
pub struct Lines<'t> {
    answers: Answers<'t>,
    before: &'static [u8],
    /// Makes the line for an invalid address from its line number and its string.
    without: fn(u64, &str) -> String,
}

impl<'t> Lines<'t> {
    /// Writes address, prefix, origin AS, next hop, peer, AS path and, if origins were validated, the result, separated
    /// by tabs. `no address` replaces the prefix if the line has no valid address.
    pub fn text(table: &'t Table) -> Self {
        Lines {
            answers: Answers::new(table, "\tno route\t\t\t\t\n", text),
            before: b"",
            without: |_, text| format!("{text}\tno address\t\t\t\t\n"),
        }
    }

    /// Writes the daemon's rows ([`LookupRow`]). The kind is `no-address` if the line has no valid address.
    pub fn json(table: &'t Table) -> Self {
        Lines {
            answers: Answers::new(table, "\"}\n", json),
            before: BEFORE.as_bytes(),
            without: |line, text| {
                let row = serde_json::json!({"kind": "no-address", "line": line, "text": text});
                format!("{row}\n")
            },
        }
    }
}

const BEFORE: &str = "{\"kind\":\"lookup\",\"address\":\"";

impl Work for Lines<'_> {
    fn delimiter(&self) -> Option<u8> {
        None
    }

    fn work(&self, rows: &[u8], first_line: u64, out: &mut Vec<u8>) -> Result<Counts, RowError> {
        let mut counts = Counts::default();
        let mut batch = self.answers.rows();
        for (line, row) in (first_line..).zip(rows.split(|octet| *octet == b'\n')) {
            let row = row.trim_ascii();
            if row.is_empty() || row[0] == b'#' {
                continue;
            }
            counts.rows += 1;
            let Some((text, addr)) = address(row) else {
                counts.without(line, row);
                batch.write(out);
                out.extend_from_slice((self.without)(line, &shown(row)).as_bytes());
                continue;
            };
            let row = Row {
                before: [self.before, text.as_bytes()],
                addr: Some(addr),
                skip: 0,
                after: b"",
            };
            batch.push(row, out);
        }
        batch.write(out);
        Ok(counts)
    }
}

fn text(route: &Route, set: &Set) -> Vec<u8> {
    let asn = set.origin_as.map(|asn| format!("AS{asn}"));
    let next_hop = set.attributes.next_hop.map(|addr| addr.to_string());
    let rov = route.rov.map(|rov| format!("\t{rov}"));
    format!(
        "\t{}\t{}\t{}\t{}\t{}{}\n",
        route.prefix,
        asn.unwrap_or_default(),
        next_hop.unwrap_or_default(),
        set.peer.name,
        set.attributes.as_path.as_deref().unwrap_or_default(),
        rov.unwrap_or_default(),
    )
    .into()
}

/// The daemon's row without its beginning, which ends with the address.
fn json(route: &Route, set: &Set) -> Vec<u8> {
    let address = route.prefix.addr();
    let row = Line::Lookup(Box::new(LookupRow {
        address,
        prefix: Some(route.prefix),
        origin_as: set.origin_as,
        peer: Some(set.peer.clone()),
        rov: route.rov.map(|rov| rov.name().to_owned()),
        fallback: false,
        stale: false,
        attributes: Some(set.attributes.clone()),
    }));
    let text = serde_json::to_string(&row).unwrap_or_default();
    let start = BEFORE.len() + address.to_string().len();
    let mut rest = text.as_bytes().get(start..).unwrap_or_default().to_vec();
    rest.push(b'\n');
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &[u8] = b"\x0b192.0.2.1\n# foo\n\nfoo\n::1";

    fn answers(lines: &Lines<'_>) -> (String, Counts) {
        let mut out = Vec::new();
        let counts = lines.work(ROWS, 7, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), counts)
    }

    #[test]
    fn a_line_without_an_address_is_answered_and_counted() {
        let table = Table::default();
        let (text, counts) = answers(&Lines::text(&table));
        let expected =
            "192.0.2.1\tno route\t\t\t\t\nfoo\tno address\t\t\t\t\n::1\tno route\t\t\t\t\n";
        assert_eq!(text, expected);
        assert_eq!((counts.rows, counts.without), (3, 1));
        assert_eq!(counts.first, Some((10, Some("foo".into()))));
        let (text, _) = answers(&Lines::json(&table));
        let row = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let rows: Vec<_> = text.lines().map(row).collect();
        assert_eq!(rows[0]["address"], "192.0.2.1");
        assert_eq!(
            rows[1],
            serde_json::json!({"kind": "no-address", "line": 10, "text": "foo"})
        );
        assert_eq!(rows[2]["address"], "::1");
    }
}
