//! Verification of an AS_PATH by ASPAs (draft-ietf-sidrops-aspa-verification-28 §5).
//!
//! The draft numbers the AS numbers of a path from the origin, without repetitions, and compares lengths of ramps. Here
//! the path is read once from the neighbor to the origin, and repetitions are skipped on the way. Both are equal:
//!
//! * The down-ramp ends at the pair nearest to the neighbor whose nearer AS does not have the other as its provider.
//! * The up-ramp ends at the pair nearest to the origin whose farther AS does not have the other as its provider.
//! * The ramps are too short to meet, by more than one hop, if the first of these pairs comes before the second.

use rutter_net::Asn;

use crate::{Aspas, Authorization, PathState, Relation};

/// A received AS_PATH, with all that its verification depends on.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedPath<I> {
    /// The relation of the neighbor that announced the route.
    pub relation: Relation,
    /// The AS of that neighbor.
    pub neighbor: Asn,
    /// True if the path contains an AS_SET.
    pub has_set: bool,
    /// The AS numbers from the neighbor to the origin, with repetitions.
    pub asns: I,
}

/// The result of the verification of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PathVerdict {
    /// ASPAs attest the path.
    Valid,
    /// The ASPAs neither attest nor contradict the path.
    Unknown,
    /// The path is invalid, for this reason.
    Invalid(PathFault),
}

impl PathVerdict {
    /// The state without its reason.
    pub fn state(self) -> PathState {
        match self {
            PathVerdict::Valid => PathState::Valid,
            PathVerdict::Unknown => PathState::Unknown,
            PathVerdict::Invalid(_) => PathState::Invalid,
        }
    }
}

/// The reason why a path is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PathFault {
    /// The path is empty.
    Empty,
    /// The path contains an AS_SET.
    AsSet,
    /// The path starts with another AS than the neighbor's.
    FirstAs {
        /// The first AS of the path.
        found: Asn,
        /// The AS of the neighbor.
        neighbor: Asn,
    },
    /// A path that must lead up only has a step that the ASPA of its customer contradicts: a route leak.
    NotUp(Hop),
    /// The path leads down and up again: a route leak. Read from the neighbor, `down` comes first.
    Valley {
        /// The step that is not down: seen from the origin, the route did not come from a provider here.
        down: Hop,
        /// The step that is not up.
        up: Hop,
    },
}

/// Two adjacent AS numbers of a path. The ASPA of `customer` does not list `provider`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hop {
    /// The AS that has an ASPA.
    pub customer: Asn,
    /// The AS that this ASPA does not list.
    pub provider: Asn,
}

impl Aspas {
    /// Verifies a path: the procedure for upstream paths (§5.5), or that for downstream paths (§5.6) if the neighbor is a
    /// provider. One pass, no allocation, at most two look-ups a step.
    ///
    /// ```
    /// use rutter_net::Asn;
    /// use rutter_rpki::{PathState, ReceivedPath, Relation, RpkiData};
    ///
    /// let data = RpkiData::parse(br#"{"aspas": [{"customer": "AS64502", "providers": ["AS64501"]}]}"#)?;
    /// let aspas = data.aspas.unwrap_or_default();
    /// let state = |asns: [u32; 2]| {
    ///     let path = ReceivedPath {
    ///         relation: Relation::RouteServerClient,
    ///         neighbor: Asn(asns[0]),
    ///         has_set: false,
    ///         asns: asns.into_iter().map(Asn),
    ///     };
    ///     aspas.verify(path).state()
    /// };
    /// assert_eq!(state([64501, 64502]), PathState::Valid);
    /// assert_eq!(state([64503, 64502]), PathState::Invalid);
    /// assert_eq!(state([64502, 64501]), PathState::Unknown);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self, path: ReceivedPath<impl IntoIterator<Item = Asn>>) -> PathVerdict {
        let mut asns = path.asns.into_iter();
        if path.has_set {
            return PathVerdict::Invalid(PathFault::AsSet);
        }
        let Some(first) = asns.next() else {
            return PathVerdict::Invalid(PathFault::Empty);
        };
        if first != path.neighbor && path.relation.adds_its_as() {
            return PathVerdict::Invalid(PathFault::FirstAs {
                found: first,
                neighbor: path.neighbor,
            });
        }
        let mut near = first;
        let steps = asns.filter_map(|far| {
            let step = (near, far);
            near = far;
            (step.0 != far).then_some(step)
        });
        match path.relation.is_upstream() {
            true => self.verify_upstream(steps),
            false => self.verify_downstream(steps),
        }
    }

    /// Each AS must be a provider of the next (§5.5).
    fn verify_upstream(&self, steps: impl Iterator<Item = (Asn, Asn)>) -> PathVerdict {
        let mut verdict = PathVerdict::Valid;
        for (near, far) in steps {
            match self.authorization(far, near) {
                Authorization::Provider => {}
                Authorization::NoAttestation => verdict = PathVerdict::Unknown,
                Authorization::NotProvider => {
                    return PathVerdict::Invalid(PathFault::NotUp(Hop {
                        customer: far,
                        provider: near,
                    }));
                }
            }
        }
        verdict
    }

    /// The path may lead down to the neighbor from the last AS that it led up to, or from a peer of that (§5.6).
    fn verify_downstream(&self, steps: impl Iterator<Item = (Asn, Asn)>) -> PathVerdict {
        // The first step that is not down, and the first that is not attested to be down.
        let mut not_down = None;
        let mut is_down_attested = true;
        let mut verdict = PathVerdict::Valid;
        for (near, far) in steps {
            if !is_down_attested {
                match (self.authorization(far, near), not_down) {
                    (Authorization::Provider, _) => {}
                    (Authorization::NotProvider, Some(down)) => {
                        let up = Hop {
                            customer: far,
                            provider: near,
                        };
                        return PathVerdict::Invalid(PathFault::Valley { down, up });
                    }
                    _ => verdict = PathVerdict::Unknown,
                }
            }
            if not_down.is_none() {
                match self.authorization(near, far) {
                    Authorization::Provider => {}
                    Authorization::NoAttestation => is_down_attested = false,
                    Authorization::NotProvider => {
                        is_down_attested = false;
                        not_down = Some(Hop {
                            customer: near,
                            provider: far,
                        });
                    }
                }
            }
        }
        verdict
    }
}
