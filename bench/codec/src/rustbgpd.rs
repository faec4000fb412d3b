//! rustbgpd-wire: owned structures. It receives messages whose sections are already separate, as in its own benchmarks.

use std::net::Ipv4Addr;

use bytes::Bytes;
use harness::{Contestant, contestant};
use rustbgpd_wire::attribute::{
    decode_path_attributes, decode_path_attributes_revised, encode_path_attributes,
};
use rustbgpd_wire::nlri::{decode_nlri, encode_nlri};
use rustbgpd_wire::validate::validate_update_attributes;
use rustbgpd_wire::{
    AsPathSegment, Ipv4NlriEntry, Ipv4Prefix, Ipv4UnicastMode, PathAttribute, UpdateMessage,
};

use crate::Task;

pub fn contestant_for(task: &Task) -> Option<Contestant> {
    let name = "rustbgpd-wire";
    Some(match *task {
        Task::NlriDecode(bytes) => {
            contestant(name, move || decode_nlri(bytes).expect("well formed"))
        }
        Task::NlriEncode(prefixes) => {
            let prefixes = own(prefixes);
            contestant(name, move || {
                let mut out = Vec::with_capacity(prefixes.len() * 4);
                encode_nlri(&prefixes, &mut out);
                out
            })
        }
        Task::AttributesDecode(block) => contestant(name, move || decode(block)),
        Task::AttributesRead(block) => contestant(name, move || read(&decode(block))),
        Task::AttributesValidate(block) => contestant(name, move || {
            let decoded = decode_path_attributes_revised(block, true, true, &[]);
            let decoded = decoded.expect("well formed");
            let valid = validate_update_attributes(&decoded.attributes, true, true, false);
            assert!(valid.is_ok());
            decoded
        }),
        Task::AttributesEncode(_, block) => {
            let attributes = decode(block);
            contestant(name, move || {
                let mut out = Vec::with_capacity(128);
                encode_path_attributes(&attributes, &mut out, true, false).expect("fits");
                out
            })
        }
        Task::UpdateParse(message) => {
            let message = sections(message);
            contestant(name, move || {
                message.parse(true, false, &[]).expect("well formed")
            })
        }
        Task::UpdateParseRevised(message) => {
            let message = sections(message);
            contestant(name, move || {
                let parsed = message.parse_revised(true, true, false, &[]);
                parsed.expect("well formed")
            })
        }
        Task::UpdateBuild(_, prefixes, message) => {
            let attributes = decode(&sections(message).path_attributes);
            let entry = |prefix| Ipv4NlriEntry { path_id: 0, prefix };
            let entries: Vec<Ipv4NlriEntry> = own(prefixes).into_iter().map(entry).collect();
            contestant(name, move || {
                UpdateMessage::build(
                    &entries,
                    &[],
                    &attributes,
                    true,
                    false,
                    Ipv4UnicastMode::Body,
                )
            })
        }
        Task::Corpus(messages) => {
            let messages: Vec<UpdateMessage> = messages.iter().map(|m| sections(m)).collect();
            contestant(name, move || {
                let parsed = messages.iter().map(|message| {
                    let parsed = message.parse_revised(true, true, false, &[]);
                    parsed.expect("well formed").update.announced.len()
                });
                parsed.sum::<usize>()
            })
        }
    })
}

fn own(prefixes: &[(u32, u8)]) -> Vec<Ipv4Prefix> {
    let prefixes = prefixes.iter();
    prefixes
        .map(|(bits, len)| Ipv4Prefix::new(Ipv4Addr::from_bits(*bits), *len))
        .collect()
}

fn decode(block: &[u8]) -> Vec<PathAttribute> {
    decode_path_attributes(block, true, &[]).expect("well formed")
}

fn read(attributes: &[PathAttribute]) -> u32 {
    let number = |attribute: &PathAttribute| match attribute {
        PathAttribute::AsPath(path) => path.segments.iter().map(sum).sum(),
        PathAttribute::NextHop(address) | PathAttribute::OriginatorId(address) => address.to_bits(),
        PathAttribute::LocalPref(number) | PathAttribute::Med(number) => *number,
        PathAttribute::Communities(all) => all.iter().map(|c| c & 0xffff).sum(),
        PathAttribute::LargeCommunities(all) => all.iter().map(|c| c.local_data1).sum(),
        PathAttribute::ClusterList(all) => all.iter().map(|id| id.to_bits()).sum(),
        PathAttribute::Aggregator(aggregator) => aggregator.asn,
        PathAttribute::Origin(origin) => *origin as u32,
        _ => 1,
    };
    attributes.iter().map(number).fold(0, u32::wrapping_add)
}

fn sum(segment: &AsPathSegment) -> u32 {
    match segment {
        AsPathSegment::AsSequence(asns) | AsPathSegment::AsSet(asns) => asns.iter().sum(),
    }
}

fn sections(message: &[u8]) -> UpdateMessage {
    let mut body = Bytes::copy_from_slice(&message[19..]);
    let len = body.len();
    UpdateMessage::decode(&mut body, len).expect("well formed")
}
