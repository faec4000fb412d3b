//! Which of the routes of a prefix in a table dump is best (RFC 4271 §9.1.2.2).

use rutter_wire::attr::{Attributes, Origin};
use rutter_wire::mrt::PeerEntry;

/// A route of a prefix.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub peer: (u16, PeerEntry),
    pub octets: &'a [u8],
    pub next_hop: Option<&'a [u8]>,
}

impl<'a> Candidate<'a> {
    fn view(&self) -> Attributes<'a> {
        Attributes::from_canonical(self.octets)
    }
}

/// The best of them. A dump does not say which sessions are internal, so the steps that ask for it are left out.
pub(crate) fn best<'a>(candidates: &mut Vec<Candidate<'a>>) -> Option<Candidate<'a>> {
    if candidates.len() > 1 {
        keep_least(candidates, |c| {
            u32::MAX - c.view().local_pref().unwrap_or(100)
        });
        keep_least(candidates, |c| {
            c.view().as_path().map_or(0, |path| path.path_len())
        });
        keep_least(candidates, |c| match c.view().origin() {
            Some(Origin::Igp) => 0,
            Some(Origin::Egp) => 1,
            _ => 2,
        });
        keep_least_med(candidates);
    }
    let last = |c: &&Candidate<'a>| (c.peer.1.bgp_id, c.peer.1.address);
    candidates.iter().min_by_key(last).copied()
}

fn keep_least<T: Ord + Copy>(
    candidates: &mut Vec<Candidate<'_>>,
    key: impl Fn(&Candidate<'_>) -> T,
) {
    if let Some(least) = candidates.iter().map(&key).min() {
        candidates.retain(|candidate| key(candidate) == least);
    }
}

/// Among routes of one neighbouring AS the lowest MULTI_EXIT_DISC stays.
fn keep_least_med(candidates: &mut Vec<Candidate<'_>>) {
    let exits: Vec<_> = candidates
        .iter()
        .map(|candidate| {
            let view = candidate.view();
            let neighbour = view.as_path().and_then(|path| path.first());
            (neighbour, view.multi_exit_disc().unwrap_or(0))
        })
        .collect();
    let beaten = |(neighbour, med)| {
        exits
            .iter()
            .any(|(other, lower)| *other == neighbour && *lower < med)
    };
    let mut at = exits.iter();
    candidates.retain(|_| at.next().is_some_and(|exit| !beaten(*exit)));
}
