//! Fetches AS-SETs and the prefixes of origins from the servers.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_irr::{AsSetName, PackedRows};
use rutter_net::{Family, Prefix};

use super::irrd_client::{IrrdError, IrrdFault};
use super::irrd_query::{IrrdQuery, prefixes};
use super::irrd_reply::IrrdReply;
use super::irrd_server::IrrdServer;
use super::irrd_servers::{IrrdServers, Progress};
use super::set_graph::SetGraph;
use super::settings::IrrSettings;
use super::store::IrrStore;

/// Fetches sets into the store. `progress` receives the number of finished sets. Returns whether a server went
/// through all sets; single ones may have failed.
pub(crate) fn fetch_sets(
    servers: &mut IrrdServers<'_>,
    settings: &IrrSettings,
    store: &mut IrrStore,
    names: Vec<AsSetName>,
    progress: &mut dyn FnMut(usize),
) -> bool {
    let total = names.len();
    let mut graph = SetGraph::new(settings.as_set_limits);
    let mut left = names;
    let mut failures: HashMap<AsSetName, String> = HashMap::new();
    let went_through = left.is_empty()
        || servers.run(|server, is_other| {
            if is_other {
                graph.forget_failures();
                left.extend(failures.drain().map(|(name, _)| name));
            }
            while !left.is_empty() {
                let batch = &left[left.len().saturating_sub(SETS_AT_A_TIME)..];
                let answers = graph.expand(server, batch)?;
                for (name, answer) in left.drain(left.len() - answers.len()..).zip(answers) {
                    match answer {
                        Ok(answer) => store.sets.entry(name).or_default().offer(answer),
                        Err(why) => drop(failures.insert(name, why)),
                    }
                }
                progress(total - left.len() - failures.len());
            }
            Ok(outcome(failures.is_empty()))
        });
    let last = servers.errors.last().cloned().unwrap_or_default();
    let unreached = left.into_iter().map(|name| (name, last.clone()));
    for (name, why) in failures.into_iter().chain(unreached) {
        store.sets.entry(name).or_default().error = Some(why);
    }
    went_through
}

/// Fetches the prefixes of origins into the store. As [`fetch_sets`].
pub(crate) fn fetch_origins(
    servers: &mut IrrdServers<'_>,
    store: &mut IrrStore,
    origins: Vec<u32>,
    progress: &mut dyn FnMut(usize),
) -> bool {
    let total = origins.len();
    let mut left = origins;
    let mut failures: HashMap<u32, String> = HashMap::new();
    let mut rows_left = MAX_ROWS;
    let went_through = left.is_empty()
        || servers.run(|server, is_other| {
            if is_other {
                left.extend(failures.drain().map(|(origin, _)| origin));
            }
            if let Err(why) = server.select(None)? {
                failures.extend(left.drain(..).map(|origin| (origin, why.clone())));
            }
            while !left.is_empty() {
                let batch = left.split_off(left.len().saturating_sub(ORIGINS_AT_A_TIME));
                let mut answers = Vec::with_capacity(batch.len());
                let outcome = fetch_batch(server, &batch, &mut answers);
                let behind = &batch[answers.len()..];
                for (origin, answer) in batch.iter().zip(answers) {
                    match answer {
                        Ok(rows) if rows.len() <= rows_left => {
                            rows_left -= rows.len();
                            store.origins.entry(*origin).or_default().offer(rows);
                        }
                        Ok(_) => {
                            let why = format!("all AS numbers have more than {MAX_ROWS} prefixes");
                            failures.insert(*origin, why);
                        }
                        Err(why) => drop(failures.insert(*origin, why)),
                    }
                }
                if let Err(error) = outcome {
                    let mut behind = behind.to_vec();
                    if is_blame(&error) && !behind.is_empty() {
                        failures.insert(behind.remove(0), error.to_string());
                    }
                    left.extend(behind);
                    return Err(error);
                }
                progress(total - left.len() - failures.len());
            }
            Ok(outcome(failures.is_empty()))
        });
    let failed = left.len() + failures.len();
    if let Some((origin, why)) = failures.iter().min() {
        let others = match failed - 1 {
            0 => String::new(),
            others => format!(", and {others} others"),
        };
        servers.errors.push(format!("AS{origin}{others}: {why}"));
    }
    went_through
}

/// Queries both families of each origin. `answers` has the origins whose replies were complete before an error.
fn fetch_batch(
    server: &mut IrrdServer,
    origins: &[u32],
    answers: &mut Vec<Result<Arc<PackedRows>, String>>,
) -> Result<(), IrrdError> {
    let both = |origin: &u32| FAMILIES.map(|family| IrrdQuery::Prefixes(family, *origin));
    let queries: Vec<IrrdQuery> = origins.iter().flat_map(both).collect();
    let mut first: Result<Vec<Prefix>, String> = Ok(Vec::new());
    server.client.query_all(&queries, |at, reply| {
        let family = FAMILIES[at % FAMILIES.len()];
        let found = read_prefixes(reply, family);
        if family == FAMILIES[0] {
            first = found;
            return;
        }
        let one = std::mem::replace(&mut first, Ok(Vec::new()));
        let joined = one.and_then(|mut prefixes| {
            prefixes.extend(found?);
            Ok(Arc::new(PackedRows::of_prefixes(prefixes)))
        });
        answers.push(joined);
    })
}

fn read_prefixes(reply: IrrdReply, family: Family) -> Result<Vec<Prefix>, String> {
    match reply {
        // Words that are no prefixes are errors in objects of the registry.
        IrrdReply::Data(data) => Ok(prefixes(&data, family, MAX_PREFIXES)?.0),
        IrrdReply::Empty | IrrdReply::NotFound | IrrdReply::NotUnique => Ok(Vec::new()),
        IrrdReply::Refused(why) => Err(format!("the server refused the query: {why}")),
    }
}

fn outcome(is_complete: bool) -> Progress {
    match is_complete {
        true => Progress::Done,
        false => Progress::Partly,
    }
}

/// Returns whether an error may be the fault of the object that was queried.
fn is_blame(error: &IrrdError) -> bool {
    !matches!(error.fault(), IrrdFault::Stopped | IrrdFault::TooLong(_))
}

const FAMILIES: [Family; 2] = [Family::Ipv4Unicast, Family::Ipv6Unicast];
/// The sets that are followed together.
const SETS_AT_A_TIME: usize = 16;
/// The origins between two reports of progress.
const ORIGINS_AT_A_TIME: usize = 512;
/// The most prefixes of one origin and family.
const MAX_PREFIXES: usize = 500_000;
/// The most prefixes of all origins. All registries of the world have about five million.
const MAX_ROWS: usize = 16_000_000;
