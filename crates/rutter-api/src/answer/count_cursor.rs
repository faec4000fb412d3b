//! The place where a count of advertised routes goes on, with the numbers so far.

use std::fmt;

use rutter_rib::{ExportCount, PeerId};

use super::Failure;
use super::page_cursor::PageCursor;

/// A place in the table, and the numbers of the clients of this walk up to there, written as `4.3.1234_7.500.510.…`: family,
/// shard and slot; then for each client its number, prefixes, routes, and the withheld routes for each reason.
#[derive(Debug)]
pub(super) struct CountCursor {
    pub(super) place: PageCursor,
    /// By client, ascending; at least one.
    pub(super) counts: Vec<(PeerId, ExportCount)>,
}

impl CountCursor {
    /// The most clients of one walk: their numbers must fit into an address of the REST interface.
    pub(super) const MOST_CLIENTS: usize = 64;

    /// Reads a cursor. The empty one is `None`: the start.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Failure> {
        if text.is_empty() {
            return Ok(None);
        }
        let cursor = parts(text).and_then(|(place, counts)| {
            let place = PageCursor::parse(place).ok()?;
            Some(CountCursor { place, counts })
        });
        let refusal = || {
            Failure::Refused(format!(
                "`{text}` is no place in a count: use `next` of the page before as it is"
            ))
        };
        cursor.map(Some).ok_or_else(refusal)
    }

    /// The clients of the walk, ascending.
    pub(super) fn clients(&self) -> impl Iterator<Item = PeerId> {
        self.counts.iter().map(|(client, _)| *client)
    }
}

/// The place and the numbers.
fn parts(text: &str) -> Option<(&str, Vec<(PeerId, ExportCount)>)> {
    let (place, clients) = text.split_once('_')?;
    let counts: Vec<_> = clients.split('_').map(count).collect::<Option<_>>()?;
    let is_ascending = counts.is_sorted_by(|(one, _), (next, _)| one < next);
    let is_short = counts.len() <= CountCursor::MOST_CLIENTS;
    (!place.is_empty() && is_ascending && is_short).then_some((place, counts))
}

fn count(text: &str) -> Option<(PeerId, ExportCount)> {
    let mut parts = text.split('.');
    let client = PeerId(parts.next()?.parse().ok()?);
    let numbers: Vec<u64> = parts.map(str::parse).collect::<Result<_, _>>().ok()?;
    let [prefixes, routes, withheld @ ..] = &numbers[..] else {
        return None;
    };
    let count = ExportCount {
        prefixes: *prefixes,
        routes: *routes,
        withheld: withheld.try_into().ok()?,
    };
    Some((client, count))
}

impl fmt::Display for CountCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        for (client, count) in &self.counts {
            let ExportCount {
                prefixes,
                routes,
                withheld,
            } = count;
            write!(f, "_{}.{prefixes}.{routes}", client.0)?;
            for routes in withheld {
                write!(f, ".{routes}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rutter_net::Family;
    use rutter_rib::{DestinationPlace, Withheld};

    use super::*;

    #[test]
    fn a_cursor_reads_what_it_writes_and_refuses_everything_else() {
        let count = |prefixes| ExportCount {
            prefixes,
            routes: 6,
            withheld: std::array::from_fn(|at| at as u64),
        };
        let cursor = CountCursor {
            place: PageCursor {
                family: Family::Ipv6Unicast,
                place: DestinationPlace { shard: 3, slot: 77 },
            },
            counts: vec![(PeerId(7), count(5)), (PeerId(9), count(0))],
        };
        let text = cursor.to_string();
        let read = CountCursor::parse(&text).unwrap().unwrap();
        assert_eq!(
            (read.to_string(), read.counts),
            (text.clone(), cursor.counts)
        );
        assert!(CountCursor::parse("").unwrap().is_none());
        let longer = format!("{text}.1");
        let negative = text.replacen('5', "-5", 1);
        let twice = text.replacen("_9", "_7", 1);
        let many: String = (0..=CountCursor::MOST_CLIENTS)
            .map(|client| format!("_{client}.0.0{}", ".0".repeat(Withheld::ALL.len())))
            .collect();
        let many = format!("6.3.77{many}");
        for wrong in [
            "7", "6.3.77", "6.3.77_1", "_1", &longer, &negative, &twice, &many,
        ] {
            assert!(CountCursor::parse(wrong).is_err(), "{wrong}");
        }
    }
}
