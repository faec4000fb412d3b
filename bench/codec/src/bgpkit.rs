//! bgpkit-parser: owned structures from shared `Bytes`.

use bgpkit_parser::models::{Afi, AsnLength, Attributes};
use bgpkit_parser::parser::bgp::attributes::parse_attributes;
use bgpkit_parser::parser::bgp::messages::parse_bgp_update_message;
use bgpkit_parser::parser::utils::{encode_nlri_prefixes, parse_nlri_list};
use bytes::Bytes;
use harness::{Contestant, contestant};

use crate::{Task, input};

const AS4: AsnLength = AsnLength::Bits32;

pub fn contestant_for(task: &Task) -> Option<Contestant> {
    let name = "bgpkit-parser";
    Some(match *task {
        Task::NlriDecode(bytes) => {
            let bytes = Bytes::from_static(bytes);
            contestant(name, move || {
                parse_nlri_list(bytes.clone(), false, &Afi::Ipv4).expect("well formed")
            })
        }
        Task::NlriEncode(prefixes) => {
            let bytes = Bytes::from(input::nlri(prefixes));
            let prefixes = parse_nlri_list(bytes, false, &Afi::Ipv4).expect("well formed");
            contestant(name, move || encode_nlri_prefixes(&prefixes))
        }
        Task::AttributesDecode(block) => {
            let block = Bytes::from_static(block);
            contestant(name, move || decode(block.clone()))
        }
        Task::AttributesEncode(_, block) => {
            let attributes = decode(Bytes::from_static(block));
            contestant(name, move || attributes.encode(AS4).expect("fits"))
        }
        Task::UpdateParse(message) | Task::UpdateParseRevised(message) => {
            let body = Bytes::from_static(&message[19..]);
            contestant(name, move || {
                parse_bgp_update_message(body.clone(), false, &AS4).expect("well formed")
            })
        }
        Task::UpdateBuild(_, _, message) => {
            let body = Bytes::from_static(&message[19..]);
            let update = parse_bgp_update_message(body, false, &AS4).expect("well formed");
            contestant(name, move || update.encode(AS4).expect("fits"))
        }
        Task::Corpus(messages) => {
            let bodies: Vec<Bytes> = messages
                .iter()
                .map(|message| Bytes::copy_from_slice(&message[19..]))
                .collect();
            contestant(name, move || {
                let parsed = bodies.iter().map(|body| {
                    let parsed = parse_bgp_update_message(body.clone(), false, &AS4);
                    parsed.expect("well formed").announced_prefixes.len()
                });
                parsed.sum::<usize>()
            })
        }
        Task::AttributesRead(_) | Task::AttributesValidate(_) => return None,
    })
}

fn decode(block: Bytes) -> Attributes {
    parse_attributes(block, &AS4, false, None, None, None).expect("well formed")
}
