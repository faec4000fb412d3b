//! Compares the memory that queries use with the limit `sql.memory`.

use std::fs;
use std::sync::Arc;

use postgres::fallible_iterator::FallibleIterator as _;
use postgres::{Client, NoTls};
use rutter_rib::Rib;
use rutter_sql::{Access, ConnectionBounds, Limits, Server, Settings, live_database};

use crate::failure::Failure;

/// Queries that need much memory, each over all routes.
const QUERIES: [(&str, &str); 6] = [
    (
        "sort",
        "SELECT prefix, peer_name, as_path FROM routes ORDER BY as_path, prefix",
    ),
    (
        "group by two columns",
        "SELECT prefix, as_path, count(*) FROM routes GROUP BY prefix, as_path",
    ),
    (
        "group by four columns, with lists",
        "SELECT prefix, as_path, peer_name, next_hop, array_agg(communities) FROM routes GROUP BY 1, 2, 3, 4",
    ),
    (
        "join with itself",
        "SELECT a.prefix, b.as_path FROM routes a JOIN routes b ON a.prefix = b.prefix AND a.peer_asn = b.peer_asn",
    ),
    (
        "one list of all",
        "SELECT array_agg(prefix), array_agg(as_path) FROM routes",
    ),
    (
        "texts of 20,000 signs",
        "SELECT prefix, repeat('x', 20000) AS a, repeat(peer_name, 2000) AS b FROM routes LIMIT 50000",
    ),
];

/// The limits in MiB.
const LIMITS: [usize; 4] = [128, 256, 384, 512];

/// Runs each query with each limit, and reports how much the process grew.
pub(super) fn measure(rib: &Arc<Rib>, threads: usize) -> Result<(), Failure> {
    let mut worst = (0.0, "");
    for limit in LIMITS {
        for (name, sql) in QUERIES {
            let server = serve(rib, limit << 20, threads)?;
            rutter_daemon::release_free_memory();
            fs::write("/proc/self/clear_refs", "5")?;
            let before = status("VmRSS:")?;
            let answer = ask(&server, sql)?;
            let grown = status("VmHWM:")?.saturating_sub(before);
            let times = grown as f64 / (limit << 10) as f64;
            println!(
                "sql.memory {limit} MiB, {name}: {answer}; the process grew by {} MiB at most, {times:.2} times the limit",
                grown >> 10
            );
            if times > worst.0 {
                worst = (times, name);
            }
        }
    }
    let (times, name) = worst;
    println!("at most {times:.2} times the limit ({name})");
    Ok(())
}

fn serve(rib: &Arc<Rib>, memory: usize, threads: usize) -> Result<Server, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::text(why.to_string());
    let database = live_database(Arc::clone(rib), None, &Limits { memory, threads });
    let settings = Settings {
        listen: vec![([127, 0, 0, 1], 0).into()],
        access: Access::Open,
        tls: None,
        threads,
        bounds: ConnectionBounds::default(),
        step_back: || {},
        release: rutter_daemon::release_free_memory,
    };
    Server::start(database.map_err(|why| failed(&why))?, settings).map_err(|why| failed(&why))
}

/// Reads a whole answer row by row. Returns the number of rows, or that the server refused the query.
fn ask(server: &Server, sql: &str) -> Result<String, Failure> {
    let failed = |why: postgres::Error| Failure::text(why.to_string());
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=bench dbname=rutter");
    let mut client = Client::connect(&parameters, NoTls).map_err(failed)?;
    let none: [&str; 0] = [];
    let rows = client.query_raw(sql, none).and_then(|rows| rows.count());
    Ok(match rows {
        Ok(rows) => format!("{rows} rows"),
        Err(why) if why.as_db_error().is_some() => "refused".to_owned(),
        Err(why) => return Err(failed(why)),
    })
}

/// Returns a figure of this process in KiB.
fn status(name: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    figure.ok_or_else(|| Failure::text(format!("/proc/self/status has no {name}")))
}
