//! `rutter lookup`: the daemon answers for single addresses; many addresses are looked up in a copy of its table.

use std::io::{self, BufWriter, Read};
use std::net::IpAddr;

use rutter_api::{LookupQuery, Request};
use rutter_sources::rpki::read_vrps;
use rutter_table::stream::{self, Rows, StreamError};
use rutter_table::{Dump, Lines, from_daemon, from_mrt};

use crate::cli::{CommonOptions, LookupArgs, TableArgs};
use crate::failure::Failure;
use crate::request::{connect, send};
use crate::units::plural;

/// Runs the command.
pub(crate) fn lookup(options: &CommonOptions, args: &LookupArgs) -> Result<(), Failure> {
    let in_bulk = args.addresses.iter().any(|text| text == "-");
    if in_bulk && args.addresses.len() > 1 {
        return Err(Failure::text(
            "`-` must be the only argument: addresses come from the command line or from standard input",
        ));
    }
    let is_local = args.table.mrt.is_some() || args.table.vrps.is_some();
    if args.or_best && (in_bulk || is_local) {
        return Err(Failure::text(
            "--or-best works only for look-ups in the daemon: omit `-`, --mrt and --vrps",
        ));
    }
    let dump = args.table.mrt.as_ref();
    if in_bulk && dump.is_some_and(|path| path.as_os_str() == "-") {
        return Err(Failure::text(
            "standard input cannot be both the table dump and the addresses: use a file for one",
        ));
    }
    if in_bulk {
        return look_up_locally(options, &args.table, io::stdin());
    }
    let addresses = parse(&args.addresses)?;
    if is_local {
        return look_up_locally(
            options,
            &args.table,
            io::Cursor::new(args.addresses.join("\n")),
        );
    }
    // A request has a maximum length, which 1,000 addresses do not reach.
    for addresses in addresses.chunks(1_000) {
        let query = LookupQuery {
            addresses: addresses.to_vec(),
            routes: args.table.selector(),
            or_best: args.or_best,
        };
        send(options, Request::Lookup(query))?;
    }
    Ok(())
}

fn parse(texts: &[String]) -> Result<Vec<IpAddr>, Failure> {
    let parse = |text: &String| {
        text.parse().map_err(|_| {
            let hint = match text.contains('/') {
                true => "\n`rutter show route PREFIX` shows the routes of a prefix",
                false => "",
            };
            Failure::text(format!("`{text}` is not an IP address{hint}"))
        })
    };
    texts.iter().map(parse).collect()
}

fn look_up_locally(
    options: &CommonOptions,
    args: &TableArgs,
    input: impl Read + Send + 'static,
) -> Result<(), Failure> {
    let dump = dump(options, args)?;
    let lines = match options.json {
        true => Lines::json(&dump.table),
        false => Lines::text(&dump.table),
    };
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let mut rows = Rows::new(input);
    let done = rows.take_mark();
    let done = done.and_then(|_| stream::run(rows, &lines, &mut out));
    let counts = done.map_err(|error| failure("standard input", error))?;
    if let Some((line, Some(text))) = &counts.first {
        let (without, all) = (plural(counts.without, "line"), counts.rows);
        rutter_daemon::eprint_line(format_args!(
            "standard input: {without} of {all} with no IP address, the first is line {line}: `{text}`"
        ));
    }
    dump.verdict.map_err(Failure::Text)
}

/// Reads the requested table. Its verdict is that of the command, after everything else.
pub(crate) fn dump(options: &CommonOptions, args: &TableArgs) -> Result<Dump, Failure> {
    let failed = |error: rutter_table::ReadError| Failure::Text(error.0);
    let report = |line: &str| rutter_daemon::eprint_line(line);
    let mut dump = match &args.mrt {
        Some(path) => from_mrt(path, &args.selector(), &report).map_err(failed)?,
        None => {
            let table = from_daemon(connect(options)?, args.selector()).map_err(failed)?;
            Dump::whole(table)
        }
    };
    if let Some(path) = &args.vrps {
        let vrps = read_vrps(path).map_err(Failure::Text)?;
        dump.table.validate(&vrps);
    }
    Ok(dump)
}

/// Converts a stream error into a failure.
pub(crate) fn failure(input: &str, error: StreamError) -> Failure {
    match error {
        StreamError::Write(error) => error.into(),
        StreamError::Read(error) => Failure::text(format!("{input}: {error}")),
        StreamError::Row(row) => Failure::text(format!("{input}:{}: {}", row.line, row.what)),
    }
}
