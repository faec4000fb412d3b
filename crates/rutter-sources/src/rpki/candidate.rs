//! Data that could be in force.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_net::Asn;
use rutter_rpki::{AspasBuilder, VrpsBuilder};

use super::live_data::{LiveRpkiData, Sizes};
use super::origin::Origin;
use crate::rtr::RtrRecords;

/// Data of one origin that could be in force.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub origin: Origin,
    pub content: Content,
    /// The time of the last success, by the monotonic clock.
    pub confirmed_at: Instant,
    /// The time of the data, Unix seconds.
    pub time: u64,
    /// The age at which the data are no longer used.
    pub expire: Duration,
    /// The data are those of the last good copy.
    pub is_copy: bool,
}

/// The content of a candidate. A cache's records become a set only if they are chosen.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// The records of a cache, with or without ASPAs.
    Records(Arc<RtrRecords>, bool),
    /// A set.
    Set(LiveRpkiData),
}

impl Candidate {
    /// Returns whether the data are too old.
    pub fn is_expired(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.confirmed_at) >= self.expire
    }
}

impl Content {
    pub fn sizes(&self) -> Sizes {
        match self {
            Content::Records(records, has_aspas) => Sizes {
                vrps: Some(records.vrp_count()),
                aspas: has_aspas.then(|| records.aspa_count()),
            },
            Content::Set(set) => set.sizes(),
        }
    }

    /// Returns whether both are the same allocation.
    pub fn is_same(&self, other: &Content) -> bool {
        let same = |one: &Option<Arc<_>>, other: &Option<Arc<_>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        match (self, other) {
            (Content::Records(one, with), Content::Records(other, too)) => {
                Arc::ptr_eq(one, other) && with == too
            }
            (Content::Set(one), Content::Set(other)) => {
                let same_aspas = match (&one.aspas, &other.aspas) {
                    (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                    (None, None) => true,
                    _ => false,
                };
                same(&one.vrps, &other.vrps) && same_aspas
            }
            _ => false,
        }
    }

    /// The set.
    pub fn build(&self) -> LiveRpkiData {
        match self {
            Content::Set(set) => set.clone(),
            Content::Records(records, has_aspas) => {
                let mut vrps = VrpsBuilder::new();
                for record in records.vrps() {
                    vrps.add(record.vrp()).expect("the codec checks lengths");
                }
                LiveRpkiData {
                    vrps: Some(Arc::new(vrps.build())),
                    aspas: has_aspas.then(|| Arc::new(aspas(records).build())),
                }
            }
        }
    }
}

fn aspas(records: &RtrRecords) -> AspasBuilder {
    let mut aspas = AspasBuilder::new();
    for (customer, providers) in records.aspas().iter() {
        let providers = providers.iter().map(|provider| Asn(*provider));
        let added = aspas.add(Asn(*customer), providers);
        added.expect("the codec checks customers and providers");
    }
    aspas
}
