//! The paths of birdwatcher's interface, and of Bird's Eye where IXP Manager asks otherwise.

use std::net::IpAddr;

use hyper::StatusCode;
use rutter_api::{
    AdvertisedList, AdvertisedQuery, Backend, FamilyFilter, Request, RouteFilter, SessionRow,
};
use rutter_net::Prefix;

use super::ReasonNumbers;
use super::protocols::MAIN_TABLES;
use super::route_list::{RouteList, Wanted};
use super::sessions::address_of;
use crate::percent;
use crate::problem::Problem;

/// A question of a looking glass.
pub(crate) enum Question {
    /// The state of the process.
    Status,
    /// The sessions with their counts.
    Protocols { with_pipes: bool },
    /// The sessions with their states.
    ProtocolsShort,
    /// The names of tables and protocols, or of one kind.
    Symbols(Option<&'static str>),
    /// A list of routes, or their number.
    Routes(Box<RouteList>),
    /// The routes that a pipe filters, or their number: there are none.
    Nothing { is_count: bool },
}

impl Question {
    /// Reads the path below that of the interface, and the parameters.
    pub(crate) fn read(
        path: &str,
        query: &str,
        numbers: ReasonNumbers,
        backend: &dyn Backend,
    ) -> Result<Question, Problem> {
        let parts: Vec<String> = path
            .split('/')
            .skip(1)
            .map(percent::decode_path)
            .collect::<Result<_, _>>()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let reader = Reader {
            numbers,
            sessions: backend.sessions(),
        };
        Ok(match parts.as_slice() {
            ["status"] => Question::Status,
            ["protocols"] => Question::Protocols { with_pipes: true },
            ["protocols", "bgp"] => Question::Protocols { with_pipes: false },
            ["protocols", "short"] => Question::ProtocolsShort,
            ["symbols"] => Question::Symbols(None),
            ["symbols", "tables"] => Question::Symbols(Some("routing table")),
            ["symbols", "protocols"] => Question::Symbols(Some("protocol")),
            ["routes", "pipe", "filtered"] => Question::Nothing { is_count: false },
            ["routes", "pipe", "filtered", "count"] => Question::Nothing { is_count: true },
            ["routes", "count", rest @ ..] => reader.routes(reader.count(rest)?.counted()),
            ["routes", "prefix"] => {
                let mut pairs = percent::query_pairs(query);
                let pair = pairs.find(|(name, _)| name == "prefix");
                let (_, prefix) = pair.ok_or_else(|| Problem::bad("write ?prefix=192.0.2.0/24"))?;
                reader.routes(reader.net(&prefix, Wanted::default()))
            }
            ["routes", rest @ ..] => reader.routes(reader.list(rest)?),
            ["route", "net", net, "mask", mask]
            | ["route", "net", net, "mask", mask, "table", _] => {
                reader.routes(reader.net(&format!("{net}/{mask}"), Wanted::default()))
            }
            ["route", rest @ ..] => reader.routes(reader.one(rest)?),
            _ => return Err(unknown_path()),
        })
    }
}

fn unknown_path() -> Problem {
    let detail = "birdwatcher has no such path: docs/api.md lists those that Rutter answers";
    Problem::new(StatusCode::NOT_FOUND, detail)
}

/// Reads the paths of lists.
struct Reader {
    numbers: ReasonNumbers,
    sessions: Vec<SessionRow>,
}

impl Reader {
    fn routes(&self, list: RouteList) -> Question {
        Question::Routes(Box::new(list))
    }

    /// The lists below `/routes`.
    fn list(&self, parts: &[&str]) -> Result<RouteList, Problem> {
        let accepted = Wanted {
            accepted: true,
            ..Wanted::default()
        };
        Ok(match *parts {
            ["protocol" | "peer", name] | ["table", _, "peer", name] => {
                self.received(self.from(name)?, accepted)
            }
            ["filtered", name] => self.received(rejected(self.from(name)?), Wanted::default()),
            ["export", name] => self.sent(name, AdvertisedList::Routes, None)?,
            ["noexport", name] => self.sent(name, AdvertisedList::Withheld, None)?,
            ["table", name] => self.received(self.table(name)?, accepted),
            ["table", name, "filtered"] => {
                self.received(rejected(self.table(name)?), Wanted::default())
            }
            ["net", ref net @ ..] => self.net(&net.join("/"), Wanted::default()),
            ["lc-zwild", "protocol", name, x, y] => {
                let large = Some(format!("{x}:{y}:"));
                self.received(self.from(name)?, Wanted { large, ..accepted })
            }
            _ => return Err(unknown_path()),
        })
    }

    /// The lists below `/routes/count`.
    fn count(&self, parts: &[&str]) -> Result<RouteList, Problem> {
        let accepted = Wanted {
            accepted: true,
            ..Wanted::default()
        };
        Ok(match *parts {
            ["protocol", name] => self.received(self.from(name)?, accepted),
            ["table", name] => self.received(self.table(name)?, accepted),
            ["primary", name] => {
                let best = RouteFilter {
                    best: true,
                    ..self.from(name)?
                };
                self.received(best, accepted)
            }
            _ => return Err(unknown_path()),
        })
    }

    /// The routes of one destination, below `/route`.
    fn one(&self, parts: &[&str]) -> Result<RouteList, Problem> {
        Ok(match *parts {
            ["net", net] | ["net", net, "table", _] | [net, "table", _] => {
                self.net(net, Wanted::default())
            }
            [net, "protocol", name] => {
                let from = Some(self.address(name)?);
                self.net(
                    net,
                    Wanted {
                        from,
                        ..Wanted::default()
                    },
                )
            }
            [net, "export", name] => {
                let prefix = net.parse().map_err(|_| {
                    Problem::bad(format!("`{net}` is no prefix: write 192.0.2.0/24"))
                })?;
                self.sent(name, AdvertisedList::Routes, Some(prefix))?
            }
            _ => return Err(unknown_path()),
        })
    }

    fn received(&self, filter: RouteFilter, wanted: Wanted) -> RouteList {
        RouteList::new(Request::Routes(filter), wanted, self.numbers)
    }

    fn net(&self, net: &str, wanted: Wanted) -> RouteList {
        let target = net.to_owned();
        RouteList::new(Request::Route { target }, wanted, self.numbers)
    }

    fn sent(
        &self,
        name: &str,
        list: AdvertisedList,
        prefix: Option<Prefix>,
    ) -> Result<RouteList, Problem> {
        let query = AdvertisedQuery {
            to: self.address(name)?.to_string(),
            list,
            filter: RouteFilter {
                within: prefix,
                ..RouteFilter::default()
            },
        };
        let wanted = Wanted {
            prefix,
            ..Wanted::default()
        };
        Ok(RouteList::new(
            Request::Advertised(query),
            wanted,
            self.numbers,
        ))
    }

    fn from(&self, name: &str) -> Result<RouteFilter, Problem> {
        Ok(RouteFilter {
            peer: Some(self.address(name)?.to_string()),
            ..RouteFilter::default()
        })
    }

    /// A main table, or the table of a session.
    fn table(&self, name: &str) -> Result<RouteFilter, Problem> {
        let [_, ipv4, ipv6] = MAIN_TABLES;
        let family = match name {
            _ if !MAIN_TABLES.contains(&name) => return self.from(name),
            _ if name == ipv4 => Some(FamilyFilter::Ipv4),
            _ if name == ipv6 => Some(FamilyFilter::Ipv6),
            _ => None,
        };
        Ok(RouteFilter {
            family,
            ..RouteFilter::default()
        })
    }

    fn address(&self, name: &str) -> Result<IpAddr, Problem> {
        address_of(name, &self.sessions).ok_or_else(|| {
            let detail = format!("there is no protocol or table `{name}`: /symbols lists them");
            Problem::new(StatusCode::NOT_FOUND, detail)
        })
    }
}

fn rejected(filter: RouteFilter) -> RouteFilter {
    RouteFilter {
        rejected: true,
        ..filter
    }
}
