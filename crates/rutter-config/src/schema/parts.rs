//! The parts of a configuration, and when a change of each takes effect.

use crate::Config;

/// A section or a key.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name, such as `mrt` or `router-id`.
    pub name: &'static str,
    /// When a change takes effect.
    pub when: When,
    /// Returns whether two configurations differ in this part.
    pub differs: fn(&Config, &Config) -> bool,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once, as a whole.
    AtOnce,
    /// It depends on the key, see [`crate::diff`].
    ByKey,
    /// On the next start.
    NextStart,
    /// On the next start of `rutter collect`; other commands ignore the section.
    NextCollect,
}

/// Defines one part per field of [`Config`]. The compiler finds a missing field.
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

/// Returns the parts whose changes take effect on the next start, besides keys of `[daemon]`.
pub fn next_start() -> impl Iterator<Item = &'static Part> {
    let deferred = |part: &&Part| matches!(part.when, When::NextStart | When::NextCollect);
    PARTS.iter().filter(deferred)
}

/// Returns the sections that only `rutter collect` serves.
pub fn only_collected() -> impl Iterator<Item = &'static Part> {
    PARTS.iter().filter(|part| part.when == When::NextCollect)
}
