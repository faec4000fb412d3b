//! The table `routers`: the routers that report by BMP.

use std::net::SocketAddr;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::Result;

use crate::tables::current::Rows;

/// A router that is connected to the station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Router {
    /// Its own name.
    pub name: String,
    /// The address of its connection.
    pub address: SocketAddr,
    /// Hardware and software, as it reports them.
    pub description: String,
    /// The time of its connection, in microseconds since 1970.
    pub since_us: u64,
    /// Monitored sessions that are up.
    pub peers: u64,
    /// Messages received.
    pub messages: u64,
    /// Messages that could not be read.
    pub faults: u64,
    /// UPDATEs ignored because their peer is not known.
    pub unknown: u64,
    /// UPDATEs that were malformed.
    pub malformed: u64,
    /// Messages that were mirrored.
    pub mirrored: u64,
}

/// Returns the connected routers.
pub type Routers = Arc<dyn Fn() -> Vec<Router> + Send + Sync>;

/// All connected routers.
pub struct RoutersTable {
    routers: Routers,
    schema: SchemaRef,
}

const TEXTS: [&str; 4] = ["router", "address", "state", "description"];
const NUMBERS: [&str; 6] = [
    "peers",
    "messages",
    "faults",
    "unknown",
    "malformed",
    "mirrored",
];

impl RoutersTable {
    /// A table over a source of routers.
    pub fn new(routers: Routers) -> Self {
        let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let text = |name| Field::new(name, DataType::Utf8, false);
        let mut fields: Vec<Field> = TEXTS.into_iter().map(text).collect();
        fields.push(Field::new("since", time, false));
        let number = |name| Field::new(name, DataType::Int64, false);
        fields.extend(NUMBERS.map(number));
        let schema = Arc::new(Schema::new(fields));
        Self { routers, schema }
    }
}

impl Rows for RoutersTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Result<RecordBatch> {
        let routers = (self.routers)();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for name in TEXTS {
            let values = routers.iter().map(|router| text(name, router));
            columns.push(Arc::new(StringArray::from_iter_values(values)));
        }
        let since = routers.iter().map(|router| router.since_us as i64);
        let since = TimestampMicrosecondArray::from_iter_values(since);
        columns.push(Arc::new(since.with_timezone("UTC")));
        for name in NUMBERS {
            let values = routers.iter().map(|router| number(name, router) as i64);
            columns.push(Arc::new(Int64Array::from_iter_values(values)));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

fn text(name: &str, router: &Router) -> String {
    match name {
        "router" => router.name.clone(),
        "address" => router.address.to_string(),
        "state" => "connected".to_owned(),
        _ => router.description.clone(),
    }
}

fn number(name: &str, router: &Router) -> u64 {
    match name {
        "peers" => router.peers,
        "messages" => router.messages,
        "faults" => router.faults,
        "unknown" => router.unknown,
        "malformed" => router.malformed,
        _ => router.mirrored,
    }
}
