//! The table `events`: the latest of what happened.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::Result;

use crate::EventLog;
use crate::events::Event;
use crate::tables::current::Rows;

/// Events that are still in memory.
pub struct EventsTable {
    log: EventLog,
    schema: SchemaRef,
}

const TEXTS: [&str; 11] = [
    "router",
    "peer_name",
    "peer_address",
    "view",
    "kind",
    "prefix",
    "origin",
    "as_path",
    "next_hop",
    "communities",
    "detail",
];
const NUMBERS: [&str; 5] = ["peer_asn", "path_id", "origin_as", "med", "local_pref"];

impl EventsTable {
    /// Over a log.
    pub fn new(log: EventLog) -> Self {
        let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let mut fields = vec![
            Field::new("run", DataType::UInt64, false),
            Field::new("seq", DataType::UInt64, false),
            Field::new("time", time, false),
        ];
        fields.extend(TEXTS.map(|name| Field::new(name, DataType::Utf8, true)));
        fields.extend(NUMBERS.map(|name| Field::new(name, DataType::Int64, true)));
        let schema = Arc::new(Schema::new(fields));
        Self { log, schema }
    }
}

impl Rows for EventsTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Result<RecordBatch> {
        let events = self.log.events();
        let times = events.iter().map(|event| event.time_us as i64);
        let times = TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC");
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(
                events.iter().map(|event| event.run),
            )),
            Arc::new(UInt64Array::from_iter_values(
                events.iter().map(|event| event.seq),
            )),
            Arc::new(times),
        ];
        for name in TEXTS {
            let values: StringArray = events.iter().map(|event| text(name, event)).collect();
            columns.push(Arc::new(values));
        }
        for name in NUMBERS {
            let values: Int64Array = events.iter().map(|event| number(name, event)).collect();
            columns.push(Arc::new(values));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

fn text(name: &str, event: &Event) -> Option<String> {
    let (peer, attrs) = (event.peer.as_ref(), event.attrs.as_ref());
    match name {
        "router" => peer.map(|peer| peer.router.to_string()),
        "peer_name" => peer.map(|peer| peer.name.to_string()),
        "peer_address" => peer.map(|peer| peer.address.to_string()),
        "view" => peer.map(|peer| peer.view.name().to_owned()),
        "kind" => Some(event.kind.name().to_owned()),
        "prefix" => event.prefix.map(|prefix| prefix.to_string()),
        "origin" => attrs.and_then(|attrs| attrs.origin_name().map(str::to_owned)),
        "as_path" => attrs.and_then(|attrs| attrs.as_path.clone()),
        "next_hop" => attrs.and_then(|attrs| attrs.next_hop.map(|hop| hop.to_string())),
        "communities" => attrs.map(|attrs| attrs.communities_text()),
        _ => Some(event.detail.to_string()).filter(|detail| !detail.is_empty()),
    }
}

fn number(name: &str, event: &Event) -> Option<i64> {
    let attrs = event.attrs.as_ref();
    match name {
        "peer_asn" => event.peer.as_ref().map(|peer| peer.asn.0.into()),
        "path_id" => event.prefix.map(|_| event.path_id.into()),
        "origin_as" => attrs.and_then(|attrs| attrs.origin_as.map(|asn| asn.0.into())),
        "med" => attrs.and_then(|attrs| attrs.med.map(i64::from)),
        _ => attrs.and_then(|attrs| attrs.local_pref.map(i64::from)),
    }
}
