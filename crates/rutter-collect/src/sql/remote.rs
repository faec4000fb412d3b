//! A query of a running collector, over the PostgreSQL protocol.

use std::io::{self, Write as _};

use postgres::config::SslMode;
use postgres::types::Type;
use postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};
use rutter_sql::{Format, keys};

use crate::cli::SqlArgs;
use crate::failure::Failure;

use super::tls::Verifying;

/// Asks, and prints what comes.
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
            let tls = Verifying::with(root)?;
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
    let kinds = kinds(&mut client, query)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (mut first, mut widths) = (true, None);
    each_piece(&mut client, query, |rows| {
        match args.format() {
            Format::Json => json(&mut out, &kinds, rows)?,
            Format::Csv => csv(&mut out, &kinds, rows, std::mem::take(&mut first))?,
            Format::Table => table(&mut out, &kinds, rows, &mut widths)?,
        }
        Ok(())
    })?;
    Ok(out.flush()?)
}

/// Rows that are asked for at once.
const PIECE: usize = 1000;

/// Takes the rows a piece at a time: all of them may be more than fits in memory. There is one piece at least.
fn each_piece(
    client: &mut Client,
    query: &str,
    mut take: impl FnMut(&[SimpleQueryRow]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let query = query.trim().trim_end_matches(';');
    if !has_cursor(query) {
        return take(&ask_for(client, query)?);
    }
    let declare = format!("BEGIN; DECLARE answer NO SCROLL CURSOR FOR {query}");
    client
        .batch_execute(&declare)
        .map_err(|error| said(&error))?;
    let fetch = format!("FETCH {PIECE} FROM answer");
    loop {
        let rows = ask_for(client, &fetch)?;
        take(&rows)?;
        if rows.len() < PIECE {
            return Ok(());
        }
    }
}

/// Whether a statement is one whose rows can be fetched.
fn has_cursor(query: &str) -> bool {
    let word = query.split(|c: char| !c.is_ascii_alphabetic()).next();
    let word = word.unwrap_or_default().to_ascii_uppercase();
    matches!(word.as_str(), "SELECT" | "WITH" | "VALUES" | "TABLE")
}

fn ask_for(client: &mut Client, query: &str) -> Result<Vec<SimpleQueryRow>, Failure> {
    let messages = client.simple_query(query).map_err(|error| said(&error))?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(rows.collect())
}

/// Name and type of each column.
fn kinds(client: &mut Client, query: &str) -> Result<Vec<(String, Type)>, Failure> {
    let statement = client.prepare(query).map_err(|error| said(&error))?;
    let columns = statement.columns().iter();
    Ok(columns
        .map(|c| (c.name().to_owned(), c.type_().clone()))
        .collect())
}

fn said(error: &postgres::Error) -> Failure {
    let text = error.as_db_error().map(|error| error.message().to_owned());
    Failure::text(text.unwrap_or_else(|| error.to_string()))
}

fn json(
    out: &mut impl io::Write,
    kinds: &[(String, Type)],
    rows: &[SimpleQueryRow],
) -> Result<(), Failure> {
    let keys = keys(kinds.iter().map(|(name, _)| name.as_str()));
    for row in rows {
        let mut object = serde_json::Map::new();
        for (at, (key, (_, kind))) in keys.iter().zip(kinds).enumerate() {
            object.insert(key.clone(), value(row.get(at), kind));
        }
        writeln!(out, "{}", serde_json::Value::Object(object))?;
    }
    Ok(())
}

fn value(text: Option<&str>, kind: &Type) -> serde_json::Value {
    let Some(text) = text else {
        return serde_json::Value::Null;
    };
    let numbers = [Type::INT2, Type::INT4, Type::INT8, Type::FLOAT8];
    match *kind {
        Type::BOOL => serde_json::Value::Bool(text == "t"),
        Type::TEXT_ARRAY => list(text, &Type::TEXT),
        Type::BOOL_ARRAY => list(text, &Type::BOOL),
        Type::INT8_ARRAY => list(text, &Type::INT8),
        Type::FLOAT8_ARRAY => list(text, &Type::FLOAT8),
        _ if numbers.contains(kind) => text
            .parse::<serde_json::Number>()
            .map_or_else(|_| serde_json::Value::from(text), serde_json::Value::Number),
        _ => serde_json::Value::from(text),
    }
}

/// A list as PostgreSQL writes it: `{a,"b c",NULL}`.
fn list(text: &str, kind: &Type) -> serde_json::Value {
    let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let mut chars = inner.unwrap_or(text).chars();
    let (mut items, mut item, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    loop {
        match chars.next() {
            Some('"') => {
                (quoted, any) = (true, true);
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    item.extend(if c == '\\' { chars.next() } else { Some(c) });
                }
            }
            Some(c) if c != ',' => {
                any = true;
                item.push(c);
            }
            end => {
                if any || end.is_some() || !items.is_empty() {
                    let null = !quoted && item == "NULL";
                    items.push(value((!null).then_some(&*item), kind));
                }
                item.clear();
                (quoted, any) = (false, false);
                if end.is_none() {
                    return items.into();
                }
            }
        }
    }
}

fn csv(
    out: &mut impl io::Write,
    kinds: &[(String, Type)],
    rows: &[SimpleQueryRow],
    first: bool,
) -> io::Result<()> {
    let line = |values: Vec<&str>| {
        let quote = |text: &&str| match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => (*text).to_owned(),
        };
        values.iter().map(quote).collect::<Vec<_>>().join(",")
    };
    if first {
        let names = kinds.iter().map(|(name, _)| name.as_str());
        writeln!(out, "{}", line(names.collect()))?;
    }
    rows.iter().try_for_each(|row| {
        let values = (0..kinds.len()).map(|at| row.get(at).unwrap_or(""));
        writeln!(out, "{}", line(values.collect()))
    })
}

/// Columns are as wide as the first rows need.
fn table(
    out: &mut impl io::Write,
    kinds: &[(String, Type)],
    rows: &[SimpleQueryRow],
    widths: &mut Option<Vec<usize>>,
) -> io::Result<()> {
    let cell = |row: &SimpleQueryRow, at| row.get(at).unwrap_or("").to_owned();
    let width = |(at, (name, _)): (usize, &(String, Type))| {
        let cells = rows.iter().map(|row| cell(row, at).chars().count());
        cells.max().unwrap_or(0).max(name.chars().count())
    };
    let first = widths.is_none();
    let widths = widths.get_or_insert_with(|| kinds.iter().enumerate().map(width).collect());
    let mut line = |cells: Vec<String>| {
        let padded = cells
            .iter()
            .zip(widths.iter())
            .map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    if first {
        line(kinds.iter().map(|(name, _)| name.clone()).collect())?;
    }
    for row in rows {
        line((0..kinds.len()).map(|at| cell(row, at)).collect())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rutter_sql::{Access, Bounds, Engine, Limits, Server, Settings};

    use super::*;

    #[test]
    fn no_column_of_an_object_is_lost() {
        let settings = Settings {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            access: Access::Open,
            tls: None,
            threads: 1,
            bounds: Bounds::default(),
            step_back: || {},
            give_back: || {},
        };
        let engine = Engine::without_tables(&Limits::default()).unwrap();
        let server = Server::start(engine, settings).unwrap();
        let port = server.addresses()[0].port();
        let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
        let mut client = Client::connect(&parameters, NoTls).unwrap();
        let query = "SELECT 1 AS peer, 'x' AS peer, 2 AS y";
        let kinds = kinds(&mut client, query).unwrap();
        let rows = ask_for(&mut client, query).unwrap();
        let mut out = Vec::new();
        json(&mut out, &kinds, &rows).unwrap();
        let object: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let expected = serde_json::json!({"peer": 1, "peer_2": "x", "y": 2});
        assert_eq!(object, expected);
    }

    #[test]
    fn what_has_rows_is_read_by_a_cursor() {
        assert!(has_cursor("select 1") && has_cursor("WITH a AS (SELECT 1) TABLE a"));
        assert!(!has_cursor("SHOW server_version") && !has_cursor(""));
    }

    #[test]
    fn lists_are_lists() {
        let json = |text, kind: Type| value(Some(text), &kind).to_string();
        assert_eq!(json("{}", Type::TEXT_ARRAY), "[]");
        assert_eq!(
            json(
                r#"{64500:1,"a b","c,}\"\\",NULL,"NULL",""}"#,
                Type::TEXT_ARRAY
            ),
            r#"["64500:1","a b","c,}\"\\",null,"NULL",""]"#
        );
        assert_eq!(json("{1,NULL,-3}", Type::INT8_ARRAY), "[1,null,-3]");
        assert_eq!(json("{t,f}", Type::BOOL_ARRAY), "[true,false]");
        assert_eq!(
            json("18446744073709551615", Type::INT8),
            "18446744073709551615"
        );
    }
}
