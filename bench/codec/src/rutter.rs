//! rutter-wire: views, and a reused buffer for prefixes, as in the daemon. [`owned`] allocates a buffer for every call, as
//! the others do.

use harness::{Contestant, contestant};
use rutter_net::{Ipv4Prefix, Ipv6Prefix};
use rutter_wire::attr::{self, AttrContext, Attributes, OPTIONAL, TRANSITIVE, code};
use rutter_wire::{frame, nlri, update};

use crate::Task;
use crate::input::{NEXT_HOP, Values};

const CONTEXT: AttrContext = AttrContext {
    as4: true,
    // An internal session accepts LOCAL_PREF, ORIGINATOR_ID and CLUSTER_LIST.
    external: false,
    accept_as_set: false,
    has_ipv4_nlri: true,
};

pub fn contestant_for(task: &Task) -> Option<Contestant> {
    let name = "rutter";
    Some(match *task {
        Task::NlriDecode(bytes) => {
            let mut out = Vec::new();
            contestant(name, move || {
                out.clear();
                decode_nlri(bytes, &mut out)
            })
        }
        Task::NlriEncode(prefixes) => {
            let (prefixes, mut out) = (own(prefixes), Vec::new());
            contestant(name, move || {
                out.clear();
                nlri::write_ipv4_all(&mut out, &prefixes);
                out.len()
            })
        }
        Task::AttributesDecode(block) | Task::AttributesValidate(block) => {
            contestant(name, move || decode(block).is_canonical())
        }
        Task::AttributesRead(block) => contestant(name, move || read(&decode(block))),
        Task::AttributesEncode(values, expected) => {
            let mut out = Vec::new();
            encode(values, &mut out);
            assert_eq!(out, expected);
            contestant(name, move || {
                out.clear();
                encode(values, &mut out);
                out.len()
            })
        }
        Task::UpdateParse(message) | Task::UpdateParseRevised(message) => {
            let mut scratch = Scratch::default();
            contestant(name, move || scratch.parse(message))
        }
        Task::UpdateBuild(values, prefixes, expected) => {
            let (prefixes, mut out) = (own(prefixes), Vec::new());
            build(values, &prefixes, &mut out);
            assert_eq!(out, expected);
            contestant(name, move || {
                out.clear();
                build(values, &prefixes, &mut out);
                out.len()
            })
        }
        Task::Corpus(messages) => {
            let mut scratch = Scratch::default();
            contestant(name, move || {
                messages.iter().map(|m| scratch.parse(m)).sum::<usize>()
            })
        }
    })
}

/// The same, with a new buffer for each call.
pub fn owned(task: &Task) -> Option<Contestant> {
    let name = "owned";
    Some(match *task {
        Task::NlriDecode(bytes) => contestant(name, move || {
            let mut out = Vec::new();
            decode_nlri(bytes, &mut out);
            out
        }),
        Task::NlriEncode(prefixes) => {
            let prefixes = own(prefixes);
            contestant(name, move || {
                let mut out = Vec::new();
                nlri::write_ipv4_all(&mut out, &prefixes);
                out
            })
        }
        Task::AttributesEncode(values, _) => contestant(name, move || {
            let mut out = Vec::with_capacity(128);
            encode(values, &mut out);
            out
        }),
        Task::UpdateParse(message) | Task::UpdateParseRevised(message) => {
            contestant(name, move || {
                let mut scratch = Scratch::default();
                scratch.parse(message);
                scratch
            })
        }
        Task::UpdateBuild(values, prefixes, _) => {
            let prefixes = own(prefixes);
            contestant(name, move || {
                let mut out = Vec::with_capacity(128 + 5 * prefixes.len());
                build(values, &prefixes, &mut out);
                out
            })
        }
        _ => return None,
    })
}

fn own(prefixes: &[(u32, u8)]) -> Vec<Ipv4Prefix> {
    let prefixes = prefixes.iter();
    prefixes
        .filter_map(|(bits, len)| Ipv4Prefix::new(*bits, *len))
        .collect()
}

fn decode_nlri(bytes: &[u8], out: &mut Vec<(u32, Ipv4Prefix)>) -> usize {
    nlri::parse_ipv4(bytes, false, out).expect("well formed");
    out.len()
}

fn decode(block: &[u8]) -> Attributes<'_> {
    let mut faults = Vec::new();
    let attributes = attr::parse(block, &CONTEXT, &mut faults);
    assert!(faults.is_empty(), "{faults:?}");
    attributes
}

fn read(attributes: &Attributes<'_>) -> u32 {
    let path = attributes.as_path().unwrap_or(attr::AsPath::EMPTY);
    let asns: u32 = path.asns().map(|asn| asn.0).sum();
    let communities: u32 = attributes.communities().map(|c| c.0 & 0xffff).sum();
    let large: u32 = attributes.large_communities().map(|c| c.local1).sum();
    let extended = attributes.extended_communities().map(|c| u32::from(c.0[7]));
    asns.wrapping_add(communities)
        .wrapping_add(large)
        .wrapping_add(extended.sum())
        .wrapping_add(attributes.origin().map_or(0, |origin| origin as u32))
        .wrapping_add(attributes.next_hop().map_or(0, |hop| hop.to_bits()))
        .wrapping_add(attributes.multi_exit_disc().unwrap_or(0))
        .wrapping_add(attributes.local_pref().unwrap_or(0))
        .wrapping_add(attributes.originator_id().unwrap_or(0))
        .wrapping_add(attributes.aggregator().map_or(0, |a| a.asn.0))
        .wrapping_add(attributes.cluster_list().sum())
}

#[derive(Default)]
struct Scratch {
    ipv4: Vec<(u32, Ipv4Prefix)>,
    ipv6: Vec<(u32, Ipv6Prefix)>,
}

impl Scratch {
    /// Header, sections, attributes with the dispositions of RFC 7606, prefixes.
    fn parse(&mut self, message: &[u8]) -> usize {
        self.ipv4.clear();
        self.ipv6.clear();
        let frame = frame::next_frame(message, frame::MAX_LEN)
            .ok()
            .flatten()
            .expect("a whole message");
        let sections = update::split(frame.body).expect("well formed");
        let context = AttrContext {
            has_ipv4_nlri: !sections.nlri.is_empty(),
            ..CONTEXT
        };
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &context, &mut faults);
        nlri::parse_ipv4(sections.withdrawn, false, &mut self.ipv4).expect("well formed");
        nlri::parse_ipv4(sections.nlri, false, &mut self.ipv4).expect("well formed");
        if let Some(reach) = attributes.mp_reach() {
            nlri::parse_ipv6(reach.nlri, false, &mut self.ipv6).expect("well formed");
        }
        assert!(faults.is_empty(), "{faults:?}");
        self.ipv4.len() + self.ipv6.len()
    }
}

fn encode(values: &Values, out: &mut Vec<u8>) {
    attr::write_attr(out, TRANSITIVE, code::ORIGIN, &[0]);
    attr::write_as_path(out, values.path.iter().map(Vec::as_slice));
    attr::write_attr(out, TRANSITIVE, code::NEXT_HOP, &NEXT_HOP);
    if let Some(med) = values.multi_exit_disc {
        attr::write_attr(out, OPTIONAL, code::MULTI_EXIT_DISC, &med.to_be_bytes());
    }
    if let Some(local_pref) = values.local_pref {
        attr::write_attr(out, TRANSITIVE, code::LOCAL_PREF, &local_pref.to_be_bytes());
    }
    if let Some((asn, id)) = values.aggregator {
        attr::write_numbers(out, OPTIONAL | TRANSITIVE, code::AGGREGATOR, &[asn, id]);
    }
    if !values.communities.is_empty() {
        let flags = OPTIONAL | TRANSITIVE;
        attr::write_numbers(out, flags, code::COMMUNITIES, &values.communities);
    }
    if let Some(id) = values.originator_id {
        attr::write_attr(out, OPTIONAL, code::ORIGINATOR_ID, &id.to_be_bytes());
    }
    if !values.cluster_list.is_empty() {
        attr::write_numbers(out, OPTIONAL, code::CLUSTER_LIST, &values.cluster_list);
    }
    if !values.extended.is_empty() {
        let flags = OPTIONAL | TRANSITIVE;
        let value = values.extended.as_flattened();
        attr::write_attr(out, flags, code::EXTENDED_COMMUNITIES, value);
    }
    if !values.large.is_empty() {
        let flags = OPTIONAL | TRANSITIVE;
        let value = values.large.as_flattened();
        attr::write_numbers(out, flags, code::LARGE_COMMUNITIES, value);
    }
}

fn build(values: &Values, prefixes: &[Ipv4Prefix], out: &mut Vec<u8>) {
    let mut writer = update::Writer::new(out);
    encode(values, writer.attributes());
    nlri::write_ipv4_all(writer.nlri(), prefixes);
    writer.finish();
}
