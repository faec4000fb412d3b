//! `rutter sql`: one query, asked of a running collector, of MRT files, or of the past.

mod files;
mod past;
mod remote;
mod service;
mod tls;

use std::io::Read as _;

use crate::cli::SqlArgs;
use crate::failure::Failure;

pub(crate) use service::SqlService;

/// Answers one query.
pub(crate) fn sql(args: &SqlArgs) -> Result<(), Failure> {
    let mut query = args.query.clone();
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
