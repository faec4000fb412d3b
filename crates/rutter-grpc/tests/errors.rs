//! Settings that the program refuses, with the reason.

use std::process::Command;

fn fails(arguments: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rutter-grpc"));
    let output = program.args(arguments).output().expect("the program");
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn other_machines_are_served_only_with_a_certificate_or_on_request() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let why = fails(&["--listen", listen]);
        assert!(
            why.contains("--tls-cert") && why.contains("--insecure-listen"),
            "{why}"
        );
    }
    // The request is enough, so the next error is that of the tokens.
    let why = fails(&[
        "--listen",
        "0.0.0.0:0",
        "--insecure-listen",
        "--token-file",
        "/nowhere/tokens",
    ]);
    assert!(
        why.starts_with("error: cannot read /nowhere/tokens: "),
        "{why}"
    );
}

#[test]
fn control_needs_tokens_and_a_key_needs_its_certificate() {
    assert!(fails(&["--control-socket", "/nowhere/s"]).contains("--token-file"));
    assert!(fails(&["--tls-key", "/nowhere/key"]).contains("--tls-cert"));
    assert!(fails(&["--client-ca", "/nowhere/ca"]).contains("--tls-cert"));
    let why = fails(&["--tls-cert", "/nowhere/crt", "--tls-key", "/nowhere/key"]);
    assert!(
        why.starts_with("error: cannot use /nowhere/crt for TLS: "),
        "{why}"
    );
}

#[test]
fn a_wrong_line_of_tokens_is_named() {
    let file = std::env::temp_dir().join(format!("rutter-grpc-{}", std::process::id()));
    std::fs::write(&file, "# tokens\nread abc\n").expect("a file");
    let why = fails(&["--token-file", file.to_str().expect("a path")]);
    std::fs::remove_file(&file).expect("the file");
    assert!(why.contains("line 2: this is no token"), "{why}");
    assert!(why.contains("sha256sum"), "{why}");
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let folder = std::env::temp_dir().join(format!("rutter-grpc-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| folder.join(name).display().to_string();
    for name in ["one", "two"] {
        let made = Command::new("openssl")
            .args([
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            ])
            .args(["-subj", "/CN=one", "-keyout", &format!("{name}.key")])
            .args(["-out", &format!("{name}.crt")])
            .current_dir(&folder)
            .output()
            .expect("openssl runs: tools/install-test-deps installs it");
        assert!(made.status.success(), "{made:?}");
    }
    std::fs::write(path("empty"), "").expect("a file");
    let wrong = |certificate: &str, key: &str, ca: &str| {
        let [certificate, key, ca] = [certificate, key, ca].map(path);
        let why = fails(&[
            "--tls-cert",
            &certificate,
            "--tls-key",
            &key,
            "--client-ca",
            &ca,
        ]);
        why.trim().to_owned()
    };
    for (files, named) in [
        (["one.crt", "two.key", "one.crt"], "two.key"),
        (["one.crt", "empty", "one.crt"], "empty"),
        (["one.key", "one.key", "one.crt"], "one.key"),
        (["one.crt", "one.key", "two.key"], "two.key"),
    ] {
        let why = wrong(files[0], files[1], files[2]);
        let start = format!("error: cannot use {} for TLS: ", path(named));
        assert!(why.starts_with(&start), "{why}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}
