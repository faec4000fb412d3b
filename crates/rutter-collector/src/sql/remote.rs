//! A query of a running collector, over the PostgreSQL protocol.

use std::io;

use postgres::config::SslMode;
use postgres::types::Type;
use postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};
use rutter_sql::Printer;

use crate::cli::SqlArgs;
use crate::failure::Failure;

use super::tls::connector;

/// Runs the query and prints its rows.
pub(super) fn ask(args: &SqlArgs, query: &str) -> Result<(), Failure> {
    let mut config = postgres::Config::new();
    config
        .host(&args.server.ip().to_string())
        .port(args.server.port())
        .user(&args.user)
        .dbname("rutter")
        .application_name("rutter sql")
        .connect_timeout(std::time::Duration::from_secs(10));
    if let Some(password) = &args.password {
        config.password(password);
    }
    let client = match &args.tls_root {
        None => config.connect(NoTls),
        Some(root) => {
            let tls = connector(root)?;
            config.ssl_mode(SslMode::Require).connect(tls)
        }
    };
    let mut client = client.map_err(|error| {
        let server = args.server;
        let why = std::error::Error::source(&error).map_or(String::new(), |why| format!(": {why}"));
        Failure::text(format!(
            "cannot ask {server}: {error}{why}\n  does `rutter collect` run there with a section [sql]? --mrt FILE asks files instead"
        ))
    })?;
    let out = io::BufWriter::new(io::stdout().lock());
    let mut printer = Printer::new(out, args.format(), kinds(&mut client, query)?);
    for_each_batch(&mut client, query, |rows| {
        let rows: Vec<_> = rows.iter().map(cells).collect();
        Ok(printer.rows(&rows)?)
    })?;
    Ok(printer.end()?)
}

fn cells(row: &SimpleQueryRow) -> Vec<Option<&str>> {
    (0..row.len()).map(|at| row.get(at)).collect()
}

/// The number of rows that one FETCH requests.
const FETCH_ROWS: usize = 1000;

/// Passes the rows to `take` in pieces, because all of them may exceed the memory. There is at least one piece.
fn for_each_batch(
    client: &mut Client,
    query: &str,
    mut take: impl FnMut(&[SimpleQueryRow]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let query = query.trim().trim_end_matches(';');
    if !has_cursor(query) {
        return take(&simple_query(client, query)?);
    }
    let declare = format!("BEGIN; DECLARE answer NO SCROLL CURSOR FOR {query}");
    client
        .batch_execute(&declare)
        .map_err(|error| query_failure(&error))?;
    let fetch = format!("FETCH {FETCH_ROWS} FROM answer");
    loop {
        let rows = simple_query(client, &fetch)?;
        take(&rows)?;
        if rows.len() < FETCH_ROWS {
            return Ok(());
        }
    }
}

/// Returns whether a cursor can fetch the rows of a statement.
fn has_cursor(query: &str) -> bool {
    let word = query.split(|c: char| !c.is_ascii_alphabetic()).next();
    let word = word.unwrap_or_default().to_ascii_uppercase();
    matches!(word.as_str(), "SELECT" | "WITH" | "VALUES" | "TABLE")
}

fn simple_query(client: &mut Client, query: &str) -> Result<Vec<SimpleQueryRow>, Failure> {
    let messages = client
        .simple_query(query)
        .map_err(|error| query_failure(&error))?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(rows.collect())
}

/// Returns the name and type of each column.
fn kinds(client: &mut Client, query: &str) -> Result<Vec<(String, Type)>, Failure> {
    let statement = client
        .prepare(query)
        .map_err(|error| query_failure(&error))?;
    let columns = statement.columns().iter();
    Ok(columns
        .map(|c| (c.name().to_owned(), c.type_().clone()))
        .collect())
}

fn query_failure(error: &postgres::Error) -> Failure {
    let text = error.as_db_error().map(|error| error.message().to_owned());
    Failure::text(text.unwrap_or_else(|| error.to_string()))
}

#[cfg(test)]
mod tests {
    use rutter_sql::Format;

    use super::super::server;
    use super::*;

    #[test]
    fn no_column_of_an_object_is_lost() {
        let (_server, address) = server::start(None);
        let port = address.port();
        let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
        let mut client = Client::connect(&parameters, NoTls).unwrap();
        let query = "SELECT 1 AS peer, 'x' AS peer, 2 AS y";
        let kinds = kinds(&mut client, query).unwrap();
        let rows = simple_query(&mut client, query).unwrap();
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, Format::Json, kinds);
        let rows: Vec<_> = rows.iter().map(cells).collect();
        printer.rows(&rows).unwrap();
        assert_eq!(out, b"{\"peer\":1,\"peer_2\":\"x\",\"y\":2}\n");
    }

    #[test]
    fn queries_with_rows_are_read_by_a_cursor() {
        assert!(has_cursor("select 1") && has_cursor("WITH a AS (SELECT 1) TABLE a"));
        assert!(!has_cursor("SHOW server_version") && !has_cursor(""));
    }
}
