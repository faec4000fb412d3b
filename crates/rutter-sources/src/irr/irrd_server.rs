//! A connection to a server with its selected registries.

use super::irrd_client::{IrrdClient, IrrdError, IrrdFault, StopCheck};
use super::irrd_limits::IrrdLimits;
use super::irrd_query::IrrdQuery;
use super::irrd_reply::IrrdReply;

/// A connection, and the registries in which its queries search.
pub(crate) struct IrrdServer {
    pub client: IrrdClient,
    /// The registries for names without one. Empty if the server does not list them.
    usual: Vec<String>,
    /// The registry that is selected in place of the usual ones.
    selected: Option<String>,
}

impl IrrdServer {
    /// Connects, and selects `sources`. If there are none, the server's own choice stays.
    ///
    /// # Errors
    /// If the connection fails, or the server does not have the sources.
    pub fn connect(
        server: &str,
        sources: &[String],
        limits: IrrdLimits,
        stop: StopCheck,
    ) -> Result<Self, IrrdError> {
        let mut client = IrrdClient::connect(server, limits, stop)?;
        let usual = match sources {
            [] => match client.query(IrrdQuery::CurrentRegistries)? {
                IrrdReply::Data(data) => registries(&data),
                _ => Vec::new(),
            },
            sources => sources.to_vec(),
        };
        let mut server = IrrdServer {
            client,
            usual,
            selected: None,
        };
        if !sources.is_empty()
            && let Err(why) = server.select_all(sources)?
        {
            let query = IrrdQuery::Registries(sources.to_vec());
            return Err(server.client.error(&query, IrrdFault::Refused(why)));
        }
        Ok(server)
    }

    /// Selects one registry, or the usual ones. The inner error is the reason why the server does not.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn select(&mut self, registry: Option<&str>) -> Result<Result<(), String>, IrrdError> {
        if self.selected.as_deref() == registry {
            return Ok(Ok(()));
        }
        if self.usual.is_empty() {
            let why = "the server does not list its registries, so a name such as RIPE::AS-FOO needs the key `sources` in [irr]";
            return Ok(Err(why.to_owned()));
        }
        let names = match registry {
            Some(registry) => vec![registry.to_owned()],
            None => self.usual.clone(),
        };
        let outcome = self.select_all(&names)?;
        if outcome.is_ok() {
            self.selected = registry.map(str::to_owned);
        }
        Ok(outcome)
    }

    fn select_all(&mut self, registries: &[String]) -> Result<Result<(), String>, IrrdError> {
        let query = match IrrdQuery::registries(registries) {
            Ok(query) => query,
            Err(why) => return Ok(Err(why)),
        };
        Ok(match self.client.query(query)? {
            IrrdReply::Empty | IrrdReply::Data(_) => Ok(()),
            IrrdReply::Refused(why) => Err(format!("the server refused the registry: {why}")),
            IrrdReply::NotFound | IrrdReply::NotUnique => {
                Err("the server does not have this registry".to_owned())
            }
        })
    }
}

/// Parses the reply to `!s-lc`: names separated by commas.
fn registries(data: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(data);
    let names = text.trim().split(',').map(|name| name.trim().to_owned());
    let names: Vec<String> = names.take(MAX_REGISTRIES).collect();
    let is_valid = IrrdQuery::registries(&names).is_ok();
    if is_valid { names } else { Vec::new() }
}

/// All names must fit into one line of a query.
const MAX_REGISTRIES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_names() {
        assert_eq!(
            registries(b"RIPE,NTTCOM, RADB\n"),
            ["RIPE", "NTTCOM", "RADB"]
        );
        assert!(registries(b"").is_empty() && registries(b"RIPE\n!q").is_empty());
    }
}
