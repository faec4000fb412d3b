//! `rutter-collect bench-sql`: measures live SQL over full feeds, as a client sees it.

mod memory;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls, SimpleQueryMessage};
use rutter_bench::rng::Rng;
use rutter_config::Config;
use rutter_net::Prefix;
use rutter_service::ShutdownSignal;

use crate::cli::BenchSqlArgs;
use crate::collect::Running;
use crate::demo::{self, Table};
use crate::failure::Failure;

/// Counts the routes of each origin AS: the aggregate over all routes.
const BY_ORIGIN: &str = "SELECT origin_as, count(*) FROM routes GROUP BY origin_as";

/// Runs the benchmark. Prints each figure as soon as it is known.
pub(crate) fn run(args: &BenchSqlArgs) -> Result<(), Failure> {
    let table = Arc::new(Table::read(&args.prefixes)?);
    let (mut alone, mut asked, mut exact) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    for round in 1..=args.rounds.max(1) {
        for queried in [false, true] {
            drop(last.take());
            let collected = Measurement::run(args, &table, queried)?;
            let took = collected.took.as_secs_f64();
            if queried { &mut asked } else { &mut alone }.push(took);
            exact.push(collected.exact.as_secs_f64());
            println!(
                "round {round}, {} queries meanwhile: {} routes in {took:.2} s, the last {:.2} s after it was sent; SQL counts them all {:.3} s later",
                collected.queries,
                collected.routes,
                collected.taken.as_secs_f64(),
                collected.exact.as_secs_f64(),
            );
            last = Some(collected);
        }
    }
    let (alone, asked) = (median(&mut alone), median(&mut asked));
    println!(
        "feeds: {alone:.2} s without queries, {asked:.2} s with them: {:.2} times; SQL is exact {:.3} s after the table is (medians of {})",
        asked / alone,
        median(&mut exact),
        args.rounds.max(1)
    );
    match last {
        Some(collected) => collected.ask(args, &table),
        None => Ok(()),
    }
}

/// A collector that has received all routes.
struct Measurement {
    collector: Option<Running>,
    feeds: Vec<thread::JoinHandle<Result<(), String>>>,
    shutdown: ShutdownSignal,
    server: SocketAddr,
    routes: u64,
    took: Duration,
    taken: Duration,
    exact: Duration,
    queries: usize,
}

impl Measurement {
    /// Collects all routes. With `queried`, a client runs the aggregate all the time.
    fn run(args: &BenchSqlArgs, table: &Arc<Table>, queried: bool) -> Result<Self, Failure> {
        let (address, server) = (demo::address_near(0)?, demo::address_near(0)?);
        let mut config = configuration(&demo::folder()?, server, args.threads)?;
        config.daemon.listen = vec![address];
        let collector = Running::start(config, None)?;
        let (shutdown, ended) = (ShutdownSignal::new(), Arc::new(AtomicBool::new(false)));
        let (sent, sends) = mpsc::channel();
        let query_thread = queried.then(|| {
            let ended = Arc::clone(&ended);
            thread::spawn(move || query_until(server, &ended))
        });
        let mut client = connect(server)?;
        let begun = Instant::now();
        let feeds = demo::start_feeds(args.feeds, address, table, &shutdown, &sent)?;
        drop(sent);
        let routes = table.routes(args.feeds);
        let last = (0..args.feeds).filter_map(|_| sends.recv().ok()).max();
        let last = last.ok_or_else(|| Failure::text("no feed has ended"))?;
        demo::wait_for(&collector.context.rib, routes, &feeds, &|| false)?;
        let held = Instant::now();
        while count(&mut client, "SELECT count(*) FROM routes")? != routes {}
        let exact = held.elapsed();
        ended.store(true, Ordering::Relaxed);
        let queries = match query_thread {
            Some(query_thread) => query_thread
                .join()
                .map_err(|_| Failure::text("the client that asks has broken down"))??,
            None => 0,
        };
        Ok(Self {
            collector: Some(collector),
            feeds,
            shutdown,
            server,
            routes,
            took: held - begun,
            taken: held.saturating_duration_since(last),
            exact,
            queries,
        })
    }

    /// Runs queries over the complete table.
    fn ask(&self, args: &BenchSqlArgs, table: &Table) -> Result<(), Failure> {
        let mut client = connect(self.server)?;
        let peers = "SELECT count(*) FROM (SELECT peer_name, count(*) AS a, count(DISTINCT prefix) AS b \
             FROM routes GROUP BY peer_name) AS p WHERE a = b";
        println!(
            "each of {} peers has as many routes as prefixes",
            count(&mut client, peers)?
        );
        let (mut times, mut groups) = (Vec::new(), 0);
        for _ in 0..7 {
            let begun = Instant::now();
            groups = rows(&mut client, BY_ORIGIN)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        println!(
            "count by origin AS over {} routes, {groups} rows: median of 7 {:.0} ms, best {:.0} ms ({} threads)",
            self.routes,
            median(&mut times),
            times[0],
            args.threads
        );
        let mut found = 0;
        let mut times = Vec::new();
        let mut rng = Rng::new(3);
        for number in 0..args.lookups.max(1) {
            let inside = table.of_feed((number % 2) as u16);
            let address = address(inside[rng.below(inside.len() as u64) as usize]);
            let sql = format!(
                "SELECT prefix, peer_name, as_path, next_hop, best FROM lookup('{address}')"
            );
            let begun = Instant::now();
            found += rows(&mut client, &sql)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let p50 = median(&mut times);
        println!(
            "longest match, {} queries, {found} rows: p50 {p50:.2} ms, p99 {:.2} ms",
            times.len(),
            times[times.len() * 99 / 100]
        );
        self.memory()?;
        match (&self.collector, args.memory) {
            (Some(collector), true) => memory::measure(&collector.context.rib, args.threads),
            _ => Ok(()),
        }
    }

    fn memory(&self) -> Result<(), Failure> {
        let Some(collector) = &self.collector else {
            return Ok(());
        };
        let octets: u64 = collector
            .context
            .rib
            .memory()
            .iter()
            .map(|row| row.bytes)
            .sum();
        println!(
            "memory of the table: {} MiB, {:.1} octets a route with its attributes",
            octets >> 20,
            octets as f64 / self.routes as f64
        );
        Ok(())
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        if let Some(collector) = self.collector.take() {
            collector.stop("the measurement is over");
        }
        self.shutdown.trigger();
        for feed in self.feeds.drain(..) {
            let _ = feed.join();
        }
    }
}

fn configuration(folder: &Path, server: SocketAddr, threads: usize) -> Result<Config, Failure> {
    let socket = folder.join(format!("bench-{}.sock", std::process::id()));
    let text = format!(
        "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n\
         [daemon]\ncontrol-socket = \"{}\"\nlog = \"error\"\n\
         [[dynamic-neighbor]]\nprefix = \"127.1.0.0/16\"\nmode = \"collector\"\nlimit = 1000\n\
         [sql]\nlisten = [\"{server}\"]\nthreads = {threads}\n",
        socket.display()
    );
    let loaded = Config::parse(&text, Path::new("bench.toml"));
    loaded.map(|loaded| loaded.config).map_err(|errors| {
        let words: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::text(words.join("\n"))
    })
}

/// Runs the aggregate until all routes are received. Returns the number of queries.
fn query_until(server: SocketAddr, ended: &AtomicBool) -> Result<usize, Failure> {
    let mut client = connect(server)?;
    let mut queries = 0;
    while !ended.load(Ordering::Relaxed) {
        rows(&mut client, BY_ORIGIN)?;
        queries += 1;
    }
    Ok(queries)
}

fn connect(server: SocketAddr) -> Result<Client, Failure> {
    let parameters = format!(
        "host={} port={} user=bench dbname=rutter",
        server.ip(),
        server.port()
    );
    Client::connect(&parameters, NoTls).map_err(|why| Failure::text(why.to_string()))
}

/// Returns the number of rows of an answer.
fn rows(client: &mut Client, sql: &str) -> Result<usize, Failure> {
    let messages = client.simple_query(sql);
    let messages = messages.map_err(|why| Failure::text(why.to_string()))?;
    let is_row = |message: &&SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(_));
    Ok(messages.iter().filter(is_row).count())
}

/// Returns the number that a query answers.
fn count(client: &mut Client, sql: &str) -> Result<u64, Failure> {
    let messages = client.simple_query(sql);
    let messages = messages.map_err(|why| Failure::text(why.to_string()))?;
    let number = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    });
    number.ok_or_else(|| Failure::text(format!("no number: {sql}")))
}

/// Returns the last address of a prefix.
fn address(prefix: Prefix) -> IpAddr {
    match prefix {
        Prefix::V4(prefix) => IpAddr::V4(prefix.last_bits().into()),
        Prefix::V6(prefix) => IpAddr::V6(prefix.last_bits().into()),
    }
}

/// Returns the median and sorts the times.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
