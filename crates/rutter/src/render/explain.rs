//! `rutter explain PREFIX`: the decision and what each client receives.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rutter_api::{CandidateRow, ClientRow, Done, ExplainRow, Line, RouteSource};

use super::route::notes;
use super::{View, source};
use crate::paint::{Paint, Tone};
use crate::units::plural;

/// Prints the candidates, then the routes that each client receives.
pub(super) struct ExplainView(pub(super) Paint);

impl View for ExplainView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Explain(row) = line else {
            return Ok(());
        };
        self.head(&row, out)?;
        for candidate in &row.candidates {
            self.candidate(candidate, out)?;
        }
        self.clients(&row, out)
    }

    fn end(&mut self, _: &Done, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

impl ExplainView {
    fn head(&self, row: &ExplainRow, out: &mut dyn Write) -> io::Result<()> {
        let prefix = self.0.tone(Tone::Strong, &row.prefix.to_string());
        let rejected = row
            .candidates
            .iter()
            .filter(|c| c.route.rejected.is_some())
            .count();
        write!(
            out,
            "{prefix}: {}",
            plural(row.candidates.len() as u64, "route")
        )?;
        match rejected {
            0 => writeln!(out, ", best first"),
            n => writeln!(out, ", best first, {n} rejected"),
        }
    }

    fn candidate(&self, candidate: &CandidateRow, out: &mut dyn Write) -> io::Result<()> {
        let route = &candidate.route;
        let attrs = &route.attributes;
        writeln!(
            out,
            "\n{:>3}. {}{}",
            candidate.rank,
            source(&route.peer),
            notes(route, self.0)
        )?;
        let mut facts = vec![format!(
            "path {}",
            attrs.as_path.as_deref().unwrap_or("empty")
        )];
        facts.extend(attrs.next_hop.map(|h| format!("next hop {h}")));
        facts.extend(attrs.origin.as_ref().map(|o| format!("origin {o}")));
        facts.extend(attrs.local_pref.map(|p| format!("local preference {p}")));
        facts.extend(attrs.multi_exit_disc.map(|m| format!("MED {m}")));
        writeln!(out, "     {}", facts.join(", "))?;
        let communities = [&attrs.communities, &attrs.large_communities];
        let communities: Vec<_> = communities.into_iter().flatten().cloned().collect();
        if !communities.is_empty() {
            writeln!(out, "     communities {}", communities.join(" "))?;
        }
        if let Some(step) = &candidate.lost_at {
            let better = candidate.rank - 1;
            writeln!(
                out,
                "     lost to {better} by: {}",
                self.0.tone(Tone::Warn, step)
            )?;
        }
        for finding in &candidate.findings {
            let name = self.0.tone(Tone::Bad, &finding.reason.name);
            writeln!(
                out,
                "     {name} ({}): {}",
                finding.reason.code, finding.evidence
            )?;
        }
        for change in &candidate.filter_changes {
            writeln!(out, "     {change}")?;
        }
        Ok(())
    }

    fn clients(&self, row: &ExplainRow, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n{}", self.0.tone(Tone::Strong, "Advertised to"))?;
        if row.clients.is_empty() {
            return writeln!(out, "  no client is established");
        }
        for (case, clients) in cases(&row.clients) {
            let count = plural(clients.len() as u64, "client");
            writeln!(
                out,
                "  {}: {count}: {}",
                case.advertised(self.0),
                names(&clients)
            )?;
            for (rank, why) in &case.withheld {
                writeln!(out, "      not {rank}: {why}")?;
            }
        }
        Ok(())
    }
}

/// An outcome that several clients share.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    /// The clients receive no route; sorts last.
    nothing: bool,
    ranks: Vec<usize>,
    withheld: Vec<(usize, String)>,
}

impl Case {
    fn of(client: &ClientRow) -> Self {
        let withheld = client.withheld.iter();
        Case {
            nothing: client.advertised.is_empty(),
            ranks: client.advertised.clone(),
            withheld: withheld.map(|w| (w.rank, w.why.clone())).collect(),
        }
    }

    fn advertised(&self, paint: Paint) -> String {
        let ranks: Vec<_> = self.ranks.iter().map(usize::to_string).collect();
        match ranks.len() {
            0 => paint.tone(Tone::Bad, "nothing"),
            1 => paint.tone(Tone::Good, &format!("route {}", ranks[0])),
            _ => paint.tone(Tone::Good, &format!("routes {}", ranks.join(", "))),
        }
    }
}

fn cases(clients: &[ClientRow]) -> BTreeMap<Case, Vec<&RouteSource>> {
    let mut cases: BTreeMap<Case, Vec<&RouteSource>> = BTreeMap::new();
    for client in clients {
        cases
            .entry(Case::of(client))
            .or_default()
            .push(&client.client);
    }
    cases
}

/// Names the first few clients and counts the rest.
fn names(clients: &[&RouteSource]) -> String {
    let shown: Vec<_> = clients
        .iter()
        .take(NAMES)
        .map(|c| format!("{} (AS{})", c.name, c.asn))
        .collect();
    match clients.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

const NAMES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_the_decision() {
        let row = serde_json::from_str(include_str!("../../tests/explain.json")).unwrap();
        let mut out = Vec::new();
        ExplainView(Paint::OFF)
            .row(Line::Explain(row), &mut out)
            .unwrap();
        let expected = include_str!("../../tests/explain.txt");
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
