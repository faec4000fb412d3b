//! The columns of routes: name and type, in the order of the schema.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// A column of `routes`, `best` and `rejected`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Router,
    PeerName,
    PeerAddress,
    PeerAsn,
    View,
    Family,
    Prefix,
    PrefixLength,
    PathId,
    Best,
    Verdict,
    Reason,
    Reasons,
    Stale,
    Origin,
    AsPath,
    AsPathLength,
    OriginAs,
    NextHop,
    Med,
    LocalPref,
    Communities,
    ExtendedCommunities,
    LargeCommunities,
}

/// All columns with their names.
pub const COLUMNS: [(Column, &str); 24] = [
    (Column::Router, "router"),
    (Column::PeerName, "peer_name"),
    (Column::PeerAddress, "peer_address"),
    (Column::PeerAsn, "peer_asn"),
    (Column::View, "view"),
    (Column::Family, "family"),
    (Column::Prefix, "prefix"),
    (Column::PrefixLength, "prefix_length"),
    (Column::PathId, "path_id"),
    (Column::Best, "best"),
    (Column::Verdict, "verdict"),
    (Column::Reason, "reason"),
    (Column::Reasons, "reasons"),
    (Column::Stale, "stale"),
    (Column::Origin, "origin"),
    (Column::AsPath, "as_path"),
    (Column::AsPathLength, "as_path_length"),
    (Column::OriginAs, "origin_as"),
    (Column::NextHop, "next_hop"),
    (Column::Med, "med"),
    (Column::LocalPref, "local_pref"),
    (Column::Communities, "communities"),
    (Column::ExtendedCommunities, "extended_communities"),
    (Column::LargeCommunities, "large_communities"),
];

impl Column {
    /// Returns whether the value is a string of the attribute set.
    pub fn is_text_of_set(self) -> bool {
        matches!(self, Self::Origin | Self::AsPath | Self::NextHop)
    }

    /// Returns whether the value is a list of communities of the attribute set.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::Communities | Self::ExtendedCommunities | Self::LargeCommunities
        )
    }

    /// Returns whether the value is a string of the peer.
    pub fn is_text_of_peer(self) -> bool {
        matches!(
            self,
            Self::Router | Self::PeerName | Self::PeerAddress | Self::View
        )
    }

    fn data_type(self) -> DataType {
        match self {
            _ if self.is_text_of_set() || self.is_text_of_peer() => dictionary(),
            _ if self.is_list() || self == Self::Reasons => list(),
            Self::Verdict | Self::Reason => dictionary(),
            Self::Prefix => DataType::Utf8,
            Self::Best | Self::Stale => DataType::Boolean,
            Self::Family | Self::PrefixLength => DataType::Int16,
            Self::AsPathLength => DataType::Int32,
            _ => DataType::Int64,
        }
    }

    fn is_nullable(self) -> bool {
        matches!(
            self,
            Self::Reason
                | Self::Origin
                | Self::AsPath
                | Self::OriginAs
                | Self::NextHop
                | Self::Med
                | Self::LocalPref
        )
    }
}

/// The type of columns with few different strings.
pub fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The type of lists of strings.
pub fn list() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, false)))
}

/// The schema of a table of routes.
pub fn schema() -> SchemaRef {
    let fields =
        COLUMNS.map(|(column, name)| Field::new(name, column.data_type(), column.is_nullable()));
    Arc::new(Schema::new(fields.to_vec()))
}
