//! The workloads S1 to S10: how many peers announce how many routes, and how many routes a destination has.

use std::fmt;
use std::str::FromStr;

/// How peers share destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Every peer announces this many destinations that no other peer has.
    Unique {
        /// Prefixes of each peer.
        per_peer: usize,
    },
    /// Every peer announces the whole table.
    Full,
    /// A destination is announced by one or several peers; this many routes in all.
    Shared {
        /// Routes of all peers together.
        routes: usize,
    },
}

/// The size of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Clients that announce.
    pub peers: usize,
    /// Distinct prefixes of all peers together.
    pub destinations: usize,
    /// How they are shared.
    pub spread: Spread,
    /// The destinations are a real table if a file of prefixes is given.
    pub real_table: bool,
}

/// The number of prefixes of the real table of 2025 with which the figures were measured.
pub const FULL_TABLE: usize = 1_062_046;

impl Shape {
    /// Each of `peers` announces `per_peer` prefixes of its own.
    pub const fn unique(peers: usize, per_peer: usize) -> Self {
        Shape {
            peers,
            destinations: peers * per_peer,
            spread: Spread::Unique { per_peer },
            real_table: false,
        }
    }

    /// Each of `peers` announces the same full table.
    pub const fn full(peers: usize, destinations: usize) -> Self {
        Shape {
            peers,
            destinations,
            spread: Spread::Full,
            real_table: true,
        }
    }

    /// `routes` routes of `peers` peers for `destinations`.
    pub const fn shared(peers: usize, routes: usize, destinations: usize) -> Self {
        Shape {
            peers,
            destinations,
            spread: Spread::Shared { routes },
            real_table: false,
        }
    }

    /// The same shape for another number of destinations (from a prefix file), with the same number of routes per
    /// destination.
    pub fn with_destinations(self, destinations: usize) -> Self {
        let spread = match self.spread {
            Spread::Unique { .. } => Spread::Unique {
                per_peer: destinations / self.peers.max(1),
            },
            Spread::Full => Spread::Full,
            Spread::Shared { routes } => Spread::Shared {
                routes: (routes as u128 * destinations as u128 / self.destinations.max(1) as u128)
                    as usize,
            },
        };
        Shape {
            destinations,
            spread,
            ..self
        }
    }

    /// Routes that all peers announce together.
    pub fn routes(&self) -> usize {
        match self.spread {
            Spread::Unique { per_peer } => self.peers * per_peer,
            Spread::Full => self.peers * self.destinations,
            Spread::Shared { routes } => routes,
        }
    }
}

/// A workload by its name, such as `S3`, or by its size, such as `10x5000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    name: Name,
    /// Its size.
    pub shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Standard(&'static str),
    Own,
}

/// The standard workloads.
pub const STANDARD: [(&str, Shape); 11] = [
    ("S1", Shape::unique(10, 1_000)),
    ("S2", Shape::unique(2, 10_000)),
    ("S3", Shape::unique(2, 100_000)),
    (
        "S4",
        Shape {
            real_table: true,
            ..Shape::shared(20, FULL_TABLE * 5 / 2, FULL_TABLE)
        },
    ),
    ("S5", Shape::unique(100, 1_000)),
    ("S6", Shape::full(2, FULL_TABLE)),
    ("S7", Shape::unique(500, 200)),
    ("S8", Shape::shared(700, 400_400, 200_200)),
    ("S9", Shape::shared(1_000, 2_000_000, 800_000)),
    ("S10", Shape::unique(2_500, 400)),
    ("S10b", Shape::unique(5_000, 200)),
];

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let standard = STANDARD
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        if let Some(&(name, shape)) = standard {
            return Ok(Named {
                name: Name::Standard(name),
                shape,
            });
        }
        parse_own(text)
            .map(|shape| Named {
                name: Name::Own,
                shape,
            })
            .ok_or_else(|| {
                format!(
                    "`{text}` is not a workload of up to {MOST_ROUTES} routes: write S1 to S10, S10b, PEERSxPREFIXES (10x5000: unique prefixes) or PEERSxROUTES/DESTINATIONS (20x50000/20000: shared ones)"
                )
            })
    }
}

/// The limit of a workload given by size: generated prefixes are mostly public IPv4 space, and everything is in memory.
const MOST_ROUTES: usize = 100_000_000;

fn parse_own(text: &str) -> Option<Shape> {
    let (peers, rest) = text.split_once(['x', 'X'])?;
    let peers: usize = peers.parse().ok().filter(|&n| (1..=60_000).contains(&n))?;
    match rest.split_once('/') {
        None => {
            let prefixes: usize = rest.parse().ok().filter(|&n| n > 0)?;
            let all = prefixes.checked_mul(peers)?;
            (all <= MOST_ROUTES).then(|| Shape::unique(peers, prefixes))
        }
        Some((routes, destinations)) => {
            let (routes, destinations): (usize, usize) =
                (routes.parse().ok()?, destinations.parse().ok()?);
            let possible = destinations > 0
                && routes <= MOST_ROUTES
                && routes >= destinations
                && routes <= destinations.checked_mul(peers)?;
            possible.then(|| Shape::shared(peers, routes, destinations))
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name, self.shape.spread) {
            (Name::Standard(name), _) => f.write_str(name),
            (Name::Own, Spread::Unique { per_peer }) => {
                write!(f, "{}x{per_peer}", self.shape.peers)
            }
            (Name::Own, _) => write!(
                f,
                "{}x{}/{}",
                self.shape.peers,
                self.shape.routes(),
                self.shape.destinations
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for text in ["S1", "S10b", "10x5000", "20x50000/20000"] {
            assert_eq!(text.parse::<Named>().unwrap().to_string(), text);
        }
        assert_eq!("s3".parse::<Named>().unwrap().shape.routes(), 200_000);
        for text in ["S11", "x5", "0x5", "1x0", "2x5/9", "2x50/9"] {
            assert!(text.parse::<Named>().is_err(), "{text}");
        }
    }

    #[test]
    fn another_table_keeps_the_ratio() {
        let shape = Shape::shared(20, 250, 100).with_destinations(1_000);
        assert_eq!(shape.routes(), 2_500);
    }
}
