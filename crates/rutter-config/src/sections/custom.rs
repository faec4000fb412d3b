//! `communities.custom`: informational communities that the operator defines, for members and prefixes.

use std::sync::Arc;

use rutter_net::Asn;
use rutter_policy::{ActionCommunity, CustomMarks, MarkedPrefixes, Notation, PrefixMatch};

use super::tags::check_tag;
use crate::key_rows::{Key, Reload};
use crate::toml_values::{Item, Section};
use crate::value_forms::prefix_matches;

/// Informational communities with one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomCommunity {
    /// The name, for `attach-communities`.
    pub name: String,
    /// The number of its mark. A name keeps its number over reloads.
    pub number: u8,
    /// The communities.
    pub notations: Vec<Notation>,
    /// The prefixes whose routes get them, whoever announces them.
    pub prefixes: Vec<PrefixMatch>,
}

/// All of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CustomCommunities {
    /// In the order of their names.
    pub list: Vec<CustomCommunity>,
    /// Their prefixes, compiled.
    pub prefixes: Arc<MarkedPrefixes>,
}

/// The keys of a table in place of notations.
pub const CUSTOM: &[Key] = &[
    Key::new(
        "add",
        "notations",
        "required",
        "The communities.",
        Reload::Reevaluates,
    ),
    Key::new(
        "prefixes",
        "prefixes",
        "none",
        "Routes to these prefixes get the communities, whoever announces them.",
        Reload::Reevaluates,
    ),
];

impl CustomCommunities {
    fn new(list: Vec<CustomCommunity>) -> Self {
        let listed = list.iter().filter(|one| !one.prefixes.is_empty());
        let prefixes = listed.map(|one| (one.number, one.prefixes.clone()));
        CustomCommunities {
            prefixes: Arc::new(MarkedPrefixes::new(prefixes.collect())),
            list,
        }
    }

    /// The marks of these names.
    pub(crate) fn marks_of(&self, names: &[String]) -> CustomMarks {
        let named = self.list.iter().filter(|one| names.contains(&one.name));
        named.fold(CustomMarks::NONE, |all, one| {
            all.or(CustomMarks::of(one.number))
        })
    }

    /// Gives each name the number that it has in `running`, so that the routes of others need no evaluation after a
    /// reload. New names get free numbers.
    pub(crate) fn keep_numbers(&mut self, running: &CustomCommunities) {
        let held = |name: &str| running.list.iter().find(|one| one.name == name);
        let mut taken: Vec<u8> = running.list.iter().map(|one| one.number).collect();
        let mut list = std::mem::take(&mut self.list);
        for one in &mut list {
            // A number of a name that is gone stays free until the next reload: its routes still have it.
            let free = || (0..=u8::MAX).find(|number| !taken.contains(number));
            let known = held(&one.name).map(|known| known.number);
            one.number = known.or_else(free).unwrap_or(u8::MAX);
            taken.push(one.number);
        }
        if list
            .iter()
            .any(|one| usize::from(one.number) >= CustomMarks::MAX)
        {
            // There is no room for both the old and the new names: all get new numbers.
            for (one, number) in list.iter_mut().zip(0..) {
                one.number = number;
            }
        }
        *self = CustomCommunities::new(list);
    }
}

/// Reads the table of names.
pub(crate) fn custom(item: &Item<'_>) -> Option<CustomCommunities> {
    let Some(table) = item.table() else {
        item.error("expected a table of names", EXAMPLE);
        return None;
    };
    if table.len() > CustomMarks::MAX {
        item.error(
            format!(
                "there are {} names, but at most {} are possible",
                table.len(),
                CustomMarks::MAX
            ),
            "use one name for communities that always come together",
        );
        return None;
    }
    let mut list = Vec::new();
    for (name, value) in table.iter() {
        let entry = Item {
            source: item.source,
            key: format!("{}.{}", item.key, name.get_ref()),
            value,
        };
        let mut one = CustomCommunity {
            name: name.get_ref().to_string(),
            number: list.len() as u8,
            notations: Vec::new(),
            prefixes: Vec::new(),
        };
        match entry.table() {
            None => one.notations = notations(&entry),
            Some(_) => {
                entry.section(CUSTOM, EXAMPLE, |section| {
                    let added = section.require("add", "\"self:2000:1\"");
                    one.notations = added.map_or_else(Vec::new, |added| notations(&added));
                    section.set("prefixes", &mut one.prefixes, prefix_matches);
                });
            }
        }
        list.push(one);
    }
    Some(CustomCommunities::new(list))
}

const EXAMPLE: &str = "write { transit = \"self:2000:1\", cdn = { add = \"self:2000:2\", prefixes = [\"192.0.2.0/24\"] } }";

fn notations(item: &Item<'_>) -> Vec<Notation> {
    item.some(|item| {
        let tag = item.parse::<Notation>("self:2000:1")?;
        if tag.variables().next().is_some() {
            item.error(
                format!("`{tag}` has a variable field, which nothing fills"),
                "write something like \"self:2000:1\"",
            );
            return None;
        }
        Some(tag)
    })
}

/// Reports communities that have another meaning.
pub(crate) fn check<'a>(
    section: &Section<'a>,
    local: Asn,
    actions: &[ActionCommunity],
    known: &mut Vec<(Notation, String)>,
) {
    let Some(item) = section.get("custom") else {
        return;
    };
    for (name, value) in item.table().into_iter().flat_map(|table| table.iter()) {
        let key = format!("{}.{}", item.key, name.get_ref());
        let entry = Item {
            source: item.source,
            key: key.clone(),
            value,
        };
        let added = match entry.table() {
            None => entry.list(),
            Some(table) => table.get("add").map_or_else(Vec::new, |value| {
                let key = format!("{key}.add");
                Item {
                    source: item.source,
                    key,
                    value,
                }
                .list()
            }),
        };
        for item in added {
            if let Some(tag) = item.as_str().and_then(|text| text.parse().ok()) {
                check_tag(&item, &tag, local, actions, known);
                known.push((tag, format!("custom.{}", name.get_ref())));
            }
        }
    }
}
