//! The routes of UPDATEs and of table entries, as they stand in a file.

use std::net::IpAddr;

use rutter_net::{AfiSafi, Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::{AttrContext, Attributes, Fault, Malformed, code, parse_reported};
use rutter_wire::{nlri, update};

use crate::{Odd, RecordOutcome, Skipped, Unreadable};

/// Reads UPDATEs. Its buffers are reused.
#[derive(Default)]
pub struct UpdateReader {
    block: Vec<u8>,
    withdrawn: Vec<(Prefix, u32)>,
    announced: Vec<(Prefix, u32)>,
    mp_announced: Vec<(Prefix, u32)>,
    faults: Vec<Malformed>,
}

/// The content of one UPDATE: everything that can be read, also if an RFC forbids it.
pub struct UpdateRoutes<'a> {
    /// The attributes in canonical form, with four-octet AS numbers.
    pub attributes: Attributes<'a>,
    /// The octets of the next hop in MP_REACH_NLRI.
    pub mp_next_hop: &'a [u8],
    /// The next hop of `announced`, if there is one.
    pub next_hop: Option<IpAddr>,
    /// The next hop of `mp_announced`, if there is one.
    pub mp_next_hop_address: Option<IpAddr>,
    /// The withdrawn routes with their path identifiers.
    pub withdrawn: &'a [(Prefix, u32)],
    /// The routes in the UPDATE's own NLRI.
    pub announced: &'a [(Prefix, u32)],
    /// The routes in MP_REACH_NLRI.
    pub mp_announced: &'a [(Prefix, u32)],
    /// The faults.
    pub outcome: RecordOutcome,
}

/// The form of an UPDATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateForm {
    /// AS numbers take four octets.
    pub as4: bool,
    /// NLRI have path identifiers.
    pub add_path: bool,
}

impl UpdateRoutes<'_> {
    /// The next hop of the only route, if the UPDATE is made of a table entry.
    pub fn entry_next_hop(&self) -> Option<IpAddr> {
        match self.announced {
            [] => self.mp_next_hop_address,
            _ => self.next_hop,
        }
    }
}

impl UpdateReader {
    /// Reads the body of an UPDATE.
    pub fn read<'a>(&'a mut self, body: &'a [u8], form: UpdateForm) -> UpdateRoutes<'a> {
        let (sections, exceeds) = update::split_reported(body);
        let context = AttrContext {
            as4: form.as4,
            external: false,
            accept_as_set: true,
            has_ipv4_nlri: !sections.nlri.is_empty(),
        };
        self.faults.clear();
        let attributes = parse_reported(sections.attributes, &context, &mut self.faults);
        let path = form.add_path;
        let mut outcome = match exceeds {
            true => Unreadable::Update.into(),
            false => RecordOutcome::READ,
        };
        self.withdrawn.clear();
        self.announced.clear();
        self.mp_announced.clear();
        let mut nlri = |field, family, bytes, into: &mut Vec<_>| {
            outcome.add(&routes(field, family, bytes, path, into));
        };
        let ipv4 = AfiSafi::IPV4_UNICAST;
        let withdrawn = &mut self.withdrawn;
        nlri(Field::Withdrawn, ipv4, sections.withdrawn, withdrawn);
        nlri(Field::Nlri, ipv4, sections.nlri, &mut self.announced);
        if let Some(unreach) = attributes.mp_unreach() {
            let field = Field::Attribute(code::MP_UNREACH_NLRI);
            nlri(field, unreach.afi_safi, unreach.withdrawn, withdrawn);
        }
        let reach = attributes.mp_reach();
        if let Some(reach) = reach {
            let field = Field::Attribute(code::MP_REACH_NLRI);
            nlri(field, reach.afi_safi, reach.nlri, &mut self.mp_announced);
        }
        for fault in &self.faults {
            outcome.add(&outcome_of(fault, &attributes, sections.attributes));
        }
        let (next_hop, mp_next_hop_address) = (attributes.next_hop(), attributes.mp_next_hop());
        let has_octets = reach.is_some_and(|reach| !reach.next_hop.is_empty());
        // It may be in an attribute that is cut off.
        let is_cut = |fault: &Malformed| {
            matches!(fault.fault, Fault::HeaderTruncated | Fault::LengthOverrun)
        };
        let is_missing = !has_octets && !self.faults.iter().any(is_cut);
        if !self.mp_announced.is_empty() && is_missing && mp_next_hop_address.is_none() {
            outcome.add(&Odd::Value(NO_NEXT_HOP).into());
        }
        self.block.clear();
        attributes.write_canonical(&mut self.block);
        UpdateRoutes {
            attributes: Attributes::from_canonical(&self.block),
            mp_next_hop: reach.map_or(&[], |reach| reach.next_hop),
            next_hop: next_hop.map(IpAddr::V4),
            mp_next_hop_address,
            withdrawn: &self.withdrawn,
            announced: &self.announced,
            mp_announced: &self.mp_announced,
            outcome,
        }
    }
}

/// A field with prefixes.
#[derive(Clone, Copy)]
enum Field {
    Withdrawn,
    Nlri,
    /// Of this code.
    Attribute(u8),
}

/// Appends the prefixes of a field. After a fault, `into` holds the prefixes before it.
fn routes(
    field: Field,
    afi_safi: AfiSafi,
    bytes: &[u8],
    add_path: bool,
    into: &mut Vec<(Prefix, u32)>,
) -> RecordOutcome {
    let result = match afi_safi.family() {
        Some(Family::Ipv4Unicast) => {
            let mut parsed: Vec<(u32, Ipv4Prefix)> = Vec::new();
            let result = nlri::parse_ipv4(bytes, add_path, &mut parsed);
            into.extend(parsed.into_iter().map(|(id, prefix)| (prefix.into(), id)));
            result
        }
        Some(Family::Ipv6Unicast) => {
            let mut parsed: Vec<(u32, Ipv6Prefix)> = Vec::new();
            let result = nlri::parse_ipv6(bytes, add_path, &mut parsed);
            into.extend(parsed.into_iter().map(|(id, prefix)| (prefix.into(), id)));
            result
        }
        None if bytes.is_empty() => Ok(()),
        None => return Skipped::Family(afi_safi).into(),
    };
    let named = result.map_err(|fault| match field {
        Field::Withdrawn => Unreadable::Withdrawn(fault),
        Field::Nlri => Unreadable::Part(fault),
        Field::Attribute(code) => Unreadable::Part(Malformed {
            code: Some(code),
            ..fault
        }),
    });
    named.into()
}

fn outcome_of(fault: &Malformed, attributes: &Attributes<'_>, block: &[u8]) -> RecordOutcome {
    let reach = attributes.mp_reach();
    let is_next_hop = |octets: &[u8]| {
        let own = Attributes::as_reported(block, true).next_hop();
        own.is_some_and(|own| own.octets() == *octets)
    };
    match fault.fault {
        _ if attributes.has_unspecified_next_hop(fault) => RecordOutcome::READ,
        // `read` reports that it is missing.
        Fault::NextHopLength(_) if reach.is_some_and(|reach| reach.next_hop.is_empty()) => {
            RecordOutcome::READ
        }
        // An entry of a table dump without MP_REACH_NLRI becomes such an UPDATE.
        Fault::NextHopLength(_) if reach.is_some_and(|reach| is_next_hop(reach.next_hop)) => {
            Odd::OnlyNextHop.into()
        }
        _ if attributes.is_hidden_by(fault) => Unreadable::Part(*fault).into(),
        _ => Odd::Value(*fault).into(),
    }
}

/// Routes in MP_REACH_NLRI without a next hop.
const NO_NEXT_HOP: Malformed = Malformed {
    code: Some(code::NEXT_HOP),
    offset: 0,
    fault: Fault::Missing,
};
