//! `rutter export`: the table as a file for other programs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rutter_table::{Table, export};

use crate::cli::{Ask, Export, MmdbArgs};
use crate::failure::Failure;
use crate::lookup::table;
use crate::units::{grouped, plural};

/// Exports.
pub(crate) fn export(how: &Ask, what: Export) -> Result<(), Failure> {
    match what {
        Export::Mmdb(args) => mmdb(how, &args),
    }
}

fn mmdb(how: &Ask, args: &MmdbArgs) -> Result<(), Failure> {
    let table = table(how, &args.table)?;
    if table.routes().is_empty() {
        return Err(Failure::text(format!(
            "the table is empty: {} is left as it was",
            args.file.display()
        )));
    }
    let octets = write(args, &table)
        .map_err(|error| Failure::text(format!("{}: {error}", args.file.display())))?;
    if !how.json {
        let routes = plural(table.routes().len() as u64, "route");
        let octets = grouped(octets);
        println!("{}: {routes}, {octets} octets", args.file.display());
    }
    Ok(())
}

/// Writes beside the file and moves it into its place, so that its readers never see half of it. What is no file (a pipe, a
/// device) is written to as it is.
fn write(args: &MmdbArgs, table: &Table) -> io::Result<u64> {
    let metadata = export::Metadata {
        database_type: args.database_type.clone(),
        description: "Routing table written by rutter".into(),
        build_epoch: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |now| now.as_secs()),
    };
    // Where a link leads.
    let file = fs::canonicalize(&args.file).unwrap_or_else(|_| args.file.clone());
    if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
        let mut octets = Vec::new();
        export::mmdb(table, &metadata, &mut octets)?;
        File::options()
            .write(true)
            .open(&file)?
            .write_all(&octets)?;
        return Ok(octets.len() as u64);
    }
    let unfinished = beside(&file);
    let written = (|| {
        let mut out = BufWriter::with_capacity(1 << 20, File::create_new(&unfinished)?);
        export::mmdb(table, &metadata, &mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        let octets = out.get_ref().metadata()?.len();
        fs::rename(&unfinished, &file)?;
        Ok(octets)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn beside(file: &Path) -> PathBuf {
    let mut name = OsString::from(file.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    file.with_file_name(name)
}
