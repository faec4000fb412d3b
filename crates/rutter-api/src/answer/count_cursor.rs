//! The place where a count of advertised routes goes on, with the numbers so far.

use std::fmt;

use rutter_net::Family;
use rutter_rib::{DestinationPlace, PeerId, Withheld};

use super::Failure;
use super::advertised::Counts;
use super::page_cursor::PageCursor;

/// A client, a place in the table, and the routes up to there, written as `7.4.3.1234.500.…`: the number of the client, family,
/// shard and slot, prefixes, routes, and the withheld routes for each reason.
#[derive(Debug)]
pub(super) struct CountCursor {
    pub(super) client: PeerId,
    pub(super) place: PageCursor,
    pub(super) counts: Counts,
}

impl CountCursor {
    /// Reads a cursor. The empty one is `None`: the start.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Failure> {
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = || {
            Failure::Refused(format!(
                "`{text}` is no place in a count: use `next` of the page before as it is"
            ))
        };
        let (client, rest) = text.split_once('.').ok_or_else(wrong)?;
        let end_of_place = rest.match_indices('.').nth(2);
        let (place, numbers) = rest.split_at(end_of_place.ok_or_else(wrong)?.0);
        let numbers = numbers.split('.').skip(1).map(str::parse);
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().map_err(|_| wrong())?;
        let [prefixes, routes, withheld @ ..] = &numbers[..] else {
            return Err(wrong());
        };
        if withheld.len() != Withheld::ALL.len() {
            return Err(wrong());
        }
        let withheld = Withheld::ALL.into_iter().zip(withheld.iter().copied());
        Ok(Some(CountCursor {
            client: PeerId(client.parse().map_err(|_| wrong())?),
            place: PageCursor::parse(place)?,
            counts: Counts {
                prefixes: *prefixes,
                routes: *routes,
                withheld: withheld.filter(|(_, routes)| *routes > 0).collect(),
            },
        }))
    }

    /// Returns where a client's count of a family goes on; `None`: it was counted before.
    pub(super) fn start(
        cursor: Option<&Self>,
        client: PeerId,
        family: Family,
    ) -> Option<(DestinationPlace, Counts)> {
        match cursor {
            Some(cursor) if client < cursor.client => None,
            Some(cursor) if client == cursor.client => {
                let place = cursor.place.start(family)?;
                let is_within = family == cursor.place.family;
                let counts = is_within.then(|| cursor.counts.clone());
                Some((place, counts.unwrap_or_default()))
            }
            _ => Some(Default::default()),
        }
    }
}

impl fmt::Display for CountCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts {
            prefixes,
            routes,
            withheld,
        } = &self.counts;
        write!(f, "{}.{}.{prefixes}.{routes}", self.client.0, self.place)?;
        for why in Withheld::ALL {
            write!(f, ".{}", withheld.get(&why).unwrap_or(&0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_what_it_writes_and_refuses_everything_else() {
        let cursor = CountCursor {
            client: PeerId(7),
            place: PageCursor {
                family: Family::Ipv6Unicast,
                place: DestinationPlace { shard: 3, slot: 77 },
            },
            counts: Counts {
                prefixes: 5,
                routes: 6,
                withheld: [(Withheld::Role, 8)].into(),
            },
        };
        let text = cursor.to_string();
        let read = CountCursor::parse(&text).unwrap();
        assert_eq!(read.map(|one| one.to_string()), Some(text.clone()));
        assert!(CountCursor::parse("").unwrap().is_none());
        let longer = format!("{text}.1");
        let negative = text.replacen('5', "-5", 1);
        for wrong in ["7", "7.6.3.77", "7.6.3.77.1", &longer, &negative, "x"] {
            assert!(CountCursor::parse(wrong).is_err(), "{wrong}");
        }
    }
}
