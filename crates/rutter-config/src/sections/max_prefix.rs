//! `max-prefix`: limits on received prefixes.

use rutter_irr::PrefixHeadroom;
use rutter_net::PerFamily;

use crate::key_rows::{Key, Reload};
use crate::toml_values::{Item, Section};
use crate::value_forms::{number, seconds, share_in_percent};

/// A prefix limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MaxPrefix {
    /// The maximum number of received prefixes, including rejected ones. With `headroom`, that of a network for which
    /// PeeringDB has no limit.
    pub limit: u32,
    /// The action above the limit.
    pub action: LimitAction,
    /// The limit is that of the network in PeeringDB with this headroom.
    pub headroom: Option<PrefixHeadroom>,
    /// The network's limit in PeeringDB, of which `limit` was made; only for a limit in force.
    pub recommended: Option<u32>,
}

impl MaxPrefix {
    /// The limit of a network for which PeeringDB has `recommended`.
    pub(crate) fn in_force(self, recommended: Option<u32>) -> MaxPrefix {
        let recommended = recommended.filter(|_| self.headroom.is_some());
        let increased = self.headroom.zip(recommended);
        let increased = increased.map(|(headroom, limit)| headroom.above(limit));
        MaxPrefix {
            limit: increased.unwrap_or(self.limit),
            headroom: None,
            recommended,
            ..self
        }
    }
}

/// The action for a neighbor above its prefix limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LimitAction {
    /// Write a log line.
    Warn,
    /// Block further prefixes.
    Block {
        /// They stay in the table, rejected. Otherwise they are not kept.
        keeps: bool,
    },
    /// Reset the session (RFC 4486 subcode 1), and restart it later.
    Restart {
        /// The time until the restart, seconds; `0` means the idle hold time.
        after_s: u32,
    },
    /// Reset the session and keep it down until an operator acts.
    Shutdown,
}

impl LimitAction {
    /// The word in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            LimitAction::Warn => "warn",
            LimitAction::Block { .. } => "block",
            LimitAction::Restart { .. } => "restart",
            LimitAction::Shutdown => "shutdown",
        }
    }
}

/// The keys of the table. One action applies to both families, so the table is not a struct.
pub const MAX_PREFIX: &[Key] = &[
    key("v4", "number", "no limit", "IPv4 prefixes."),
    key("v6", "number", "no limit", "IPv6 prefixes."),
    key(
        "peeringdb",
        "true, false, or `{ absolute = 100, relative = \"15%\" }`",
        "false",
        "Limits from `irr.peeringdb` with headroom, which change with its data. `v4` and `v6` are then the limits of networks for which it has none.",
    ),
    key(
        "action",
        "`\"warn\"`, `\"block\"`, `\"restart\"`, `\"shutdown\"`",
        "`\"shutdown\"`",
        "Log; block prefixes above the limit; reset the session and restart it later; reset it and wait for an operator.",
    ),
    key(
        "keep-blocked",
        "true, false",
        "false",
        "With `block`: keep the prefixes above the limit, rejected, and show them. They take as much memory as accepted ones, and nothing but `max-memory` bounds them.",
    ),
    key(
        "restart-after",
        "duration",
        "`\"15m\"`",
        "The time until a `restart`.",
    ),
];

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key::new(name, form, default, text, Reload::Reevaluates)
}

/// The keys of `peeringdb` in `max-prefix`.
pub const HEADROOM: &[Key] = &[
    key(
        "absolute",
        "number",
        "100",
        "Prefixes that are added to the limit in PeeringDB.",
    ),
    key(
        "relative",
        "`\"0%\"` to `\"1000%\"`",
        "`\"15%\"`",
        "The share that is added to the sum of both.",
    ),
];

/// The keys of `max-prefix-out`.
pub const MAX_PREFIX_OUT: &[Key] = &[
    key("v4", "number", "no limit", "IPv4 prefixes."),
    key("v6", "number", "no limit", "IPv6 prefixes."),
    key(
        "action",
        "`\"warn\"`, `\"restart\"`, `\"shutdown\"`",
        "`\"shutdown\"`",
        "Log; reset the session and restart it later; reset it and wait for an operator.",
    ),
    key(
        "restart-after",
        "duration",
        "`\"15m\"`",
        "The time until a `restart`.",
    ),
];

/// Reads `max-prefix-out`.
pub(crate) fn max_prefix_out(item: &Item<'_>, out: &mut PerFamily<Option<MaxPrefix>>) {
    let example = "{ v4 = 1_500_000, action = \"shutdown\" }";
    item.section(MAX_PREFIX_OUT, example, |section| {
        read_limits(&section, out, false);
    });
}

/// Reads the table.
pub(crate) fn max_prefix(item: &Item<'_>, out: &mut PerFamily<Option<MaxPrefix>>) {
    item.section(
        MAX_PREFIX,
        "{ v4 = 1000, action = \"restart\" }",
        |section| {
            let is_inherited = out.map(|limit| limit.is_some());
            let action = read_limits(&section, out, true);
            read_peeringdb(&section, out, (is_inherited, action));
        },
    );
}

/// Reads `peeringdb`, after the limits of the same table. A limit that the section inherits gets the headroom, too.
fn read_peeringdb(
    section: &Section<'_>,
    out: &mut PerFamily<Option<MaxPrefix>>,
    (is_inherited, action): (PerFamily<bool>, LimitAction),
) {
    let Some(item) = section.get("peeringdb") else {
        return;
    };
    let Some(headroom) = headroom(&item) else {
        return;
    };
    let names = PerFamily::new("v4", "v6");
    for (family, name) in names.entries() {
        if headroom.is_some() && !is_inherited[family] && section.get(name).is_none() {
            item.error(
                format!("`{name}` is missing: the limit of networks for which PeeringDB has none"),
                "write max-prefix = { v4 = 170_000, v6 = 12_000, peeringdb = true }",
            );
        }
    }
    for limit in out.iter_mut().flatten() {
        limit.headroom = headroom;
        if section.get("action").is_some() {
            limit.action = action;
        }
    }
}

/// Reads the headroom; `Some(None)` is `false`.
fn headroom(item: &Item<'_>) -> Option<Option<PrefixHeadroom>> {
    let mut headroom = PrefixHeadroom::default();
    if let Some(wanted) = item.value.get_ref().as_bool() {
        return Some(wanted.then_some(headroom));
    }
    let example = "true, or { absolute = 100, relative = \"15%\" }";
    item.section(HEADROOM, example, |table| {
        table.set("absolute", &mut headroom.absolute, |i| number(i, 0));
        table.set("relative", &mut headroom.relative_percent, |i| {
            share_in_percent(i, 0..=1_000, "write \"0%\" to \"1000%\"")
        });
        Some(headroom)
    })
}

/// Reads limits and their action, which is returned. Only received prefixes can be blocked: docs/decisions.md says why.
fn read_limits(
    section: &Section<'_>,
    out: &mut PerFamily<Option<MaxPrefix>>,
    can_block: bool,
) -> LimitAction {
    let after = section
        .get("restart-after")
        .and_then(|i| seconds(&i, 1, 604_800));
    let restart = LimitAction::Restart {
        after_s: after.unwrap_or(900) as u32,
    };
    let mut keeps = false;
    if can_block {
        section.set("keep-blocked", &mut keeps, Item::bool);
    }
    let block = LimitAction::Block { keeps };
    let mut action = LimitAction::Shutdown;
    let words = [LimitAction::Shutdown, restart, LimitAction::Warn, block];
    let words = words.map(|action| (action.name(), action));
    let possible = if can_block { &words[..] } else { &words[..3] };
    section.set("action", &mut action, |i| {
        if !can_block && i.as_str() == Some("block") {
            i.error(
                "`block` is for `max-prefix`: a neighbor would not know which routes it lacks",
                "write action = \"restart\" or \"warn\", or an export-filter for the routes that it should not receive",
            );
            return None;
        }
        i.word(possible)
    });
    if let (Some(item), false) = (section.get("restart-after"), action == restart) {
        item.warning(
            "`restart-after` has no meaning with this action",
            "write action = \"restart\"",
        );
    }
    if let (true, false) = (keeps, action == block) {
        section.complain_softly(
            "keep-blocked",
            "`keep-blocked` has no meaning with this action",
            "write action = \"block\"",
        );
    }
    for (slot, name) in out.iter_mut().zip(["v4", "v6"]) {
        section.set(name, slot, |i| {
            let limit = number(i, 1)?;
            Some(Some(MaxPrefix {
                limit,
                action,
                headroom: None,
                recommended: None,
            }))
        });
    }
    let sets_limit = |name: &&str| section.get(name).is_some();
    let names: &[&str] = if can_block {
        &["v4", "v6", "peeringdb"]
    } else {
        &["v4", "v6"]
    };
    if !names.iter().any(sets_limit) {
        section.warn("v4", "no limit is set", "write v4 = 1000 or v6 = 100");
    }
    action
}
