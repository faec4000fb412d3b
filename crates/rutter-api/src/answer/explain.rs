//! Answers `route` and `explain`.

use std::net::IpAddr;

use rutter_net::{ParsePrefixError, Prefix};
use rutter_rib::Explanation;

use super::{Failure, RowWriter};
use crate::convert::{Sources, explain_row};
use crate::{Backend, Line};

/// Sends the routes of a destination, best first.
pub(super) fn route(
    backend: &dyn Backend,
    target: &str,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let explanation = find(backend, target)?;
    let peers = backend.peers();
    let row = explain_row(&explanation, &Sources::new(&peers));
    for candidate in row.candidates {
        rows.send(&Line::Route(Box::new(candidate.route)))?;
    }
    Ok(())
}

/// Sends the explanation of a destination.
pub(super) fn explain(
    backend: &dyn Backend,
    target: &str,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let explanation = find(backend, target)?;
    let peers = backend.peers();
    let row = explain_row(&explanation, &Sources::new(&peers));
    rows.send(&Line::Explain(Box::new(row)))
}

fn find(backend: &dyn Backend, target: &str) -> Result<Explanation, Failure> {
    prefixes_for(target)
        .map_err(Failure::Refused)?
        .find_map(|prefix| backend.explain(prefix))
        .ok_or_else(|| Failure::NotFound(format!("the table has no route to {target}")))
}

/// Returns the prefixes to try: the prefix itself, or for an address all lengths from the longest.
fn prefixes_for(target: &str) -> Result<impl Iterator<Item = Prefix>, String> {
    let (addr, lengths) = match target.parse::<IpAddr>() {
        Ok(addr) => (addr, 0..=if addr.is_ipv4() { 32 } else { 128 }),
        Err(_) => {
            let prefix: Prefix = target.parse().map_err(|error| wrong(target, &error))?;
            (prefix.addr(), prefix.len()..=prefix.len())
        }
    };
    Ok(lengths
        .rev()
        .filter_map(move |len| Prefix::from_addr(addr, len)))
}

/// Says why a target is neither an address nor a prefix. Bits below the length are a common slip.
fn wrong(target: &str, error: &ParsePrefixError) -> String {
    let Some((addr, len)) = target.split_once('/') else {
        return format!("`{target}` is neither an address nor a prefix");
    };
    let net = addr.parse::<IpAddr>().ok().zip(len.parse::<u8>().ok());
    let net = net.and_then(|(addr, len)| Some(Prefix::from_addr(addr, len)?.to_string()));
    match net {
        Some(net) => format!("{error}: write {net}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_means_its_longest_match() {
        let tried: Vec<_> = prefixes_for("192.0.2.1").unwrap().collect();
        assert_eq!(tried.len(), 33);
        assert_eq!(tried[0].to_string(), "192.0.2.1/32");
        assert_eq!(tried[8].to_string(), "192.0.2.0/24");
        assert_eq!(prefixes_for("2001:db8::/32").unwrap().count(), 1);
    }

    #[test]
    fn an_error_says_what_to_write() {
        let error = |target| prefixes_for(target).err().unwrap();
        assert!(error("192.0.2.1/24").ends_with("are set: write 192.0.2.0/24"));
        assert!(error("2001:db8::1/32").ends_with("write 2001:db8::/32"));
        assert_eq!(error("foo"), "`foo` is neither an address nor a prefix");
        assert!(error("192.0.2.0/33").contains("range"));
    }
}
