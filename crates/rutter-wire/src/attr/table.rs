//! The table of path attributes: one row per type code that is understood.

use super::malformed::{Disposition, Fault};
use super::{AttrContext, OPTIONAL, TRANSITIVE, code};
use super::{
    aggregator, aigp, as_path, as4_aggregator, as4_path, atomic_aggregate, cluster_list,
    communities, extended_communities, ipv6_extended_communities, large_communities, local_pref,
    mp_reach, mp_unreach, multi_exit_disc, next_hop, only_to_customer, origin, originator_id,
    prefix_sid,
};

/// The properties of a type code.
pub(crate) struct Row {
    /// The type code.
    pub(crate) code: u8,
    /// The name in the RFC.
    pub(crate) name: &'static str,
    /// The required Optional and Transitive flags.
    pub(crate) flags: u8,
    /// The consequence of a malformed value.
    pub(crate) malformed: Disposition,
    /// The section that defines it.
    pub(crate) rfc: &'static str,
}

/// The result of a check: the offset in the value, and the fault.
pub(crate) type Checked = Result<(), (usize, Fault)>;

use Disposition::{AttributeDiscard, TreatAsWithdraw};

const WELL_KNOWN: u8 = TRANSITIVE;
const OPTIONAL_TRANSITIVE: u8 = OPTIONAL | TRANSITIVE;
/// The consequence of a wrong length. Other multiprotocol faults define their own.
const RESET: Disposition = Disposition::SessionReset(9);

macro_rules! rows {
    ($($slot:ident: $name:literal, $flags:expr, $module:ident, $malformed:expr, $rfc:literal;)*) => {
        /// The rows, in the order of their type codes.
        pub(crate) static ROWS: [Row; SLOTS] = [$(Row {
            code: code::$slot,
            name: $name,
            flags: $flags,
            malformed: $malformed,
            rfc: $rfc,
        }),*];

        const CODES: [u8; SLOTS] = [$(code::$slot),*];

        /// Checks a value. A pointer to the check in each row would be slower: the checks take a few instructions each.
        #[inline(always)]
        pub(crate) fn check(code: u8, value: &[u8], context: &AttrContext) -> Checked {
            match code {
                $(code::$slot => $module::check(value, context),)*
                _ => Ok(()),
            }
        }
    };
}

rows! {
    ORIGIN: "ORIGIN", WELL_KNOWN, origin, TreatAsWithdraw, "RFC 7606 §7.1";
    AS_PATH: "AS_PATH", WELL_KNOWN, as_path, TreatAsWithdraw, "RFC 7606 §7.2";
    NEXT_HOP: "NEXT_HOP", WELL_KNOWN, next_hop, TreatAsWithdraw, "RFC 7606 §7.3";
    MULTI_EXIT_DISC: "MULTI_EXIT_DISC", OPTIONAL, multi_exit_disc, TreatAsWithdraw, "RFC 7606 §7.4";
    LOCAL_PREF: "LOCAL_PREF", WELL_KNOWN, local_pref, TreatAsWithdraw, "RFC 7606 §7.5";
    ATOMIC_AGGREGATE: "ATOMIC_AGGREGATE", WELL_KNOWN, atomic_aggregate, AttributeDiscard, "RFC 7606 §7.6";
    AGGREGATOR: "AGGREGATOR", OPTIONAL_TRANSITIVE, aggregator, AttributeDiscard, "RFC 7606 §7.7";
    COMMUNITIES: "COMMUNITIES", OPTIONAL_TRANSITIVE, communities, TreatAsWithdraw, "RFC 7606 §7.8";
    ORIGINATOR_ID: "ORIGINATOR_ID", OPTIONAL, originator_id, TreatAsWithdraw, "RFC 7606 §7.9";
    CLUSTER_LIST: "CLUSTER_LIST", OPTIONAL, cluster_list, TreatAsWithdraw, "RFC 7606 §7.10";
    MP_REACH_NLRI: "MP_REACH_NLRI", OPTIONAL, mp_reach, RESET, "RFC 7606 §7.11";
    MP_UNREACH_NLRI: "MP_UNREACH_NLRI", OPTIONAL, mp_unreach, RESET, "RFC 7606 §7.12";
    EXTENDED_COMMUNITIES: "EXTENDED COMMUNITIES", OPTIONAL_TRANSITIVE, extended_communities, TreatAsWithdraw, "RFC 7606 §7.14";
    AS4_PATH: "AS4_PATH", OPTIONAL_TRANSITIVE, as4_path, AttributeDiscard, "RFC 6793 §6";
    AS4_AGGREGATOR: "AS4_AGGREGATOR", OPTIONAL_TRANSITIVE, as4_aggregator, AttributeDiscard, "RFC 6793 §6";
    IPV6_EXTENDED_COMMUNITIES: "IPv6 EXTENDED COMMUNITIES", OPTIONAL_TRANSITIVE, ipv6_extended_communities, TreatAsWithdraw, "RFC 7606 §7.15";
    AIGP: "AIGP", OPTIONAL, aigp, AttributeDiscard, "RFC 7311 §3.2";
    LARGE_COMMUNITIES: "LARGE_COMMUNITY", OPTIONAL_TRANSITIVE, large_communities, TreatAsWithdraw, "RFC 8092 §6";
    ONLY_TO_CUSTOMER: "ONLY_TO_CUSTOMER", OPTIONAL_TRANSITIVE, only_to_customer, TreatAsWithdraw, "RFC 9234 §5";
    PREFIX_SID: "PREFIX_SID", OPTIONAL_TRANSITIVE, prefix_sid, AttributeDiscard, "RFC 8669 §6";
}

/// The number of known type codes.
pub(crate) const SLOTS: usize = 20;

/// The result of [`slot_of`] for a code without a row.
pub(crate) const UNKNOWN: usize = 0xff;

const SLOT_OF: [u8; 256] = {
    let mut slots = [UNKNOWN as u8; 256];
    let mut i = 0;
    while i < SLOTS {
        slots[CODES[i] as usize] = i as u8;
        i += 1;
    }
    slots
};

/// The index of a code's row, or [`UNKNOWN`].
#[inline(always)]
pub(crate) const fn slot_of(code: u8) -> usize {
    SLOT_OF[code as usize] as usize
}

/// The row of a code.
pub(crate) fn row(code: u8) -> Option<&'static Row> {
    ROWS.get(slot_of(code))
}

/// A well-formed value has exactly `LEN` octets.
#[inline(always)]
pub(crate) fn exactly<const LEN: usize>(value: &[u8]) -> Checked {
    if value.len() == LEN {
        Ok(())
    } else {
        Err((0, Fault::Length))
    }
}

/// A well-formed value is one or more times `UNIT` octets.
#[inline(always)]
pub(crate) fn multiple_of<const UNIT: usize>(value: &[u8]) -> Checked {
    if !value.is_empty() && value.len().is_multiple_of(UNIT) {
        Ok(())
    } else {
        Err((0, Fault::Length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_finds_its_row_and_rows_ascend() {
        for (slot, row) in ROWS.iter().enumerate() {
            assert_eq!(slot_of(row.code), slot, "{}", row.name);
        }
        assert!(ROWS.windows(2).all(|w| w[0].code < w[1].code));
        assert_eq!(slot_of(200), UNKNOWN);
        assert!(row(200).is_none());
    }
}
