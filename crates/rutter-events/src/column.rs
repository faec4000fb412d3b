//! The column names of every public schema.

/// A column: its name, type and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, the same in SQL, Parquet, Kafka and JSON.
    pub name: &'static str,
    /// Type in words: `u64`, `text`, `list of text`, `time`.
    pub kind: &'static str,
    /// The meaning.
    pub meaning: &'static str,
}

/// All columns of an event or a route, in the order of every schema.
pub const COLUMNS: &[Column] = &[
    column(
        "run",
        "u64",
        "the run of the collector: its start in microseconds since 1970",
    ),
    column(
        "seq",
        "u64",
        "number of the event in the run, without holes",
    ),
    column("time", "time", "wall time, microseconds, UTC"),
    column("collector", "text", "name of the collector"),
    column(
        "router",
        "text",
        "monitored router or file that reports the peer; empty for sessions of our own",
    ),
    column("peer_name", "text", "name of the peer for people"),
    column("peer_address", "text", "address of the peer"),
    column("peer_asn", "u32", "AS number of the peer"),
    column(
        "view",
        "text",
        "adj-in-pre, adj-in-post, loc-rib, adj-out-pre or adj-out-post",
    ),
    column(
        "kind",
        "text",
        "announce, withdraw, peer-up, peer-down, end-of-rib, gap, start, stop, clock-step or state",
    ),
    column("prefix", "text", "the prefix"),
    column(
        "path_id",
        "u32",
        "RFC 7911 path identifier, 0 without Add-Path",
    ),
    column("origin", "text", "igp, egp or incomplete"),
    column("as_path", "text", "AS_PATH: 64500 64501 {64502,64503}"),
    column(
        "origin_as",
        "u32",
        "last AS of the path; none where it ends in a set",
    ),
    column("next_hop", "text", "global next hop"),
    column("med", "u32", "MULTI_EXIT_DISC"),
    column("local_pref", "u32", "LOCAL_PREF"),
    column("communities", "list of text", "RFC 1997: 64500:1"),
    column(
        "extended_communities",
        "list of text",
        "RFC 4360: rt:64500:1",
    ),
    column("large_communities", "list of text", "RFC 8092: 64500:1:2"),
    column(
        "detail",
        "text",
        "in words: why a session ended, why a route is rejected, what a reported route lacks, how much is missing",
    ),
];

const fn column(name: &'static str, kind: &'static str, meaning: &'static str) -> Column {
    Column {
        name,
        kind,
        meaning,
    }
}
