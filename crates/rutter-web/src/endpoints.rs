//! The paths of the REST interface.

use rutter_api::{
    AdvertisedList, AdvertisedQuery, FamilyFilter, LookupQuery, Request, RouteFilter, RouteSelector,
};
use rutter_config::access::Role;

use crate::endpoint::{Endpoint, Parameter, Place};
use crate::problem::Problem;
use crate::query::Query;

/// The rows of a page without `limit`.
const PAGE: u64 = 100;
/// The largest `limit`.
pub(crate) const LONGEST_PAGE: u64 = 1_000;
/// The largest number of addresses in one look-up.
const LOOKUPS: usize = 256;

/// All paths, the longer ones first where one begins with another.
pub(crate) const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/api/v1/status",
        summary: "The process: version, time since its start, sessions, memory.",
        parameters: &[],
        row: "status",
        role: Role::Monitor,
        request: |_| Ok(Request::Status),
    },
    Endpoint {
        path: "/api/v1/peers",
        summary: "All sessions with their routes, by address.",
        parameters: &[SORT],
        row: "peer",
        role: Role::Monitor,
        request: |_| Ok(Request::Peers),
    },
    Endpoint {
        path: "/api/v1/peers/{peer}",
        summary: "The sessions of one neighbor.",
        parameters: &[path(
            "peer",
            "A name, an address, or an AS number such as AS64500.",
        )],
        row: "peer",
        role: Role::Monitor,
        request: |query| {
            Ok(Request::Peer {
                peer: query.target(),
            })
        },
    },
    Endpoint {
        path: "/api/v1/routes",
        summary: "Routes as received, page by page.",
        parameters: &FILTERS,
        row: "route",
        role: Role::Read,
        request: |query| Ok(Request::Routes(filter(query)?)),
    },
    Endpoint {
        path: "/api/v1/rejected",
        summary: "Rejected routes with all reasons and the evidence, page by page.",
        parameters: &FILTERS,
        row: "rejected",
        role: Role::Read,
        request: |query| Ok(Request::Rejected(filter(query)?)),
    },
    Endpoint {
        path: "/api/v1/advertised/{client}",
        summary: "Routes as a client is sent them, page by page.",
        parameters: &ADVERTISED,
        row: "advertised",
        role: Role::Read,
        request: |query| advertised(query, AdvertisedList::Routes),
    },
    Endpoint {
        path: "/api/v1/withheld/{client}",
        summary: "The better routes that a client is not sent, each with the reason, page by page.",
        parameters: &WITHHELD,
        row: "withheld",
        role: Role::Read,
        request: |query| advertised(query, AdvertisedList::Withheld),
    },
    Endpoint {
        path: "/api/v1/advertised-count/{client}",
        summary: "The number of routes that a client, or `all`, is sent, and of those that it is not sent, by reason.",
        parameters: &[CLIENT, AFTER],
        row: "advertised-count",
        role: Role::Read,
        request: |query| {
            Ok(Request::Advertised(AdvertisedQuery {
                to: query.target(),
                list: AdvertisedList::Count,
                filter: RouteFilter {
                    after: Some(query.text("after").unwrap_or_default()),
                    ..RouteFilter::default()
                },
            }))
        },
    },
    Endpoint {
        path: "/api/v1/route/{target}",
        summary: "The routes of one destination, best first.",
        parameters: &[TARGET],
        row: "route",
        role: Role::Read,
        request: |query| {
            Ok(Request::Route {
                target: query.target(),
            })
        },
    },
    Endpoint {
        path: "/api/v1/explain/{target}",
        summary: "All candidates of a destination, the step that decided, and what each client receives.",
        parameters: &[TARGET],
        row: "explain",
        role: Role::Read,
        request: |query| {
            Ok(Request::Explain {
                target: query.target(),
                what_if: None,
            })
        },
    },
    Endpoint {
        path: "/api/v1/lookup/{addresses}",
        summary: "The longest match of each address.",
        parameters: &[
            path("addresses", "Up to 256 addresses with commas between them."),
            query("peer", "string", "Only routes of this neighbor."),
        ],
        row: "lookup",
        role: Role::Read,
        request: lookup,
    },
    Endpoint {
        path: "/api/v1/attributes",
        summary: "The distinct attribute sets, the most used first.",
        parameters: &[LIMIT],
        row: "attribute-set",
        role: Role::Read,
        request: |query| {
            Ok(Request::Attributes {
                limit: Some(limit(query)?),
            })
        },
    },
    Endpoint {
        path: "/api/v1/sources",
        summary: "The sources of outside data: state, age and size.",
        parameters: &[SORT],
        row: "source",
        role: Role::Monitor,
        request: |_| Ok(Request::Sources),
    },
    Endpoint {
        path: "/api/v1/memory",
        summary: "Memory by purpose.",
        parameters: &[SORT],
        row: "memory",
        role: Role::Monitor,
        request: |_| Ok(Request::Memory),
    },
    Endpoint {
        path: "/api/v1/sinks",
        summary: "The databases and brokers of a collector.",
        parameters: &[SORT],
        row: "sink",
        role: Role::Monitor,
        request: |_| Ok(Request::Sinks),
    },
    Endpoint {
        path: "/api/v1/routers",
        summary: "The routers that report to a collector by BMP.",
        parameters: &[SORT],
        row: "router",
        role: Role::Monitor,
        request: |_| Ok(Request::Routers),
    },
    Endpoint {
        path: "/api/v1/stations",
        summary: "The BMP stations to which the daemon reports.",
        parameters: &[SORT],
        row: "station",
        role: Role::Monitor,
        request: |_| Ok(Request::Stations),
    },
];

const fn path(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Path,
        kind: "string",
        about,
    }
}

const fn query(name: &'static str, kind: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
        kind,
        about,
    }
}

const TARGET: Parameter = path("target", "A prefix, or an address for its longest match.");
const LIMIT: Parameter = query(
    "limit",
    "integer",
    "Rows of a page: 100 unless given, at most 1000. A page ends with a whole destination.",
);

/// The parameter of short lists alone: those of routes have the order of the table.
const SORT: Parameter = query(
    "sort",
    "string",
    "The field that orders the rows: `accepted`, or `-accepted` for the largest first.",
);

const CLIENT: Parameter = path(
    "client",
    "A name, an address, or an AS number such as AS64500.",
);
const FROM: Parameter = query(
    "peer",
    "string",
    "From this neighbor: name, address or AS number.",
);
const FAMILY: Parameter = query("family", "string", "ipv4 or ipv6.");
const WITHIN: Parameter = query("within", "string", "This prefix and everything inside it.");
const ORIGIN_AS: Parameter = query("origin-as", "integer", "Originated by this AS.");
const PATH_AS: Parameter = query("path-as", "integer", "With this AS anywhere in the path.");
const COMMUNITY: Parameter = query(
    "community",
    "string",
    "Received with this standard or large community.",
);
const BEST: Parameter = query("best", "boolean", "Best routes only.");
const AFTER: Parameter = query("after", "string", "The `next` of the page before.");

const FILTERS: [Parameter; 11] = [
    FROM,
    FAMILY,
    WITHIN,
    ORIGIN_AS,
    PATH_AS,
    COMMUNITY,
    query(
        "reason",
        "string",
        "Rejected for this reason: name or number.",
    ),
    query("rejected", "boolean", "Rejected routes only."),
    BEST,
    LIMIT,
    AFTER,
];

const ADVERTISED: [Parameter; 10] = [
    CLIENT, FROM, FAMILY, WITHIN, ORIGIN_AS, PATH_AS, COMMUNITY, BEST, LIMIT, AFTER,
];

const WITHHELD: [Parameter; 11] = [
    CLIENT,
    FROM,
    FAMILY,
    WITHIN,
    ORIGIN_AS,
    PATH_AS,
    COMMUNITY,
    query("reason", "string", "Withheld for this reason: its name."),
    BEST,
    LIMIT,
    AFTER,
];

fn advertised(query: &Query, list: AdvertisedList) -> Result<Request, Problem> {
    Ok(Request::Advertised(AdvertisedQuery {
        to: query.target(),
        list,
        filter: filter(query)?,
    }))
}

fn filter(query: &Query) -> Result<RouteFilter, Problem> {
    let family = match query.text("family").as_deref() {
        None => None,
        Some("ipv4") => Some(FamilyFilter::Ipv4),
        Some("ipv6") => Some(FamilyFilter::Ipv6),
        Some(other) => {
            return Err(Problem::bad(format!(
                "family: `{other}`: write ipv4 or ipv6"
            )));
        }
    };
    Ok(RouteFilter {
        peer: query.text("peer"),
        family,
        within: query.value("within")?,
        origin_as: query.number("origin-as")?,
        path_as: query.number("path-as")?,
        community: query.text("community"),
        reason: query.text("reason"),
        rejected: query.flag("rejected")?,
        best: query.flag("best")?,
        limit: Some(limit(query)?),
        after: Some(query.text("after").unwrap_or_default()),
    })
}

fn limit(query: &Query) -> Result<u64, Problem> {
    let limit = query.number("limit")?.unwrap_or(PAGE);
    match limit {
        1..=LONGEST_PAGE => Ok(limit),
        _ => Err(Problem::bad(format!(
            "limit: write a number from 1 to {LONGEST_PAGE}, and use `next` for more"
        ))),
    }
}

fn lookup(query: &Query) -> Result<Request, Problem> {
    let read = |text: &str| {
        text.trim()
            .parse()
            .map_err(|_| Problem::bad(format!("`{text}` is not an IP address")))
    };
    let addresses: Vec<_> = query
        .target()
        .split(',')
        .map(read)
        .collect::<Result<_, _>>()?;
    if addresses.len() > LOOKUPS {
        return Err(Problem::bad(format!(
            "{} addresses are too many: write at most {LOOKUPS}",
            addresses.len()
        )));
    }
    Ok(Request::Lookup(LookupQuery {
        addresses,
        routes: RouteSelector {
            peers: query.text("peer").into_iter().collect(),
            next_hops: Vec::new(),
        },
        or_best: false,
    }))
}
