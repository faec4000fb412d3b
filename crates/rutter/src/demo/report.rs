//! The report of the demo, and commands to try next.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;

use rutter_api::StatusRow;
use rutter_bench::demo::DemoReport;
use rutter_bench::workload::Workload;
use rutter_net::Prefix;

use super::needs_socket_option;
use crate::request::demo_folder;
use crate::units::{bytes, grouped};

/// The figures of the demo.
pub(super) struct Outcome {
    speakers: usize,
    clients: usize,
    exact: usize,
    routes: u64,
    ipv4: u64,
    ipv6: u64,
    advertised: u64,
    seconds: f64,
    status: StatusRow,
}

impl Outcome {
    /// Computes the figures.
    pub(super) fn new(workload: &Workload, report: &DemoReport, status: StatusRow) -> Self {
        let is_v6 = |p: &&Prefix| matches!(p, Prefix::V6(_));
        let ipv6 = workload.destinations.iter().filter(is_v6).count();
        Outcome {
            speakers: workload.announcers(),
            clients: report.speakers.len(),
            exact: report.speakers.iter().filter(|c| c.exact).count(),
            routes: report.routes as u64,
            ipv4: (report.destinations - ipv6) as u64,
            ipv6: ipv6 as u64,
            advertised: report.held,
            seconds: report.wall_s,
            status,
        }
    }

    /// Prints JSON.
    pub(super) fn print_json(&self) -> io::Result<()> {
        let row = serde_json::json!({
            "kind": "demo",
            "speakers": self.speakers,
            "clients": self.clients,
            "exact-clients": self.exact,
            "routes": self.routes,
            "ipv4-destinations": self.ipv4,
            "ipv6-destinations": self.ipv6,
            "routes-advertised": self.advertised,
            "seconds": self.seconds,
            "rss-bytes": self.status.rss_bytes,
            "cpu-s": self.status.cpu_s,
            "threads": self.status.threads,
        });
        writeln!(io::stdout(), "{row}")
    }

    /// Prints text.
    pub(super) fn print(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "Converged in {:.2} s: {} of {} clients received exactly the routes that RFC 7947 requires.\n",
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
                "advertised",
                format!(
                    "{} routes to {} clients, each one verified",
                    grouped(self.advertised),
                    self.clients
                ),
            ),
            (
                "memory",
                format!(
                    "{}: {:.0} bytes a route, with all received routes stored",
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

/// Prints the clients with differences.
pub(super) fn differences(report: &DemoReport) -> io::Result<()> {
    let mut out = io::stderr().lock();
    for client in report.speakers.iter().filter(|c| !c.exact) {
        let down = client.down.as_ref().map(|down| format!(", {down}"));
        writeln!(
            out,
            "client {}: {} of {} prefixes correct, {} received, {} unexpected, {} with wrong attributes{}",
            client.client,
            client.right,
            client.expected,
            client.held,
            client.unknown,
            client.forged,
            down.unwrap_or_default()
        )?;
        for difference in client.differences.iter().take(3) {
            writeln!(out, "    {difference}")?;
        }
    }
    let mut trouble = report.trouble.iter().take(10);
    trouble.try_for_each(|line| writeln!(out, "{line}"))
}

/// Prints commands to try.
pub(super) fn invitation(
    workload: &Workload,
    asked_for: Option<&Path>,
    web: SocketAddr,
) -> io::Result<()> {
    let program = std::env::args().next().unwrap_or_else(|| "rutter".into());
    let option = match asked_for {
        Some(socket) => format!(" --socket {}", socket.display()),
        None if needs_socket_option(asked_for) => {
            format!(" --socket {}/rutter.sock", demo_folder().display())
        }
        None => String::new(),
    };
    let example = example(workload).map(|p| p.to_string()).unwrap_or_default();
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
    writeln!(out, "\nThe looking glass is at http://{web}/")?;
    writeln!(out, "\nCtrl-C ends it.")?;
    out.flush()
}

/// Returns a destination that several speakers announce.
fn example(workload: &Workload) -> Option<Prefix> {
    let mut routes = vec![0_u8; workload.groups.len()];
    for route in &workload.routes {
        let count = &mut routes[route.group as usize];
        *count = count.saturating_add(1).min(MANY);
    }
    let most = routes.iter().max()?;
    let group = routes.iter().position(|count| count == most)?;
    let first = workload.groups[group].first as usize;
    workload.destinations.get(first).copied()
}

/// The number of routes that is enough for an example.
const MANY: u8 = 3;
