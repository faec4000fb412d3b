//! The table as records, for a process that continues with it: the neighbors and their sessions, every route with its
//! verdict, and what each client has yet to be sent.
//!
//! A record is a run of items. An item begins with its [`Tag`]. It never refers to an index of this process that is not
//! itself in the records: routes name attribute sets and verdicts by the numbers that earlier items gave them.

mod export;
mod import;
mod route_changes;

pub use export::{HeldTable, TableTotals};
pub use import::TableImport;

/// The kinds of items, in the order in which they come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Tag {
    /// The number of destinations of each family, and whether clients catch up.
    Begin = 0,
    /// A neighbor: its session, and the epochs of its routes.
    Neighbor,
    /// The meaning of a verdict's octet.
    Verdict,
    /// An attribute set. The sets are numbered in their order.
    AttributeSet,
    /// A destination of IPv4 unicast with its routes, best first. The destinations of a family are numbered in their
    /// order.
    Ipv4Destination,
    /// The same for IPv6 unicast.
    Ipv6Destination,
    /// A client: what it has yet to be sent.
    Client,
    /// The totals.
    End,
}

impl Tag {
    const ALL: [Tag; 8] = [
        Tag::Begin,
        Tag::Neighbor,
        Tag::Verdict,
        Tag::AttributeSet,
        Tag::Ipv4Destination,
        Tag::Ipv6Destination,
        Tag::Client,
        Tag::End,
    ];

    fn from_octet(octet: u8) -> Option<Tag> {
        Tag::ALL.into_iter().find(|tag| *tag as u8 == octet)
    }
}
