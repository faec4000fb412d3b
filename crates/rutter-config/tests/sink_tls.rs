//! The encryption of sinks: its default depends on where the server is.

use std::path::Path;

use rutter_config::{CertificateCheck, ClientTls, Config, SinkTarget};

/// The encryption of a sink with these keys.
fn tls(keys: &str) -> Option<ClientTls> {
    let router = "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"";
    let text = format!("{router}\n[[sink]]\n{keys}\n");
    let loaded = Config::parse(&text, Path::new("/etc/rutter/rutter.toml"));
    let loaded = loaded.unwrap_or_else(|errors| panic!("{keys}: {errors:#?}"));
    assert_eq!(loaded.warnings, [], "{keys}");
    match loaded
        .config
        .sinks
        .into_iter()
        .next()
        .expect("a sink")
        .target
    {
        SinkTarget::Postgres(database) | SinkTarget::MariaDb(database) => database.tls,
        SinkTarget::Kafka(broker) => broker.tls,
    }
}

fn check(keys: &str) -> Option<CertificateCheck> {
    tls(keys).map(|tls| tls.check)
}

const FULL: Option<CertificateCheck> = Some(CertificateCheck::AuthorityAndName);

#[test]
fn only_servers_on_this_machine_are_reached_in_plain_text_by_default() {
    for (keys, expected) in [
        ("type = \"postgres\"", None),
        ("type = \"mariadb\"\nhost = \"::1\"", None),
        ("type = \"postgres\"\nhost = \"localhost\"", None),
        ("type = \"postgres\"\nhost = \"/run/postgresql\"", None),
        ("type = \"postgres\"\nhost = \"192.0.2.1\"", FULL),
        ("type = \"mariadb\"\nhost = \"db.example.net\"", FULL),
        (
            "type = \"kafka\"\nbrokers = [\"localhost:9092\", \"[::1]:9093\"]",
            None,
        ),
        (
            "type = \"kafka\"\nbrokers = [\"localhost:9092\", \"kafka:9092\"]",
            FULL,
        ),
    ] {
        assert_eq!(check(keys), expected, "{keys}");
    }
}

/// A broker on this machine can announce others, which the client then logs in to.
#[test]
fn a_password_that_brokers_read_needs_tls_or_a_decision() {
    let file = std::env::temp_dir().join(format!("rutter-sasl-{}", std::process::id()));
    std::fs::write(&file, "secret").expect("write");
    let login = format!(
        "sasl-user = \"rutter\"\nsasl-password-file = \"{}\"",
        file.display()
    );
    let kafka = "type = \"kafka\"\nbrokers = [\"localhost:9092\"]";
    let with = |mechanism: &str| format!("{kafka}\n{login}\nsasl-mechanism = \"{mechanism}\"");
    let plain = with("plain");
    let router = "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"";
    let text = format!("{router}\n[[sink]]\n{plain}\n");
    let errors = Config::parse(&text, Path::new("/etc/rutter/rutter.toml")).expect_err("no tls");
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(errors[0].key, "sink.sasl-mechanism");
    assert!(
        errors[0].message.contains("may announce others"),
        "{errors:#?}"
    );
    assert_eq!(check(&format!("{plain}\ntls = \"disable\"")), None);
    assert_eq!(check(&format!("{plain}\ntls = \"verify-full\"")), FULL);
    assert_eq!(check(&with("scram-sha-512")), None);
    std::fs::remove_file(&file).expect("remove");
}

#[test]
fn the_configuration_decides() {
    let remote = "type = \"postgres\"\nhost = \"db.example.net\"";
    assert_eq!(check(&format!("{remote}\ntls = \"disable\"")), None);
    for (word, expected) in [
        ("require", CertificateCheck::Nothing),
        ("verify-ca", CertificateCheck::Authority),
        ("verify-full", CertificateCheck::AuthorityAndName),
    ] {
        let keys = format!("{remote}\ntls = \"{word}\"");
        assert_eq!(check(&keys), Some(expected), "{word}");
    }
    let local = "type = \"mariadb\"\ntls-ca-file = \"ca.pem\"\ntls-server-name = \"db.example\"\ntls-certificate = \"own.pem\"\n\
         tls-key = \"own.key\"";
    let tls = tls(local).expect("a key of TLS asks for it");
    assert_eq!(Some(tls.check), FULL);
    assert_eq!(
        tls.ca_file.as_deref(),
        Some(Path::new("/etc/rutter/ca.pem"))
    );
    assert_eq!(tls.server_name.as_deref(), Some("db.example"));
    assert_eq!(
        tls.own.expect("a certificate").key,
        Path::new("/etc/rutter/own.key")
    );
}
