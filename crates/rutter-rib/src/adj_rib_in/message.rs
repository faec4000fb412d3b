//! The prefixes of one UPDATE: where they begin and end in the memory into which they are parsed.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix};
use rutter_policy::NextHop;
use rutter_wire::attr::{Attributes, Malformed};
use rutter_wire::notification::Notification;
use rutter_wire::{nlri, update};

use crate::SessionInfo;
use crate::adj_rib_in::next_hop_octets::unpack;

/// Prefixes with their path identifiers.
type Paths<K> = Vec<(u32, K)>;

/// The bounds of one message's prefixes in the batch's scratch memory.
#[derive(Default)]
pub(crate) struct Message {
    pub ipv4_withdrawn: usize,
    pub ipv6_withdrawn: usize,
    /// The end of the prefixes in the message's own NLRI field.
    pub ipv4_own_end: usize,
    pub mp_next_hop: Option<NextHop>,
    /// A report has no readable next hop in MP_REACH_NLRI, and `mp_next_hop` stands for it.
    pub lacks_mp_next_hop: bool,
    pub withdraw_all: bool,
}

impl Message {
    /// Reads all NLRI into the scratch memory: withdrawn ones first. `fail` decides about each fault.
    // As a call it costs each UPDATE a hundred instructions more: its arguments and results are copied.
    #[inline(always)]
    pub fn read(
        &mut self,
        session: &SessionInfo,
        sections: &update::Sections<'_>,
        attributes: &Attributes<'_>,
        (ipv4, ipv6): (&mut Paths<Ipv4Prefix>, &mut Paths<Ipv6Prefix>),
        mut fail: impl FnMut(Malformed) -> Result<(), Notification>,
    ) -> Result<(), Notification> {
        ipv4.clear();
        ipv6.clear();
        let path = |family: Family| session.family(family).is_some_and(|f| f.add_path_receive);
        let (v4, v6) = (Family::Ipv4Unicast, Family::Ipv6Unicast);
        let on = |family: Family| session.family(family).is_some();
        if on(v4) {
            nlri::parse_ipv4(sections.withdrawn, path(v4), ipv4).or_else(&mut fail)?;
        }
        if let Some(unreach) = attributes.mp_unreach() {
            match unreach.afi_safi.family().filter(|family| on(*family)) {
                Some(Family::Ipv4Unicast) => {
                    nlri::parse_ipv4(unreach.withdrawn, path(v4), ipv4).or_else(&mut fail)?;
                }
                Some(Family::Ipv6Unicast) => {
                    nlri::parse_ipv6(unreach.withdrawn, path(v6), ipv6).or_else(&mut fail)?;
                }
                None => {}
            }
        }
        self.ipv4_withdrawn = ipv4.len();
        self.ipv6_withdrawn = ipv6.len();
        if on(v4) {
            nlri::parse_ipv4(sections.nlri, path(v4), ipv4).or_else(&mut fail)?;
        }
        self.ipv4_own_end = ipv4.len();
        if let Some(reach) = attributes.mp_reach() {
            self.mp_next_hop = unpack(reach.next_hop);
            match reach.afi_safi.family().filter(|family| on(*family)) {
                Some(Family::Ipv4Unicast) => {
                    nlri::parse_ipv4(reach.nlri, path(v4), ipv4).or_else(&mut fail)?;
                }
                Some(Family::Ipv6Unicast) => {
                    nlri::parse_ipv6(reach.nlri, path(v6), ipv6).or_else(&mut fail)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    pub fn announced_become_withdrawn(&mut self) {
        self.withdraw_all = true;
    }
}
