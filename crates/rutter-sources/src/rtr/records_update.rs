//! Records of an answer until its End of Data, and their application to a set.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::error_code::RtrErrorCode;
use super::pdu::Pdu;
use super::records::{AspaRecords, RtrRecords, VrpRecord, VrpRecord4, VrpRecord6};

/// The announced and withdrawn records of one answer, in their order.
#[derive(Debug, Default)]
pub struct RtrUpdate {
    ipv4: Vec<(VrpRecord4, bool)>,
    ipv6: Vec<(VrpRecord6, bool)>,
    aspas: Vec<(u32, Option<Arc<[u32]>>)>,
    providers: usize,
}

/// A record that contradicts the set: a duplicate, or a withdrawal of an unknown record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordConflict {
    /// Announced, or withdrawn.
    announce: bool,
    record: Record,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Record {
    Vrp(VrpRecord),
    Aspa { customer: u32 },
}

impl RtrUpdate {
    /// Adds a VRP.
    pub fn push_vrp(&mut self, announce: bool, vrp: VrpRecord) {
        match vrp {
            VrpRecord::V4(vrp) => self.ipv4.push((vrp, announce)),
            VrpRecord::V6(vrp) => self.ipv6.push((vrp, announce)),
        }
    }

    /// Adds an announced ASPA with its sorted providers, or a withdrawn one with `None`.
    pub fn push_aspa(&mut self, customer: u32, providers: Option<Vec<u32>>) {
        self.providers += providers.as_ref().map_or(0, Vec::len);
        self.aspas.push((customer, providers.map(Arc::from)));
    }

    /// The number of records that the limits count: VRPs, ASPAs and providers.
    pub(super) fn counted(&self) -> usize {
        self.ipv4.len() + self.ipv6.len() + self.aspas.len() + self.providers
    }

    /// Applies the update to a set. An announced ASPA replaces the one before it (draft-ietf-sidrops-8210bis §5.12).
    ///
    /// # Errors
    /// If a record contradicts the set. The update has then no effect.
    pub fn apply(self, base: &RtrRecords) -> Result<RtrRecords, RecordConflict> {
        let vrp = |(vrp, announce)| RecordConflict {
            announce,
            record: Record::Vrp(vrp),
        };
        let ipv4 = merge(&base.ipv4, self.ipv4);
        let ipv6 = merge(&base.ipv6, self.ipv6);
        Ok(RtrRecords {
            ipv4: ipv4.map_err(|(one, announce)| vrp((VrpRecord::V4(one), announce)))?,
            ipv6: ipv6.map_err(|(one, announce)| vrp((VrpRecord::V6(one), announce)))?,
            aspas: merge_aspas(&base.aspas, self.aspas)?,
        })
    }
}

/// Applies changes to a sorted list. Changes of one record count in their order.
fn merge<T: Ord + Copy>(base: &[T], mut changes: Vec<(T, bool)>) -> Result<Vec<T>, (T, bool)> {
    if changes.is_empty() {
        return Ok(base.to_vec());
    }
    changes.sort_by_key(|(record, _)| *record);
    let announced = changes.iter().filter(|(_, announce)| *announce).count();
    let mut merged = Vec::with_capacity(base.len() + announced);
    let mut rest = base;
    for of_one in changes.chunk_by(|one, next| one.0 == next.0) {
        let record = of_one[0].0;
        let before = rest.partition_point(|other| *other < record);
        merged.extend_from_slice(&rest[..before]);
        rest = &rest[before..];
        let mut is_present = rest.first() == Some(&record);
        rest = &rest[usize::from(is_present)..];
        for (_, announce) in of_one {
            if *announce == is_present {
                return Err((record, *announce));
            }
            is_present = *announce;
        }
        merged.extend(is_present.then_some(record));
    }
    merged.extend_from_slice(rest);
    Ok(merged)
}

fn merge_aspas(
    base: &Arc<AspaRecords>,
    changes: Vec<(u32, Option<Arc<[u32]>>)>,
) -> Result<Arc<AspaRecords>, RecordConflict> {
    if changes.is_empty() {
        return Ok(base.clone());
    }
    let mut merged = BTreeMap::clone(base);
    for (customer, providers) in changes {
        match providers {
            Some(providers) => drop(merged.insert(customer, providers)),
            None if merged.remove(&customer).is_none() => {
                let record = Record::Aspa { customer };
                return Err(RecordConflict {
                    announce: false,
                    record,
                });
            }
            None => {}
        }
    }
    Ok(Arc::new(merged))
}

impl RecordConflict {
    /// The code of the Error Report that answers this conflict.
    pub fn code(&self) -> RtrErrorCode {
        if self.announce {
            RtrErrorCode::DUPLICATE_ANNOUNCEMENT
        } else {
            RtrErrorCode::WITHDRAWAL_OF_UNKNOWN_RECORD
        }
    }

    /// Returns whether the record is an ASPA.
    pub(super) fn is_aspa(&self) -> bool {
        matches!(self.record, Record::Aspa { .. })
    }

    /// Appends the PDU of the record.
    pub(super) fn write(&self, version: u8, out: &mut Vec<u8>) {
        let announce = self.announce;
        match self.record {
            Record::Vrp(vrp) => Pdu::Vrp { announce, vrp }.write(version, out),
            Record::Aspa { customer } => {
                let providers = Vec::new();
                Pdu::Aspa {
                    announce,
                    customer,
                    providers,
                }
                .write(version, out);
            }
        }
    }
}

impl fmt::Display for RecordConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = match &self.record {
            Record::Vrp(vrp) => vrp.to_string(),
            Record::Aspa { customer } => format!("the ASPA of AS{customer}"),
        };
        if self.announce {
            write!(f, "it announced {record} twice")
        } else {
            write!(f, "it withdrew {record}, which it had not announced")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The slow reference: one record after the other.
    fn naive(base: &[u8], changes: &[(u8, bool)]) -> Option<Vec<u8>> {
        let mut set: BTreeSet<u8> = base.iter().copied().collect();
        for (record, announce) in changes {
            let worked = if *announce {
                set.insert(*record)
            } else {
                set.remove(record)
            };
            if !worked {
                return None;
            }
        }
        Some(set.into_iter().collect())
    }

    proptest! {
        #[test]
        fn changes_are_applied_in_their_order(
            base in proptest::collection::btree_set(0_u8..24, 0..16),
            changes in proptest::collection::vec((0_u8..24, any::<bool>()), 0..8),
        ) {
            let base: Vec<u8> = base.into_iter().collect();
            prop_assert_eq!(merge(&base, changes.clone()).ok(), naive(&base, &changes));
        }
    }

    #[test]
    fn aspas_are_replaced_and_withdrawn() {
        let mut update = RtrUpdate::default();
        update.push_aspa(64_500, Some(vec![1]));
        update.push_aspa(64_500, Some(vec![2, 3]));
        update.push_aspa(64_501, Some(vec![0]));
        assert_eq!(update.counted(), 3 + 4);
        let records = update.apply(&RtrRecords::default()).unwrap();
        assert_eq!(&*records.aspas()[&64_500], [2, 3]);
        assert_eq!(records.counted(), 2 + 3);
        let mut update = RtrUpdate::default();
        update.push_aspa(64_501, None);
        let records = update.apply(&records).unwrap();
        assert_eq!(records.aspa_count(), 1);
        let mut update = RtrUpdate::default();
        update.push_aspa(64_501, None);
        let conflict = update.apply(&records).unwrap_err();
        assert_eq!(conflict.code(), RtrErrorCode::WITHDRAWAL_OF_UNKNOWN_RECORD);
        assert!(conflict.to_string().contains("AS64501"), "{conflict}");
    }
}
