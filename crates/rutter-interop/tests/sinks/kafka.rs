//! Kafka: two collectors share a topic, a group of two readers makes their tables out of it.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use rutter_config::{Broker, SinkTarget};
use rutter_interop::kafka::Kafka;
use rutter_interop::{Lab, output_of};
use serde_json::Value;

use crate::stage::Stage;

fn stage(lab: &Lab, broker: &Kafka, collector: &'static str, seed: u64) -> Stage {
    let target = SinkTarget::Kafka(Broker {
        brokers: vec![broker.address()],
        topic: "rutter".into(),
        tombstones: seed % 2 == 0,
    });
    Stage::new(collector, target, lab.folder(collector), seed)
}

/// What a reader does with each message, as docs/sinks.md tells it.
#[derive(Default)]
struct Reader {
    /// By partition and key.
    routes: BTreeMap<(String, String), Value>,
    /// Numbers of events, by collector and run.
    numbers: BTreeMap<(String, u64), BTreeSet<u64>>,
}

impl Reader {
    fn read(&mut self, line: &str) {
        let mut columns = line.splitn(3, '\t').map(str::to_owned);
        let mut column = || columns.next().unwrap_or_default();
        let (partition, key, value) = (column(), column(), column());
        if value == "null" {
            self.routes.remove(&(partition, key));
            return;
        }
        let value: Value = serde_json::from_str(&value).expect("a value is JSON");
        assert_eq!(value["schema"], 1);
        let kind = value["kind"].as_str().expect("a kind");
        if !["state", "clear"].contains(&kind) {
            let run = value["run"].as_u64().expect("a run");
            let of = (
                value["collector"].as_str().unwrap_or_default().to_owned(),
                run,
            );
            let seq = value["seq"].as_u64().expect("a number");
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

fn read_all(broker: &Kafka) -> Reader {
    let members: Vec<_> = (0..2)
        .map(|_| {
            let mut member = broker.reader("rutter", "readers");
            thread::spawn(move || output_of(&mut member))
        })
        .collect();
    let mut reader = Reader::default();
    for member in members {
        let text = member
            .join()
            .expect("the reader ends")
            .expect("the reader reads");
        text.lines().for_each(|line| reader.read(line));
    }
    reader
}

#[test]
fn a_group_reads_what_two_collectors_write_while_the_broker_is_killed() {
    let lab = Lab::new();
    let mut broker = Kafka::start(&lab);
    broker.create_topic("rutter", 3);
    let mut stages = [
        stage(&lab, &broker, "one", 7),
        stage(&lab, &broker, "two", 8),
    ];
    stages.iter_mut().for_each(|stage| stage.act(400));
    thread::sleep(std::time::Duration::from_millis(300));
    broker.kill();
    stages[0].act(300);
    stages[1].restart();
    stages[1].act(300);
    broker.run();
    for stage in &stages {
        stage.has_written();
    }
    stages.iter_mut().for_each(Stage::stop);
    let reader = read_all(&broker);
    assert_eq!(reader.of("one"), stages[0].owed());
    assert_eq!(reader.of("two"), stages[1].owed());
    for ((collector, run), numbers) in reader.numbers {
        let last = numbers.last().copied().unwrap_or_default();
        assert_eq!(
            numbers.len() as u64,
            last + 1,
            "{collector}, run {run}: rows are missing"
        );
    }
}
