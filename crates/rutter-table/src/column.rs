//! The columns that `rutter enrich` can add to a row.

use crate::{Route, Set};

/// A column that is added to rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// The origin AS.
    Asn,
    /// The longest prefix that contains the address.
    Prefix,
    /// The AS path of its route.
    AsPath,
    /// The next hop of its route.
    NextHop,
    /// Origin validation.
    Rov,
}

impl Column {
    /// All of them, in the order in which they are added.
    pub const ALL: [Column; 5] = [
        Column::Asn,
        Column::Prefix,
        Column::AsPath,
        Column::NextHop,
        Column::Rov,
    ];

    /// `asn`, `prefix`, `as_path`, `next_hop` or `rov`.
    pub fn name(self) -> &'static str {
        match self {
            Column::Asn => "asn",
            Column::Prefix => "prefix",
            Column::AsPath => "as_path",
            Column::NextHop => "next_hop",
            Column::Rov => "rov",
        }
    }

    /// The value of this column for a route; `None` where the route has none.
    pub(crate) fn text(self, route: &Route, set: &Set) -> Option<String> {
        match self {
            Column::Asn => set.origin_as.map(|asn| asn.to_string()),
            Column::Prefix => Some(route.prefix.to_string()),
            Column::AsPath => set.attributes.as_path.clone(),
            Column::NextHop => set.attributes.next_hop.map(|addr| addr.to_string()),
            Column::Rov => route.rov.map(|rov| rov.name().to_owned()),
        }
    }
}
