//! `max-prefix`: limits on received prefixes.

use rutter_net::PerFamily;

use crate::key_rows::{Key, Reload};
use crate::toml_values::{Item, Section};
use crate::value_forms::seconds;

/// A prefix limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MaxPrefix {
    /// The maximum number of received prefixes, including rejected ones.
    pub limit: u32,
    /// The action above the limit.
    pub action: LimitAction,
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

/// The keys of the table. One action applies to both families, so the table is not a struct.
pub const MAX_PREFIX: &[Key] = &[
    key("v4", "number", "no limit", "IPv4 prefixes."),
    key("v6", "number", "no limit", "IPv6 prefixes."),
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
        |section| read_limits(&section, out, true),
    );
}

/// Reads limits and their action. Only received prefixes can be blocked: docs/decisions.md says why.
fn read_limits(section: &Section<'_>, out: &mut PerFamily<Option<MaxPrefix>>, can_block: bool) {
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
    let words = [
        ("shutdown", LimitAction::Shutdown),
        ("restart", restart),
        ("warn", LimitAction::Warn),
        ("block", block),
    ];
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
            i.int(1..=u64::from(u32::MAX)).map(|n| {
                Some(MaxPrefix {
                    limit: n as u32,
                    action,
                })
            })
        });
    }
    if let (None, None) = (section.get("v4"), section.get("v6")) {
        section.warn("v4", "no limit is set", "write v4 = 1000 or v6 = 100");
    }
}
