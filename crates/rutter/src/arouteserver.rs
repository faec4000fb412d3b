//! `rutter import arouteserver` and `rutter run --arouteserver`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rutter_config::{ConfigSource, convert_arouteserver};

use crate::check::{fail_for, print};
use crate::cli::{ARouteServerArgs, CommonOptions};
use crate::failure::Failure;
use crate::toml_string::{toml_string, toml_strings};

/// Prints ARouteServer's files as Rutter's configuration.
pub(crate) fn import(
    general: &Path,
    clients: &Path,
    args: &ARouteServerArgs,
    options: &CommonOptions,
) -> Result<(), Failure> {
    let ConfigSource::Text { name, text } = source(general, clients, args)? else {
        return Ok(());
    };
    match convert_arouteserver(&text, &name) {
        Ok(converted) => {
            print(&converted.warnings, options)?;
            io::stdout().write_all(converted.toml.as_bytes())?;
            Ok(())
        }
        Err(errors) => {
            print(&errors, options)?;
            fail_for(&errors, general, options)?;
            Err(Failure::AlreadyReported)
        }
    }
}

/// The configuration that names these files.
pub(crate) fn source(
    general: &Path,
    clients: &Path,
    args: &ARouteServerArgs,
) -> Result<ConfigSource, Failure> {
    let mut text = String::from("[arouteserver]\n");
    let files = [
        ("general", Some(general)),
        ("clients", Some(clients)),
        ("bogons", args.bogons.as_deref()),
        ("peeringdb", args.peeringdb.as_deref()),
        ("rtt-file", args.rtt_file.as_deref()),
    ];
    for (key, path) in files {
        if let Some(path) = path {
            let path = std::path::absolute(path)?;
            text += &format!("{key} = {}\n", toml_string(path.to_string_lossy()));
        }
    }
    let lists = [
        ("lan", &args.lan),
        ("rtr", &args.rtr),
        ("irr-server", &args.irr_server),
        ("irr-sources", &args.irr_source),
    ];
    for (key, values) in lists.into_iter().filter(|(_, values)| !values.is_empty()) {
        text += &format!("{key} = {}\n", toml_strings(values));
    }
    Ok(ConfigSource::Text {
        name: PathBuf::from("(command line)"),
        text,
    })
}
