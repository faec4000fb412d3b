//! The compiled action communities: find the action of a received community.

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity};
use rutter_wire::attr::Attributes;

use crate::notation::{Match, match_fields};
use crate::{Action, ActionCommunity, ExportSettings, ExtendedKind, Field, Notation};

/// A community that matched an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hit {
    pub(crate) action: Action,
    /// The value of the field `peer` or `rtt`; 0 without such a field.
    pub(crate) variable: u32,
    /// How often to prepend, for the prepend actions.
    pub(crate) times: u8,
}

type Rule<const N: usize> = (Action, [Field; N]);

/// The notations by kind of community. Notations without `peer` or `rtt` come first and take precedence.
#[derive(Debug)]
pub(crate) struct ActionTable {
    standard: Vec<Rule<2>>,
    extended: Vec<(ExtendedKind, Rule<2>)>,
    large: Vec<Rule<3>>,
    aliases: Vec<(u16, Asn)>,
}

impl ActionTable {
    /// Compiles the notations, with our AS in place of `self`.
    pub(crate) fn new(settings: &ExportSettings) -> Self {
        ActionTable {
            aliases: {
                let mut aliases = settings.aliases.clone();
                aliases.sort_unstable();
                aliases
            },
            ..Self::of(settings.actions.clone(), settings.local_asn)
        }
    }

    /// Compiles notations without aliases.
    pub(crate) fn of(mut actions: Vec<ActionCommunity>, local: Asn) -> Self {
        let local = local.0;
        let mut table = ActionTable {
            standard: Vec::new(),
            extended: Vec::new(),
            large: Vec::new(),
            aliases: Vec::new(),
        };
        actions.sort_by_key(|a| a.notation.is_variable());
        for action in actions {
            match action.notation {
                Notation::Standard(fields) => {
                    table.standard.push((action.action, resolve(fields, local)));
                }
                Notation::Extended(kind, fields) => {
                    let rule = (action.action, resolve(fields, local));
                    table.extended.push((kind, rule));
                }
                Notation::Large(fields) => {
                    table.large.push((action.action, resolve(fields, local)))
                }
            }
        }
        table
    }

    /// Returns whether some community of the attributes has an action.
    pub(crate) fn matches_any(&self, attributes: &Attributes<'_>) -> bool {
        attributes.communities().any(|c| self.standard(c).is_some())
            || self.has_extended()
                && attributes
                    .extended_communities()
                    .any(|c| self.extended(c).is_some())
            || self.has_large()
                && attributes
                    .large_communities()
                    .any(|c| self.large(c).is_some())
    }

    pub(crate) fn has_extended(&self) -> bool {
        !self.extended.is_empty()
    }

    pub(crate) fn has_large(&self) -> bool {
        !self.large.is_empty()
    }

    pub(crate) fn standard(&self, community: Community) -> Option<Hit> {
        let parts = [u32::from(community.high()), u32::from(community.low())];
        let mut hit = find(&self.standard, parts)?;
        let stands_for = |(short, _): &&(u16, Asn)| u32::from(*short) == hit.variable;
        let alias = self.aliases.iter().find(stands_for);
        if let (Some((_, asn)), true) = (alias, hit.action.names_peer()) {
            hit.variable = asn.0;
        }
        Some(hit)
    }

    pub(crate) fn extended(&self, community: ExtendedCommunity) -> Option<Hit> {
        let [kind, subtype, a, b, c, d, e, f] = community.0;
        let wanted = ExtendedKind::of_subtype(subtype)?;
        let parts = match kind {
            TWO_OCTET_AS => [
                u32::from_be_bytes([0, 0, a, b]),
                u32::from_be_bytes([c, d, e, f]),
            ],
            FOUR_OCTET_AS => [
                u32::from_be_bytes([a, b, c, d]),
                u32::from_be_bytes([0, 0, e, f]),
            ],
            _ => return None,
        };
        let of_kind = self.extended.iter().filter(|(kind, _)| *kind == wanted);
        find(of_kind.map(|(_, rule)| rule), parts)
    }

    pub(crate) fn large(&self, community: LargeCommunity) -> Option<Hit> {
        find(
            &self.large,
            [community.global, community.local1, community.local2],
        )
    }
}

fn find<'a, const N: usize>(
    rules: impl IntoIterator<Item = &'a Rule<N>>,
    parts: [u32; N],
) -> Option<Hit> {
    rules.into_iter().find_map(|(action, fields)| {
        let Match { variable, step } = match_fields(fields, parts)?;
        Some(Hit {
            action: *action,
            variable: variable.unwrap_or(0),
            times: step,
        })
    })
}

fn resolve<const N: usize>(fields: [Field; N], local: u32) -> [Field; N] {
    fields.map(|field| match field {
        Field::Local => Field::Number(local),
        other => other,
    })
}

/// The type of a two-octet AS specific community (RFC 4360 §3.1).
const TWO_OCTET_AS: u8 = 0x00;
/// The type of a four-octet AS specific community (RFC 5668).
const FOUR_OCTET_AS: u8 = 0x02;
