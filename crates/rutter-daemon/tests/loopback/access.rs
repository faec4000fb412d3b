//! Tokens with roles, and HTTPS.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rutter_api::{Client, Line, Request};

use crate::support::{Folder, member, start, text};

/// SHA-256 of `abc`, of FIPS 180-2, appendix B.1.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// SHA-256 of the empty string.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Asks with a token and returns the status and the head.
fn ask(web: SocketAddr, path: &str, token: Option<&str>) -> (u16, String) {
    let mut stream = TcpStream::connect(web).expect("connect");
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).expect("timeout");
    let header = token.map_or(String::new(), |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    write!(stream, "GET {path} HTTP/1.0\r\n{header}\r\n").expect("send");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let status = text.split(' ').nth(1).expect("a status");
    (status.parse().expect("a number"), text)
}

fn reload(folder: &Folder) -> Vec<Line> {
    let client = Client::connect(&folder.0.join("ctl")).expect("control socket");
    let answer = client.call(Request::Reload).expect("a request");
    answer.collect::<Result<_, _>>().expect("an answer")
}

#[test]
fn a_token_opens_what_its_role_includes_until_it_is_removed() {
    let folder = Folder::new("tokens");
    let file = folder.0.join("tokens");
    let write = |lines: &str| fs::write(&file, lines).expect("write");
    write(&format!("# for the alarms\nmonitor {ABC} # alarms\n"));
    let sections = |more: &str| {
        let member = member(1, 64501, "");
        format!(
            "[web]\nlisten = \"127.0.0.1:0\"\nbirdwatcher = \"/birds\"\ntoken-file = \"tokens\"\n{more}{member}"
        )
    };
    let (daemon, _) = start(&folder, 1, &sections(""));
    let web = daemon.web_address().expect("[web]");
    let status = |path: &str, token| ask(web, path, token).0;
    for (path, alarms) in [
        ("/", 200),
        ("/api/v1/status", 200),
        ("/api/v1/peers/AS64501", 200),
        ("/api/v1/routes", 403),
        ("/api/v1/rejected", 403),
        ("/api/v1/explain/8.8.8.8", 403),
        ("/api/v1/events", 403),
        ("/birds/status", 403),
        ("/birds/routes/table/master", 403),
    ] {
        let (nobody, head) = ask(web, path, None);
        assert_eq!(nobody, 401, "{path}");
        assert!(
            head.to_lowercase().contains("www-authenticate: bearer"),
            "{head}"
        );
        assert_eq!(status(path, Some("abd")), 401, "{path}");
        assert_eq!(status(path, Some("abc")), alarms, "{path}");
    }

    // A reload reads the file again, also if it alone has changed.
    write(&format!("read {ABC}\nmonitor {EMPTY}\n"));
    let lines = reload(&folder);
    assert!(matches!(lines.last(), Some(Line::Done(_))), "{lines:?}");
    assert_eq!(status("/api/v1/routes", Some("abc")), 200);
    assert_eq!(status("/birds/status", Some("abc")), 200);

    // A wrong file changes nothing.
    write("read abc\n");
    let lines = reload(&folder);
    assert!(
        matches!(lines.last(), Some(Line::Error { .. })),
        "{lines:?}"
    );
    assert_eq!(status("/api/v1/routes", Some("abc")), 200);
    assert_eq!(status("/api/v1/routes", None), 401);

    write("");
    let open = text(&folder, 1, &sections("anonymous = \"monitor\"\n"));
    fs::write(folder.0.join("rutter.toml"), open).expect("write");
    reload(&folder);
    assert_eq!(status("/api/v1/status", None), 200);
    assert_eq!(status("/api/v1/routes", None), 401);
    assert_eq!(
        status("/api/v1/routes", Some("abc")),
        401,
        "the token is gone"
    );
}

#[test]
fn a_stream_of_changes_ends_when_its_token_is_removed() {
    let folder = Folder::new("streamtoken");
    let file = folder.0.join("tokens");
    fs::write(&file, format!("read {ABC}\nread {EMPTY}\n")).expect("write");
    let web = "[web]\nlisten = \"127.0.0.1:0\"\ntoken-file = \"tokens\"\n";
    let (daemon, _) = start(&folder, 1, &format!("{web}{}", member(1, 64501, "")));
    let web = daemon.web_address().expect("[web]");
    let mut stream = TcpStream::connect(web).expect("connect");
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).expect("timeout");
    let header = "Authorization: Bearer abc\r\n";
    write!(stream, "GET /api/v1/events HTTP/1.0\r\n{header}\r\n").expect("send");
    let mut stream = BufReader::new(stream);
    let mut text = String::new();
    while !text.contains("id: ") {
        assert!(stream.read_line(&mut text).expect("a line") > 0, "{text}");
    }
    assert!(text.starts_with("HTTP/1.0 200"), "{text}");
    // A reload with the token in the file does not end the stream.
    fs::write(&file, format!("read {ABC}\n")).expect("write");
    reload(&folder);
    let line = stream.read_line(&mut text).expect("a line");
    assert!(line > 0, "{text}");
    fs::write(&file, format!("read {EMPTY}\n")).expect("write");
    reload(&folder);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the end");
    let refused = rest.split("event: refused\ndata: ").nth(1).expect(&rest);
    assert!(refused.contains("\"status\":401"), "{refused}");
    assert!(refused.ends_with("\n\n"), "{refused:?}");
}

fn make_certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args(["-keyout", "web.key", "-out", "web.crt"])
        .current_dir(folder)
        .stderr(Stdio::null())
        .status();
    let made = made.expect("openssl runs: tools/install-test-deps installs it");
    assert!(made.success());
}

#[test]
fn with_a_certificate_the_interface_speaks_https_alone() {
    let folder = Folder::new("webtls");
    make_certificate(&folder.0);
    let tls = "tls-certificate = \"web.crt\"\ntls-key = \"web.key\"\n";
    let sections = format!(
        "[web]\nlisten = \"127.0.0.1:0\"\n{tls}{}",
        member(1, 64501, "")
    );
    let (daemon, _) = start(&folder, 1, &sections);
    let web = daemon.web_address().expect("[web]");

    let mut client = Command::new("openssl")
        .args([
            "s_client",
            "-quiet",
            "-verify_return_error",
            "-CAfile",
            "web.crt",
        ])
        .args(["-servername", "localhost", "-verify_hostname", "localhost"])
        .args(["-connect", &web.to_string()])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl runs: tools/install-test-deps installs it");
    let mut input = client.stdin.take().expect("its input");
    input
        .write_all(b"GET /api/v1/status HTTP/1.0\r\n\r\n")
        .expect("send");
    let output = client
        .wait_with_output()
        .expect("it ends with the connection");
    let answer = String::from_utf8(output.stdout).expect("text");
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    assert!(answer.contains("\"kind\":\"status\""), "{answer}");

    // Plain HTTP has no answer, until a reload turns TLS off, and again once it is on.
    assert!(!answers_plain_http(web));
    let plain = sections.replace(tls, "");
    let with = |sections: &str| {
        fs::write(folder.0.join("rutter.toml"), text(&folder, 1, sections)).expect("write");
        reload(&folder);
    };
    with(&plain);
    assert!(answers_plain_http(daemon.web_address().expect("[web]")));
    with(&sections);
    assert!(!answers_plain_http(daemon.web_address().expect("[web]")));
}

fn answers_plain_http(web: SocketAddr) -> bool {
    let mut plain = TcpStream::connect(web).expect("connect");
    plain
        .write_all(b"GET /api/v1/status HTTP/1.0\r\n\r\n")
        .expect("send");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    answer.starts_with(b"HTTP")
}
