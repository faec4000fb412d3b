//! Queries the archive of a running collector with `rutter sql`, DuckDB and Spark: all return the announced routes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_interop::exabgp::ExaBgp;
use rutter_interop::rutter::{self, Rutter, neighbor};
use rutter_interop::{Lab, Route, Speaker, client, eventually, output_of, up};

const ASN: u32 = 2_101;

fn routes() -> Vec<Route> {
    let via = |prefix: &str, path: &[u32]| {
        let hop = if prefix.contains(':') {
            "2a0e:ffff::2"
        } else {
            "10.77.0.2"
        };
        Route::new(prefix, hop, path)
    };
    vec![
        via("10.1.0.0/16", &[ASN, 3, 4]).med(7).community(3_333, 1),
        via("10.1.3.0/24", &[ASN, 3]).large_community(3_333, 1, 2),
        via("2a0e:50::/32", &[ASN]),
    ]
}

/// Runs `rutter sql` over the archive; returns lines of CSV without the header.
fn ask(archive: &Path, further: &[&str], query: &str) -> Result<Vec<String>, String> {
    let mut command = Command::new(rutter::program());
    command
        .args(["sql", "--csv", "--history"])
        .arg(archive)
        .args(further)
        .arg(query);
    let text = output_of(&mut command)?;
    Ok(text.lines().skip(1).map(str::to_owned).collect())
}

/// The answers of DuckDB. `tools/read-history` fails if Spark has others.
fn duckdb_and_spark(archive: &Path) -> Vec<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/python/bin/python3");
    assert!(
        python.exists(),
        "DuckDB and Spark are not installed: run tools/install-test-deps"
    );
    let mut command = Command::new(python);
    command
        .arg(root.join("tools/read-history"))
        .arg(archive)
        .args(["duckdb", "spark"]);
    let text = output_of(&mut command).unwrap_or_else(|why| panic!("{why}"));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_archive_is_read_by_rutter_duckdb_and_spark() {
    let lab = Lab::new();
    let archive = lab.folder("history");
    let section = format!(
        "[history]\npath = \"{}\"\nrotate = \"1s\"\n{}",
        archive.display(),
        neighbor(lab.address(2), ASN, "mode = \"collector\"")
    );
    let mut collector = Rutter::start_collector(&lab, &section);
    let mut exabgp = ExaBgp::start(client(&lab, &collector, 2, ASN, |_| {}));
    up(&lab, &mut collector, 2, &mut exabgp);
    exabgp.announce(&routes());
    let has = |query: &str, owed: &str| {
        eventually("the archive has all that happened", || {
            match ask(&archive, &[], query)?.first() {
                Some(found) if found == owed => Ok(()),
                found => Err(format!("{query}: {found:?}")),
            }
        });
    };
    has(
        "SELECT count(DISTINCT prefix) FROM events WHERE kind = 'announce'",
        "3",
    );
    drop(exabgp);
    has("SELECT count(*) FROM events WHERE kind = 'peer-down'", "1");
    collector.process().stop();

    let answer = |further: &[&str], query: &str| {
        ask(&archive, further, query).unwrap_or_else(|why| panic!("{why}"))
    };
    let last = &answer(&[], "SELECT max(time) FROM events WHERE kind = 'announce'")[0];
    let then = answer(
        &["--at", last],
        "SELECT prefix, as_path FROM routes ORDER BY prefix",
    );
    let owed = [
        "10.1.0.0/16,2101 3 4",
        "10.1.3.0/24,2101 3",
        "2a0e:50::/32,2101",
    ];
    assert_eq!(then, owed);
    assert_eq!(
        answer(&["--at", "2100-01-01"], "SELECT count(*) FROM routes"),
        ["0"]
    );
    let early = ask(
        &archive,
        &["--at", "2001-01-01"],
        "SELECT count(*) FROM routes",
    )
    .unwrap_err();
    assert!(
        early.contains("holds nothing of 2001-01-01 00:00:00"),
        "{early}"
    );

    let kinds = answer(
        &[],
        "SELECT 'events', kind, count(*) FROM events GROUP BY kind ORDER BY kind",
    );
    let kinds = kinds.into_iter().map(|line| line.replace(',', "|"));
    let read = duckdb_and_spark(&archive);
    assert_eq!(read[..kinds.len()], kinds.collect::<Vec<_>>());
    let path = "events|10.1.0.0/16|2101 3 4|10.77.0.2|7|";
    assert!(read.iter().any(|line| line.starts_with(path)), "{read:#?}");
    the_documented_queries_are_answered(&archive, last);
}

/// The first five queries use the table as of a time, the others the whole archive.
fn the_documented_queries_are_answered(archive: &Path, at: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/history.md");
    let text = fs::read_to_string(page).unwrap();
    let mut count = 0;
    for block in text.split("```sql\n").skip(1) {
        let query = block.split("```").next().unwrap();
        let at = ["--at", at];
        let rows = ask(archive, if count < 5 { &at } else { &[] }, query);
        let rows = rows.unwrap_or_else(|why| panic!("{why}"));
        assert!(!rows.is_empty(), "no rows: {query}");
        count += 1;
    }
    assert_eq!(count, 10);
}
