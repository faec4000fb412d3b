//! An address a line in, a line with its route out.

use rutter_api::{Line, LookupRow};

use crate::stream::{Counts, RowError, Work, address};
use crate::{Route, Set, Table, Told};

/// Looks up an address a line. Empty lines and those that begin with `#` are passed over.
#[derive(Debug)]
pub struct Lines<'t> {
    told: Told<'t>,
    before: &'static [u8],
}

impl<'t> Lines<'t> {
    /// Address, prefix, origin AS, next hop, who sent the route, AS path and, where origins were validated, what came of
    /// it, with tabs between.
    pub fn text(table: &'t Table) -> Self {
        Lines {
            told: Told::new(table, "\tno route\t\t\t\t\n", text),
            before: b"",
        }
    }

    /// The rows that the daemon answers with: [`LookupRow`].
    pub fn json(table: &'t Table) -> Self {
        Lines {
            told: Told::new(table, "\"}\n", json),
            before: BEFORE.as_bytes(),
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
        for (line, row) in (first_line..).zip(rows.split(|octet| *octet == b'\n')) {
            let row = row.trim_ascii();
            if row.is_empty() || row[0] == b'#' {
                continue;
            }
            let Some(addr) = address(row) else {
                let text = String::from_utf8_lossy(row);
                return Err(RowError {
                    line,
                    what: format!("`{text}` is no IP address"),
                });
            };
            counts.rows += 1;
            out.extend_from_slice(self.before);
            out.extend_from_slice(row);
            out.extend_from_slice(self.told.of(addr));
        }
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

/// The daemon's row without its beginning, up to the address.
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
