//! Kafka: two collectors share a topic, and a group of two readers builds their tables from it. A collector that is
//! killed repeatedly does the same.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rutter_bench::rng::Rng;
use rutter_config::{Broker, SinkTarget};
use rutter_interop::kafka::Kafka;
use rutter_interop::rutter::{Rutter, neighbor};
use rutter_interop::{Lab, eventually, output_of};
use serde_json::Value;

use crate::feed::{Feed, Way};
use crate::stage::{Stage, docs, seed};

fn stage(lab: &Lab, broker: &Kafka, collector: &'static str, seed: u64) -> Stage {
    let target = SinkTarget::Kafka(Broker {
        brokers: vec![broker.address()],
        topic: "rutter".into(),
        tombstones: seed % 2 == 0,
        answer_timeout_s: 30,
        tls: None,
        sasl: None,
    });
    Stage::new(collector, target, lab.folder(collector), seed)
}

/// A message without its offset.
struct Message {
    key: String,
    value: Option<String>,
}

/// A reader of messages as docs/sinks.md describes it.
#[derive(Default)]
struct Reader {
    /// By partition and key.
    routes: BTreeMap<(String, String), Value>,
    /// Numbers of events, by collector and run.
    numbers: BTreeMap<(String, u64), BTreeSet<u64>>,
    /// Messages of events, to find repeated ones.
    events: BTreeSet<(String, String, String, u64)>,
    again: usize,
    /// The size of each message in bytes.
    sizes: Vec<usize>,
}

impl Reader {
    fn read(&mut self, partition: &str, message: &Message) {
        let (partition, key) = (partition.to_owned(), message.key.clone());
        let Some(value) = &message.value else {
            self.routes.remove(&(partition, key));
            return;
        };
        self.sizes.push(key.len() + value.len());
        let value: Value = serde_json::from_str(value).expect("a value is JSON");
        assert_eq!(value["schema"], 1);
        let kind = value["kind"].as_str().expect("a kind");
        if !["state", "clear"].contains(&kind) {
            let run = value["run"].as_u64().expect("a run");
            let of = (
                value["collector"].as_str().unwrap_or_default().to_owned(),
                run,
            );
            let seq = value["seq"].as_u64().expect("a number");
            let message = (partition.clone(), key.clone(), of.0.clone(), seq);
            self.again += usize::from(!self.events.insert(message));
            self.numbers.entry(of).or_default().insert(seq);
        }
        match kind {
            "announce" | "state" => drop(self.routes.insert((partition, key), value)),
            "withdraw" => drop(self.routes.remove(&(partition, key))),
            "clear" => self
                .routes
                .retain(|(at, _), route| *at != partition || !covers(&value, route)),
            _ => {}
        }
    }

    fn of(&self, collector: &str) -> BTreeSet<String> {
        let own = self
            .routes
            .values()
            .filter(|route| route["collector"] == collector);
        let line = |route: &Value| {
            let text = |name: &str| route[name].as_str().unwrap_or_default().to_owned();
            let path_id = &route["path_id"];
            format!(
                "{}|{}|{path_id}|{}",
                text("peer_address"),
                text("prefix"),
                text("as_path")
            )
        };
        own.map(line).collect()
    }
}

fn covers(clear: &Value, route: &Value) -> bool {
    if clear["collector"] != route["collector"] {
        return false;
    }
    let family = if route["prefix"].to_string().contains(':') {
        "ipv6"
    } else {
        "ipv4"
    };
    clear["peer_address"].is_null()
        || clear["peer_address"] == route["peer_address"] && clear["family"] == family
}

/// The messages that a group of two reads.
fn read_by_group(broker: &Kafka, topic: &str) -> Reader {
    read((0..2).map(|_| broker.member(topic, "readers")).collect())
}

fn read(members: Vec<Command>) -> Reader {
    let members: Vec<_> = members
        .into_iter()
        .map(|mut member| thread::spawn(move || output_of(&mut member)))
        .collect();
    // A partition may have moved from one member to the other.
    let mut messages: BTreeMap<(String, u64), Message> = BTreeMap::new();
    for member in members {
        let text = member.join().expect("the reader ends");
        let text = text.unwrap_or_else(|why| panic!("{why}"));
        for line in text.lines() {
            let mut columns = line.splitn(5, '\t').map(str::to_owned);
            let mut column = || columns.next().unwrap_or_default();
            let (partition, offset) = (column(), column());
            let (key, len, value) = (column(), column(), column());
            let value = (len != "-1").then_some(value);
            let offset = offset.parse().expect("an offset");
            messages.insert((partition, offset), Message { key, value });
        }
    }
    let mut reader = Reader::default();
    for ((partition, _), message) in &messages {
        reader.read(partition, message);
    }
    reader
}

/// No row of a topic is missing.
pub fn check_topic(broker: &Kafka, topic: &str) {
    check_numbers(&read(vec![broker.dump(topic)]));
}

/// No number of a run is missing.
fn check_numbers(reader: &Reader) {
    for ((collector, run), numbers) in &reader.numbers {
        let last = numbers.last().copied().unwrap_or_default();
        assert_eq!(
            numbers.len() as u64,
            last + 1,
            "{collector}, run {run}: rows are missing"
        );
    }
}

/// Runs the queries of docs/sinks.md unchanged; their current routes must be those of both collectors.
fn ask_questions(broker: &Kafka, owed: &[BTreeSet<String>; 2]) {
    let text = std::fs::read_to_string(docs().join("sinks.md")).expect("docs/sinks.md");
    let (_, section) = text
        .split_once("## Ten questions to Kafka\n")
        .expect("the heading");
    let section = section.replace("localhost:9092", &broker.address());
    let blocks = section.split("```sh\n").skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split("```").next());
    let functions = blocks.next().expect("the functions");
    let ask = |question: &str| {
        let script = format!("set -eo pipefail\n{functions}\n{question}");
        let answer = output_of(Command::new("bash").args(["-c", &script]));
        answer.unwrap_or_else(|why| panic!("{why}"))
    };
    let current = ask(
        r#"current | jq -r '"\(.collector) \(.peer_address)|\(.prefix)|\(.path_id)|\(.as_path)"'"#,
    );
    let mut current: Vec<&str> = current.lines().collect();
    current.sort_unstable();
    let of = |(name, owed): (&str, &BTreeSet<String>)| -> Vec<String> {
        owed.iter().map(|line| format!("{name} {line}")).collect()
    };
    let owed: Vec<String> = ["one", "two"].into_iter().zip(owed).flat_map(of).collect();
    assert_eq!(current, owed, "by the functions of docs/sinks.md");
    let asked: Vec<&str> = blocks.collect();
    assert_eq!(asked.len(), 10);
    for question in asked {
        assert!(!ask(question).is_empty(), "no answer to {question}");
    }
}

#[test]
fn kafka_is_exact_whoever_is_killed() {
    let lab = Lab::new();
    let mut broker = Kafka::start(&lab);
    let mut rng = Rng::new(seed(7));
    a_group_reads_what_two_collectors_write(&lab, &mut broker, &mut rng);
    a_topic_that_operators_change_becomes_complete(&lab, &mut broker);
    a_topic_with_a_small_limit_becomes_complete(&lab, &broker);
    the_collector_itself_is_killed(&lab, &mut broker, &mut rng);
}

/// Operators add partitions, remove permissions and recreate the topic, and the broker hangs. In the end the topic
/// holds the current routes.
fn a_topic_that_operators_change_becomes_complete(lab: &Lab, broker: &mut Kafka) {
    broker.create_topic("recreated", 2);
    let target = SinkTarget::Kafka(Broker {
        brokers: vec![broker.address()],
        topic: "recreated".into(),
        tombstones: false,
        answer_timeout_s: 5,
        tls: None,
        sasl: None,
    });
    let mut stage = Stage::new("recreated", target, lab.folder("recreated"), 9);
    stage.act(300);
    stage.has_written();
    broker.forbid_writing("recreated", true);
    stage.act(50);
    stage.complains(&["we may not write to topic `recreated`: grant"]);
    broker.forbid_writing("recreated", false);
    stage.act(50);
    holds_all(broker, &stage, "recreated");
    broker.freeze();
    stage.act(50);
    stage.complains(&["no answer within `answer-timeout`"]);
    broker.thaw();
    holds_all(broker, &stage, "recreated");
    assert_eq!(stage.sink().status().gaps, 0, "nothing was lost so far");
    broker.add_partitions("recreated", 3);
    // Only a writer looks for new partitions, from time to time.
    let gaps = eventually("a gap reports the new partition", || {
        stage.act(10);
        let status = stage.sink().status();
        if status.gaps > 0 {
            Ok(status.gaps)
        } else {
            Err(status.line())
        }
    });
    holds_all(broker, &stage, "recreated");
    let gap = || stage.sink().status().last_gap.unwrap_or_default();
    assert!(gap().starts_with("no rows are missing: "), "{}", gap());
    broker.delete_topic("recreated");
    broker.create_topic("recreated", 2);
    stage.act(50);
    stage.has_reported(gaps + 1);
    holds_all(broker, &stage, "recreated");
    let gap = stage.sink().status().last_gap.unwrap_or_default();
    // The messages start at zero again. Messages sent to the new topic before the change was noticed are lost.
    let of_topic = "topic `recreated` has lost messages ";
    assert!(
        gap.starts_with("rows before row ") && gap.contains(of_topic),
        "{gap}"
    );
    assert_eq!(stage.sink().status().gaps, gaps + 1, "reported twice");
    stage.stop();
}

/// Requests are limited to the topic's maximum size. If a message exceeds it, the sink reports that, sends nothing
/// twice, and continues when the topic is fixed.
fn a_topic_with_a_small_limit_becomes_complete(lab: &Lab, broker: &Kafka) {
    broker.create_topic("little", 2);
    broker.take_at_most("little", 1_500);
    let target = SinkTarget::Kafka(Broker {
        brokers: vec![broker.address()],
        topic: "little".into(),
        tombstones: false,
        // A slow machine must not cause retransmissions.
        answer_timeout_s: 600,
        tls: None,
        sasl: None,
    });
    let mut stage = Stage::new("little", target, lab.folder("little"), 10);
    stage.act(400);
    holds_all(broker, &stage, "little");
    // The largest quarter of the messages is rejected, and so are messages of nearly that size: a request adds 61
    // bytes, and a record 9 or 10. Small messages pass, and wait before others that do not.
    let mut sizes = read(vec![broker.dump("little")]).sizes;
    sizes.sort_unstable();
    let most = sizes[sizes.len() * 3 / 4] as u32 + 66;
    broker.take_at_most("little", most);
    let before = stage.sink().status().failures;
    eventually("the sink complains several times", || {
        stage.act(20);
        let status = stage.sink().status();
        match status.failures >= before + 3 {
            true => Ok(()),
            false => Err(status.line()),
        }
    });
    stage.complains(&[
        "topic `little` does not accept a message of ",
        "raise its `max.message.bytes` to at least ",
    ]);
    broker.take_at_most("little", 1_500);
    holds_all(broker, &stage, "little");
    assert_eq!(stage.sink().status().gaps, 0, "nothing was lost");
    stage.stop();
    let reader = read(vec![broker.dump("little")]);
    check_numbers(&reader);
    assert_eq!(reader.again, 0, "of {} messages", reader.events.len());
}

fn holds_all(broker: &Kafka, stage: &Stage, topic: &str) {
    stage.has_written();
    holds_routes(broker, stage, topic);
}

/// Waits until the topic holds the current routes of the collector with the topic's name.
pub fn holds_routes(broker: &Kafka, stage: &Stage, topic: &str) {
    eventually("the topic holds the current routes", || {
        let read = read(vec![broker.dump(topic)]).of(topic);
        let owed = stage.owed();
        match read == owed {
            true => Ok(()),
            false => Err(format!("{} routes, {} owed", read.len(), owed.len())),
        }
    });
}

fn a_group_reads_what_two_collectors_write(lab: &Lab, broker: &mut Kafka, rng: &mut Rng) {
    broker.create_topic("rutter", 3);
    let mut stages = [stage(lab, broker, "one", 7), stage(lab, broker, "two", 8)];
    stages.iter_mut().for_each(|stage| stage.act(400));
    thread::sleep(Duration::from_millis(rng.below(600)));
    broker.kill();
    stages[0].act(300);
    stages[1].restart();
    stages[1].act(300);
    broker.run();
    for stage in &stages {
        stage.has_written();
    }
    stages.iter_mut().for_each(Stage::stop);
    let reader = read_by_group(broker, "rutter");
    let owed = stages.each_ref().map(Stage::owed);
    assert_eq!(reader.of("one"), owed[0]);
    assert_eq!(reader.of("two"), owed[1]);
    check_numbers(&reader);
    ask_questions(broker, &owed);
}

fn the_collector_itself_is_killed(lab: &Lab, broker: &mut Kafka, rng: &mut Rng) {
    broker.create_topic("killed", 2);
    let mut collector = Rutter::start_collector(lab, &sections(lab, broker));
    let way = Way::Bgp((lab.address(1), lab.port()).into());
    let feeds: Vec<Feed> = (2..4)
        .map(|host| Feed::start(way, lab.address(host), asn(host), 2_000))
        .collect();
    // The number of rows that it reported as accepted before the kill, by run.
    let mut taken = Vec::new();
    for round in 0..3 {
        thread::sleep(Duration::from_millis(rng.below(2_000)));
        let away = round == 1;
        if away {
            broker.kill();
            thread::sleep(Duration::from_millis(rng.below(1_000)));
        }
        let row = sink(&collector).unwrap_or_else(|why| panic!("{why}"));
        taken.push((number(&row, "run"), number(&row, "spooled")));
        collector.kill();
        if away {
            broker.run();
        }
        collector.run_again();
    }
    thread::sleep(Duration::from_millis(500 + rng.below(1_000)));
    feeds.iter().for_each(|feed| feed.be_quiet(true));
    let owed = eventually("the collector has all", || {
        let owed: BTreeSet<String> = feeds.iter().flat_map(Feed::routes).collect();
        let rows = collector.ask(&["show", "routes"])?;
        let held: BTreeSet<String> = rows.iter().filter_map(line).collect();
        match held == owed {
            true => Ok(owed),
            false => Err(format!("{} routes, {} owed", held.len(), owed.len())),
        }
    });
    // Routes reach the spool quickly.
    thread::sleep(Duration::from_secs(1));
    eventually("all is written", || {
        let row = sink(&collector)?;
        let all = row["state"] == "live" && row["spooled"] == row["committed"];
        if all { Ok(()) } else { Err(row.to_string()) }
    });
    collector.process().stop();
    let reader = read_by_group(broker, "killed");
    let read = reader.of("10.255.0.1");
    let read: BTreeSet<String> = read
        .iter()
        .map(|line| line.replacen("|0|", "|", 1))
        .collect();
    assert!(read == owed, "{} routes, {} owed", read.len(), owed.len());
    check_numbers(&reader);
    for (run, taken) in taken {
        let numbers = reader.numbers.get(&("10.255.0.1".to_owned(), run));
        let count = numbers.map_or(0, BTreeSet::len) as u64;
        assert!(count >= taken, "run {run}: {count} of {taken} rows");
    }
}

fn sections(lab: &Lab, broker: &Kafka) -> String {
    let neighbors = (2..4).map(|n| neighbor(lab.address(n), asn(n), "mode = \"collector\""));
    let sink = format!(
        "[[sink]]\ntype = \"kafka\"\nbrokers = [\"{}\"]\ntopic = \"killed\"\nspool = \"{}\"\n",
        broker.address(),
        lab.folder("spool").display()
    );
    neighbors.collect::<String>() + &sink
}

fn asn(host: u8) -> u32 {
    65_000 + u32::from(host)
}

/// The row of the sink in the collector's output.
fn sink(collector: &Rutter) -> Result<Value, String> {
    let rows = collector.ask(&["show", "sinks"])?;
    rows.into_iter().next().ok_or_else(|| "no sink".to_owned())
}

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().expect("a number")
}

/// `address|prefix|path` of a row of `show routes`.
fn line(row: &Value) -> Option<String> {
    let prefix = row["prefix"].as_str()?;
    let (peer, path) = (
        row["peer"]["address"].as_str()?,
        row["attributes"]["as-path"].as_str()?,
    );
    Some(format!("{peer}|{prefix}|{path}"))
}
