//! The reference model of an exchange that compares routes with outside data: every route is evaluated from scratch.

use std::collections::{BTreeMap, BTreeSet};

use rutter_net::{LargeCommunity, Prefix};
use rutter_policy::{
    CheckAction, Class, ImportPolicy, ImportSettings, IrrPrefix, NextHop, OutsideData, RouteVerdict,
};
use rutter_rpki::{PathState, Rov};
use rutter_wire::attr::{self, AttrContext};

use crate::client::{mandatory_attributes, path};
use crate::world::{SERVER_AS, router_id};
use crate::{HeldRoute, PathLen};

/// The routes that one client must hold.
pub(crate) type Table = BTreeMap<Prefix, HeldRoute>;

/// The routes that one client announces.
pub(crate) type Announced = BTreeMap<Prefix, PathLen>;

/// The import policies of all clients.
pub(crate) struct DataModel {
    policies: Vec<ImportPolicy>,
}

/// The order of routes of one prefix: least preferred ones last, then the shortest path, then the lowest identifier.
type Rank = (bool, PathLen, u32);

impl DataModel {
    pub fn new(policies: Vec<ImportPolicy>) -> Self {
        DataModel { policies }
    }

    /// Returns the routes that each client must hold, under these data.
    pub fn tables(&self, announced: &[Announced], data: &OutsideData) -> Vec<Table> {
        let mut tables = vec![Table::new(); announced.len()];
        let all = announced.iter().flat_map(|routes| routes.keys());
        let all: BTreeSet<Prefix> = all.copied().collect();
        for prefix in all {
            let candidate = |(index, routes): (u16, &Announced)| {
                let path_len = *routes.get(&prefix)?;
                let (rank, route) = self.accepted(index, prefix, path_len, data)?;
                Some((rank, index, route))
            };
            let clients = (0u16..).zip(announced);
            let mut candidates: Vec<_> = clients.filter_map(candidate).collect();
            candidates.sort_by_key(|(rank, ..)| *rank);
            for (table, index) in tables.iter_mut().zip(0u16..) {
                let best = candidates.iter().find(|(_, sender, _)| *sender != index);
                table.extend(best.map(|(.., route)| (prefix, route.clone())));
            }
        }
        tables
    }

    /// Returns the number of routes that have another verdict under other data.
    pub fn differences(
        &self,
        announced: &[Announced],
        old: &OutsideData,
        new: &OutsideData,
    ) -> u64 {
        let differs = |index: u16, (prefix, path_len): (&Prefix, &PathLen)| {
            let verdict = |data| self.verdict(index, *prefix, *path_len, data);
            u64::from(verdict(old) != verdict(new))
        };
        let clients = (0u16..).zip(announced);
        let of_client = |(index, routes): (u16, &Announced)| -> u64 {
            routes.iter().map(|route| differs(index, route)).sum()
        };
        clients.map(of_client).sum()
    }

    fn verdict(
        &self,
        index: u16,
        prefix: Prefix,
        path_len: PathLen,
        data: &OutsideData,
    ) -> RouteVerdict {
        let block = mandatory_attributes(index, path_len);
        let context = AttrContext {
            as4: true,
            external: true,
            accept_as_set: true,
            has_ipv4_nlri: true,
        };
        let attributes = attr::parse(&block, &context, &mut Vec::new());
        let policy = &self.policies[usize::from(index)];
        let next_hop = NextHop::from(prefix.addr());
        let of_set = policy.check_attributes(data, &attributes, next_hop, prefix.family());
        policy.judge(data, prefix, &of_set)
    }

    /// The rank and form of a client's route; `None` if it is rejected.
    fn accepted(
        &self,
        index: u16,
        prefix: Prefix,
        path_len: PathLen,
        data: &OutsideData,
    ) -> Option<(Rank, HeldRoute)> {
        match self.verdict(index, prefix, path_len, data) {
            RouteVerdict::Rejected(_) => None,
            RouteVerdict::Accepted {
                class,
                least_preferred,
            } => {
                let settings = self.policies[usize::from(index)].settings();
                let route = HeldRoute {
                    path: path(index, path_len).collect(),
                    marks: marks(settings, class),
                };
                Some(((least_preferred, path_len, router_id(index)), route))
            }
        }
    }
}

/// The large communities of a class, in ascending order. States for which the settings do not ask have none.
fn marks(settings: &ImportSettings, class: Class) -> Vec<LargeCommunity> {
    let origin = class.origin.filter(|state| {
        settings.marked_origins.contains(state)
            || settings.rpki_invalid == CheckAction::Tag && *state == Rov::Invalid
    });
    let path = class.path.filter(|state| {
        settings.marked_paths.contains(state)
            || settings.aspa_invalid == CheckAction::Tag && *state == PathState::Invalid
    });
    let origin = origin.map(|state| match state {
        Rov::Valid => (1000, 1),
        Rov::Invalid => (1000, 2),
        Rov::NotFound => (1000, 3),
    });
    let path = path.and_then(|state| match state {
        PathState::Valid => Some((1001, 1)),
        PathState::Invalid => Some((1001, 2)),
        PathState::Unknown => None,
    });
    let irr_origin = class.irr_origin.map(|known| (1002, 2 - u32::from(known)));
    let irr_prefix = class.irr_prefix.and_then(|state| match state {
        IrrPrefix::Registered => Some((1003, 1)),
        IrrPrefix::Roa => Some((1003, 2)),
        IrrPrefix::NotRegistered => Some((1003, 3)),
        IrrPrefix::Arin | IrrPrefix::RegistroBr | IrrPrefix::WhiteListed => None,
    });
    let failed = class.failed.map(|reason| (1101, u32::from(reason.code())));
    let mark = |(local1, local2)| LargeCommunity {
        global: SERVER_AS,
        local1,
        local2,
    };
    let all = [origin, path, irr_origin, irr_prefix, failed];
    all.into_iter().flatten().map(mark).collect()
}
