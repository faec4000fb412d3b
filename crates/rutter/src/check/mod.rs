//! `rutter check` and `rutter diff`: check and compare configurations, without a change to the daemon.

mod files;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rutter_api::{ConfigErrorRow, DiffRow, DiffText, Line, Request};
use rutter_config::{ConfigError, ConfigSource, Loaded, PathRole, Severity};

use crate::cli::CommonOptions;
use crate::command::configuration;
use crate::failure::Failure;
use crate::paint::Paint;
use crate::render::DiffView;
use crate::request::send;
use crate::units::plural;

/// Reports all errors of a configuration, and of the files and folders that it names.
pub(crate) fn check(source: ConfigSource, options: &CommonOptions) -> Result<(), Failure> {
    let file = source.name();
    let loaded = load(&source, options)?;
    let mut found = files::look(&loaded.paths);
    found.extend(unsigned(&loaded));
    print(&found, options)?;
    fail_for(&found, file, options)?;
    if options.json {
        return Ok(());
    }
    let config = &loaded.config;
    writeln!(
        io::stdout(),
        "{}: valid{}; AS{}, {}, {}",
        file.display(),
        match loaded.only_collected {
            Some(_) => " for `rutter collect`",
            None => "",
        },
        config.asn,
        plural(config.neighbors.len() as u64, "neighbor"),
        plural(loaded.files.len() as u64, "file"),
    )?;
    Ok(())
}

/// The kernel cannot sign a session as the configuration wants: the daemon would refuse to start.
fn unsigned(loaded: &Loaded) -> Option<ConfigError> {
    let why = rutter_daemon::check_tcp_ao(&loaded.config).err()?;
    let mut paths = loaded.paths.iter();
    let key = paths.find(|named| named.role == PathRole::AoKey)?;
    Some(key.finding(Severity::Error, why, rutter_daemon::TCP_AO_HINT))
}

/// Prints the differences between two configurations, and with `routes` those of the daemon's routes.
pub(crate) fn diff(
    file: PathBuf,
    against: PathBuf,
    routes: Option<u64>,
    options: &CommonOptions,
) -> Result<(), Failure> {
    let new = configuration(file)?;
    if against.as_os_str() == "running" {
        let request = match new {
            ConfigSource::File(file) => Request::Diff {
                file: Some(std::path::absolute(file)?),
                routes,
            },
            ConfigSource::Text { name, text } => Request::DiffText(DiffText {
                name,
                text_bytes: text.len() as u64,
                text,
                routes,
            }),
        };
        return send(options, request);
    }
    if routes.is_some() {
        return Err(Failure::text(
            "--routes compares with the table of a daemon: leave --against out",
        ));
    }
    let old = load(&configuration(against)?, options)?;
    let new = load(&new, options)?;
    let diff = DiffRow::from(rutter_config::diff(&old.config, &new.config));
    let mut out = io::stdout();
    match options.json {
        true => json_line(&mut out, &Line::Diff(Box::new(diff)))?,
        false => DiffView(Paint::stdout(options.color)).diff(&diff, &mut out)?,
    }
    Ok(())
}

/// Loads a configuration for a command that serves no collector sections.
pub(crate) fn load_for_route_server(
    source: &ConfigSource,
    options: &CommonOptions,
) -> Result<Loaded, Failure> {
    let loaded = load(source, options)?;
    print(loaded.only_collected.as_slice(), options)?;
    Ok(loaded)
}

/// Loads a configuration. Prints its warnings, or prints its errors and fails.
pub(crate) fn load(source: &ConfigSource, options: &CommonOptions) -> Result<Loaded, Failure> {
    match source.load() {
        Ok(loaded) => {
            print(&loaded.warnings, options)?;
            Ok(loaded)
        }
        Err(errors) => {
            print(&errors, options)?;
            fail_for(&errors, source.name(), options)?;
            Err(Failure::AlreadyReported)
        }
    }
}

/// Fails if there are errors among the findings.
pub(crate) fn fail_for(
    found: &[ConfigError],
    file: &Path,
    options: &CommonOptions,
) -> Result<(), Failure> {
    let errors = found.iter().filter(|e| e.severity == Severity::Error);
    match (errors.count() as u64, options.json) {
        (0, _) => Ok(()),
        (_, true) => Err(Failure::AlreadyReported),
        (count, false) => {
            let count = plural(count, "error");
            Err(Failure::text(format!("{}: {count}", file.display())))
        }
    }
}

/// Prints findings, as lines or as JSON.
pub(crate) fn print(errors: &[ConfigError], options: &CommonOptions) -> io::Result<()> {
    for error in errors {
        match options.json {
            true => json_line(
                &mut io::stdout(),
                &Line::ConfigError(ConfigErrorRow::from(error)),
            )?,
            false => rutter_daemon::eprint_line(error),
        }
    }
    Ok(())
}

fn json_line(out: &mut dyn Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}
