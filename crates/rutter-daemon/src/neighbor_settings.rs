//! The settings of one neighbor, in the forms that its session and the table need.

use std::net::IpAddr;
use std::sync::Arc;

use rutter_config::{Config, DynamicNeighbor, ExportRule, LimitAction, Neighbor, NeighborKind};
use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::ImportPolicy;
use rutter_rib::{BlockAbove, ClientOptions, IntakeLimits, PeerKind};
use rutter_session::{FamilyConfig, GracefulRestartConfig, IdleHold, RemoteAs};

/// The settings of one neighbor.
#[derive(Clone)]
pub(crate) struct NeighborSettings {
    /// The neighbor as configured, with the prefix limits in force.
    pub(crate) config: Arc<Neighbor>,
    /// The settings of the table.
    pub(crate) table: rutter_rib::Neighbor,
    /// The settings of the session.
    pub(crate) session: rutter_session::Config,
    /// The section that admitted a dynamic neighbor.
    pub(crate) dynamic: Option<Arc<rutter_config::DynamicNeighbor>>,
}

impl NeighborSettings {
    /// The settings of a configured neighbor.
    pub(crate) fn new(config: &Config, neighbor: &Neighbor) -> Self {
        let mut neighbor = neighbor.clone();
        neighbor.session.max_prefix = config.max_prefix(&neighbor);
        NeighborSettings {
            table: for_table(config, &neighbor),
            session: for_session(config, &neighbor),
            config: Arc::new(neighbor),
            dynamic: None,
        }
    }

    /// The settings of a neighbor that a `[[dynamic-neighbor]]` section admits; `asn` is 0 before its OPEN.
    pub(crate) fn dynamic(
        config: &Config,
        section: &DynamicNeighbor,
        address: IpAddr,
        asn: Asn,
    ) -> Self {
        let mut settings = NeighborSettings::new(config, &section.neighbor(address, asn));
        settings.session.passive = true;
        settings.session.remote = if section.asns.is_empty() {
            RemoteAs::Any
        } else {
            RemoteAs::AnyOf(section.asns.clone())
        };
        settings.dynamic = Some(Arc::new(section.clone()));
        settings
    }

    /// Sets our own address on the connection, the next hop with next-hop-self.
    pub(crate) fn set_local(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(a) => self.table.local_ipv4 = Some(a),
            IpAddr::V6(a) => self.table.local_ipv6 = Some(a),
        }
    }
}

/// Returns the settings of the session.
fn for_session(config: &Config, neighbor: &Neighbor) -> rutter_session::Config {
    let restart = neighbor.session.graceful_restart;
    let family = |family: Family| {
        let options = neighbor.family(family);
        FamilyConfig {
            enabled: options.enabled,
            add_path_receive: options.add_path_receive,
            add_path_send: options.add_path_send,
            extended_next_hop: options.extended_next_hop,
            long_lived_s: restart.long_lived_s,
        }
    };
    rutter_session::Config {
        label: neighbor.name.clone(),
        passive: neighbor.session.passive,
        hold_time_s: neighbor.session.hold_time_s,
        send_hold_time_s: neighbor.session.send_hold_time_s.into(),
        connect_retry_s: neighbor.session.connect_retry_s,
        idle_hold: IdleHold {
            max_ms: u64::from(neighbor.session.idle_hold_time_s) * 1_000,
            ..IdleHold::default()
        },
        families: PerFamily::from_fn(family),
        extended_message: neighbor.session.extended_message,
        graceful_restart: restart.enabled.then(|| GracefulRestartConfig {
            restart_time_s: restart.restart_time_s,
            notification: restart.notification,
            ..GracefulRestartConfig::default()
        }),
        role: neighbor.session.role,
        role_strict: neighbor.session.role_strict,
        software_version: Some(SOFTWARE.into()),
        ..rutter_session::Config::new(
            neighbor.local_asn,
            RemoteAs::One(neighbor.asn),
            config.router_id.into(),
        )
    }
}

/// Our name in the Software Version capability.
const SOFTWARE: &str = concat!("rutter/", env!("CARGO_PKG_VERSION"));

/// Returns the settings of the table.
fn for_table(config: &Config, neighbor: &Neighbor) -> rutter_rib::Neighbor {
    let (local_ipv4, local_ipv6) = match neighbor.session.local_address {
        Some(IpAddr::V4(a)) => (Some(a), None),
        Some(IpAddr::V6(a)) => (None, Some(a)),
        None => (None, None),
    };
    rutter_rib::Neighbor {
        name: neighbor.name.as_str().into(),
        address: neighbor.address,
        kind: kind(neighbor.kind),
        local_asn: neighbor.local_asn,
        remote_asn: neighbor.asn,
        local_ipv4,
        local_ipv6,
        next_hop_self: neighbor.next_hop_self,
        import: Arc::new(ImportPolicy::new(config.import_settings(neighbor))),
        monitored: None,
        export_allowed: neighbor.export == ExportRule::All,
        default_local_pref: neighbor.local_pref,
        limits: IntakeLimits {
            prefixes: PerFamily::from_fn(|family| block_above(neighbor, family)),
        },
        add_path_limit: neighbor.session.add_path.send.limit(),
        client: client(config, neighbor),
        role: neighbor.session.role,
    }
}

/// Returns the options of the neighbor as a client.
fn client(config: &Config, neighbor: &Neighbor) -> ClientOptions {
    let in_file = || config.communities.rtt_of(neighbor.address);
    ClientOptions {
        rtt: neighbor.session.rtt.or_else(in_file),
        receives_blackhole: neighbor.checks.blackhole.announce_to_client,
        prepends_own_as: neighbor.session.prepend_rs_as,
        export_filters: config.filters.chain(&neighbor.session.export_filter),
    }
}

fn kind(kind: NeighborKind) -> PeerKind {
    match kind {
        NeighborKind::Member => PeerKind::RouteServerClient,
        NeighborKind::External => PeerKind::External,
        NeighborKind::Internal => PeerKind::Internal,
        NeighborKind::ReflectorClient => PeerKind::ReflectorClient,
        NeighborKind::Collector => PeerKind::Collector,
    }
}

fn block_above(neighbor: &Neighbor, family: Family) -> Option<BlockAbove> {
    let max_prefix = neighbor.family(family).max_prefix?;
    match max_prefix.action {
        LimitAction::Block { keeps } => Some(BlockAbove {
            limit: max_prefix.limit,
            keeps,
        }),
        LimitAction::Warn | LimitAction::Restart { .. } | LimitAction::Shutdown => None,
    }
}
