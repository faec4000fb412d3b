//! The sections of the file, one module each: their keys, their typed values and the readers of their values.

pub(crate) mod arouteserver;
pub(crate) mod blackhole;
pub(crate) mod bmp;
pub(crate) mod checks;
pub(crate) mod client_tls;
pub(crate) mod collector;
pub(crate) mod communities;
pub(crate) mod custom;
pub(crate) mod daemon;
pub(crate) mod exchange;
pub(crate) mod filter;
pub(crate) mod filter_rule;
pub(crate) mod filter_test;
pub(crate) mod graceful_restart;
pub(crate) mod history;
pub(crate) mod irr;
pub(crate) mod lookup;
pub(crate) mod max_memory;
pub(crate) mod max_prefix;
pub(crate) mod metrics;
pub(crate) mod mrt;
pub(crate) mod neighbor;
pub(crate) mod rpki;
pub(crate) mod sasl;
pub(crate) mod session;
pub(crate) mod sink;
pub(crate) mod sources;
pub(crate) mod sql;
pub(crate) mod stream;
pub(crate) mod tags;
pub(crate) mod tcp_ao;
pub(crate) mod web;
pub(crate) mod white_list;

use crate::Config;
use crate::key_rows::{Key, KeyRows, Reload};

use arouteserver::ARouteServer;
use blackhole::{Blackhole, BlackholeNextHop};
use bmp::{Bmp, BmpStation, BmpTarget};
use checks::{Checks, PER_FAMILY};
use collector::Collector;
use communities::Communities;
use custom::CUSTOM;
use daemon::Daemon;
use graceful_restart::GracefulRestart;
use history::History;
use irr::Irr;
use lookup::Lookup;
use max_memory::MaxMemory;
use max_prefix::{HEADROOM, MAX_PREFIX, MAX_PREFIX_OUT};
use metrics::Metrics;
use mrt::Mrt;
use rpki::Rpki;
use session::{AddPath, Session};
use sources::Sources;
use sql::Sql;
use stream::Stream;
use tags::Tags;
use tcp_ao::AoKey;
use web::Web;
use white_list::WhiteList;

/// A section as the manual shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionKeys {
    /// The header: `[exchange]`, `[[member]]`.
    pub header: &'static str,
    text: &'static str,
    /// The keys of the section itself.
    pub keys: &'static [Key],
    /// Whether the keys of every session ([`SESSION`]) are allowed here.
    pub session: bool,
}

impl SectionKeys {
    /// Returns the name without brackets.
    pub fn name(&self) -> &'static str {
        self.header.trim_matches(['[', ']'])
    }

    /// Returns the description.
    pub fn text(&self) -> &'static str {
        self.text.trim_start()
    }
}

/// All sections, in the order of the manual.
pub const SECTIONS: &[SectionKeys] = &[
    section(
        "[exchange]",
        "A route server and its exchange (RFC 7947). Either this section or `[router]` is required.",
        exchange::EXCHANGE,
    ),
    section(
        "[router]",
        "A router, route reflector or collector, without members.",
        exchange::ROUTER,
    ),
    of::<ARouteServer>(),
    of::<Daemon>(),
    of::<Checks>(),
    of::<Communities>(),
    of::<GracefulRestart>(),
    of::<Mrt>(),
    of::<BmpStation>(),
    of::<Metrics>(),
    of::<Web>(),
    of::<Lookup>(),
    of::<Rpki>(),
    of::<Irr>(),
    of::<Sources>(),
    of::<Collector>(),
    of::<Bmp>(),
    of::<BmpTarget>(),
    of::<Sql>(),
    of::<History>(),
    of::<Stream>(),
    section(
        "[[sink]]",
        "A database or broker that receives all changes. `rutter collect` only.",
        sink::SINK,
    ),
    section(
        "[[prefix-list]]",
        "A list of prefixes for `[[filter]]`.",
        filter::PREFIX_LIST,
    ),
    section(
        "[[as-path-list]]",
        "A list of expressions over AS paths for `[[filter]]`.",
        filter::AS_PATH_LIST,
    ),
    section(
        "[[community-list]]",
        "A list of communities for `[[filter]]`.",
        filter::COMMUNITY_LIST,
    ),
    section(
        "[[filter]]",
        "A filter of the operator, for what no check covers. `import-filter` and `export-filter` of members, neighbors and groups name it. Its rules are tried in order; the first that accepts or rejects a route decides.",
        filter::FILTER,
    ),
    section(
        "[[filter-test]]",
        "A test of filters: a route, and what they must make of it. The tests run whenever the file is read. If one fails, the file is refused.",
        filter_test::FILTER_TEST,
    ),
    with_session("[defaults]", Session::TEXT, &[]),
    with_session(
        "[[group]]",
        "Keys that several members or neighbors share. Rutter takes a key from the neighbor; if it is absent there, from its group; then from `[defaults]` and `[checks]`.",
        neighbor::GROUP,
    ),
    with_session(
        "[[member]]",
        "A member of the exchange: a client of the route server.",
        neighbor::MEMBER,
    ),
    with_session(
        "[[neighbor]]",
        "Any other neighbor: eBGP, iBGP, reflector client, collector.",
        neighbor::NEIGHBOR,
    ),
    with_session(
        "[[dynamic-neighbor]]",
        "Neighbors without a section of their own that connect from a known network. They are always passive. With `import = \"checks\"` and `[irr]`, Rutter requests the registrations of the AS numbers in `asn` at the start. It requests those of other neighbors when they connect, for their own AS only, not for AS-SETs in `irr.peeringdb`. Until they arrive, `checks.irr` rejects their routes.",
        neighbor::DYNAMIC,
    ),
];

/// The keys of every session.
pub const SESSION: &[Key] = Session::KEYS;

/// The tables that are values of keys, with their keys.
pub const TABLES: &[(&str, &[Key])] = &[
    ("max-prefix", MAX_PREFIX),
    ("peeringdb of max-prefix", HEADROOM),
    ("max-prefix-out", MAX_PREFIX_OUT),
    ("max-memory", MaxMemory::KEYS),
    ("tcp-ao", AoKey::KEYS),
    ("add-path", AddPath::KEYS),
    ("prefix-length", PER_FAMILY),
    ("blackhole", Blackhole::KEYS),
    ("next-hop of blackhole", BlackholeNextHop::KEYS),
    ("communities.tags", Tags::KEYS),
    ("communities.custom", CUSTOM),
    ("white-list", WhiteList::KEYS),
    ("filter.rule", filter_rule::RULE),
];

const fn of<T: KeyRows>() -> SectionKeys {
    section(T::HEADER, T::TEXT, T::KEYS)
}

const fn section(header: &'static str, text: &'static str, keys: &'static [Key]) -> SectionKeys {
    SectionKeys {
        header,
        text,
        keys,
        session: false,
    }
}

const fn with_session(
    header: &'static str,
    text: &'static str,
    keys: &'static [Key],
) -> SectionKeys {
    SectionKeys {
        session: true,
        ..section(header, text, keys)
    }
}

/// A field of [`Config`].
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name, such as `mrt` or `router-id`.
    pub name: &'static str,
    /// The effect of a reload if the part has changed. `None`: it depends on the key, see [`crate::diff`].
    pub reload: Option<Reload>,
    /// Returns whether two configurations differ in this part.
    pub differs: fn(&Config, &Config) -> bool,
}

/// Defines one part per field of [`Config`]. The compiler finds a missing field.
macro_rules! parts {
    ($($field:ident $name:literal $reload:expr;)*) => {
        /// All parts.
        pub const PARTS: &[Part] = &[$(Part {
            name: $name,
            reload: $reload,
            differs: |old, new| old.$field != new.$field,
        }),*];

        // The members in IRR data and the index of addresses derive from the other parts, the dynamic members from the
        // sessions, and the limits of PeeringDB from its data.
        const _: fn(&Config) = |Config {
                                    irr_members: _,
                                    dynamic_members: _,
                                    prefix_limits: _,
                                    addresses: _,
                                    $($field: _),*
                                }| {};
    };
}

parts! {
    asn "asn" Some(Reload::NextStart);
    router_id "router-id" Some(Reload::NextStart);
    cluster_id "router.cluster-id" Some(Reload::NextStart);
    exchange "exchange.lan" Some(Reload::AtOnce);
    daemon "daemon" None;
    checks "checks" None;
    communities "communities" None;
    filters "filter" None;
    neighbors "neighbor" None;
    dynamic_neighbors "dynamic-neighbor" None;
    graceful_restart "graceful-restart" whole::<GracefulRestart>();
    mrt "mrt" whole::<Mrt>();
    bmp_stations "bmp-station" whole::<BmpStation>();
    metrics "metrics" whole::<Metrics>();
    web "web" whole::<Web>();
    rpki "rpki" whole::<Rpki>();
    irr "irr" whole::<Irr>();
    sources "sources" whole::<Sources>();
    member_files "exchange.members" Some(Reload::AtOnce);
    lookup "lookup" whole::<Lookup>();
    collector "collector" whole::<Collector>();
    bmp "bmp" whole::<Bmp>();
    bmp_targets "bmp-target" whole::<BmpTarget>();
    sql "sql" whole::<Sql>();
    history "history" whole::<History>();
    stream "stream" whole::<Stream>();
    sinks "sink" Some(Reload::NextCollect);
}

/// Returns the effect of a reload on a section that changes as a whole.
const fn whole<T: KeyRows>() -> Option<Reload> {
    Some(T::KEYS[0].reload)
}

/// Returns the parts whose changes take effect on the next start, besides keys of `[daemon]`.
pub fn next_start() -> impl Iterator<Item = &'static Part> {
    let deferred =
        |part: &&Part| matches!(part.reload, Some(Reload::NextStart | Reload::NextCollect));
    PARTS.iter().filter(deferred)
}

/// Returns the sections that only `rutter collect` serves.
pub fn only_collected() -> impl Iterator<Item = &'static Part> {
    PARTS
        .iter()
        .filter(|part| part.reload == Some(Reload::NextCollect))
}

/// Returns the keys whose change resets a session, in the order of the manual.
pub fn resets_session() -> impl Iterator<Item = String> {
    let own = neighbor::NEIGHBOR.iter().chain(SESSION);
    own.filter(|key| key.reload.reset_reason().is_some())
        .map(|key| key.name.to_owned())
}
