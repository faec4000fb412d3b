//! Queries the archive of a running collector with `rutter sql`, DuckDB and Spark: all return the announced routes.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rutter_interop::exabgp::ExaBgp;
use rutter_interop::rutter::{self, Rutter, neighbor};
use rutter_interop::{
    Lab, Process, Route, Speaker, client, eventually, eventually_within, output_of, up,
};

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

/// Peers of the feed.
const PEERS: u32 = 4;

/// Batches of ten routes with equal attributes: seven of IPv4, three of IPv6.
const BATCHES: u32 = 10_000;

/// A feed as an MRT file: every batch is announced, each third is changed, and each fifth is withdrawn.
struct Feed {
    mrt: Vec<u8>,
    records: u64,
}

impl Feed {
    fn new() -> Self {
        let mut feed = Feed {
            mrt: Vec::new(),
            records: 0,
        };
        for batch in 0..BATCHES {
            feed.announce(batch, 0);
        }
        for batch in (0..BATCHES).step_by(3) {
            feed.announce(batch, 1);
        }
        for batch in (0..BATCHES).step_by(5) {
            let v4 = prefixes(batch, 0..7);
            feed.update(batch, &v4, &[], &[]);
            let v6 = [&[0, 2, 1][..], &prefixes(batch, 7..10)].concat();
            feed.update(batch, &[], &attribute(0x80, 15, &v6), &[]);
        }
        feed
    }

    /// Announces a batch; `edition` is in its attributes.
    fn announce(&mut self, batch: u32, edition: u32) {
        let path = [ASN + batch % PEERS, 4_200_000_000 + batch, 65_000 + edition];
        let path: Vec<u8> = path.iter().flat_map(|asn| asn.to_be_bytes()).collect();
        let mut common = attribute(0x40, 1, &[(batch % 3) as u8]);
        common.extend(attribute(0x40, 2, &[&[2, 3][..], &path].concat()));
        if batch.is_multiple_of(2) {
            common.extend(attribute(0x80, 4, &(batch + edition).to_be_bytes()));
        }
        let communities = (0..batch % 5).flat_map(|n| (3_333 << 16 | n).to_be_bytes());
        let communities: Vec<u8> = communities.collect();
        if !communities.is_empty() {
            common.extend(attribute(0xc0, 8, &communities));
        }
        if batch.is_multiple_of(7) {
            let large = [batch, 1, edition].map(u32::to_be_bytes);
            common.extend(attribute(0xc0, 32, large.as_flattened()));
        }
        let next_hop = attribute(0x40, 3, &peer(batch));
        let attributes = [common.as_slice(), &next_hop].concat();
        self.update(batch, &[], &attributes, &prefixes(batch, 0..7));
        let mut v6 = vec![0, 2, 1, 16];
        v6.extend(0x2a0e_ffff_u32.to_be_bytes());
        v6.extend([0; 11]);
        v6.extend([2, 0]);
        v6.extend(prefixes(batch, 7..10));
        common.extend(attribute(0x80, 14, &v6));
        self.update(batch, &[], &common, &[]);
    }

    /// Adds an UPDATE of the batch's peer as a BGP4MP_ET record (RFC 6396 section 4.4.2), 600 ms after the one before.
    fn update(&mut self, batch: u32, withdrawn: &[u8], attributes: &[u8], announced: &[u8]) {
        let mut message = vec![0xff; 16];
        let length = 23 + withdrawn.len() + attributes.len() + announced.len();
        message.extend((length as u16).to_be_bytes());
        message.push(2);
        message.extend((withdrawn.len() as u16).to_be_bytes());
        message.extend(withdrawn);
        message.extend((attributes.len() as u16).to_be_bytes());
        message.extend(attributes);
        message.extend(announced);

        let time_us = 1_790_000_000_000_000 + self.records * 600_001;
        let mut body = ((time_us % 1_000_000) as u32).to_be_bytes().to_vec();
        body.extend((ASN + batch % PEERS).to_be_bytes());
        body.extend(Rutter::ASN.to_be_bytes());
        body.extend([0, 0, 0, 1]);
        body.extend(peer(batch));
        body.extend([10, 77, 0, 1]);
        body.extend(message);

        self.mrt
            .extend(((time_us / 1_000_000) as u32).to_be_bytes());
        self.mrt.extend([0, 17, 0, 4]);
        self.mrt.extend((body.len() as u32).to_be_bytes());
        self.mrt.extend(body);
        self.records += 1;
    }
}

fn peer(batch: u32) -> [u8; 4] {
    [10, 77, 0, 2 + (batch % PEERS) as u8]
}

/// A path attribute with a length of two octets.
fn attribute(flags: u8, code: u8, value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u16).to_be_bytes();
    [&[flags | 0x10, code, length[0], length[1]], value].concat()
}

/// Prefixes of a batch: /24 of IPv4 up to the seventh, /48 of IPv6 from there.
fn prefixes(batch: u32, which: Range<u32>) -> Vec<u8> {
    let encode = |n: u32| {
        let number = batch * 10 + n;
        match n {
            0..7 => [&[24], &((20 << 24) + (number << 8)).to_be_bytes()[..3]].concat(),
            _ => [&[48, 0x2a, 0x0e][..], &number.to_be_bytes()].concat(),
        }
    };
    which.flat_map(encode).collect()
}

#[test]
fn the_archive_of_a_whole_feed_is_read_by_spark_as_by_duckdb() {
    let lab = Lab::new();
    let (folder, archive) = (lab.folder("rutter"), lab.folder("history"));
    let (file, mrt) = (folder.join("c.toml"), folder.join("feed.mrt"));
    fs::write(&mrt, Feed::new().mrt).unwrap();
    let text = format!(
        "[router]\nasn = {}\nrouter-id = \"10.255.0.1\"\n[daemon]\nlisten = [\"{}:{}\"]\n\
         control-socket = \"{}\"\nstate = \"{}\"\n[history]\npath = \"{}\"\n\
         rotate = \"1s\"\nrotate-rows = 5000\nsnapshot-every = \"10s\"\n",
        Rutter::ASN,
        lab.address(1),
        lab.port(),
        folder.join("s").display(),
        folder.display(),
        archive.display(),
    );
    fs::write(&file, text).unwrap();
    let mut command = Command::new(rutter::program());
    command.arg("collect").arg(&file).arg("--mrt").arg(&mrt);
    let mut collector = Process::start("Rutter", &folder, &mut command);

    let changed = BATCHES.div_ceil(3);
    let announced = 10 * (BATCHES + changed);
    let withdrawn = 10 * BATCHES.div_ceil(5);
    let left = 10 * BATCHES - withdrawn;
    for (query, owed) in [
        (
            "SELECT count(*) FROM events WHERE kind IN ('announce', 'withdraw')",
            announced + withdrawn,
        ),
        (
            "SELECT count(*) FROM snapshots WHERE seq = (SELECT max(seq) FROM snapshots)",
            left,
        ),
    ] {
        eventually_within(Duration::from_secs(300), "the archive is complete", || {
            collector.check_alive()?;
            match ask(&archive, &[], query)?.first() {
                Some(found) if *found == owed.to_string() => Ok(()),
                found => Err(format!("{query}: {found:?} instead of {owed}")),
            }
        });
    }
    collector.stop();

    let read = duckdb_and_spark(&archive);
    for line in [
        format!("events|announce|{announced}"),
        format!("events|withdraw|{withdrawn}"),
        "events|2a0e:0:7::/48|2101 4200000000 65000|2a0e:ffff::2|0|1".to_owned(),
    ] {
        assert!(read.contains(&line), "{line} is missing: {:#?}", &read[..9]);
    }
    let hours = fs::read_dir(archive.join("events"))
        .unwrap()
        .flat_map(|day| {
            let hours = fs::read_dir(day.unwrap().path()).unwrap();
            hours.map(|hour| fs::read_dir(hour.unwrap().path()).unwrap().count())
        });
    let files: Vec<usize> = hours.collect();
    assert!(files.len() > 4, "the events are in few hours: {files:?}");
    assert!(files.iter().sum::<usize>() > 20, "few files: {files:?}");
}
