//! Encrypted connections to real servers. Wrong certificates, passwords and files are refused with their reason, and
//! nothing is lost until they are right.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use rutter_config::{
    Broker, CertificateCheck, ClientTls, Database, Password, Sasl, SaslMechanism, SinkTarget, Tls,
};
use rutter_interop::Lab;
use rutter_interop::certificates::{Authority, Certificate};
use rutter_interop::kafka::{Kafka, TlsListener};
use rutter_interop::mariadb::MariaDb;
use rutter_interop::postgres::Postgres;

use crate::stage::Stage;
use crate::{kafka, mariadb, postgres};

/// The authorities and certificates of a test, and the files that the sink reads.
struct Scene {
    authority: Authority,
    other: Authority,
    right: Certificate,
    expired: Certificate,
    of_other_name: Certificate,
    /// The files of the sink: authority, certificate and key.
    files: [PathBuf; 3],
}

impl Scene {
    /// Makes the certificates of a server with these alternative names. The sink has the right files.
    fn new(lab: &Lab, names: &str) -> Scene {
        let authority = Authority::new(lab.folder("ca"));
        let folder = lab.folder("sink");
        let scene = Scene {
            other: Authority::new(lab.folder("other-ca")),
            right: authority.sign("right", names),
            expired: authority.sign_expired("expired", names),
            of_other_name: authority.sign("other-name", "DNS:db.example"),
            files: ["ca.crt", "own.crt", "own.key"].map(|name| folder.join(name)),
            authority,
        };
        scene.trust(&scene.authority);
        scene.use_certificate_of(&scene.authority);
        fs::write(scene.password_file(), "sesame\n").expect("a file");
        scene
    }

    /// The file with the password of the sink.
    fn password_file(&self) -> PathBuf {
        self.files[0].with_file_name("password")
    }

    /// The sink trusts this authority from its next connection on.
    fn trust(&self, authority: &Authority) {
        fs::copy(authority.file(), &self.files[0]).expect("the file is written");
    }

    /// The sink has a certificate of this authority from its next connection on.
    fn use_certificate_of(&self, authority: &Authority) {
        let own = authority.sign("rutter", "DNS:rutter.example");
        fs::copy(own.certificate, &self.files[1]).expect("the file is written");
        fs::copy(own.key, &self.files[2]).expect("the file is written");
    }

    fn tls(&self) -> ClientTls {
        let [ca_file, certificate, key] = self.files.clone();
        ClientTls {
            check: CertificateCheck::AuthorityAndName,
            ca_file: Some(ca_file),
            own: Some(Tls { certificate, key }),
            server_name: None,
        }
    }

    fn database(&self, port: u16) -> Database {
        Database {
            host: "127.0.0.1".into(),
            port,
            database: "rutter".into(),
            user: "rutter".into(),
            password: Some(Password::in_file(&self.password_file()).expect("a file")),
            history: true,
            answer_timeout_s: 60,
            tls: Some(self.tls()),
        }
    }
}

/// The operations on a database that the faults need.
trait Server {
    const ROUTES: &'static str;
    /// The error for a wrong password.
    const WRONG_PASSWORD: &'static str;
    /// Returns `TLSv1.3` if the sink's connection is encrypted, and the sink showed its certificate.
    const ENCRYPTED: &'static str;
    fn ask(&self, sql: &str) -> Result<Vec<String>, String>;
    fn serve(&mut self, certificate: &Certificate, clients: &Authority);
    fn set_password(&self, password: &str);
    /// Ends the connection of the sink.
    fn cut(&self);
}

impl Server for Postgres {
    const ROUTES: &'static str = postgres::ROUTES;
    const WRONG_PASSWORD: &'static str = "password authentication failed for user \"rutter\"";
    const ENCRYPTED: &'static str =
        "SELECT version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'rutter' AND client_dn = '/CN=rutter'";

    fn ask(&self, sql: &str) -> Result<Vec<String>, String> {
        self.try_query(sql)
    }

    fn serve(&mut self, certificate: &Certificate, clients: &Authority) {
        self.serve_tls(certificate, clients);
    }

    fn set_password(&self, password: &str) {
        self.query(&format!("ALTER ROLE rutter PASSWORD '{password}'"));
    }

    fn cut(&self) {
        self.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rutter'",
        );
    }
}

impl Server for MariaDb {
    const ROUTES: &'static str = mariadb::ROUTES;
    const WRONG_PASSWORD: &'static str = "Access denied for user 'rutter'";
    // The server accepts this user with a certificate alone.
    const ENCRYPTED: &'static str =
        "SELECT 'TLSv1.3' FROM mysql.user WHERE user = 'rutter' AND ssl_type = 'X509'";

    fn ask(&self, sql: &str) -> Result<Vec<String>, String> {
        self.try_query(sql)
    }

    fn serve(&mut self, certificate: &Certificate, clients: &Authority) {
        self.serve_tls(certificate, clients);
    }

    fn set_password(&self, password: &str) {
        self.query(&format!(
            "SET PASSWORD FOR rutter@'127.0.0.1' = PASSWORD('{password}')"
        ));
    }

    fn cut(&self) {
        // The sink may be away.
        let _ = self.try_query(mariadb::CUT);
    }
}

/// Makes one thing wrong after the other. Each is reported, and each is right again before the next.
fn bears_faults<S: Server>(scene: &Scene, server: &mut S, stage: &mut Stage) {
    let (right, clients) = (&scene.right, &scene.authority);
    stage.act(300);
    stage.complains(&["cannot connect", "the server does not offer TLS"]);
    server.serve(right, clients);
    stage.settles(|| server.ask(S::ROUTES));
    for (wrong, words) in [
        (
            &scene.expired,
            "certificate expired at 2020-12-31 23:59:59 UTC",
        ),
        (
            &scene.of_other_name,
            "certificate is for db.example, not for 127.0.0.1",
        ),
    ] {
        server.serve(wrong, clients);
        is_refused(server, stage, &["cannot connect", words]);
        server.serve(right, clients);
        stage.settles(|| server.ask(S::ROUTES));
    }
    scene.trust(&scene.other);
    is_refused(
        server,
        stage,
        &["no authority in", "ca.crt signed the server's certificate"],
    );
    scene.trust(&scene.authority);
    stage.settles(|| server.ask(S::ROUTES));
    scene.use_certificate_of(&scene.other);
    is_refused(
        server,
        stage,
        &["the server refuses our certificate", "own.crt"],
    );
    fs::copy(&scene.files[0], &scene.files[2]).expect("the file is written");
    stage.complains(&["cannot use", "own.key"]);
    scene.use_certificate_of(&scene.authority);
    stage.settles(|| server.ask(S::ROUTES));
    server.set_password("another");
    is_refused(server, stage, &["cannot connect", S::WRONG_PASSWORD]);
    // The file of the password is read for the next connection.
    fs::write(scene.password_file(), "another\n").expect("a file");
    stage.settles(|| server.ask(S::ROUTES));
    stage.has_written();
    assert_eq!(stage.sink().status().gaps, 0, "nothing was lost");
    assert_eq!(server.ask(S::ENCRYPTED), Ok(vec!["TLSv1.3".to_owned()]));
    stage.stop();
}

fn is_refused<S: Server>(server: &S, stage: &mut Stage, words: &[&str]) {
    server.cut();
    stage.act(50);
    stage.complains(words);
    let text = stage.sink().status().line();
    assert!(!text.contains("sesame"), "{text}");
}

#[test]
fn postgres_is_reached_over_tls_or_not_at_all() {
    let lab = Lab::new();
    let scene = Scene::new(&lab, "IP:127.0.0.1");
    let mut server = Postgres::start(&lab);
    server
        .query("CREATE ROLE rutter LOGIN PASSWORD 'sesame'; ALTER DATABASE rutter OWNER TO rutter");
    let target = SinkTarget::Postgres(scene.database(server.port()));
    let mut stage = Stage::new("lab", target, lab.folder("spool"), 21);
    bears_faults(&scene, &mut server, &mut stage);
    postgres::check_history(&server);
}

#[test]
fn mariadb_is_reached_over_tls_or_not_at_all() {
    let lab = Lab::new();
    let scene = Scene::new(&lab, "IP:127.0.0.1");
    let mut server = MariaDb::start(&lab);
    server.query("ALTER USER rutter@'127.0.0.1' REQUIRE X509");
    let target = SinkTarget::MariaDb(scene.database(server.port()));
    let mut stage = Stage::new("lab", target, lab.folder("spool"), 22);
    bears_faults(&scene, &mut server, &mut stage);
    mariadb::check_history(&server);
}

/// The other checks of a certificate, and another name.
#[test]
fn a_certificate_is_checked_as_far_as_the_configuration_says() {
    let lab = Lab::new();
    let scene = Scene::new(&lab, "IP:127.0.0.1");
    let server = Postgres::start(&lab);
    server
        .query("CREATE ROLE rutter LOGIN PASSWORD 'sesame'; ALTER DATABASE rutter OWNER TO rutter");
    server.serve_tls(&scene.of_other_name, &scene.authority);
    let target = |change: &dyn Fn(&mut ClientTls)| {
        let mut database = scene.database(server.port());
        database.tls.iter_mut().for_each(change);
        SinkTarget::Postgres(database)
    };
    let name = |tls: &mut ClientTls| tls.server_name = Some("db.example".into());
    let mut stage = Stage::new("lab", target(&name), lab.folder("spool"), 23);
    let settles = |stage: &mut Stage| {
        stage.act(100);
        stage.settles(|| server.try_query(postgres::ROUTES));
    };
    settles(&mut stage);
    stage.retarget(target(&|tls| tls.check = CertificateCheck::Authority));
    settles(&mut stage);
    server.serve_tls(
        &scene.other.sign("foreign", "DNS:db.example"),
        &scene.authority,
    );
    stage.retarget(target(&|tls| tls.check = CertificateCheck::Authority));
    stage.act(50);
    stage.complains(&["no authority in"]);
    stage.retarget(target(&|tls| {
        tls.check = CertificateCheck::Nothing;
        tls.ca_file = None;
    }));
    settles(&mut stage);
    stage.stop();
    postgres::check_history(&server);
}

#[test]
fn kafka_is_reached_over_tls_or_not_at_all() {
    let lab = Lab::new();
    let names: Vec<String> = (2..5)
        .map(|host| format!("IP:{}", lab.address(host)))
        .collect();
    let scene = Scene::new(&lab, &names.join(","));
    let address = |host: u8| SocketAddr::new(lab.address(host), lab.port() + u16::from(host));
    let listener = |name, host, certificate| TlsListener {
        name,
        address: address(host),
        certificate,
        clients: None,
        login: false,
    };
    let listeners = [
        TlsListener {
            clients: Some(&scene.authority),
            ..listener("RIGHT", 2, &scene.right)
        },
        TlsListener {
            login: true,
            ..listener("LOGIN", 3, &scene.right)
        },
        listener("EXPIRED", 4, &scene.expired),
        listener("OTHER", 5, &scene.of_other_name),
    ];
    let broker = Kafka::start_with(&lab, &listeners);
    broker.create_topic("tls", 2);
    let target = |address: SocketAddr, sasl: Option<(SaslMechanism, &str)>| {
        SinkTarget::Kafka(Broker {
            brokers: vec![address.to_string()],
            topic: "tls".into(),
            tombstones: false,
            answer_timeout_s: 10,
            tls: Some(scene.tls()),
            sasl: sasl.map(|(mechanism, password)| Sasl {
                mechanism,
                user: "rutter".into(),
                password: Password::new(password),
            }),
        })
    };
    let plain = SocketAddr::from(([127, 0, 0, 1], lab.port()));
    let mut stage = Stage::new("tls", target(plain, None), lab.folder("spool"), 24);
    stage.act(200);
    stage.complains(&["the server does not offer TLS"]);
    let wrong = Some((SaslMechanism::ScramSha256, "open"));
    for (target, words) in [
        (
            target(address(4), None),
            "certificate expired at 2020-12-31 23:59:59 UTC",
        ),
        (
            target(address(5), None),
            "certificate is for db.example, not for 127.",
        ),
        (
            target(address(3), wrong),
            "refuses user `rutter` or the password (SCRAM-SHA-256)",
        ),
    ] {
        stage.retarget(target);
        stage.act(50);
        stage.complains(&["cannot connect", words]);
        let text = stage.sink().status().line();
        assert!(!text.contains("open"), "{text}");
    }
    scene.trust(&scene.other);
    stage.retarget(target(address(2), None));
    stage.complains(&["no authority in"]);
    scene.trust(&scene.authority);
    scene.use_certificate_of(&scene.other);
    stage.complains(&["the server refuses our certificate"]);
    scene.use_certificate_of(&scene.authority);
    kafka::holds_routes(&broker, &stage, "tls");
    for mechanism in [
        SaslMechanism::ScramSha256,
        SaslMechanism::ScramSha512,
        SaslMechanism::Plain,
    ] {
        stage.retarget(target(address(3), Some((mechanism, "sesame"))));
        stage.act(50);
        kafka::holds_routes(&broker, &stage, "tls");
    }
    stage.stop();
    kafka::check_topic(&broker, "tls");
}
