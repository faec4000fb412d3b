//! The table as records, for a process that continues with it: the neighbors and their sessions, every route with its
//! verdict, and what each client has yet to be sent.
//!
//! The records come in stages. The first has the whole table, each later one what has changed since. The
//! table can change between them, but not during the last stage. So its length depends on how fast the table changes, not on its size.
//!
//! A record is a run of items. An item begins with its [`Tag`]. It never refers to an index of this process that is not
//! itself in the records: routes name attribute sets and verdicts by the numbers that earlier items gave them.

mod export;
mod import;
mod monitored;
mod records;
mod route_changes;
mod sent_sets;
mod stages;

pub use export::{HeldTable, TableTotals};
pub use import::{ImportedSets, ImportedTable, TableImport};
pub use stages::TableExport;

/// The kinds of items.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
enum Tag {
    /// The number of destinations of each family. Begins a stage.
    Size = 0,
    /// The rank of a neighbor in the decision process.
    Rank,
    /// The meaning of a verdict's octet.
    Verdict,
    /// An attribute set. The sets are numbered in their order.
    AttributeSet,
    /// A destination of IPv4 unicast with its routes, best first. Each destination of a family has a number. A new number
    /// is the next one.
    Ipv4Destination,
    /// The same for IPv6 unicast.
    Ipv6Destination,
    /// A number of IPv4 unicast that has no destination any more. Another one may get it.
    Ipv4Removal,
    /// The same for IPv6 unicast.
    Ipv6Removal,
    /// In the last stage: a neighbor with its session, and the epochs of its routes.
    Neighbor,
    /// In the last stage: an attribute set is charged to another neighbor.
    Owner,
    /// In the last stage: an attribute set has an audience now.
    Audience,
    /// In the last stage: a client, and what it has yet to be sent.
    Client,
    /// The totals.
    End,
}

impl Tag {
    const ALL: [Tag; 13] = [
        Tag::Size,
        Tag::Rank,
        Tag::Verdict,
        Tag::AttributeSet,
        Tag::Ipv4Destination,
        Tag::Ipv6Destination,
        Tag::Ipv4Removal,
        Tag::Ipv6Removal,
        Tag::Neighbor,
        Tag::Owner,
        Tag::Audience,
        Tag::Client,
        Tag::End,
    ];

    fn from_octet(octet: u8) -> Option<Tag> {
        Tag::ALL.into_iter().find(|tag| *tag as u8 == octet)
    }

    /// Returns whether only the last stage has such items.
    fn is_of_last_stage(self) -> bool {
        self >= Tag::Neighbor
    }
}
