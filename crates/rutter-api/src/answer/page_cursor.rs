//! The place in the table where a page of an answer begins.

use rutter_net::Family;
use rutter_rib::DestinationPlace;

use super::Failure;

/// A place in the table, written as `4.3.1234`: family, shard and slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageCursor {
    pub(super) family: Family,
    pub(super) place: DestinationPlace,
}

impl PageCursor {
    /// Reads a cursor. The empty one is the start of the table.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if text.is_empty() {
            return Ok(PageCursor {
                family: Family::Ipv4Unicast,
                place: DestinationPlace::default(),
            });
        }
        let wrong = || {
            Failure::Refused(format!(
                "`{text}` is no place in the table: use `next` of the page before as it is"
            ))
        };
        let mut parts = text.split('.');
        let mut part = || parts.next().ok_or_else(wrong);
        let family = match part()? {
            "4" => Family::Ipv4Unicast,
            "6" => Family::Ipv6Unicast,
            _ => return Err(wrong()),
        };
        let shard = part()?.parse().map_err(|_| wrong())?;
        let slot = part()?.parse().map_err(|_| wrong())?;
        match parts.next() {
            None => Ok(PageCursor {
                family,
                place: DestinationPlace { shard, slot },
            }),
            Some(_) => Err(wrong()),
        }
    }

    /// Returns the place in a family from which to read, or `None` if the family comes before the cursor.
    pub(super) fn start(self, family: Family) -> Option<DestinationPlace> {
        let order = |family| match family {
            Family::Ipv4Unicast => 4,
            Family::Ipv6Unicast => 6,
        };
        match order(family).cmp(&order(self.family)) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(self.place),
            std::cmp::Ordering::Greater => Some(DestinationPlace::default()),
        }
    }
}

impl std::fmt::Display for PageCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let family = match self.family {
            Family::Ipv4Unicast => 4,
            Family::Ipv6Unicast => 6,
        };
        let DestinationPlace { shard, slot } = self.place;
        write!(f, "{family}.{shard}.{slot}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_what_it_writes_and_refuses_everything_else() {
        let cursor = PageCursor {
            family: Family::Ipv6Unicast,
            place: DestinationPlace { shard: 3, slot: 77 },
        };
        assert_eq!(PageCursor::parse(&cursor.to_string()).unwrap(), cursor);
        for text in [
            "5.0.0",
            "4",
            "4.1",
            "4.1.2.3",
            "4.-1.0",
            "4.1.99999999999999999999999",
        ] {
            assert!(
                matches!(PageCursor::parse(text), Err(Failure::Refused(_))),
                "{text}"
            );
        }
    }
}
