//! Prints a comparison: totals first, then reasons, then examples of each member.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rutter_api::{AttributesRow, RouteSource};
use serde::Serialize;

use super::compare::Counts;
use super::difference::{Difference, Kind, Side};
use crate::paint::{Paint, Tone};
use crate::text_table::{Cell, Column, TextTable};
use crate::units::{grouped, plural};

/// The counts of one member, as `--json` prints them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct MemberTotals {
    #[serde(rename = "type")]
    row: &'static str,
    member: RouteSource,
    /// The routes that the other route server advertises.
    advertised: u64,
    /// The routes that Rutter would advertise.
    rutter: u64,
    same: u64,
    missing: u64,
    extra: u64,
    differs: u64,
    reasons: Vec<ReasonCount>,
}

/// The differences of one member with the same kind and reason.
#[derive(Debug, Serialize)]
struct ReasonCount {
    kind: Kind,
    reason: String,
    routes: u64,
}

impl MemberTotals {
    /// The totals of a member.
    pub(super) fn new(member: RouteSource, counts: &Counts) -> Self {
        let reasons = counts.differences.iter();
        MemberTotals {
            row: "shadow-member",
            member,
            advertised: counts.advertised,
            rutter: counts.rutter,
            same: counts.same,
            missing: counts.of_kind(Kind::Missing),
            extra: counts.of_kind(Kind::Extra),
            differs: counts.of_kind(Kind::Differs),
            reasons: reasons
                .map(|((kind, reason), routes)| ReasonCount {
                    kind: *kind,
                    reason: reason.clone(),
                    routes: *routes,
                })
                .collect(),
        }
    }

    fn differences(&self) -> u64 {
        self.missing + self.extra + self.differs
    }
}

/// The report for people.
pub(super) struct Report<'a> {
    pub(super) totals: &'a [MemberTotals],
    /// The first differences of each member.
    pub(super) examples: &'a [Vec<Difference>],
    pub(super) paint: Paint,
}

const COLUMNS: &[Column] = &[
    Column::Left("member"),
    Column::Right("advertised"),
    Column::Right("by Rutter"),
    Column::Right("same"),
    Column::Right("missing"),
    Column::Right("extra"),
    Column::Right("differs"),
];

impl Report<'_> {
    /// Prints all of it.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.summary(out)?;
        writeln!(out)?;
        let mut table = TextTable::new(COLUMNS, self.paint);
        for totals in self.totals {
            table.row(out, self.cells(totals))?;
        }
        table.finish(out)?;
        self.reasons(out)?;
        for (totals, examples) in self.totals.iter().zip(self.examples) {
            self.examples(totals, examples, out)?;
        }
        Ok(())
    }

    fn summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let sum = |of: fn(&MemberTotals) -> u64| self.totals.iter().map(of).sum::<u64>();
        let members = plural(self.totals.len() as u64, "session");
        let same = plural(sum(|totals| totals.same), "route");
        let text = match sum(MemberTotals::differences) {
            0 => self.paint.tone(Tone::Good, "no difference"),
            _ => self.paint.tone(
                Tone::Warn,
                &format!(
                    "{} missing, {} extra, {} differ",
                    grouped(sum(|totals| totals.missing)),
                    grouped(sum(|totals| totals.extra)),
                    grouped(sum(|totals| totals.differs)),
                ),
            ),
        };
        writeln!(out, "{members} compared: {same} the same, {text}")
    }

    fn cells(&self, totals: &MemberTotals) -> Vec<Cell> {
        let count = |count: u64| match count {
            0 => Cell::new(Tone::Faint, "0"),
            _ => Cell::new(Tone::Warn, grouped(count)),
        };
        vec![
            Cell::from(name(&totals.member)),
            Cell::from(grouped(totals.advertised)),
            Cell::from(grouped(totals.rutter)),
            Cell::from(grouped(totals.same)),
            count(totals.missing),
            count(totals.extra),
            count(totals.differs),
        ]
    }

    /// Prints the reasons over all members, the most frequent first.
    fn reasons(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut reasons: BTreeMap<(Kind, &str), u64> = BTreeMap::new();
        for count in self.totals.iter().flat_map(|totals| &totals.reasons) {
            *reasons.entry((count.kind, &count.reason)).or_default() += count.routes;
        }
        if reasons.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{}", self.paint.tone(Tone::Strong, "reasons"))?;
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for ((kind, reason), count) in reasons {
            writeln!(out, "  {:>9}  {:<8} {reason}", grouped(count), kind.name())?;
        }
        Ok(())
    }

    fn examples(
        &self,
        totals: &MemberTotals,
        examples: &[Difference],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if examples.is_empty() {
            return Ok(());
        }
        let heading = format!("differences of {}", name(&totals.member));
        writeln!(out, "\n{}", self.paint.tone(Tone::Strong, &heading))?;
        for difference in examples {
            self.difference(difference, out)?;
        }
        let more = totals.differences() - examples.len() as u64;
        match more {
            0 => Ok(()),
            _ => {
                let text = format!("  … and {} more (--limit)", grouped(more));
                writeln!(out, "{}", self.paint.tone(Tone::Faint, &text))
            }
        }
    }

    fn difference(&self, difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
        let kind = format!("{:<8}", difference.kind.name());
        let kind = self.paint.tone(Tone::Warn, &kind);
        let (prefix, why) = (difference.prefix, &difference.explanation);
        writeln!(out, "  {kind} {prefix}: {why}")?;
        let mut side = |label: &str, side: &Option<Side>| match side {
            Some(side) => writeln!(
                out,
                "      {label:<10} {}",
                route(side, &difference.attributes)
            ),
            None => Ok(()),
        };
        side("advertised", &difference.advertised)?;
        side("Rutter", &difference.rutter)
    }
}

/// A route in one line: its sender, path and next hop, and further attributes that differ.
fn route(side: &Side, differing: &[String]) -> String {
    let AttributesRow {
        as_path, next_hop, ..
    } = &side.attributes;
    let mut text = side.from.as_ref().map_or_else(
        || "from an unknown sender".to_owned(),
        |from| format!("from {}", from.name),
    );
    text.push_str(&format!(", path {}", as_path.as_deref().unwrap_or("none")));
    if let Some(next_hop) = next_hop {
        text.push_str(&format!(", next hop {next_hop}"));
    }
    let attributes = serde_json::to_value(&side.attributes).unwrap_or_default();
    for name in differing {
        if name == "as-path" || name == "next-hop" {
            continue;
        }
        text.push_str(&format!(", {name} {}", value(&attributes[name.as_str()])));
    }
    text
}

/// A value without the quotation marks and brackets of JSON.
fn value(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(self::value).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// The name of a neighbor, with its address if the name lacks it.
fn name(member: &RouteSource) -> String {
    let RouteSource { name, address, .. } = member;
    match name.contains(&address.to_string()) {
        true => name.clone(),
        false => format!("{name} ({address})"),
    }
}
