//! `rutter show route PREFIX`: all attributes of each route.

use std::io::{self, Write};

use rutter_api::{AttributesRow, Done, Line, RouteRow};

use super::{View, field, source};
use crate::paint::{Paint, Tone};
use crate::units::plural;

/// Prints a paragraph for each route.
pub(super) struct RouteView {
    paint: Paint,
    first: bool,
}

impl RouteView {
    /// Creates the view.
    pub(super) fn new(paint: Paint) -> Self {
        RouteView { paint, first: true }
    }
}

impl View for RouteView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Route(route) = line else {
            return Ok(());
        };
        if std::mem::take(&mut self.first) {
            writeln!(
                out,
                "{}",
                self.paint.tone(Tone::Strong, &route.prefix.to_string())
            )?;
        }
        writeln!(
            out,
            "from {}{}",
            source(&route.peer),
            notes(&route, self.paint)
        )?;
        attributes(&route.attributes, out)
    }

    fn end(&mut self, done: &Done, out: &mut dyn Write) -> io::Result<()> {
        match done.rows {
            0 => Ok(()),
            rows => writeln!(out, "{}", plural(rows, "route")),
        }
    }
}

/// Formats the notes of a route, for the end of its first line.
pub(super) fn notes(route: &RouteRow, paint: Paint) -> String {
    let mut notes = String::new();
    if let Some(id) = route.path_id {
        notes.push_str(&format!(", path id {id}"));
    }
    if route.best {
        notes.push_str(&paint.tone(Tone::Good, ", best"));
    }
    if route.long_lived_stale {
        notes.push_str(&paint.tone(Tone::Warn, ", long-lived stale"));
    } else if route.stale {
        notes.push_str(&paint.tone(Tone::Warn, ", stale"));
    }
    if route.locally_originated {
        notes.push_str(", locally originated");
    }
    if route.attributes.next_hop.is_none() {
        notes.push_str(&paint.tone(Tone::Warn, ", without a next hop"));
    }
    if let Some(state) = &route.origin_state {
        notes.push_str(&format!(", RPKI {state}"));
    }
    if let Some(state) = &route.path_state {
        notes.push_str(&format!(", ASPA {state}"));
    }
    if let Some(reason) = &route.accepted_in_spite_of {
        let text = format!(", accepted in spite of {} ({})", reason.name, reason.code);
        notes.push_str(&paint.tone(Tone::Warn, &text));
    }
    if let Some(reason) = &route.rejected {
        let text = format!(", rejected: {} ({})", reason.name, reason.code);
        notes.push_str(&paint.tone(Tone::Bad, &text));
    }
    notes
}

fn attributes(attrs: &AttributesRow, out: &mut dyn Write) -> io::Result<()> {
    let mut show = |label: &str, value: Option<String>| match value {
        Some(value) => field(out, label, value),
        None => Ok(()),
    };
    show("AS path", attrs.as_path.clone())?;
    show("origin", attrs.origin.clone())?;
    show("next hop", text(&attrs.next_hop))?;
    show("link-local", text(&attrs.link_local_next_hop))?;
    show("MED", text(&attrs.multi_exit_disc))?;
    show("local preference", text(&attrs.local_pref))?;
    show(
        "atomic aggregate",
        attrs.atomic_aggregate.then(|| "yes".to_owned()),
    )?;
    show("aggregator", attrs.aggregator.clone())?;
    show("communities", list(&attrs.communities))?;
    show("large communities", list(&attrs.large_communities))?;
    show("ext. communities", list(&attrs.extended_communities))?;
    show("originator id", text(&attrs.originator_id))?;
    show("cluster list", list(&attrs.cluster_list))?;
    show("only to customer", text(&attrs.only_to_customer))?;
    show("AIGP", text(&attrs.aigp))?;
    for unknown in &attrs.unknown {
        let label = format!("attribute {}", unknown.code);
        show(
            &label,
            Some(format!("flags {:#04x} {}", unknown.flags, unknown.value)),
        )?;
    }
    Ok(())
}

fn text<T: ToString>(value: &Option<T>) -> Option<String> {
    value.as_ref().map(T::to_string)
}

fn list<T: ToString>(values: &[T]) -> Option<String> {
    let strings: Vec<_> = values.iter().map(T::to_string).collect();
    (!strings.is_empty()).then(|| strings.join(" "))
}
