//! `rutter init`: writes the first configuration of an exchange, from options and questions.

mod document;
mod exchange;
mod questions;

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use rutter_config::ConfigSource;

use crate::check::load_for_route_server;
use crate::cli::{CommonOptions, InitArgs};
use crate::failure::Failure;
use crate::units::plural;

use exchange::Exchange;
pub(crate) use exchange::{Member, UsableAsn};
use questions::Questions;

/// Writes a configuration that passes `rutter check`, or prints it.
pub(crate) fn init(args: InitArgs, options: &CommonOptions) -> Result<(), Failure> {
    let prints = args.file.as_os_str() == "-";
    if !prints && args.file.exists() {
        return Err(exists(&args.file));
    }
    let file = args.file.clone();
    let asks = io::stdin().is_terminal();
    let exchange = match asks {
        true => Questions::new(io::stdin().lock(), io::stderr()).complete(args)?,
        false => Exchange::from_options(args)?,
    };
    let text = document::toml(&exchange);
    let source = ConfigSource::Text {
        name: file.clone(),
        text: text.clone(),
    };
    if let Err(failure) = load_for_route_server(&source, options) {
        if asks {
            // The answers are not lost.
            writeln!(
                io::stderr(),
                "\nNothing was written. The answers so far:\n\n{text}"
            )?;
        }
        return Err(failure);
    }
    if prints {
        io::stdout().write_all(text.as_bytes())?;
        return Ok(());
    }
    write_new(&file, &text)?;
    let members = plural(exchange.members.len() as u64, "member");
    let name = file.display();
    writeln!(
        io::stdout(),
        "{name}: AS{}, {members}. Next:\n  rutter check {name}\n  rutter run {name}",
        exchange.asn
    )?;
    Ok(())
}

/// Creates the file. A file that another program created in the meantime stays as it is.
fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(file),
        _ => Failure::text(format!("cannot write {}: {error}", file.display())),
    })
}

fn exists(file: &Path) -> Failure {
    Failure::text(format!(
        "{} exists already: name another file, or `-` to print the configuration",
        file.display()
    ))
}
