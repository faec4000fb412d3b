//! The table `peers`.

use std::net::Ipv4Addr;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::Result;
use rutter_events::Peer;
use rutter_net::Family;
use rutter_rib::{PeerSummary, Rib};

use crate::tables::current::Rows;

/// All peers, with what their sessions negotiated and how many routes they have.
pub struct PeersTable {
    rib: Arc<Rib>,
    schema: SchemaRef,
}

const TEXTS: [&str; 6] = [
    "router",
    "peer_name",
    "peer_address",
    "view",
    "source",
    "distinguisher",
];
const NUMBERS: [&str; 6] = [
    "peer_asn",
    "bgp_id",
    "ipv4_received",
    "ipv4_rejected",
    "ipv6_received",
    "ipv6_rejected",
];

impl PeersTable {
    /// Over a [`Rib`].
    pub fn new(rib: Arc<Rib>) -> Self {
        let text = |name| Field::new(name, DataType::Utf8, false);
        let number = |name| Field::new(name, DataType::Int64, false);
        let mut fields: Vec<Field> = TEXTS.into_iter().map(text).collect();
        fields.extend(NUMBERS.into_iter().map(number));
        fields.push(Field::new("established", DataType::Boolean, false));
        let schema = Arc::new(Schema::new(fields));
        Self { rib, schema }
    }
}

impl Rows for PeersTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Result<RecordBatch> {
        let summaries = self.rib.peers();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for name in TEXTS {
            let values = summaries.iter().map(|summary| text(name, summary));
            columns.push(Arc::new(StringArray::from_iter_values(values)));
        }
        for name in NUMBERS {
            let values = summaries.iter().map(|summary| number(name, summary));
            columns.push(Arc::new(Int64Array::from_iter_values(values)));
        }
        let up: Vec<bool> = summaries.iter().map(|s| s.session.is_some()).collect();
        columns.push(Arc::new(BooleanArray::from(up)));
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

fn text(name: &str, summary: &PeerSummary) -> String {
    let peer = Peer::from(summary);
    match name {
        "router" => peer.router.to_string(),
        "peer_name" => peer.name.to_string(),
        "peer_address" => peer.address.to_string(),
        "view" => peer.view.name().to_owned(),
        "distinguisher" => distinguisher(peer.distinguisher),
        _ => format!("{:?}", peer.source).to_lowercase(),
    }
}

/// A Route Distinguisher as people write it (RFC 4364 §4.2); of a type that is not known, its number.
fn distinguisher(value: u64) -> String {
    let octets = value.to_be_bytes();
    let [_, _, a, b, c, d, e, f] = octets;
    match value >> 48 {
        0 => format!("{}:{}", u16::from_be_bytes([a, b]), value as u32),
        1 => format!(
            "{}:{}",
            Ipv4Addr::new(a, b, c, d),
            u16::from_be_bytes([e, f])
        ),
        2 => format!("{}:{}", (value >> 16) as u32, value as u16),
        _ => value.to_string(),
    }
}

fn number(name: &str, summary: &PeerSummary) -> i64 {
    let peer = Peer::from(summary);
    let of = |family: Family| summary.counts[family.index()];
    match name {
        "peer_asn" => peer.asn.0.into(),
        "bgp_id" => peer.bgp_id.into(),
        "ipv4_received" => of(Family::Ipv4Unicast).received.into(),
        "ipv4_rejected" => of(Family::Ipv4Unicast).rejected().into(),
        "ipv6_received" => of(Family::Ipv6Unicast).received.into(),
        _ => of(Family::Ipv6Unicast).rejected().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::distinguisher;

    #[test]
    fn distinguishers_are_written_as_in_the_standard() {
        assert_eq!(distinguisher(0), "0:0");
        assert_eq!(distinguisher(0x0000_fbf4_0001_0000), "64500:65536");
        assert_eq!(distinguisher(0x0001_c000_0201_0007), "192.0.2.1:7");
        assert_eq!(distinguisher(0x0002_0003_0d40_0007), "200000:7");
        assert_eq!(distinguisher(u64::MAX), "18446744073709551615");
    }
}
