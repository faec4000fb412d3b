//! `rutter sql`: one query of a running collector, of MRT files, or of an archive.

#[cfg(test)]
mod agreement_tests;
mod files;
mod past;
mod remote;
#[cfg(test)]
mod server;
mod service;
mod tls;

use std::io::Read as _;
use std::path::PathBuf;

use rutter_server::CertificateFiles;

use crate::cli::SqlArgs;
use crate::failure::Failure;

pub(crate) use service::SqlService;

/// Checks that a certificate and its key are usable, for `rutter check`.
pub(crate) fn check_tls(certificate: PathBuf, key: PathBuf) -> Result<(), Failure> {
    let files = CertificateFiles { certificate, key };
    files.check().map_err(|why| Failure::text(why.to_string()))
}

/// Answers one query.
pub(crate) fn sql(mut args: SqlArgs) -> Result<(), Failure> {
    let mut query = args.take_query()?;
    let args = &args;
    if query == "-" {
        query.clear();
        std::io::stdin().read_to_string(&mut query)?;
    }
    if args.history.is_some() || !args.parquet.is_empty() {
        past::ask(args, &query)
    } else if args.mrt.is_empty() && !args.files {
        remote::ask(args, &query)
    } else {
        files::ask(args, &query)
    }
}
