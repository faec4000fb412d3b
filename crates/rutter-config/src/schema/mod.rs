//! The keys of the file. The reader accepts no other keys, and the manual is generated from this list.

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
    /// The name of the key.
    pub name: &'static str,
    /// The form of the value.
    pub form: &'static str,
    /// The default.
    pub default: &'static str,
    /// The description.
    pub text: &'static str,
}

/// One section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionKeys {
    /// The header: `[exchange]`, `[[member]]`.
    pub header: &'static str,
    /// The name without brackets.
    pub name: &'static str,
    /// The description.
    pub text: &'static str,
    /// The keys of the section itself.
    pub keys: &'static [Key],
    /// Whether the keys of sessions ([`SESSION`]) are allowed here.
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
        "A route server and its exchange (RFC 7947). Either this section or `[router]` is required.",
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
    section(
        "[daemon]",
        "daemon",
        "Settings of the process.",
        DAEMON,
        false,
    ),
    section(
        "[checks]",
        "checks",
        "Import checks for members and for neighbors with `import = \"checks\"`. Write only the keys that differ from the defaults.",
        CHECKS,
        false,
    ),
    section(
        "[communities]",
        "communities",
        "Action communities, with which members control the advertisement of their routes.",
        COMMUNITIES,
        false,
    ),
    section(
        "[graceful-restart]",
        "graceful-restart",
        "Graceful Restart.",
        GRACEFUL_RESTART,
        false,
    ),
    section(
        "[mrt]",
        "mrt",
        "Archives in MRT format (RFC 6396). Without this section no files are written.",
        MRT,
        false,
    ),
    section(
        "[metrics]",
        "metrics",
        "The Prometheus endpoint. Without this section it is off.",
        METRICS,
        false,
    ),
    section(
        "[lookup]",
        "lookup",
        "Lock-free look-ups by address, for a daemon with many look-ups. Without this section `rutter lookup` uses the index of the table, which takes a few microseconds an address.",
        LOOKUP,
        false,
    ),
    section(
        "[rpki]",
        "rpki",
        "Origin validation (RFC 6811) in the answers of `rutter lookup`. It does not reject routes.",
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
        "A BMP station (RFC 7854, 8671, 9069): routers connect and report their routes. `rutter collect` only.",
        BMP,
        false,
    ),
    section(
        "[[bmp-target]]",
        "bmp-target",
        "A BMP station that receives all collected routes. `rutter collect` only.",
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
        "Events and snapshots of the table as Parquet files: see docs/history.md. `rutter collect` only.",
        HISTORY,
        false,
    ),
    section(
        "[stream]",
        "stream",
        "Events as JSON over WebSocket, in the form of RIS Live. `rutter collect` only.",
        STREAM,
        false,
    ),
    section(
        "[[sink]]",
        "sink",
        "A database or broker that receives all changes. `rutter collect` only.",
        SINK,
        false,
    ),
    section(
        "[defaults]",
        "defaults",
        "Defaults of the keys of every session.",
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
        "Neighbors without a section of their own that connect from a known network. They are always passive.",
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
