//! Every key of the file: the reader accepts no other, and the manual is checked against this list.

mod collector;
mod parts;
mod policy;
mod process;
mod session;
mod sink;

pub use collector::{BMP, BMP_TARGET, COLLECTOR, HISTORY, SQL, STREAM};
pub use parts::{PARTS, Part, When, next_start, only_collected};
pub use policy::{CHECKS, COMMUNITIES, PER_FAMILY};
pub use process::{DAEMON, EXCHANGE, GRACEFUL_RESTART, LOOKUP, METRICS, MRT, ROUTER, RPKI};
pub use session::{ADD_PATH, DYNAMIC, MAX_PREFIX, MEMBER, NEIGHBOR, RESETS_SESSION, SESSION};
pub use sink::SINK;

/// One key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// The form of its value.
    pub form: &'static str,
    /// What holds where the key is absent.
    pub default: &'static str,
    /// What it does.
    pub text: &'static str,
}

/// One section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionKeys {
    /// As written: `[exchange]`, `[[member]]`.
    pub header: &'static str,
    /// The name without brackets.
    pub name: &'static str,
    /// What it is for.
    pub text: &'static str,
    /// Its own keys.
    pub keys: &'static [Key],
    /// Whether the keys of every session ([`SESSION`]) may stand here too.
    pub session: bool,
}

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key {
        name,
        form,
        default,
        text,
    }
}

/// All sections, in the order of the manual.
pub const SECTIONS: &[SectionKeys] = &[
    section(
        "[exchange]",
        "exchange",
        "A route server and its exchange (RFC 7947). Either this section or `[router]` must be there.",
        EXCHANGE,
        false,
    ),
    section(
        "[router]",
        "router",
        "A router, route reflector or collector, without members.",
        ROUTER,
        false,
    ),
    section("[daemon]", "daemon", "The process.", DAEMON, false),
    section(
        "[checks]",
        "checks",
        "What members, and neighbors with `import = \"checks\"`, may announce. Only what differs from the defaults needs to be written.",
        CHECKS,
        false,
    ),
    section(
        "[communities]",
        "communities",
        "How members steer who hears their routes.",
        COMMUNITIES,
        false,
    ),
    section(
        "[graceful-restart]",
        "graceful-restart",
        "Restarts without loss of routes.",
        GRACEFUL_RESTART,
        false,
    ),
    section(
        "[mrt]",
        "mrt",
        "Archives in MRT format (RFC 6396). Without the section nothing is written.",
        MRT,
        false,
    ),
    section(
        "[metrics]",
        "metrics",
        "Prometheus. Without the section nothing listens.",
        METRICS,
        false,
    ),
    section(
        "[lookup]",
        "lookup",
        "Look-ups by address without locks, for a daemon that is asked often. Without the section nothing is kept for them, and `rutter lookup` is answered from the table's own index: a few microseconds an address.",
        LOOKUP,
        false,
    ),
    section(
        "[rpki]",
        "rpki",
        "Origin validation (RFC 6811) in the answers of `rutter lookup`. No route is rejected for it.",
        RPKI,
        false,
    ),
    section(
        "[collector]",
        "collector",
        "A collector (`rutter collect`).",
        COLLECTOR,
        false,
    ),
    section(
        "[bmp]",
        "bmp",
        "A BMP station (RFC 7854, 8671, 9069): routers connect and report what they hear. `rutter collect` only.",
        BMP,
        false,
    ),
    section(
        "[[bmp-target]]",
        "bmp-target",
        "A BMP station that hears everything that is collected. `rutter collect` only.",
        BMP_TARGET,
        false,
    ),
    section(
        "[sql]",
        "sql",
        "SQL over the live table, for clients of PostgreSQL: see docs/sql.md. `rutter collect` only.",
        SQL,
        false,
    ),
    section(
        "[history]",
        "history",
        "What happens and the whole table as Parquet files: see docs/history.md. `rutter collect` only.",
        HISTORY,
        false,
    ),
    section(
        "[stream]",
        "stream",
        "What happens as JSON over WebSocket, as RIS Live has it. `rutter collect` only.",
        STREAM,
        false,
    ),
    section(
        "[[sink]]",
        "sink",
        "A database or broker that is kept up to date. `rutter collect` only.",
        SINK,
        false,
    ),
    section(
        "[defaults]",
        "defaults",
        "Keys of every session, for all sessions that do not say otherwise.",
        &[],
        true,
    ),
    section(
        "[[member]]",
        "member",
        "A member of the exchange: a client of the route server.",
        MEMBER,
        true,
    ),
    section(
        "[[neighbor]]",
        "neighbor",
        "Any other neighbor: eBGP, iBGP, reflector client, collector.",
        NEIGHBOR,
        true,
    ),
    section(
        "[[dynamic-neighbor]]",
        "dynamic-neighbor",
        "Neighbors that are not listed but connect from a known network. They are always passive.",
        DYNAMIC,
        true,
    ),
];

const fn section(
    header: &'static str,
    name: &'static str,
    text: &'static str,
    keys: &'static [Key],
    session: bool,
) -> SectionKeys {
    SectionKeys {
        header,
        name,
        text,
        keys,
        session,
    }
}
