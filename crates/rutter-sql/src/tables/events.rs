//! The table `events`: the latest events.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, TimestampMicrosecondArray,
    UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::Result;

use crate::EventLog;
use crate::events::Event;
use crate::tables::current::Rows;

/// The events that are still in memory.
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
    /// A table over a log.
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
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        self.some(&all)
    }

    fn some(&self, columns: &[usize]) -> Result<RecordBatch> {
        let events = self.log.events();
        let schema = Arc::new(self.schema.project(columns)?);
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let arrays = names.map(|name| column(name, &events)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(events.len()));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    fn expected(&self, columns: &[usize]) -> usize {
        let events = self.log.events();
        let of = |at: &usize| match self.schema.field(*at).name().as_str() {
            name if TEXTS.contains(&name) => events.iter().map(|event| length(name, event)).sum(),
            _ => 8 * events.len(),
        };
        columns.iter().map(of).fold(0, usize::saturating_add)
    }
}

fn column(name: &str, events: &[Event]) -> ArrayRef {
    match name {
        "run" => Arc::new(UInt64Array::from_iter_values(
            events.iter().map(|event| event.run),
        )),
        "seq" => Arc::new(UInt64Array::from_iter_values(
            events.iter().map(|event| event.seq),
        )),
        "time" => {
            let times = events.iter().map(|event| event.time_us as i64);
            let times = TimestampMicrosecondArray::from_iter_values(times);
            Arc::new(times.with_timezone("UTC"))
        }
        name if NUMBERS.contains(&name) => {
            let values = events.iter().map(|event| number(name, event));
            Arc::new(values.collect::<Int64Array>())
        }
        name => {
            let values = events.iter().map(|event| text(name, event));
            Arc::new(values.collect::<StringArray>())
        }
    }
}

/// The approximate bytes of a string.
fn length(name: &str, event: &Event) -> usize {
    let attrs = event.attrs.as_ref();
    match name {
        "as_path" => attrs
            .and_then(|attrs| attrs.as_path.as_ref())
            .map_or(4, |path| path.len() + 4),
        "communities" => attrs.map_or(4, |attrs| COMMUNITY * attrs.communities.len() + 4),
        "detail" => event.detail.len() + 4,
        _ => SHORT,
    }
}

/// The bytes of a community's string and of a short string, with their offset.
const COMMUNITY: usize = 12;
const SHORT: usize = 24;

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
