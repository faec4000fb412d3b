//! The facts of an established session that BMP reports (RFC 7854 §4.10).

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use rutter_net::{Asn, Family, PerFamily};
use rutter_session::{Config, FamilyNegotiated, Negotiated, OpenMessages};
use rutter_wire::capability::{AddPathFamily, AddPathMode, Capability};
use rutter_wire::open::Open;

/// An established session.
#[derive(Debug)]
pub(crate) struct SessionFacts {
    pub(crate) address: IpAddr,
    pub(crate) asn: Asn,
    pub(crate) bgp_id: u32,
    pub(crate) families: PerFamily<Option<FamilyNegotiated>>,
    pub(crate) opens: OpenMessages,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) remote: Option<SocketAddr>,
    /// The time at which this process learned of it, in microseconds since 1970.
    pub(crate) since_unix_us: u64,
    /// The neighbor has sent End-of-RIB, and its routes before it are in the table.
    end_of_rib: PerFamily<AtomicBool>,
}

impl SessionFacts {
    /// The facts of a session with its two addresses.
    pub(crate) fn new(
        address: IpAddr,
        config: &Config,
        negotiated: &Negotiated,
        (local, remote): (Option<SocketAddr>, Option<SocketAddr>),
        since_unix_us: u64,
    ) -> Self {
        let opens = negotiated.opens.as_deref().cloned();
        SessionFacts {
            address,
            asn: negotiated.remote_asn,
            bgp_id: negotiated.remote_bgp_id,
            families: negotiated.families,
            opens: opens.unwrap_or_else(|| described(config, negotiated)),
            local,
            remote,
            since_unix_us,
            end_of_rib: PerFamily::from_fn(|_| AtomicBool::new(false)),
        }
    }

    /// The neighbor sent End-of-RIB, and its routes before it are in the table.
    pub(crate) fn received_end_of_rib(&self, family: Family) {
        self.end_of_rib[family].store(true, Ordering::Release);
    }

    /// Returns whether the neighbor has sent End-of-RIB.
    pub(crate) fn has_end_of_rib(&self, family: Family) -> bool {
        self.end_of_rib[family].load(Ordering::Acquire)
    }

    /// Returns whether NLRI that the neighbor sends have path identifiers.
    pub(crate) fn receives_paths(&self, family: Family) -> bool {
        self.families[family].is_some_and(|family| family.add_path_receive)
    }

    /// Returns whether NLRI that we send have path identifiers.
    pub(crate) fn sends_paths(&self, family: Family) -> bool {
        self.families[family].is_some_and(|family| family.add_path_send)
    }
}

/// OPENs with the negotiated properties, for a session whose OPENs another process exchanged.
fn described(config: &Config, negotiated: &Negotiated) -> OpenMessages {
    let agreed = |family: &Family| negotiated.family(*family).is_some();
    let families: Vec<Family> = Family::ALL.into_iter().filter(agreed).collect();
    let mut ours: Vec<Capability> = families
        .iter()
        .map(|family| Capability::MultiProtocol(family.afi_safi()))
        .collect();
    if negotiated.as4 {
        ours.push(Capability::FourOctetAs(config.local_asn));
    }
    let with_paths = |family: &Family| {
        let agreed = negotiated.family(*family)?;
        Some(AddPathFamily {
            afi_safi: family.afi_safi(),
            mode: AddPathMode::new(agreed.add_path_receive, agreed.add_path_send)?,
        })
    };
    let with_paths: Vec<AddPathFamily> = families.iter().filter_map(with_paths).collect();
    if !with_paths.is_empty() {
        ours.push(Capability::AddPath(with_paths));
    }
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    let hold_time_s = negotiated.agreed_hold_time_s;
    Open::new(config.local_asn, hold_time_s, config.router_id, ours).encode(&mut sent);
    let theirs = negotiated.remote_capabilities.clone();
    let (asn, bgp_id) = (negotiated.remote_asn, negotiated.remote_bgp_id);
    Open::new(asn, hold_time_s, bgp_id, theirs).encode(&mut received);
    OpenMessages { sent, received }
}
