//! `rutter show peer NAME`.

use std::io::{self, Write};

use rutter_api::{Direction, Done, FamilyRow, Line, NegotiatedRow, PrefixLimitRow, SessionRow};

use super::{View, field};
use crate::paint::{Paint, Tone};
use crate::units::{bytes, duration, grouped};

/// Prints the details of sessions.
pub(super) struct PeerView {
    paint: Paint,
    first: bool,
}

impl PeerView {
    /// Creates the view.
    pub(super) fn new(paint: Paint) -> Self {
        PeerView { paint, first: true }
    }
}

impl View for PeerView {
    fn row(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        let Line::Peer(peer) = line else {
            return Ok(());
        };
        if !std::mem::take(&mut self.first) {
            writeln!(out)?;
        }
        let title = self.paint.tone(Tone::Strong, &peer.session.name);
        writeln!(out, "{title}")?;
        session(&peer.session, out)?;
        if let Some(negotiated) = &peer.session.negotiated {
            agreed(negotiated, out)?;
        }
        for row in &peer.families {
            family(row, out)?;
        }
        for row in &peer.session.prefix_limits {
            prefix_limit(row, out)?;
        }
        traffic("received", &peer.session.received, out)?;
        traffic("sent", &peer.session.sent, out)?;
        for timer in &peer.session.timers {
            let seconds = timer.fires_in_ms as f64 / 1000.0;
            field(
                out,
                &format!("{} timer", timer.name),
                format_args!("in {seconds:.1}s"),
            )?;
        }
        Ok(())
    }

    fn end(&mut self, _: &Done, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn session(s: &SessionRow, out: &mut dyn Write) -> io::Result<()> {
    let dynamic = if s.dynamic { ", dynamic" } else { "" };
    field(
        out,
        "neighbor",
        format_args!("{} AS{} ({}{dynamic})", s.address, s.asn, s.role),
    )?;
    field(out, "local AS", s.local_asn)?;
    field(
        out,
        "state",
        format_args!("{} for {}", s.state, duration(s.state_for_s)),
    )?;
    if let Some(text) = &s.shutdown {
        field(out, "shutdown", text)?;
    }
    field(
        out,
        "established",
        match s.established_count {
            0 => "never".to_owned(),
            1 => "once".to_owned(),
            n => format!("{} times", grouped(n)),
        },
    )?;
    if let Some(error) = &s.last_error {
        let ago = s.last_error_ago_s.map(|t| format!(", {} ago", duration(t)));
        field(
            out,
            "last error",
            format_args!("{error}{}", ago.unwrap_or_default()),
        )?;
    }
    if s.malformed_updates > 0 {
        field(out, "malformed updates", grouped(s.malformed_updates))?;
    }
    if s.paths_not_kept > 0 {
        field(out, "paths not kept", grouped(s.paths_not_kept))?;
    }
    if s.blocked_routes > 0 {
        field(out, "blocked, not kept", grouped(s.blocked_routes))?;
    }
    if s.out_limit_exceeded > 0 {
        let times = grouped(s.out_limit_exceeded);
        field(out, "above max-prefix-out", format_args!("{times} times"))?;
    }
    field(out, "memory", bytes(s.memory_bytes))?;
    if s.memory_limit_exceeded > 0 {
        let times = grouped(s.memory_limit_exceeded);
        field(out, "above max-memory", format_args!("{times} times"))?;
    }
    if s.unsent_bytes > 0 || s.catching_up {
        let how = if s.catching_up {
            ", catching up from the table"
        } else {
            ""
        };
        field(
            out,
            "unsent",
            format_args!("{}{how}", bytes(s.unsent_bytes)),
        )?;
    }
    Ok(())
}

fn agreed(n: &NegotiatedRow, out: &mut dyn Write) -> io::Result<()> {
    field(out, "BGP identifier", n.bgp_id)?;
    if let (Some(local), Some(remote)) = (n.local, n.remote) {
        field(out, "connection", format_args!("{local} to {remote}"))?;
    }
    field(
        out,
        "hold time",
        match n.hold_time_s {
            0 => "off".to_owned(),
            hold => format!("{hold}s, a KEEPALIVE every {}s", n.keepalive_s),
        },
    )?;
    let mut all = Vec::new();
    let mut has = |is: bool, text: &str| {
        if is {
            all.push(text.to_owned());
        }
    };
    has(n.four_octet_as, "four-octet AS");
    has(n.route_refresh, "route refresh");
    has(n.enhanced_refresh, "enhanced route refresh");
    has(n.max_message_len > 4096, "extended messages");
    all.extend(n.other.iter().cloned());
    field(out, "capabilities", all.join(", "))?;
    let words = [
        ("graceful restart", &n.graceful_restart),
        ("long-lived GR", &n.long_lived_graceful_restart),
        ("neighbor's role", &n.role),
    ];
    for (label, text) in words {
        if let Some(text) = text {
            field(out, label, text)?;
        }
    }
    Ok(())
}

fn family(f: &FamilyRow, out: &mut dyn Write) -> io::Result<()> {
    let mut notes = String::new();
    for (is, note) in [
        (!f.negotiated, ", not negotiated"),
        (f.add_path_receive, ", Add-Path in"),
        (f.add_path_send, ", Add-Path out"),
        (f.extended_next_hop, ", extended next hop"),
    ] {
        if is {
            notes.push_str(note);
        }
    }
    field(
        out,
        &f.family,
        format_args!(
            "{} received, {} accepted, {} rejected{notes}",
            grouped(f.received),
            grouped(f.accepted),
            grouped(f.rejected)
        ),
    )
}

fn prefix_limit(limit: &PrefixLimitRow, out: &mut dyn Write) -> io::Result<()> {
    let version = limit.family.split('-').next().unwrap_or_default();
    let source = match limit.peeringdb {
        Some(number) => format!("made of {} in PeeringDB", grouped(number.into())),
        None => "configured".to_owned(),
    };
    let most = grouped(limit.limit.into());
    field(
        out,
        &format!("{version} limit"),
        format_args!("{most} prefixes ({source}), then {}", limit.action),
    )
}

fn traffic(label: &str, way: &Direction, out: &mut dyn Write) -> io::Result<()> {
    let by_type: Vec<_> = way
        .messages
        .by_type()
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{} {kind}", grouped(count)))
        .collect();
    let messages = match by_type.is_empty() {
        true => String::new(),
        false => format!(": {}", by_type.join(", ")),
    };
    field(out, label, format_args!("{}{messages}", bytes(way.bytes)))
}
