//! A Kafka broker, which is its own controller, with its own folder and ports.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::certificates::{Authority, Certificate};
use crate::lab::{Lab, eventually_within, write_file};
use crate::process::{Process, output_of, program};

/// A broker whose data survive its process.
pub struct Kafka {
    folder: PathBuf,
    port: u16,
    process: Option<Process>,
}

/// An encrypted listener of a broker.
pub struct TlsListener<'l> {
    /// Its name, in capital letters.
    pub name: &'static str,
    /// Its address. Kafka demands another port for each listener.
    pub address: SocketAddr,
    /// The certificate of the broker there.
    pub certificate: &'l Certificate,
    /// The authority of clients, which then need a certificate.
    pub clients: Option<&'l Authority>,
    /// Whether clients log in, as user `rutter` with the password `sesame`, by PLAIN or SCRAM.
    pub login: bool,
}

impl Kafka {
    /// Starts an empty broker.
    pub fn start(lab: &Lab) -> Kafka {
        Kafka::start_with(lab, &[])
    }

    /// Starts an empty broker that also has encrypted listeners.
    pub fn start_with(lab: &Lab, listeners: &[TlsListener<'_>]) -> Kafka {
        let folder = lab.folder("kafka");
        let mut broker = Kafka {
            port: lab.port(),
            folder,
            process: None,
        };
        write_file(
            &broker.folder.join("conf"),
            &broker.configuration(listeners),
        );
        let mut format = java("kafka.tools.StorageTool");
        format
            .args(["format", "-t", "cnV0dGVyLXRlc3RzLTAwMQ", "-c"])
            .arg(broker.folder.join("conf"));
        for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
            let user = format!("{mechanism}=[name=rutter,password=sesame]");
            format.args(["--add-scram", &user]);
        }
        output_of(&mut format).unwrap_or_else(|why| panic!("kafka format: {why}"));
        broker.run();
        broker
    }

    fn configuration(&self, listeners: &[TlsListener<'_>]) -> String {
        let (port, controller) = (self.port, self.port + 10_000);
        let data = self.folder.join("data");
        let (mut more, mut protocols, mut settings) = <(String, String, String)>::default();
        for listener in listeners {
            let (name, address) = (listener.name, listener.address);
            let protocol = if listener.login { "SASL_SSL" } else { "SSL" };
            let _ = write!(more, ",{name}://{address}");
            let _ = write!(protocols, ",{name}:{protocol}");
            settings += &self.listener(listener);
        }
        format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{more}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}{more}\ncontroller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT{protocols}\n\
             log.dirs={}\noffsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n\
             transaction.state.log.replication.factor=1\ngroup.initial.rebalance.delay.ms=0\n\
             auto.create.topics.enable=false\n\
             authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
             allow.everyone.if.no.acl.found=true\nbroker.session.timeout.ms=3000\n{settings}",
            data.display()
        )
    }

    fn listener(&self, listener: &TlsListener<'_>) -> String {
        let name = listener.name.to_lowercase();
        let keys = self.folder.join(format!("{name}.pem"));
        listener.certificate.write_both(&keys);
        let mut settings = format!(
            "ssl.keystore.type=PEM\nssl.keystore.location={}\n",
            keys.display()
        );
        if let Some(clients) = listener.clients {
            let _ = write!(
                settings,
                "ssl.client.auth=required\nssl.truststore.type=PEM\nssl.truststore.location={}\n",
                clients.file().display()
            );
        }
        if listener.login {
            settings += LOGIN;
        }
        let lines = settings.lines();
        lines
            .map(|line| format!("listener.name.{name}.{line}\n"))
            .collect()
    }

    /// Starts the broker again.
    pub fn run(&mut self) {
        let mut command = java("kafka.Kafka");
        command.arg(self.folder.join("conf"));
        self.process = Some(Process::start("kafka", &self.folder, &mut command));
        // A Java machine takes long to start where many processes share few cores.
        eventually_within(Duration::from_secs(180), "kafka answers", || {
            let mut ask = Command::new(program("kcat"));
            output_of(ask.args(["-L", "-m", "5", "-b", &self.address()]))
        });
    }

    /// Kills the broker.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Suspends the broker: it accepts connections, but does not answer.
    pub fn freeze(&mut self) {
        self.process.iter_mut().for_each(Process::freeze);
    }

    /// Resumes the broker after [`Kafka::freeze`].
    pub fn thaw(&mut self) {
        self.process.iter_mut().for_each(Process::thaw);
    }

    /// Where clients connect.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Makes a topic.
    pub fn create_topic(&self, name: &str, partitions: u32) {
        self.topic(name, &["--create", "--partitions", &partitions.to_string()]);
    }

    /// Removes a topic with its data.
    pub fn delete_topic(&self, name: &str) {
        self.topic(name, &["--delete"]);
    }

    /// Adds partitions to a topic, up to this number.
    pub fn add_partitions(&self, name: &str, partitions: u32) {
        self.topic(name, &["--alter", "--partitions", &partitions.to_string()]);
    }

    /// Sets the maximum size of requests to a topic, in bytes.
    pub fn take_at_most(&self, name: &str, octets: u32) {
        let mut command = java("kafka.admin.ConfigCommand");
        command
            .args(["--bootstrap-server", &self.address(), "--alter"])
            .args(["--entity-type", "topics", "--entity-name", name])
            .arg("--add-config")
            .arg(format!("max.message.bytes={octets}"));
        output_of(&mut command).unwrap_or_else(|why| panic!("topic {name}: {why}"));
    }

    /// Forbids or permits all writes to a topic.
    pub fn forbid_writing(&self, name: &str, forbid: bool) {
        let mut command = java("kafka.admin.AclCommand");
        command
            .args(["--bootstrap-server", &self.address(), "--topic", name])
            .args(["--operation", "Write", "--deny-principal", "User:*"])
            .args(if forbid {
                &["--add"][..]
            } else {
                &["--remove", "--force"]
            });
        output_of(&mut command).unwrap_or_else(|why| panic!("topic {name}: {why}"));
    }

    fn topic(&self, name: &str, arguments: &[&str]) {
        let mut command = java("org.apache.kafka.tools.TopicCommand");
        command
            .args(["--bootstrap-server", &self.address(), "--topic", name])
            .args(arguments);
        output_of(&mut command).unwrap_or_else(|why| panic!("topic {name}: {why}"));
    }

    /// A member of a consumer group that reads from the beginning to the end. It prints lines of partition, offset,
    /// key, length of the value (-1: none) and value, separated by tabs.
    pub fn member(&self, topic: &str, group: &str) -> Command {
        let mut command = self.reader();
        command.args(["-X", "auto.offset.reset=earliest", "-G", group, topic]);
        command
    }

    /// Reads a whole topic, like a [`Kafka::member`].
    pub fn dump(&self, topic: &str) -> Command {
        let mut command = self.reader();
        command.args(["-C", "-t", topic, "-o", "beginning"]);
        command
    }

    fn reader(&self) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg("300")
            .arg(program("kcat"))
            .args(["-q", "-b", &self.address(), "-e"])
            .args(["-f", "%p\\t%o\\t%k\\t%S\\t%s\\n"]);
        command
    }
}

/// The users of a listener. Those of SCRAM are in the broker's data.
const LOGIN: &str = "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_rutter=\"sesame\";
scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
";

/// A class of Kafka's jars.
fn java(class: &str) -> Command {
    let jars = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kafka");
    assert!(
        jars.is_dir(),
        "no jars of Kafka in {}: run tools/install-test-deps",
        jars.display()
    );
    let mut command = Command::new(program("java"));
    command.args(["-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp"]);
    command.arg(jars.join("*")).arg(class);
    command
}
