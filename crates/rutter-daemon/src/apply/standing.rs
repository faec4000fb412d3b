//! The sessions and routes of the neighbors before a change, and what a change must not cost them.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// A neighbor with an established session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    pub(crate) name: String,
    /// Its routes that are accepted.
    pub(crate) accepted: u64,
    /// The prefixes that it is sent.
    pub(crate) advertised: u64,
}

/// The established neighbors.
pub(crate) type Standings = BTreeMap<IpAddr, Standing>;

/// Watches the neighbors after a change that nobody has confirmed.
pub(crate) struct Guard {
    before: Standings,
    /// The time when each neighbor was last established, milliseconds.
    last_up_ms: BTreeMap<IpAddr, u64>,
    /// All neighbors have been established since this time, milliseconds.
    complete_since_ms: Option<u64>,
    limits: Limits,
}

/// The limits of a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest time without a session, milliseconds.
    pub(crate) down_ms: u64,
    /// The time that neighbors have to send their routes after all sessions are there, milliseconds.
    pub(crate) settle_ms: u64,
    /// The largest part of its routes that a neighbor may lose, percent.
    pub(crate) max_loss: Option<f64>,
}

impl Guard {
    /// Watches the neighbors of `before`: those whose session should go on.
    pub(crate) fn new(before: Standings, limits: Limits, now_ms: u64) -> Self {
        Guard {
            last_up_ms: before.keys().map(|address| (*address, now_ms)).collect(),
            complete_since_ms: None,
            before,
            limits,
        }
    }

    /// Returns whether the routes of the neighbors are of interest now: counting them takes time.
    pub(crate) fn compares_routes(&self, now_ms: u64) -> bool {
        let since = self.complete_since_ms;
        self.limits.max_loss.is_some()
            && since.is_some_and(|since| now_ms - since >= self.limits.settle_ms)
    }

    /// Notes which neighbors are established. Returns the reason to go back, if one is down for too long.
    pub(crate) fn note_sessions(
        &mut self,
        is_up: impl Fn(IpAddr) -> bool,
        now_ms: u64,
    ) -> Option<String> {
        let mut is_complete = true;
        for (address, last_up_ms) in &mut self.last_up_ms {
            if is_up(*address) {
                *last_up_ms = now_ms;
                continue;
            }
            is_complete = false;
            let down_ms = now_ms - *last_up_ms;
            if down_ms >= self.limits.down_ms {
                let name = self.before.get(address).map_or("", |one| one.name.as_str());
                return Some(format!(
                    "the session with {name} is down for {} s",
                    down_ms / 1_000
                ));
            }
        }
        match is_complete {
            true => self.complete_since_ms.get_or_insert(now_ms),
            false => return self.clear_complete(),
        };
        None
    }

    fn clear_complete(&mut self) -> Option<String> {
        self.complete_since_ms = None;
        None
    }

    /// Compares the routes. Returns the reason to go back, if a neighbor has lost too many.
    pub(crate) fn compare_routes(&self, now: &Standings) -> Option<String> {
        let max_loss = self.limits.max_loss?;
        self.before.iter().find_map(|(address, before)| {
            let now = now.get(address)?;
            let kinds = [
                ("routes from", "accepted", before.accepted, now.accepted),
                (
                    "prefixes to",
                    "advertised",
                    before.advertised,
                    now.advertised,
                ),
            ];
            let lost = kinds.into_iter().find(|(_, _, before, now)| {
                (*now as f64) < *before as f64 * (1.0 - max_loss / 100.0)
            });
            lost.map(|(what, verb, was, is)| {
                format!(
                    "{what} {}: {is} are {verb}, before the change {was}",
                    before.name
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn standings(accepted: u64, advertised: u64) -> Standings {
        let name = "one".to_owned();
        let one = Standing {
            name,
            accepted,
            advertised,
        };
        BTreeMap::from([(ONE, one)])
    }

    fn guard(max_loss: Option<f64>) -> Guard {
        let limits = Limits {
            down_ms: 60_000,
            settle_ms: 10_000,
            max_loss,
        };
        Guard::new(standings(100, 1_000), limits, 5_000)
    }

    #[test]
    fn a_session_may_come_back_in_time() {
        let mut guard = guard(None);
        assert_eq!(guard.note_sessions(|_| false, 64_000), None);
        assert_eq!(guard.note_sessions(|_| true, 64_500), None);
        assert_eq!(guard.note_sessions(|_| false, 124_000), None);
        let why = guard.note_sessions(|_| false, 124_500);
        assert_eq!(
            why.as_deref(),
            Some("the session with one is down for 60 s")
        );
    }

    #[test]
    fn losses_count_when_all_sessions_have_been_there_for_a_while() {
        let mut guard = guard(Some(2.0));
        assert_eq!(guard.note_sessions(|_| true, 6_000), None);
        assert!(!guard.compares_routes(15_000));
        assert!(guard.compares_routes(16_000));
        assert_eq!(guard.note_sessions(|_| false, 17_000), None);
        assert!(!guard.compares_routes(30_000));
        assert_eq!(guard.compare_routes(&standings(98, 980)), None);
        let why = guard.compare_routes(&standings(97, 1_000));
        assert_eq!(
            why.as_deref(),
            Some("routes from one: 97 are accepted, before the change 100")
        );
        assert!(guard.compare_routes(&standings(100, 979)).is_some());
        assert_eq!(guard.compare_routes(&BTreeMap::new()), None);
    }
}
