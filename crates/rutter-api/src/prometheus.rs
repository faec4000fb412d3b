//! The metrics in the Prometheus text format. `docs/metrics.md` lists them; a test compares.

use std::fmt::Write as _;
use std::time::Duration;

use rutter_net::Family;

use crate::convert::peer_rows;
use crate::table_counts::Counted;
use crate::{
    Backend, PeerRow, RouterRow, SessionState, SinkRow, SourceRow, StationRow, StationState,
    StatusRow, TableCounts, TurnTimes,
};

/// A metric with its type and help.
pub struct Metric {
    /// The name, beginning with `rutter_`.
    pub name: &'static str,
    /// `gauge`, `counter` or `histogram`.
    pub kind: &'static str,
    /// The description.
    pub help: &'static str,
}

/// Renders all metrics in the text exposition format 0.0.4. Numbers that need a walk over the table are of the last count.
pub fn render(backend: &dyn Backend, counts: &TableCounts) -> String {
    let mut page = Page::default();
    let unmarked = backend.rib().unmarked_verdicts();
    process(&mut page, &backend.status(), unmarked);
    for (thread, turns) in backend.turn_times().iter().enumerate() {
        turn_times(&mut page, &thread.to_string(), turns);
    }
    let peers = peer_rows(backend.sessions(), &backend.peers());
    for state in SessionState::ALL {
        let count = peers.iter().filter(|p| p.session.state == state).count();
        page.sample(Name::Peers, &[("state", &state.to_string())], count as f64);
    }
    for peer in &peers {
        session(&mut page, peer);
    }
    if let Some(counted) = counts.last() {
        page.sample(Name::RoutesCounted, &[], counted.unix_s);
        peers
            .iter()
            .for_each(|peer| routes(&mut page, peer, &counted));
    }
    for row in backend.memory() {
        page.sample(Name::MemoryBytes, &[("what", row.what)], row.bytes as f64);
        page.sample(Name::MemoryItems, &[("what", row.what)], row.count as f64);
    }
    let sources = backend.sources();
    sources.iter().for_each(|row| source(&mut page, row));
    if let Some(members) = backend.dynamic_members() {
        page.sample(Name::DynamicMembers, &[], members.count as f64);
        page.sample(Name::DynamicMembersLimit, &[], members.limit as f64);
    }
    let stations = backend.stations();
    stations.iter().for_each(|row| station(&mut page, row));
    if let Some(collected) = backend.collector_services() {
        collected
            .sinks()
            .iter()
            .for_each(|row| sink(&mut page, row));
        let routers = collected.routers();
        page.sample(Name::Routers, &[], routers.len() as f64);
        routers.iter().for_each(|row| router(&mut page, row));
    }
    page.finish()
}

fn process(page: &mut Page, status: &StatusRow, unmarked: u64) {
    page.sample(Name::BuildInfo, &[("version", &status.version)], 1.0);
    page.sample(Name::Uptime, &[], status.uptime_s as f64);
    page.sample(Name::ConfigLoaded, &[], status.config_loaded_at as f64);
    let failed = status.last_reload_error.is_some();
    page.sample(Name::ReloadFailed, &[], f64::from(u8::from(failed)));
    page.sample(Name::Threads, &[], status.threads.into());
    page.sample(Name::CpuSeconds, &[], status.cpu_s);
    page.sample(Name::ResidentBytes, &[], status.rss_bytes as f64);
    page.sample(Name::TableBytes, &[], status.table_bytes as f64);
    page.sample(Name::TableLimit, &[], status.table_limit_bytes as f64);
    let exceeded = status.table_limit_exceeded;
    page.sample(Name::TableLimitExceeded, &[], exceeded as f64);
    page.sample(Name::UnmarkedVerdicts, &[], unmarked as f64);
    let deferral = status.selection_deferral.as_ref();
    let (awaited, remaining_s) = deferral.map_or((0, 0), |d| (d.awaited.len(), d.remaining_s));
    page.sample(Name::DeferralAwaited, &[], awaited as f64);
    page.sample(Name::DeferralSeconds, &[], remaining_s as f64);
}

fn turn_times(page: &mut Page, thread: &str, turns: &TurnTimes) {
    let labels = [("thread", thread)];
    let seconds = |ns: u64| ns as f64 / 1e9;
    let buckets = TurnTimes::BOUNDS.iter().map(Duration::as_secs_f64);
    let buckets = buckets.zip(turns.counts);
    let total = turns.counts.iter().sum();
    page.histogram(
        Name::TurnSeconds,
        &labels,
        buckets,
        (total, seconds(turns.total_ns)),
    );
    page.sample(Name::LongestTurn, &labels, seconds(turns.longest_ns));
}

fn session(page: &mut Page, peer: &PeerRow) {
    let s = &peer.session;
    let (address, asn) = (s.address.to_string(), s.asn.to_string());
    let who = [
        ("peer", s.name.as_str()),
        ("address", &address),
        ("asn", &asn),
    ];
    let up = s.state == SessionState::Established;
    page.sample(Name::PeerUp, &who, f64::from(u8::from(up)));
    page.sample(Name::PeerStateSeconds, &who, s.state_for_s as f64);
    page.sample(Name::PeerEstablished, &who, s.established_count as f64);
    page.sample(Name::PeerMalformed, &who, s.malformed_updates as f64);
    page.sample(Name::PeerPathsNotKept, &who, s.paths_not_kept as f64);
    page.sample(Name::PeerRoutesBlocked, &who, s.blocked_routes as f64);
    page.sample(Name::PeerOutLimit, &who, s.out_limit_exceeded as f64);
    page.sample(Name::PeerMemory, &who, s.memory_bytes as f64);
    page.sample(Name::PeerMemoryLimit, &who, s.memory_limit_exceeded as f64);
    page.sample(Name::PeerUnsent, &who, s.unsent_bytes as f64);
    page.sample(
        Name::PeerCatchingUp,
        &who,
        f64::from(u8::from(s.catching_up)),
    );
    for (direction, way) in [("received", &s.received), ("sent", &s.sent)] {
        let labels = [who[0], who[1], who[2], ("direction", direction)];
        page.sample(Name::PeerBytes, &labels, way.bytes as f64);
        for (kind, count) in way.messages.by_type() {
            if (direction, kind) == ("sent", "update") {
                continue; // sent as bytes of a shared stream, so not counted
            }
            let labels = [
                who[0],
                who[1],
                who[2],
                ("direction", direction),
                ("type", kind),
            ];
            page.sample(Name::PeerMessages, &labels, count as f64);
        }
    }
    for family in &peer.families {
        for (verdict, count) in [("accepted", family.accepted), ("rejected", family.rejected)] {
            let labels = [
                who[0],
                who[1],
                who[2],
                ("family", family.family.as_str()),
                ("verdict", verdict),
            ];
            page.sample(Name::PeerRoutes, &labels, count as f64);
        }
    }
}

/// The numbers of the neighbor's routes that need a walk over the table.
fn routes(page: &mut Page, peer: &PeerRow, counted: &Counted) {
    let s = &peer.session;
    let Some(id) = s.peer else {
        return;
    };
    let (address, asn) = (s.address.to_string(), s.asn.to_string());
    let who = [
        ("peer", s.name.as_str()),
        ("address", &address),
        ("asn", &asn),
    ];
    for ((_, reason), count) in counted.rejected.range((id, "")..=(id, "\u{7f}")) {
        let labels = [who[0], who[1], who[2], ("reason", *reason)];
        page.sample(Name::PeerRejected, &labels, *count as f64);
    }
    // A client whose session went down after the count is sent nothing.
    let families = Family::ALL
        .into_iter()
        .filter(|_| s.state == SessionState::Established);
    for family in families {
        let Some(count) = counted.exported.get(&(id, family)) else {
            continue;
        };
        let family = family.to_string();
        let labels = [who[0], who[1], who[2], ("family", family.as_str())];
        page.sample(Name::PeerAdvertised, &labels, count.routes as f64);
        for (why, routes) in count.reasons() {
            let [name, address, asn, family] = labels;
            let labels = [name, address, asn, family, ("reason", why.name())];
            page.sample(Name::PeerWithheld, &labels, routes as f64);
        }
    }
}

fn source(page: &mut Page, row: &SourceRow) {
    let labels = [
        ("source", row.name.as_str()),
        ("location", row.location.as_str()),
    ];
    for state in SourceRow::STATES {
        let is = f64::from(u8::from(row.state == state));
        let [name, location] = labels;
        page.sample(Name::SourceState, &[name, location, ("state", state)], is);
    }
    page.sample(Name::SourceEntries, &labels, row.entries as f64);
    if let Some(updated) = row.updated_at {
        page.sample(Name::SourceUpdated, &labels, updated as f64);
    }
}

fn station(page: &mut Page, row: &StationRow) {
    let address = row.address.to_string();
    let who = [("station", row.name.as_str()), ("address", &address)];
    for state in StationState::ALL {
        let is = f64::from(u8::from(row.state == state));
        let labels = [who[0], who[1], ("state", &state.to_string())];
        page.sample(Name::StationState, &labels, is);
    }
    page.sample(Name::StationSessions, &who, row.sessions as f64);
    page.sample(Name::StationMessages, &who, row.messages as f64);
    page.sample(Name::StationBytes, &who, row.bytes as f64);
    page.sample(Name::StationWaiting, &who, row.waiting_routes as f64);
    page.sample(Name::StationUnsent, &who, row.unsent_bytes as f64);
    page.sample(Name::StationConnects, &who, row.connects as f64);
    page.sample(Name::StationResyncs, &who, row.resyncs as f64);
}

fn sink(page: &mut Page, row: &SinkRow) {
    let name = ("sink", row.name.as_str());
    for state in ["connecting", "loading", "live", "away", "dropping"] {
        let is = f64::from(u8::from(row.state == state));
        page.sample(Name::SinkState, &[name, ("state", state)], is);
    }
    for (metric, value) in [
        (Name::SinkSpooled, row.spooled),
        (Name::SinkPending, row.pending()),
        (Name::SinkBehind, row.behind_s),
        (Name::SinkSpool, row.spool_bytes),
        (Name::SinkEvents, row.events),
        (Name::SinkLoaded, row.loaded_routes),
        (Name::SinkLoads, row.loads),
        (Name::SinkBatches, row.batches),
        (Name::SinkGaps, row.gaps),
        (Name::SinkLost, row.lost),
        (Name::SinkFailures, row.failures),
        (Name::SinkDropping, row.dropping.is_some().into()),
    ] {
        page.sample(metric, &[name], value as f64);
    }
}

fn router(page: &mut Page, row: &RouterRow) {
    let address = row.address.to_string();
    let who = [("router", row.name.as_str()), ("address", &address)];
    for (metric, value) in [
        (Name::RouterSeconds, row.connected_for_s),
        (Name::RouterPeers, row.peers),
        (Name::RouterMessages, row.messages),
        (Name::RouterFaults, row.faults),
        (Name::RouterUnknown, row.unknown),
        (Name::RouterMalformed, row.malformed),
        (Name::RouterWithoutNextHop, row.without_next_hop),
        (Name::RouterWithoutPeerUp, row.without_peer_up),
        (Name::RouterMirrored, row.mirrored),
    ] {
        page.sample(metric, &who, value as f64);
    }
    for one in &row.other_families {
        let [router, address] = who;
        let labels = [router, address, ("family", one.family.as_str())];
        page.sample(Name::RouterOtherFamilies, &labels, one.updates as f64);
    }
}

macro_rules! metrics {
    ($($variant:ident = $name:literal, $kind:literal, $help:literal;)*) => {
        #[derive(Clone, Copy)]
        enum Name { $($variant,)* }

        /// All metrics, in the order of the output.
        pub const METRICS: &[Metric] = &[$(Metric { name: $name, kind: $kind, help: $help },)*];
    };
}

metrics! {
    BuildInfo = "rutter_build_info", "gauge", "Always 1; the version is a label.";
    Uptime = "rutter_uptime_seconds", "gauge", "Seconds since the daemon started.";
    ConfigLoaded = "rutter_config_loaded_timestamp_seconds", "gauge", "When the configuration in force was read.";
    ReloadFailed = "rutter_config_reload_failed", "gauge", "1 if the last reload was refused.";
    Threads = "rutter_threads", "gauge", "I/O threads.";
    TurnSeconds = "rutter_turn_seconds", "histogram", "CPU seconds of each turn of an I/O thread; its neighbors wait so long.";
    LongestTurn = "rutter_turn_longest_seconds", "gauge", "CPU seconds of the longest turn of an I/O thread since the start.";
    CpuSeconds = "process_cpu_seconds_total", "counter", "CPU seconds used, user and system.";
    ResidentBytes = "process_resident_memory_bytes", "gauge", "Resident set size.";
    TableBytes = "rutter_table_memory_bytes", "gauge", "About the bytes of the table, as daemon.max-memory counts them.";
    TableLimit = "rutter_table_memory_limit_bytes", "gauge", "The most bytes for the table (daemon.max-memory).";
    TableLimitExceeded = "rutter_table_memory_limit_exceeded_total", "counter", "Sessions that were reset, and neighbors whose stale routes were removed, because the table exceeded daemon.max-memory.";
    UnmarkedVerdicts = "rutter_unmarked_verdicts_total", "counter", "Verdicts that lost their communities, or rejected routes that filters change, because too many combinations are in use.";
    DeferralAwaited = "rutter_selection_deferral_neighbors", "gauge", "Neighbors that Rutter waits for after a restart, before it advertises routes.";
    DeferralSeconds = "rutter_selection_deferral_seconds", "gauge", "Seconds until that wait ends at the latest; 0 without one.";
    Peers = "rutter_peers", "gauge", "Sessions by state (RFC 4271).";
    PeerUp = "rutter_peer_up", "gauge", "1 if the session is Established.";
    PeerStateSeconds = "rutter_peer_state_seconds", "gauge", "Seconds in the current state.";
    PeerEstablished = "rutter_peer_established_total", "counter", "Times that the session reached Established.";
    PeerMalformed = "rutter_peer_malformed_updates_total", "counter", "Malformed UPDATEs that did not end the session (RFC 7606).";
    PeerPathsNotKept = "rutter_peer_paths_not_kept_total", "counter", "Paths that were not kept, because the neighbor has more than 1,024 of one prefix (RFC 7911).";
    PeerRoutesBlocked = "rutter_peer_routes_blocked_total", "counter", "Routes that were not kept, because the neighbor was above max-prefix with the action block.";
    PeerOutLimit = "rutter_peer_out_limit_exceeded_total", "counter", "Times that more prefixes were advertised than max-prefix-out allows.";
    PeerMemory = "rutter_peer_memory_bytes", "gauge", "Bytes that the neighbor's attribute sets take, and at most its routes; max-memory limits them.";
    PeerMemoryLimit = "rutter_peer_memory_limit_exceeded_total", "counter", "Times that the neighbor's routes took more than max-memory allows.";
    PeerUnsent = "rutter_peer_unsent_bytes", "gauge", "Bytes of UPDATEs that wait for the client's socket.";
    PeerCatchingUp = "rutter_peer_catching_up", "gauge", "1 if the client fell behind and receives its routes from the table.";
    PeerBytes = "rutter_peer_bytes_total", "counter", "Bytes by direction.";
    PeerMessages = "rutter_peer_messages_total", "counter", "BGP messages by direction and type.";
    PeerRoutes = "rutter_peer_routes", "gauge", "Routes received from the neighbor, by family and verdict.";
    PeerRejected = "rutter_peer_rejected_routes", "gauge", "Rejected routes of the neighbor by their first reason, only where there are some, as last counted.";
    PeerAdvertised = "rutter_peer_advertised_routes", "gauge", "Routes that the client is sent, by family, as last counted.";
    PeerWithheld = "rutter_peer_withheld_routes", "gauge", "Routes that the client is not sent, by family and reason, only where there are some, as last counted. Without Add-Path only those better than the one that it is sent.";
    RoutesCounted = "rutter_routes_counted_timestamp_seconds", "gauge", "When the rejected, advertised and withheld routes were last counted.";
    MemoryBytes = "rutter_memory_bytes", "gauge", "Bytes of the table by purpose.";
    MemoryItems = "rutter_memory_items", "gauge", "Items of the table by purpose.";
    SourceState = "rutter_source_state", "gauge", "1 for the current state of the source of outside data.";
    SourceEntries = "rutter_source_entries", "gauge", "Entries of the source that are in force.";
    SourceUpdated = "rutter_source_updated_timestamp_seconds", "gauge", "When the source last had good data.";
    DynamicMembers = "rutter_dynamic_members", "gauge", "Dynamic neighbors whose AS no section names and that have IRR data, among them some that have left.";
    DynamicMembersLimit = "rutter_dynamic_members_limit", "gauge", "The most such neighbors that have IRR data; the routes of further ones are rejected.";
    StationState = "rutter_station_state", "gauge", "1 for the current state of the report to the BMP station.";
    StationSessions = "rutter_station_sessions", "gauge", "Sessions that the station knows.";
    StationMessages = "rutter_station_messages_total", "counter", "BMP messages made for the station.";
    StationBytes = "rutter_station_bytes_total", "counter", "Bytes that the station has taken.";
    StationWaiting = "rutter_station_waiting_routes", "gauge", "Changed routes that the station has not been sent yet.";
    StationUnsent = "rutter_station_unsent_bytes", "gauge", "Bytes of messages that wait for the station's socket.";
    StationConnects = "rutter_station_connects_total", "counter", "Connections to the station.";
    StationResyncs = "rutter_station_resyncs_total", "counter", "Times that changes were lost, so that the tables were sent again.";
    SinkState = "rutter_sink_state", "gauge", "1 for the current state of the sink.";
    SinkSpooled = "rutter_sink_spooled_rows_total", "counter", "Rows written to the sink's spool since the start.";
    SinkPending = "rutter_sink_pending_rows", "gauge", "Rows in the spool that the sink has not committed, including rows of earlier runs.";
    SinkBehind = "rutter_sink_behind_seconds", "gauge", "Age of the oldest pending row.";
    SinkSpool = "rutter_sink_spool_bytes", "gauge", "Bytes in the spool.";
    SinkEvents = "rutter_sink_events_total", "counter", "Events committed, including events of earlier runs.";
    SinkLoaded = "rutter_sink_loaded_routes_total", "counter", "Routes committed by full table loads.";
    SinkLoads = "rutter_sink_loads_total", "counter", "Full table loads completed.";
    SinkBatches = "rutter_sink_batches_total", "counter", "Batches committed.";
    SinkGaps = "rutter_sink_gaps_total", "counter", "Gaps reported.";
    SinkLost = "rutter_sink_lost_total", "counter", "Rows and messages lost in gaps.";
    SinkFailures = "rutter_sink_failures_total", "counter", "Failures of the sink.";
    SinkDropping = "rutter_sink_dropping", "gauge", "1 while rows are dropped.";
    Routers = "rutter_bmp_routers", "gauge", "Routers connected by BMP.";
    RouterSeconds = "rutter_bmp_connected_seconds", "gauge", "Seconds since the router connected.";
    RouterPeers = "rutter_bmp_peers", "gauge", "Monitored sessions of the router that are up.";
    RouterMessages = "rutter_bmp_messages_total", "counter", "Messages received from the router since it connected.";
    RouterFaults = "rutter_bmp_faults_total", "counter", "Messages that could not be read and were skipped.";
    RouterUnknown = "rutter_bmp_unknown_total", "counter", "UPDATEs skipped because their peer is unknown or above the limit.";
    RouterMalformed = "rutter_bmp_malformed_updates_total", "counter", "Malformed UPDATEs. Their readable parts are in the table.";
    RouterWithoutNextHop = "rutter_bmp_updates_without_next_hop_total", "counter", "UPDATEs that announced routes without a next hop. The routes are in the table.";
    RouterWithoutPeerUp = "rutter_bmp_updates_without_peer_up_total", "counter", "UPDATEs of a Loc-RIB without a Peer Up. Their routes are in the table.";
    RouterOtherFamilies = "rutter_bmp_updates_of_other_families_total", "counter", "UPDATEs with routes of a family that Rutter does not keep. These routes are left out.";
    RouterMirrored = "rutter_bmp_mirrored_total", "counter", "Mirrored messages (RFC 7854).";
}

/// The samples, grouped by metric as the format requires.
struct Page {
    samples: Vec<String>,
}

impl Default for Page {
    fn default() -> Self {
        Page {
            samples: vec![String::new(); METRICS.len()],
        }
    }
}

impl Page {
    fn sample(&mut self, name: Name, labels: &[(&str, &str)], value: f64) {
        self.line(name, "", labels, value);
    }

    /// A histogram: the upper bound and the count of each bucket, then count and sum of all.
    fn histogram(
        &mut self,
        name: Name,
        labels: &[(&str, &str)],
        buckets: impl Iterator<Item = (f64, u64)>,
        (count, sum): (u64, f64),
    ) {
        let mut so_far = 0;
        let bucket = |page: &mut Page, bound: &str, count: u64| {
            let labels = [labels, &[("le", bound)]].concat();
            page.line(name, "_bucket", &labels, count as f64);
        };
        for (bound, count) in buckets {
            so_far += count;
            bucket(self, &bound.to_string(), so_far);
        }
        bucket(self, "+Inf", count);
        self.line(name, "_sum", labels, sum);
        self.line(name, "_count", labels, count as f64);
    }

    fn line(&mut self, name: Name, suffix: &str, labels: &[(&str, &str)], value: f64) {
        let out = &mut self.samples[name as usize];
        out.push_str(METRICS[name as usize].name);
        out.push_str(suffix);
        for (i, (label, text)) in labels.iter().enumerate() {
            let open = if i == 0 { '{' } else { ',' };
            let _ = write!(out, "{open}{label}=\"{}\"", Escaped(text));
        }
        if !labels.is_empty() {
            out.push('}');
        }
        let _ = writeln!(out, " {value}");
    }

    fn finish(self) -> String {
        let mut out = String::new();
        for (metric, samples) in METRICS.iter().zip(&self.samples) {
            if !samples.is_empty() {
                let Metric { name, kind, help } = metric;
                let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
                out.push_str(samples);
            }
        }
        out
    }
}

/// A label value, with escapes for the three special characters of the format.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_grouped_by_metric() {
        let mut page = Page::default();
        page.sample(Name::PeerUp, &[("peer", "a\"b\\")], 1.0);
        page.sample(Name::Uptime, &[], 12.0);
        page.sample(Name::PeerUp, &[("peer", "c")], 0.0);
        assert_eq!(
            page.finish(),
            "# HELP rutter_uptime_seconds Seconds since the daemon started.\n\
             # TYPE rutter_uptime_seconds gauge\n\
             rutter_uptime_seconds 12\n\
             # HELP rutter_peer_up 1 if the session is Established.\n\
             # TYPE rutter_peer_up gauge\n\
             rutter_peer_up{peer=\"a\\\"b\\\\\"} 1\n\
             rutter_peer_up{peer=\"c\"} 0\n"
        );
    }

    #[test]
    fn the_buckets_of_a_histogram_count_all_shorter_ones() {
        let mut page = Page::default();
        let buckets = [(0.5, 3), (1.0, 1)];
        page.histogram(
            Name::TurnSeconds,
            &[("thread", "0")],
            buckets.into_iter(),
            (5, 4.25),
        );
        let text = page.finish();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "rutter_turn_seconds_bucket{thread=\"0\",le=\"0.5\"} 3",
                "rutter_turn_seconds_bucket{thread=\"0\",le=\"1\"} 4",
                "rutter_turn_seconds_bucket{thread=\"0\",le=\"+Inf\"} 5",
                "rutter_turn_seconds_sum{thread=\"0\"} 4.25",
                "rutter_turn_seconds_count{thread=\"0\"} 5",
            ]
        );
    }

    #[test]
    fn the_document_lists_every_metric() {
        let document = include_str!("../../../docs/metrics.md");
        let rows: String = METRICS
            .iter()
            .map(|m| format!("| `{}` | {} | {} |\n", m.name, m.kind, m.help))
            .collect();
        assert!(
            document.contains(&rows),
            "docs/metrics.md must contain:\n{rows}"
        );
    }
}
