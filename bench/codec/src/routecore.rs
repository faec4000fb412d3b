//! routecore: views, like rutter-wire's, with owned prefixes. It builds IPv4 announcements as MP_REACH_NLRI, and checks what it built.

use std::net::Ipv4Addr;

use harness::{Contestant, contestant};
use octseq::Parser;
use routecore::bgp::message::UpdateMessage;
use routecore::bgp::message::update::{PduParseInfo, SessionConfig};
use routecore::bgp::message::update_builder::UpdateBuilder;
use routecore::bgp::nlri::afisafi::{Ipv4UnicastNlri, Ipv6UnicastNlri, NlriCompose, NlriIter};
use routecore::bgp::path_attributes::{PaMap, PathAttributes};
use routecore::bgp::types::NextHop;

use crate::Task;

pub fn contestant_for(task: &Task) -> Option<Contestant> {
    let name = "routecore";
    let config = SessionConfig::modern();
    Some(match *task {
        Task::NlriDecode(bytes) => contestant(name, move || {
            let nlri = NlriIter::ipv4_unicast(Parser::from_ref(&bytes));
            let nlri: Result<Vec<Ipv4UnicastNlri>, _> = nlri.collect();
            nlri.expect("well formed")
        }),
        Task::NlriEncode(prefixes) => {
            let prefixes = own(prefixes);
            contestant(name, move || {
                let mut out = Vec::with_capacity(4 * prefixes.len());
                for prefix in &prefixes {
                    prefix.compose(&mut out).expect("fits");
                }
                out
            })
        }
        Task::AttributesDecode(block) | Task::AttributesValidate(block) => {
            contestant(name, move || {
                let attributes =
                    PathAttributes::new(Parser::from_ref(&block), PduParseInfo::modern());
                attributes
                    .map(|a| a.expect("well formed").type_code())
                    .fold(0, u8::max)
            })
        }
        Task::UpdateParse(message) | Task::UpdateParseRevised(message) => {
            contestant(name, move || parse(message, &config))
        }
        Task::UpdateBuild(_, prefixes, message) => {
            let prefixes = own(prefixes);
            let update = UpdateMessage::from_octets(message, &config).expect("well formed");
            let attributes = PaMap::from_update_pdu(&update).expect("well formed");
            let next_hop = NextHop::Unicast(Ipv4Addr::new(10, 0, 0, 1).into());
            contestant(name, move || {
                let mut builder =
                    UpdateBuilder::<Vec<u8>, Ipv4UnicastNlri>::from_attributes_builder(
                        attributes.clone(),
                    );
                builder.set_nexthop(next_hop).expect("fits");
                let added = builder.announcements_from_iter(prefixes.iter().cloned());
                added.expect("fits");
                builder.into_message(&config).expect("fits")
            })
        }
        Task::Corpus(messages) => contestant(name, move || {
            messages
                .iter()
                .map(|m| parse(m, &config).0.len())
                .sum::<usize>()
        }),
        Task::AttributesRead(_) | Task::AttributesEncode(..) => return None,
    })
}

fn parse(message: &[u8], config: &SessionConfig) -> (Vec<Ipv4UnicastNlri>, Vec<Ipv6UnicastNlri>) {
    let update = UpdateMessage::from_octets(message, config).expect("well formed");
    let mut prefixes = (Vec::new(), Vec::new());
    if let Ok(Some(nlri)) = update.typed_announcements::<_, Ipv4UnicastNlri>() {
        prefixes
            .0
            .extend(nlri.map(|nlri| nlri.expect("well formed")));
    }
    if let Ok(Some(nlri)) = update.typed_announcements::<_, Ipv6UnicastNlri>() {
        prefixes
            .1
            .extend(nlri.map(|nlri| nlri.expect("well formed")));
    }
    prefixes
}

fn own(prefixes: &[(u32, u8)]) -> Vec<Ipv4UnicastNlri> {
    let prefixes = prefixes.iter().map(|(bits, len)| {
        let text = format!("{}/{len}", Ipv4Addr::from_bits(*bits));
        text.parse().expect("a prefix")
    });
    prefixes.collect()
}
