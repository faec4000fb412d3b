//! What happened, and what to try next.

use std::io::{self, Write};
use std::path::Path;

use rutter_api::StatusRow;
use rutter_load::speaker::{ClientReport, Progress};
use rutter_load::tracker::Bench;
use rutter_net::Prefix;

use crate::units::{bytes, grouped};

/// What happened.
pub(super) fn report(
    bench: &Bench,
    clients: &[ClientReport],
    progress: &Progress,
    status: &StatusRow,
) -> io::Result<()> {
    let workload = &bench.workload;
    let routes = workload.total_routes() as u64;
    let seconds = progress.elapsed().as_secs_f64();
    let held: u64 = clients.iter().map(|c| u64::from(c.held)).sum();
    let exact = clients.iter().filter(|c| c.exact).count();
    let v6 = workload
        .destinations
        .iter()
        .filter(|p| matches!(p, Prefix::V6(_)));
    let (all, v6) = (workload.destinations.len() as u64, v6.count() as u64);
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "Converged in {seconds:.2} s: {exact} of {} clients hold exactly the routes that RFC 7947 owes them.\n",
        clients.len()
    )?;
    let mut line = |label: &str, text: String| writeln!(out, "  {label:<14} {text}");
    line(
        "announced",
        format!(
            "{} routes by {} speakers, {} a second",
            grouped(routes),
            workload.announcers(),
            grouped((routes as f64 / seconds) as u64)
        ),
    )?;
    line(
        "destinations",
        format!(
            "{}: {} IPv4, {} IPv6",
            grouped(all),
            grouped(all - v6),
            grouped(v6)
        ),
    )?;
    line(
        "sent on",
        format!(
            "{} routes to {} clients, each one verified",
            grouped(held),
            clients.len()
        ),
    )?;
    line(
        "memory",
        format!(
            "{}: {:.0} bytes a route, every received route kept",
            bytes(status.rss_bytes),
            status.rss_bytes as f64 / routes as f64
        ),
    )?;
    line(
        "CPU",
        format!("{:.2} s on {} threads", status.cpu_s, status.threads),
    )
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
