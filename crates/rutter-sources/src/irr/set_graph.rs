//! The AS numbers of AS-SETs: our own recursion, with limits.

use std::collections::{HashMap, HashSet};

use rutter_irr::AsSetName;

use super::as_set_limits::AsSetLimits;
use super::irrd_client::{IrrdError, IrrdFault};
use super::irrd_query::{AsSetMember, IrrdQuery, members};
use super::irrd_reply::IrrdReply;
use super::irrd_server::IrrdServer;
use super::store::SetAnswer;

/// The AS-SETs of one refresh with their direct members. Each is queried once, however many others contain it.
pub(crate) struct SetGraph {
    limits: AsSetLimits,
    names: Vec<AsSetName>,
    numbers: HashMap<AsSetName, u32>,
    /// By number.
    direct: Vec<Direct>,
}

/// The direct members of a set.
enum Direct {
    Unknown,
    Known { asns: Vec<u32>, sets: Vec<u32> },
    Missing,
    Failed(String),
}

impl SetGraph {
    pub fn new(limits: AsSetLimits) -> Self {
        SetGraph {
            limits,
            names: Vec::new(),
            numbers: HashMap::new(),
            direct: Vec::new(),
        }
    }

    /// Forgets failures, so that another server may know better.
    pub fn forget_failures(&mut self) {
        for direct in &mut self.direct {
            if matches!(direct, Direct::Failed(_)) {
                *direct = Direct::Unknown;
            }
        }
    }

    /// Follows sets level by level. The queries of one level are under way together. Sets inside others that the server
    /// does not have add nothing. An error of one set is its own.
    ///
    /// # Errors
    /// If the connection fails. The set whose reply was missing has failed until
    /// [`forget_failures`](Self::forget_failures). All others can be followed over another connection.
    pub fn expand(
        &mut self,
        server: &mut IrrdServer,
        roots: &[AsSetName],
    ) -> Result<Vec<Result<SetAnswer, String>>, IrrdError> {
        let mut walks: Vec<Walk> = roots
            .iter()
            .map(|root| Walk::new(self.number(root)))
            .collect();
        for _ in 0..self.limits.depth {
            let level: HashSet<u32> = walks.iter().flat_map(|walk| &walk.level).copied().collect();
            if level.is_empty() {
                break;
            }
            self.query(server, level)?;
            for walk in &mut walks {
                walk.step(self);
            }
        }
        Ok(walks.into_iter().map(|walk| walk.finish(self)).collect())
    }

    fn number(&mut self, name: &AsSetName) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        let is_too_many = self.names.len() >= MAX_NAMES;
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        self.direct.push(match is_too_many {
            true => Direct::Failed(format!("all AS-SETs contain more than {MAX_NAMES} sets")),
            false => Direct::Unknown,
        });
        number
    }

    /// Queries the sets that are not known, those of one registry together.
    fn query(&mut self, server: &mut IrrdServer, sets: HashSet<u32>) -> Result<(), IrrdError> {
        let is_unknown = |set: &u32| matches!(self.direct[*set as usize], Direct::Unknown);
        let mut unknown: Vec<u32> = sets.into_iter().filter(is_unknown).collect();
        let names = &self.names;
        let registry = |set: u32| names[set as usize].registry().map(str::to_owned);
        unknown.sort_by_cached_key(|set| (registry(*set), *set));
        let groups: Vec<(Option<String>, Vec<u32>)> = unknown
            .chunk_by(|one, other| registry(*one) == registry(*other))
            .map(|group| (registry(group[0]), group.to_vec()))
            .collect();
        for (registry, group) in groups {
            match server.select(registry.as_deref())? {
                Ok(()) => self.query_group(server, &group)?,
                Err(why) => {
                    for set in group {
                        self.direct[set as usize] = Direct::Failed(why.clone());
                    }
                }
            }
        }
        Ok(())
    }

    fn query_group(&mut self, server: &mut IrrdServer, group: &[u32]) -> Result<(), IrrdError> {
        let name = |set: &u32| IrrdQuery::members(&self.names[*set as usize]);
        let queries: Vec<IrrdQuery> = group.iter().map(name).collect();
        let mut answered = 0;
        let outcome = server.client.query_all(&queries, |at, reply| {
            let direct = self.direct(reply);
            self.direct[group[at] as usize] = direct;
            answered = at + 1;
        });
        let blames = |error: &IrrdError| {
            !matches!(error.fault(), IrrdFault::Stopped | IrrdFault::TooLong(_))
        };
        if let (Some(set), Some(error)) = (group.get(answered), outcome.as_ref().err())
            && blames(error)
        {
            self.direct[*set as usize] = Direct::Failed(error.to_string());
        }
        outcome
    }

    fn direct(&mut self, reply: IrrdReply) -> Direct {
        let data = match reply {
            IrrdReply::Data(data) => data,
            IrrdReply::Empty => Vec::new(),
            IrrdReply::NotFound | IrrdReply::NotUnique => return Direct::Missing,
            IrrdReply::Refused(why) => {
                return Direct::Failed(format!("the server refused it: {why}"));
            }
        };
        let found = match members(&data, self.limits.asns.saturating_add(self.limits.sets)) {
            // Words that are neither AS numbers nor names are errors of the set's owner.
            Ok((found, _words)) => found,
            Err(why) => return Direct::Failed(why),
        };
        let (mut asns, mut sets) = (Vec::new(), Vec::new());
        for member in found {
            match member {
                AsSetMember::Asn(asn) => asns.push(asn),
                AsSetMember::Set(_) if sets.len() == self.limits.sets => {
                    return Direct::Failed(format!("it has more than {} sets", self.limits.sets));
                }
                AsSetMember::Set(set) => sets.push(self.number(&set)),
            }
        }
        Direct::Known { asns, sets }
    }
}

/// The way from one set to all sets inside it.
struct Walk {
    root: u32,
    seen: HashSet<u32>,
    /// The sets of the next step.
    level: Vec<u32>,
    asns: Vec<u32>,
    failure: Option<String>,
}

impl Walk {
    fn new(root: u32) -> Self {
        Walk {
            root,
            seen: HashSet::from([root]),
            level: vec![root],
            asns: Vec::new(),
            failure: None,
        }
    }

    fn step(&mut self, graph: &SetGraph) {
        for set in std::mem::take(&mut self.level) {
            match &graph.direct[set as usize] {
                Direct::Known { asns, sets } => {
                    self.asns.extend(asns);
                    let fresh = sets.iter().filter(|set| self.seen.insert(**set));
                    self.level.extend(fresh);
                }
                Direct::Missing => {}
                Direct::Unknown => return self.fail("it is not known".to_owned()),
                Direct::Failed(why) if set == self.root => return self.fail(why.clone()),
                Direct::Failed(why) => {
                    let name = &graph.names[set as usize];
                    return self.fail(format!("it contains {name}, which failed: {why}"));
                }
            }
            if self.seen.len() > graph.limits.sets {
                return self.fail(format!("it contains more than {} sets", graph.limits.sets));
            }
            if self.asns.len() > graph.limits.asns {
                self.asns.sort_unstable();
                self.asns.dedup();
            }
            if self.asns.len() > graph.limits.asns {
                let limit = graph.limits.asns;
                return self.fail(format!("it contains more than {limit} AS numbers"));
            }
        }
    }

    fn fail(&mut self, why: String) {
        self.level.clear();
        self.asns.clear();
        self.failure = Some(why);
    }

    fn finish(mut self, graph: &SetGraph) -> Result<SetAnswer, String> {
        if let Some(why) = self.failure {
            return Err(why);
        }
        if !self.level.is_empty() {
            return Err(format!(
                "it has more than {} levels of sets",
                graph.limits.depth
            ));
        }
        self.asns.sort_unstable();
        self.asns.dedup();
        Ok(SetAnswer {
            exists: matches!(graph.direct[self.root as usize], Direct::Known { .. }),
            asns: self.asns.into(),
        })
    }
}

/// The most sets of all members together. All registries of the world have about 50,000.
const MAX_NAMES: usize = 300_000;
