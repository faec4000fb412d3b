//! zettabgp: owned structures; it writes into the caller's buffer.

use harness::{Contestant, contestant};
use zettabgp::afi::{BgpAddrV4, decode_bgpitems_from, encode_bgpitems_to};
use zettabgp::message::update::BgpUpdateMessage;
use zettabgp::{BgpMessage, BgpSessionParams, BgpTransportMode};

use crate::Task;

pub fn contestant_for(task: &Task) -> Option<Contestant> {
    let name = "zettabgp";
    Some(match *task {
        Task::NlriDecode(bytes) => contestant(name, move || {
            decode_bgpitems_from::<BgpAddrV4>(bytes).expect("well formed")
        }),
        Task::NlriEncode(prefixes) => {
            let prefixes: Vec<BgpAddrV4> = prefixes
                .iter()
                .map(|(bits, len)| BgpAddrV4::new((*bits).into(), *len))
                .collect();
            let mut out = vec![0; 4096];
            contestant(name, move || {
                encode_bgpitems_to(&prefixes, &mut out).expect("fits")
            })
        }
        Task::AttributesDecode(block) => {
            let body = [&[0, 0], &(block.len() as u16).to_be_bytes()[..], block].concat();
            let session = session();
            contestant(name, move || parse(&session, &body))
        }
        Task::AttributesEncode(_, block) => {
            let body = [&[0, 0], &(block.len() as u16).to_be_bytes()[..], block].concat();
            let session = session();
            build(name, parse(&session, &body), session)
        }
        Task::UpdateParse(message) | Task::UpdateParseRevised(message) => {
            let session = session();
            contestant(name, move || parse(&session, &message[19..]))
        }
        Task::UpdateBuild(_, _, message) => {
            let session = session();
            build(name, parse(&session, &message[19..]), session)
        }
        Task::Corpus(messages) => {
            let session = session();
            contestant(name, move || {
                let parsed = messages
                    .iter()
                    .map(|m| parse(&session, &m[19..]).attrs.len());
                parsed.sum::<usize>()
            })
        }
        Task::AttributesRead(_) | Task::AttributesValidate(_) => return None,
    })
}

fn session() -> BgpSessionParams {
    let id = std::net::Ipv4Addr::new(10, 0, 0, 1);
    let mut session = BgpSessionParams::new(65_000, 90, BgpTransportMode::IPv4, id, Vec::new());
    session.fuzzy_pathid = false;
    session
}

fn parse(session: &BgpSessionParams, body: &[u8]) -> BgpUpdateMessage {
    let mut update = BgpUpdateMessage::new();
    update.decode_from(session, body).expect("well formed");
    update
}

fn build(name: &'static str, update: BgpUpdateMessage, session: BgpSessionParams) -> Contestant {
    let mut out = vec![0; 4096];
    contestant(name, move || {
        update.encode_to(&session, &mut out).expect("fits")
    })
}
