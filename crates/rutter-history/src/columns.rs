//! Rows to record batches.

use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, SchemaRef};
use rutter_events::{COLUMNS, Kind, Peer, Row};
use rutter_net::Family;

use crate::schema::schema;
use crate::sets::{Sets, Words};
use crate::text::push_prefix;

/// Collects rows until there are enough for a batch. A row costs numbers and the text of its prefix; all other texts
/// are made once for all rows that share them.
pub struct Columns {
    schema: SchemaRef,
    collector: Box<str>,
    run: Vec<u64>,
    seq: Vec<u64>,
    time: Vec<i64>,
    kind: Vec<i32>,
    peer: Vec<Option<i32>>,
    peers: Vec<Arc<Peer>>,
    prefix_end: Vec<i32>,
    prefix_text: Vec<u8>,
    path_id: Vec<u32>,
    sets: Sets,
    detail: Vec<Option<i32>>,
    details: HashMap<Box<str>, i32>,
}

impl Columns {
    /// For rows of one collector.
    pub fn new(collector: &str) -> Self {
        Self {
            schema: schema(),
            collector: collector.into(),
            run: Vec::new(),
            seq: Vec::new(),
            time: Vec::new(),
            kind: Vec::new(),
            peer: Vec::new(),
            peers: Vec::new(),
            prefix_end: Vec::new(),
            prefix_text: Vec::new(),
            path_id: Vec::new(),
            sets: Sets::default(),
            detail: Vec::new(),
            details: HashMap::new(),
        }
    }

    /// Rows since the last batch.
    pub fn len(&self) -> usize {
        self.seq.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.seq.is_empty()
    }

    /// Adds a row.
    pub fn push(&mut self, row: &Row<'_>) {
        self.run.push(row.run);
        self.seq.push(row.seq);
        self.time.push(row.time_us as i64);
        self.kind.push(code(row.kind));
        let peer = row.peer.map(|peer| self.place(peer));
        self.peer.push(peer);
        if let Some(prefix) = row.prefix {
            push_prefix(&mut self.prefix_text, prefix);
        }
        self.prefix_end.push(self.prefix_text.len() as i32);
        self.path_id.push(row.path_id);
        self.sets.push(row.attrs);
        let detail = self.detail_of(row);
        self.detail.push(detail);
    }

    fn place(&mut self, peer: &Arc<Peer>) -> i32 {
        // Few peers; mostly the one of the row before.
        if let Some(Some(last)) = self.peer.last()
            && Arc::ptr_eq(&self.peers[*last as usize], peer)
        {
            return *last;
        }
        let known = self.peers.iter().position(|known| Arc::ptr_eq(known, peer));
        known.unwrap_or_else(|| {
            self.peers.push(Arc::clone(peer));
            self.peers.len() - 1
        }) as i32
    }

    fn detail_of(&mut self, row: &Row<'_>) -> Option<i32> {
        let retained = match row.kind {
            Kind::PeerDown { retained } => retained_text(retained),
            _ => None,
        };
        match retained {
            None if row.detail.is_empty() => None,
            None => Some(self.detail_key(row.detail)),
            Some(families) => {
                Some(self.detail_key(&format!("{RETAINED}{families}: {}", row.detail)))
            }
        }
    }

    fn detail_key(&mut self, text: &str) -> i32 {
        let next = self.details.len() as i32;
        if let Some(key) = self.details.get(text) {
            return *key;
        }
        self.details.insert(text.into(), next);
        next
    }

    /// The batch of the rows since the last.
    ///
    /// # Errors
    /// Where rows do not fit Arrow's limits: not with batches of thousands.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let arrays = COLUMNS.iter().map(|column| self.column(column.name));
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_, _>>()?;
        self.clear();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }

    /// Forgets the rows since the last batch.
    pub fn clear(&mut self) {
        self.run.clear();
        self.seq.clear();
        self.time.clear();
        self.kind.clear();
        self.peer.clear();
        self.peers.clear();
        self.prefix_end.clear();
        self.prefix_text.clear();
        self.path_id.clear();
        self.sets.clear();
        self.detail.clear();
        self.details.clear();
    }

    fn column(&self, name: &str) -> Result<ArrayRef, ArrowError> {
        Ok(match name {
            "run" => Arc::new(UInt64Array::from(self.run.clone())),
            "seq" => Arc::new(UInt64Array::from(self.seq.clone())),
            "time" => {
                Arc::new(TimestampMicrosecondArray::from(self.time.clone()).with_timezone("UTC"))
            }
            "collector" => self.constant()?,
            "kind" => dictionary(
                Int32Array::from(self.kind.clone()),
                StringArray::from(KINDS.to_vec()),
            )?,
            "router" => self.of_peer(|peer| peer.router.to_string())?,
            "peer_name" => self.of_peer(|peer| peer.name.to_string())?,
            "peer_address" => self.of_peer(|peer| peer.address.to_string())?,
            "view" => self.of_peer(|peer| peer.view.name().to_owned())?,
            "peer_asn" => self.peer_asn(),
            "prefix" => self.prefix()?,
            "path_id" => self.path_id(),
            "origin" => self.sets.text(|set, out| push(out, set.origin_name()))?,
            "as_path" => self
                .sets
                .text(|set, out| push(out, set.as_path.as_deref()))?,
            "next_hop" => self.sets.text(|set, out| write_some(out, set.next_hop))?,
            "origin_as" => self.sets.number(|set| set.origin_as.map(|asn| asn.0)),
            "med" => self.sets.number(|set| set.med),
            "local_pref" => self.sets.number(|set| set.local_pref),
            "communities" => self.sets.text(|set, out| spaced(out, &set.communities))?,
            "extended_communities" => self
                .sets
                .text(|set, out| spaced(out, &set.extended_communities))?,
            "large_communities" => self
                .sets
                .text(|set, out| spaced(out, &set.large_communities))?,
            _ => self.details()?,
        })
    }

    fn constant(&self) -> Result<ArrayRef, ArrowError> {
        let keys = Int32Array::from(vec![0; self.len()]);
        dictionary(keys, StringArray::from(vec![&*self.collector]))
    }

    fn of_peer(&self, text: impl Fn(&Peer) -> String) -> Result<ArrayRef, ArrowError> {
        let values = self.peers.iter().map(|peer| text(peer));
        dictionary(
            Int32Array::from(self.peer.clone()),
            StringArray::from_iter_values(values),
        )
    }

    fn peer_asn(&self) -> ArrayRef {
        let asn = |row: &Option<i32>| row.map(|row| self.peers[row as usize].asn.0);
        Arc::new(UInt32Array::from_iter(self.peer.iter().map(asn)))
    }

    fn prefix(&self) -> Result<ArrayRef, ArrowError> {
        let mut begin = 0;
        let texts = self.prefix_end.iter().map(|end| {
            let text = &self.prefix_text[begin..*end as usize];
            begin = *end as usize;
            (!text.is_empty()).then_some(text)
        });
        let texts = BinaryArray::from_iter(texts);
        let values = StringArray::try_from_binary(texts)?;
        Ok(Arc::new(values))
    }

    fn path_id(&self) -> ArrayRef {
        let mut begin = 0;
        let rows = self
            .path_id
            .iter()
            .zip(&self.prefix_end)
            .map(|(path_id, end)| {
                let is_there = std::mem::replace(&mut begin, *end) < *end;
                is_there.then_some(*path_id)
            });
        Arc::new(UInt32Array::from_iter(rows))
    }

    fn details(&self) -> Result<ArrayRef, ArrowError> {
        let mut words = Words::default();
        let mut texts: Vec<(&i32, &str)> = self
            .details
            .iter()
            .map(|(text, key)| (key, &**text))
            .collect();
        texts.sort_unstable();
        for (_, text) in texts {
            words.add(|out| push(out, Some(text)));
        }
        words.finish(Int32Array::from(self.detail.clone()))
    }
}

fn dictionary(keys: Int32Array, values: StringArray) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
        keys,
        Arc::new(values),
    )?))
}

/// How the `detail` of a `peer-down` begins that leaves routes in the table: `retained ipv4-unicast: …`.
pub(crate) const RETAINED: &str = "retained ";

fn retained_text(retained: [bool; 2]) -> Option<String> {
    let families = Family::ALL
        .into_iter()
        .filter(|family| retained[family.index()]);
    let names: Vec<&str> = families.map(family_name).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Which families a `peer-down` leaves in the table, from its `detail`.
pub(crate) fn retained_of(detail: &str) -> [bool; 2] {
    let families = detail
        .strip_prefix(RETAINED)
        .and_then(|rest| rest.split_once(": "));
    let families = families.map_or("", |(families, _)| families);
    let has = |family| families.split(' ').any(|name| name == family_name(family));
    Family::ALL.map(has)
}

fn family_name(family: Family) -> &'static str {
    match family {
        Family::Ipv4Unicast => "ipv4-unicast",
        Family::Ipv6Unicast => "ipv6-unicast",
    }
}

fn push(out: &mut String, text: Option<&str>) -> bool {
    out.push_str(text.unwrap_or_default());
    text.is_some()
}

fn write_some(out: &mut String, value: Option<impl Display>) -> bool {
    value.is_some_and(|value| write!(out, "{value}").is_ok())
}

/// A list as text; none where it is empty.
fn spaced(out: &mut String, values: &[impl Display]) -> bool {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        // Into a text nothing can fail.
        let _ = write!(out, "{value}");
    }
    !values.is_empty()
}

const KINDS: [&str; 10] = [
    "announce",
    "withdraw",
    "peer-up",
    "peer-down",
    "end-of-rib",
    "gap",
    "start",
    "stop",
    "clock-step",
    "state",
];

fn code(kind: Kind) -> i32 {
    match kind {
        Kind::Announce => 0,
        Kind::Withdraw => 1,
        Kind::PeerUp => 2,
        Kind::PeerDown { .. } => 3,
        Kind::EndOfRib(_) => 4,
        Kind::Gap { .. } => 5,
        Kind::Start => 6,
        Kind::Stop => 7,
        Kind::ClockStep { .. } => 8,
        Kind::State => 9,
    }
}
