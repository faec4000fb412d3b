//! The files in `examples/monitoring`: Prometheus scrapes a route server and a collector, evaluates every alert rule, and
//! has data for every panel of the dashboards.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_interop::bird::Bird;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{
    Lab, Process, Route, Speaker, client, eventually, holds, output_of, program, up,
};
use serde_json::Value;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/monitoring")
}

/// A running Prometheus with the alert rules of the examples.
struct Prometheus {
    address: String,
    process: Process,
}

impl Prometheus {
    /// Starts it on host 9 of the lab. It scrapes `target` each second.
    fn start(lab: &Lab, target: &str) -> Prometheus {
        let folder = lab.folder("prometheus");
        let address = format!("{}:9190", lab.address(9));
        let example = fs::read_to_string(examples().join("prometheus.yml")).expect("an example");
        let settings = example
            .replace("15s", "1s")
            .replace("127.0.0.1:9179", target);
        assert_ne!(settings, example);
        fs::write(folder.join("prometheus.yml"), settings).expect("a file");
        let rules = "rutter-alerts.yml";
        fs::copy(examples().join(rules), folder.join(rules)).expect("a file");
        let mut command = Command::new(program("prometheus"));
        command
            .current_dir(&folder)
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg(format!("--web.listen-address={address}"));
        let process = Process::start("Prometheus", &folder, &mut command);
        Prometheus { address, process }
    }

    /// The values of an expression now.
    fn query(&mut self, expression: &str) -> Result<Vec<Value>, String> {
        self.process.check_alive()?;
        let mut tool = Command::new(program("promtool"));
        tool.args(["query", "instant", "--format=json"]);
        tool.arg(format!("http://{}", self.address)).arg(expression);
        let text = output_of(&mut tool)?;
        serde_json::from_str(&text).map_err(|why| format!("{why}: {text}"))
    }

    /// Waits until every panel of a dashboard has data.
    fn fills(&mut self, dashboard: &str, instance: &str, peer: &str) {
        let text = fs::read_to_string(examples().join(dashboard)).expect("an example");
        let dashboard: Value = serde_json::from_str(&text).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let mut count = 0;
        for panel in panels.iter().filter(|panel| panel["type"] != "row") {
            for target in panel["targets"].as_array().expect("targets") {
                let expression = target["expr"].as_str().expect("an expression");
                let expression = expression
                    .replace("$__rate_interval", "10s")
                    .replace("$instance", instance)
                    .replace("$peer", peer);
                assert!(!expression.contains('$'), "{expression}");
                eventually(&expression, || match self.query(&expression)?.is_empty() {
                    true => Err(format!("{}: no data", panel["title"])),
                    false => Ok(()),
                });
                count += 1;
            }
        }
        assert!(count > 10);
    }

    /// Names of the alerts that are pending or fire.
    fn alerts(&mut self) -> Vec<String> {
        let rows = self.query("ALERTS").expect("an answer");
        let names = rows.iter().map(|row| row["metric"]["alertname"].as_str());
        names.flatten().map(str::to_owned).collect()
    }
}

#[test]
fn the_alert_rules_pass_their_tests() {
    let mut tool = Command::new(program("promtool"));
    tool.current_dir(examples())
        .args(["test", "rules", "rutter-alerts-test.yml"]);
    output_of(&mut tool).unwrap_or_else(|why| panic!("{why}"));
    // Each alert has a test in which it fires.
    let rules = fs::read_to_string(examples().join("rutter-alerts.yml")).expect("rules");
    let tests = fs::read_to_string(examples().join("rutter-alerts-test.yml")).expect("tests");
    let names = rules.lines().filter_map(|line| {
        let (_, name) = line.split_once("- alert: ")?;
        Some(name)
    });
    let mut count = 0;
    for name in names {
        let uses = tests.matches(&format!("alertname: {name}\n")).count();
        assert_eq!(uses, 2, "{name}");
        count += 1;
    }
    assert!(count > 10);
}

#[test]
fn every_panel_of_a_route_server_has_data() {
    let lab = Lab::new();
    let (one, two, three) = (lab.address(2), lab.address(3), lab.address(4));
    let metrics = format!("{}:9179", lab.address(1));
    let vrps = lab.folder("rpki").join("vrps.json");
    let roa =
        r#"{"roas": [{"asn": 2102, "prefix": "45.10.0.0/16", "maxLength": 24, "ta": "test"}]}"#;
    fs::write(&vrps, roa).expect("a file");
    let sections = format!(
        "[metrics]\nlisten = \"{metrics}\"\n[rpki]\nvrps = \"{}\"\n{}{}{}",
        vrps.display(),
        member(one, 2_102, ""),
        member(two, 2_103, ""),
        // Nobody answers at this address: one session is down.
        member(three, 2_104, ""),
    );
    let mut rutter = Rutter::start(&lab, &sections);
    let mut prometheus = Prometheus::start(&lab, &metrics);
    let mut first = Bird::start(client(&lab, &rutter, 2, 2_102, |_| {}));
    let mut second = Bird::start(client(&lab, &rutter, 3, 2_103, |_| {}));
    up(&lab, &mut rutter, 2, &mut first);
    up(&lab, &mut rutter, 3, &mut second);
    let accepted = Route::new("45.10.2.0/24", "10.77.0.2", &[2_102]);
    let too_long = Route::new("45.10.2.128/25", "10.77.0.2", &[2_102]);
    first.announce(&[accepted.clone(), too_long]);
    holds(&second, [&accepted]);

    let session = rutter.session(one).expect("a session");
    let name = session["name"].as_str().expect("a name");
    prometheus.fills("rutter-dashboard.json", &metrics, name);
    // A server that just started is reported. A member that was never up is not.
    eventually("only the start is reported", || match prometheus.alerts() {
        alerts if alerts == ["RutterRestarted"] => Ok(()),
        alerts => Err(format!("{alerts:?}")),
    });
    let unhealthy = "prometheus_rule_evaluation_failures_total > 0";
    assert!(prometheus.query(unhealthy).expect("an answer").is_empty());
}

#[test]
fn every_panel_of_a_collector_has_data() {
    let lab = Lab::new();
    let metrics = format!("{}:9179", lab.address(1));
    let station = format!("{}:11019", lab.address(1));
    // No server listens there: the sink tries again and again.
    let sections = format!(
        "[metrics]\nlisten = \"{metrics}\"\n[bmp]\nlisten = [\"{station}\"]\n\
         [[sink]]\ntype = \"postgres\"\nname = \"pg\"\nhost = \"{}\"\nport = 1\nuser = \"rutter\"\nspool = \"{}\"\n",
        lab.address(8),
        lab.folder("spool").display()
    );
    let _collector = Rutter::start_collector(&lab, &sections);
    let mut prometheus = Prometheus::start(&lab, &metrics);
    let mut router = TcpStream::connect(&station).expect("a station");
    // An Initiation Message with the router's name (RFC 7854, section 4.3).
    router
        .write_all(b"\x03\x00\x00\x00\x0c\x04\x00\x02\x00\x02r1")
        .expect("a connection");
    prometheus.fills("rutter-collector-dashboard.json", &metrics, "");
}
