//! The table `peers`.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::Result;
use rutter_events::{Peer, distinguisher_text};
use rutter_net::Family;
use rutter_rib::{PeerSummary, Rib};

use crate::tables::current::Rows;

/// All peers, with the results of their negotiation and their numbers of routes.
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
    /// A table over a [`Rib`].
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
        "distinguisher" => distinguisher_text(peer.distinguisher),
        _ => format!("{:?}", peer.source).to_lowercase(),
    }
}

fn number(name: &str, summary: &PeerSummary) -> i64 {
    let peer = Peer::from(summary);
    let of = |family: Family| summary.counts[family];
    match name {
        "peer_asn" => peer.asn.0.into(),
        "bgp_id" => peer.bgp_id.into(),
        "ipv4_received" => of(Family::Ipv4Unicast).received.into(),
        "ipv4_rejected" => of(Family::Ipv4Unicast).rejected().into(),
        "ipv6_received" => of(Family::Ipv6Unicast).received.into(),
        _ => of(Family::Ipv6Unicast).rejected().into(),
    }
}
