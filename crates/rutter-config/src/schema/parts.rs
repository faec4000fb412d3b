//! The parts of a configuration: what each is called, and when a change of it takes effect.

use crate::Config;

/// A section, or a key of one.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name, such as `mrt` or `router-id`.
    pub name: &'static str,
    /// When a change takes effect.
    pub when: When,
    /// Whether two configurations differ in it.
    pub differs: fn(&Config, &Config) -> bool,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once, as a whole.
    AtOnce,
    /// At once or not: [`crate::diff`] says so key by key.
    ByKey,
    /// On the next start.
    NextStart,
    /// On the next start, of `rutter collect` alone: nothing else serves it.
    NextCollect,
}

/// A line for each field, and none forgotten.
macro_rules! parts {
    ($($field:ident $name:literal $when:ident;)*) => {
        /// All parts.
        pub const PARTS: &[Part] = &[$(Part {
            name: $name,
            when: When::$when,
            differs: |old, new| old.$field != new.$field,
        }),*];

        const _: fn(&Config) = |Config { $($field: _),* }| {};
    };
}

parts! {
    asn "asn" NextStart;
    router_id "router-id" NextStart;
    cluster_id "router.cluster-id" NextStart;
    exchange "exchange.lan" AtOnce;
    daemon "daemon" ByKey;
    checks "checks" ByKey;
    communities "communities" ByKey;
    neighbors "neighbor" ByKey;
    dynamic_neighbors "dynamic-neighbor" ByKey;
    graceful_restart "graceful-restart" AtOnce;
    mrt "mrt" AtOnce;
    metrics "metrics" AtOnce;
    rpki "rpki" AtOnce;
    lookup "lookup" NextStart;
    collector "collector" NextCollect;
    bmp "bmp" NextCollect;
    bmp_targets "bmp-target" NextCollect;
    sql "sql" NextCollect;
    history "history" NextCollect;
    stream "stream" NextCollect;
    sinks "sink" NextCollect;
}

/// What takes effect on the next start only, besides keys of `[daemon]`: keys, and whole sections.
pub fn next_start() -> impl Iterator<Item = &'static Part> {
    let waits = |part: &&Part| matches!(part.when, When::NextStart | When::NextCollect);
    PARTS.iter().filter(waits)
}

/// Sections that only `rutter collect` serves.
pub fn only_collected() -> impl Iterator<Item = &'static Part> {
    PARTS.iter().filter(|part| part.when == When::NextCollect)
}
