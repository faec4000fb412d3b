//! `rutter check` and `rutter diff`: configurations, without touching anything.

mod files;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rutter_api::{ConfigErrorRow, DiffRow, Line, Request};
use rutter_config::{Config, ConfigError, Loaded, Severity};

use crate::ask::ask;
use crate::cli::Ask;
use crate::failure::Failure;
use crate::paint::Paint;
use crate::render::DiffView;
use crate::units::plural;

/// Says everything that is wrong with a configuration, and with what of the disk it names.
pub(crate) fn check(file: &Path, how: &Ask) -> Result<(), Failure> {
    let loaded = load_for_route_server(file, how)?;
    let found = files::look(&loaded.paths);
    print(&found, how)?;
    fail_for(&found, file, how)?;
    if how.json {
        return Ok(());
    }
    let config = &loaded.config;
    writeln!(
        io::stdout(),
        "{}: good; AS{}, {}, {}",
        file.display(),
        config.asn,
        plural(config.neighbors.len() as u64, "neighbor"),
        plural(loaded.files.len() as u64, "file"),
    )?;
    Ok(())
}

/// Shows what changes between two configurations.
pub(crate) fn diff(file: PathBuf, against: PathBuf, how: &Ask) -> Result<(), Failure> {
    if against.as_os_str() == "running" {
        let file = Some(std::path::absolute(file)?);
        return ask(how, Request::Diff { file });
    }
    let (old, new) = (load(&against, how)?, load(&file, how)?);
    let diff = DiffRow::from(rutter_config::diff(&old.config, &new.config));
    let mut out = io::stdout();
    match how.json {
        true => json_line(&mut out, &Line::Diff(Box::new(diff)))?,
        false => DiffView(Paint::stdout(how.color)).diff(&diff, &mut out)?,
    }
    Ok(())
}

/// As [`load`], for who serves no more than a route server does.
pub(crate) fn load_for_route_server(file: &Path, how: &Ask) -> Result<Loaded, Failure> {
    let loaded = load(file, how)?;
    print(loaded.only_collected.as_slice(), how)?;
    Ok(loaded)
}

/// Reads a configuration; prints warnings, or errors and fails.
pub(crate) fn load(file: &Path, how: &Ask) -> Result<Loaded, Failure> {
    match Config::load(file) {
        Ok(loaded) => {
            print(&loaded.warnings, how)?;
            Ok(loaded)
        }
        Err(errors) => {
            print(&errors, how)?;
            fail_for(&errors, file, how)?;
            Err(Failure::Said)
        }
    }
}

/// Fails where there are errors among what was found.
fn fail_for(found: &[ConfigError], file: &Path, how: &Ask) -> Result<(), Failure> {
    let errors = found.iter().filter(|e| e.severity == Severity::Error);
    match (errors.count() as u64, how.json) {
        (0, _) => Ok(()),
        (_, true) => Err(Failure::Said),
        (count, false) => {
            let count = plural(count, "error");
            Err(Failure::text(format!("{}: {count}", file.display())))
        }
    }
}

fn print(errors: &[ConfigError], how: &Ask) -> io::Result<()> {
    for error in errors {
        match how.json {
            true => json_line(
                &mut io::stdout(),
                &Line::ConfigError(ConfigErrorRow::from(error)),
            )?,
            false => rutter_daemon::say(error),
        }
    }
    Ok(())
}

fn json_line(out: &mut dyn Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}
