//! The AS numbers of AS-SETs: our own recursion, with limits.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::as_set_name::AsSetName;
use super::irrd_client::{IrrdClient, IrrdError, IrrdFault};
use super::irrd_query::{AsSetMember, IrrdQuery, members};
use super::irrd_reply::IrrdReply;

/// The limits on expansion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpansionLimits {
    /// The most levels of sets inside a set.
    pub depth: usize,
    /// The most sets inside one set.
    pub sets: usize,
    /// The most AS numbers of one set.
    pub asns: usize,
}

impl Default for ExpansionLimits {
    /// 32 levels, 20,000 sets, 200,000 AS numbers.
    fn default() -> Self {
        ExpansionLimits {
            depth: 32,
            sets: 20_000,
            asns: 200_000,
        }
    }
}

/// Expands AS-SETs over one connection. Each set is queried once, however many others contain it.
pub(crate) struct AsSetExpansion<'a> {
    client: &'a mut IrrdClient,
    /// The registries of names without one.
    registries: Vec<String>,
    limits: ExpansionLimits,
    /// The direct members of each set; `None` if the server does not have it.
    direct: HashMap<AsSetName, Option<Vec<AsSetMember>>>,
    /// Words in members that are no members.
    pub ignored_words: usize,
}

impl<'a> AsSetExpansion<'a> {
    pub fn new(
        client: &'a mut IrrdClient,
        registries: Vec<String>,
        limits: ExpansionLimits,
    ) -> Self {
        AsSetExpansion {
            client,
            registries,
            limits,
            direct: HashMap::new(),
            ignored_words: 0,
        }
    }

    /// The AS numbers of a set and of all sets in it, in order. `None` if the server does not have the set itself. Sets
    /// inside that the server does not have add nothing.
    ///
    /// # Errors
    /// If the connection fails or a limit is exceeded.
    pub fn expand(&mut self, name: &AsSetName) -> Result<Option<Vec<u32>>, IrrdError> {
        let mut asns = BTreeSet::new();
        let mut seen: HashSet<AsSetName> = HashSet::from([name.clone()]);
        let mut level = vec![name.clone()];
        let mut depth = 0;
        while !level.is_empty() {
            if depth == self.limits.depth {
                return Err(self.exceeded(name, format!("{depth} levels of sets")));
            }
            depth += 1;
            self.query(&level)?;
            let mut next = Vec::new();
            for member in level
                .iter()
                .filter_map(|set| self.direct.get(set)?.as_ref())
                .flatten()
            {
                match member {
                    AsSetMember::Asn(asn) => drop(asns.insert(*asn)),
                    AsSetMember::Set(set) if seen.contains(set) => {}
                    AsSetMember::Set(set) => {
                        seen.insert(set.clone());
                        next.push(set.clone());
                    }
                }
            }
            if seen.len() > self.limits.sets {
                return Err(self.exceeded(name, format!("{} sets", self.limits.sets)));
            }
            if asns.len() > self.limits.asns {
                return Err(self.exceeded(name, format!("{} AS numbers", self.limits.asns)));
            }
            level = next;
        }
        let known = self.direct.get(name).is_some_and(Option::is_some);
        Ok(known.then(|| asns.into_iter().collect()))
    }

    /// Queries the sets that have not been queried, those of one registry together.
    fn query(&mut self, names: &[AsSetName]) -> Result<(), IrrdError> {
        let mut missing: Vec<&AsSetName> = names
            .iter()
            .filter(|name| !self.direct.contains_key(*name))
            .collect();
        missing.sort_by_key(|name| name.registry());
        for group in missing.chunk_by(|one, other| one.registry() == other.registry()) {
            let registry = group[0].registry();
            if let Some(registry) = registry {
                self.select(&[registry.to_owned()])?;
            }
            self.query_group(group)?;
            if registry.is_some() {
                self.select(&self.registries.clone())?;
            }
        }
        Ok(())
    }

    fn query_group(&mut self, names: &[&AsSetName]) -> Result<(), IrrdError> {
        let queries: Vec<IrrdQuery> = names.iter().map(|name| IrrdQuery::members(name)).collect();
        let (direct, ignored) = (&mut self.direct, &mut self.ignored_words);
        self.client.query_all(&queries, |at, reply| {
            let found = match reply {
                IrrdReply::Data(data) => {
                    let (found, words) = members(&data);
                    *ignored += words;
                    Some(found)
                }
                IrrdReply::Empty => Some(Vec::new()),
                IrrdReply::NotFound | IrrdReply::NotUnique => None,
                IrrdReply::Refused(why) => return Err(format!("the server refused it: {why}")),
            };
            direct.insert(names[at].clone(), found);
            Ok(())
        })
    }

    fn select(&mut self, registries: &[String]) -> Result<(), IrrdError> {
        select_registries(self.client, registries)
    }

    fn exceeded(&self, name: &AsSetName, limit: String) -> IrrdError {
        let why =
            format!("{name} has more than {limit}: the limit keeps its last good copy in force");
        self.client
            .error(&IrrdQuery::members(name), IrrdFault::Limit(why))
    }
}

/// Selects the registries of later queries.
pub(crate) fn select_registries(
    client: &mut IrrdClient,
    registries: &[String],
) -> Result<(), IrrdError> {
    let query = match IrrdQuery::registries(registries) {
        Ok(query) => query,
        Err(why) => {
            return Err(client.error(&IrrdQuery::CurrentRegistries, IrrdFault::Limit(why)));
        }
    };
    match client.query(query.clone())? {
        IrrdReply::Empty | IrrdReply::Data(_) => Ok(()),
        IrrdReply::Refused(why) => Err(client.error(&query, IrrdFault::Refused(why))),
        IrrdReply::NotFound | IrrdReply::NotUnique => {
            let why = "the server does not have these registries".to_owned();
            Err(client.error(&query, IrrdFault::Refused(why)))
        }
    }
}
