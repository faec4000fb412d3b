//! The prefix checks of one family, compiled.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::prefix_match::{GLOBAL_UNICAST, MARTIANS_V4, MARTIANS_V6};
use crate::prefix_tables::{Bits, CoverTable, RangeTable, Split, split_v4, split_v6};
use crate::{
    BOGONS_V4, BOGONS_V6, ImportRule, ImportSettings, LengthRange, PrefixMatch, RejectReason,
};

/// The prefix checks of one family.
#[derive(Debug)]
pub(crate) struct FamilyChecks<B> {
    /// All prefixes of this family are rejected for this reason.
    pub(crate) closed: Option<RejectReason>,
    rejected: CoverTable<B>,
    rejected_lengths: RangeTable<B>,
    reject_default: bool,
    /// Prefixes must be inside this prefix (bits and length); length 0 accepts all.
    inside: (B, u8),
    lengths: LengthRange,
    allowed: Option<RangeTable<B>>,
}

impl<B: Bits> FamilyChecks<B> {
    /// Returns the first reason against a prefix.
    #[inline]
    pub(crate) fn check(&self, bits: B, len: u8, blackhole: bool) -> Option<RejectReason> {
        if self.closed.is_some() {
            return self.closed;
        }
        if len == 0 && self.reject_default {
            return Some(RejectReason::Bogon);
        }
        if let Some(reason) = self.rejected.covering(bits, len) {
            return Some(reason);
        }
        if !self.rejected_lengths.is_empty()
            && let Some(reason) = self.rejected_lengths.matching(bits, len)
        {
            return Some(reason);
        }
        if len < self.inside.1 || bits.masked(self.inside.1) != self.inside.0 {
            return Some(RejectReason::NotGlobalUnicast);
        }
        let is_long_blackhole = blackhole && len > self.lengths.max;
        if !self.lengths.contains(len) && !is_long_blackhole {
            return Some(RejectReason::PrefixLength);
        }
        let allowed = self.allowed.as_ref()?;
        let listed =
            allowed.matching(bits, len).is_some() || (blackhole && allowed.covers(bits, len));
        (!listed).then_some(RejectReason::PrefixNotAllowed)
    }
}

pub(crate) fn ipv4_checks(settings: &ImportSettings) -> FamilyChecks<u32> {
    let mut lists: Split<u32> = Split::default();
    let all = |p: &Ipv4Prefix| PrefixMatch::or_longer(Prefix::V4(*p));
    for (list, reason) in black_lists(settings, BOGONS_V4, MARTIANS_V4, all) {
        split_v4(&list, reason, &mut lists);
    }
    let mut allowed: Split<u32> = Split::default();
    split_v4(
        &settings.allow_prefixes,
        RejectReason::PrefixNotAllowed,
        &mut allowed,
    );
    let inside = (0, 0);
    family_checks(
        settings,
        Family::Ipv4Unicast,
        Ipv4Prefix::MAX_LEN,
        inside,
        lists,
        allowed,
    )
}

pub(crate) fn ipv6_checks(settings: &ImportSettings) -> FamilyChecks<u128> {
    let mut lists: Split<u128> = Split::default();
    let all = |p: &Ipv6Prefix| PrefixMatch::or_longer(Prefix::V6(*p));
    for (list, reason) in black_lists(settings, BOGONS_V6, MARTIANS_V6, all) {
        split_v6(&list, reason, &mut lists);
    }
    let mut allowed: Split<u128> = Split::default();
    split_v6(
        &settings.allow_prefixes,
        RejectReason::PrefixNotAllowed,
        &mut allowed,
    );
    let global = settings.rule == ImportRule::Checks && settings.require_global_unicast;
    let inside = if global {
        (GLOBAL_UNICAST.bits(), GLOBAL_UNICAST.len())
    } else {
        (0, 0)
    };
    family_checks(
        settings,
        Family::Ipv6Unicast,
        Ipv6Prefix::MAX_LEN,
        inside,
        lists,
        allowed,
    )
}

/// Returns the lists of prefixes that these settings reject, with their reasons.
fn black_lists<P>(
    settings: &ImportSettings,
    bogons: &[P],
    martians: &[P],
    all: impl Fn(&P) -> PrefixMatch,
) -> Vec<(Vec<PrefixMatch>, RejectReason)> {
    let whole = |list: &[P]| list.iter().map(&all).collect::<Vec<_>>();
    match settings.rule {
        ImportRule::Collect => Vec::new(),
        ImportRule::All | ImportRule::None => vec![(whole(martians), RejectReason::Martian)],
        ImportRule::Checks => {
            let lan = settings.lan.iter().copied().map(PrefixMatch::or_longer);
            let bogons = if settings.reject_bogons { bogons } else { &[] };
            vec![
                (whole(bogons), RejectReason::Bogon),
                (whole(martians), RejectReason::Martian),
                (lan.collect(), RejectReason::OwnLan),
                (settings.black_list.clone(), RejectReason::GlobalBlackList),
                (
                    settings.client_black_list.clone(),
                    RejectReason::ClientBlackList,
                ),
            ]
        }
    }
}

fn family_checks<B: Bits>(
    settings: &ImportSettings,
    family: Family,
    host_len: u8,
    inside: (B, u8),
    (covers, ranges): Split<B>,
    allowed: Split<B>,
) -> FamilyChecks<B> {
    let checks = settings.rule == ImportRule::Checks;
    let any = LengthRange {
        min: 0,
        max: host_len,
    };
    let whole = allowed
        .0
        .iter()
        .map(|(bits, len, reason)| (*bits, *len, *len, host_len, *reason));
    FamilyChecks {
        closed: closed(settings, family),
        rejected: CoverTable::new(covers),
        rejected_lengths: RangeTable::new(ranges),
        reject_default: checks && settings.reject_bogons,
        inside,
        lengths: if checks {
            settings.prefix_length[family]
        } else {
            any
        },
        allowed: (checks && !settings.allow_prefixes.is_empty())
            .then(|| RangeTable::new(whole.chain(allowed.1.iter().copied()))),
    }
}

fn closed(settings: &ImportSettings, family: Family) -> Option<RejectReason> {
    match settings.rule {
        ImportRule::None => Some(RejectReason::NoImportPolicy),
        ImportRule::Collect => None,
        ImportRule::All | ImportRule::Checks => {
            (!settings.families[family]).then_some(RejectReason::WrongFamily)
        }
    }
}
