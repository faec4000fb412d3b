//! Checks the arguments of a benchmark before it begins, so that it does not fail after minutes.

use std::fs::File;
use std::path::Path;

use clap::ValueEnum as _;

use crate::arguments::Bench;
use crate::daemons::{Daemon, Kind, control};
use crate::under_load::Scene;

/// Checks the arguments for a workload with `clients` clients.
pub(crate) fn check(args: &Bench, clients: usize) -> Result<(), String> {
    let gone = |pid: &u32| !Path::new("/proc").join(pid.to_string()).exists();
    if let Some(pid) = args.pid.filter(gone) {
        return Err(format!("--pid {pid}: there is no such process"));
    }
    let started = || {
        let daemons = std::iter::once(&args.daemon).chain(&args.vs);
        daemons.filter(|_| args.attach.is_none())
    };
    programs(started())?;
    if let Some(daemon) = started().find(|daemon| args.reload && !control::reloads(daemon.kind)) {
        return Err(format!(
            "--reload: the benchmark does not know how to reload the policy of {daemon}; it does for rutter, bird and bird3"
        ));
    }
    if let Some(daemon) = started().find(|daemon| args.checks && !control::reloads(daemon.kind)) {
        return Err(format!(
            "--checks: the benchmark does not know how to write the policy of {daemon}; it does for rutter, bird and bird3"
        ));
    }
    let kinds: Vec<Option<Kind>> = match args.attach {
        Some(_) => vec![None],
        None => started().map(|daemon| Some(daemon.kind)).collect(),
    };
    scenes(&args.scene, clients, &kinds)?;
    match &args.json {
        Some(path) if path.as_os_str() != "-" => can_write("--json", path),
        _ => Ok(()),
    }
}

/// Checks that a requested scene works with at least one daemon.
fn scenes(scenes: &[Scene], clients: usize, kinds: &[Option<Kind>]) -> Result<(), String> {
    let is_known = |scene: &Scene| kinds.iter().any(|kind| scene.is_known_to(*kind, clients));
    let Some(scene) = scenes.iter().find(|scene| !is_known(scene)) else {
        return Ok(());
    };
    let value = scene.to_possible_value();
    let needs = match scene {
        Scene::Show => "rutter, rutter-collect, bird or bird3",
        Scene::Readers | Scene::Visitors | Scene::Dump | Scene::Reload => {
            "rutter or rutter-collect"
        }
        Scene::Aggregate | Scene::LongestMatch => "--daemon rutter-collect",
        Scene::Slow | Scene::Lost | Scene::Load => "more clients",
    };
    Err(format!(
        "--scene {}: none of these daemons supports it; it needs {needs}",
        value.as_ref().map_or("", |value| value.get_name()),
    ))
}

/// Checks that the daemons' programs exist.
pub(crate) fn programs<'a>(daemons: impl IntoIterator<Item = &'a Daemon>) -> Result<(), String> {
    match daemons.into_iter().find(|daemon| !daemon.program_exists()) {
        Some(daemon) => Err(format!(
            "{daemon}: there is no program {}; write {daemon}=PROGRAM with its path",
            daemon.program.display()
        )),
        None => Ok(()),
    }
}

/// Creates the file, so that an error is found before the benchmark begins. An existing file keeps its content until
/// then.
pub(crate) fn can_write(option: &str, path: &Path) -> Result<(), String> {
    let opened = File::options().append(true).create(true).open(path);
    opened.map_or_else(
        |error| Err(format!("{option} {}: {error}", path.display())),
        |_| Ok(()),
    )
}

#[cfg(test)]
mod tests {
    use crate::cli;

    #[test]
    fn impossible_measurements_are_rejected_at_once() {
        let bench = |arguments: &[&str]| cli::main(arguments.iter().map(Into::into)).unwrap_err();
        for (arguments, error) in [
            (
                &["1x1", "--daemon", "bird=/nonexistent/bird"][..],
                "bird: there is no program /nonexistent/bird",
            ),
            (
                &["1x1", "--daemon", "bird=/etc/passwd"],
                "bird: there is no program /etc/passwd",
            ),
            (
                &["1x1", "--daemon", "bird=sh", "--vs", "frr=no-such-bgpd"],
                "frr: there is no program no-such-bgpd",
            ),
            (
                &["1x1", "--daemon", "rutter=sh", "--vs", "frr=sh", "--reload"],
                "the policy of frr",
            ),
            (
                &[
                    "1x1",
                    "--daemon",
                    "rutter=sh",
                    "--under-load",
                    "--scene",
                    "aggregate",
                ],
                "--scene aggregate: none of these daemons supports it; it needs --daemon rutter-collect",
            ),
            (
                &[
                    "1x1",
                    "--daemon",
                    "bird=sh",
                    "--json",
                    "/nonexistent/report",
                ],
                "--json /nonexistent/report",
            ),
        ] {
            let found = bench(arguments);
            assert!(found.contains(error), "{found}");
        }
    }
}
