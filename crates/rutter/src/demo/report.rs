//! What happened, and what to try next.

use std::io::{self, Write};
use std::path::Path;

use rutter_api::StatusRow;
use rutter_load::speaker::{ClientReport, Progress};
use rutter_load::tracker::Bench;
use rutter_net::Prefix;

use crate::units::{bytes, grouped};

/// What happened, in figures.
pub(super) struct Outcome {
    speakers: usize,
    clients: usize,
    exact: usize,
    routes: u64,
    ipv4: u64,
    ipv6: u64,
    sent_on: u64,
    seconds: f64,
    status: StatusRow,
}

impl Outcome {
    /// Adds everything up.
    pub(super) fn new(
        bench: &Bench,
        clients: &[ClientReport],
        progress: &Progress,
        status: StatusRow,
    ) -> Self {
        let workload = &bench.workload;
        let is_v6 = |p: &&Prefix| matches!(p, Prefix::V6(_));
        let ipv6 = workload.destinations.iter().filter(is_v6).count();
        Outcome {
            speakers: workload.announcers(),
            clients: clients.len(),
            exact: clients.iter().filter(|c| c.exact).count(),
            routes: workload.total_routes() as u64,
            ipv4: (workload.destinations.len() - ipv6) as u64,
            ipv6: ipv6 as u64,
            sent_on: clients.iter().map(|c| u64::from(c.held)).sum(),
            seconds: progress.elapsed().as_secs_f64(),
            status,
        }
    }

    /// For programs.
    pub(super) fn print_json(&self) -> io::Result<()> {
        let row = serde_json::json!({
            "kind": "demo",
            "speakers": self.speakers,
            "clients": self.clients,
            "exact-clients": self.exact,
            "routes": self.routes,
            "ipv4-destinations": self.ipv4,
            "ipv6-destinations": self.ipv6,
            "routes-sent-on": self.sent_on,
            "seconds": self.seconds,
            "rss-bytes": self.status.rss_bytes,
            "cpu-s": self.status.cpu_s,
            "threads": self.status.threads,
        });
        writeln!(io::stdout(), "{row}")
    }

    /// For people.
    pub(super) fn print(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "Converged in {:.2} s: {} of {} clients hold exactly the routes that RFC 7947 owes them.\n",
            self.seconds, self.exact, self.clients
        )?;
        for (label, text) in self.lines() {
            writeln!(out, "  {label:<14} {text}")?;
        }
        Ok(())
    }

    fn lines(&self) -> [(&'static str, String); 5] {
        let routes = self.routes as f64;
        let rss = self.status.rss_bytes;
        [
            (
                "announced",
                format!(
                    "{} routes by {} speakers, {} a second",
                    grouped(self.routes),
                    self.speakers,
                    grouped((routes / self.seconds) as u64)
                ),
            ),
            (
                "destinations",
                format!(
                    "{}: {} IPv4, {} IPv6",
                    grouped(self.ipv4 + self.ipv6),
                    grouped(self.ipv4),
                    grouped(self.ipv6)
                ),
            ),
            (
                "sent on",
                format!(
                    "{} routes to {} clients, each one verified",
                    grouped(self.sent_on),
                    self.clients
                ),
            ),
            (
                "memory",
                format!(
                    "{}: {:.0} bytes a route, every received route kept",
                    bytes(rss),
                    rss as f64 / routes
                ),
            ),
            (
                "CPU",
                format!(
                    "{:.2} s on {} threads",
                    self.status.cpu_s, self.status.threads
                ),
            ),
        ]
    }
}

/// Which clients are not exact, and how.
pub(super) fn differences(clients: &[ClientReport]) -> io::Result<()> {
    let mut out = io::stderr().lock();
    for client in clients.iter().filter(|c| !c.exact) {
        writeln!(
            out,
            "client {}: {} of {} prefixes right, {} held, {} unknown, {} forged{}",
            client.client,
            client.right,
            client.expected,
            client.held,
            client.unknown,
            client.forged,
            client
                .down
                .as_ref()
                .map(|d| format!(", {d}"))
                .unwrap_or_default()
        )?;
        for difference in client.differences.iter().take(3) {
            writeln!(out, "    {difference}")?;
        }
    }
    Ok(())
}

/// Commands to try.
pub(super) fn invitation(
    bench: &Bench,
    asked_for: Option<&Path>,
    socket: &Path,
    packaged: &str,
) -> io::Result<()> {
    let program = std::env::args().next().unwrap_or_else(|| "rutter".into());
    let option = match asked_for.is_some() || Path::new(packaged).exists() {
        true => format!(" --socket {}", socket.display()),
        false => String::new(),
    };
    let example = example(bench).map(|p| p.to_string()).unwrap_or_default();
    let mut out = io::stdout().lock();
    writeln!(out, "\nThe route server stays up. In another terminal:\n")?;
    for command in [
        "show peers".to_owned(),
        "show peer speaker-01".to_owned(),
        format!("explain {example}"),
        "show routes --best --limit 20".to_owned(),
        "show memory".to_owned(),
    ] {
        writeln!(out, "  {program} {command}{option}")?;
    }
    writeln!(out, "\nCtrl-C ends it.")?;
    out.flush()
}

/// A destination that several speakers announce.
fn example(bench: &Bench) -> Option<Prefix> {
    let groups = &bench.workload.groups;
    let group = (0..groups.len()).max_by_key(|group| bench.oracle.of_group(*group).len().min(4))?;
    bench
        .workload
        .destinations
        .get(groups[group].first as usize)
        .copied()
}
