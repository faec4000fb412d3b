//! Errors before the screen changes.

use std::process::Command;

fn fails(arguments: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rutter-top"));
    let output = program.args(arguments).output().expect("the program");
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn each_mistake_has_its_error() {
    assert!(fails(&[]).contains("run `rutter top`"));
    assert!(fails(&["/nowhere/socket", "1"]).starts_with("error: /nowhere/socket: "));
    for interval in ["0", "-1", "x", "1e300", "NaN"] {
        assert!(fails(&["/nowhere/socket", interval]).contains("--interval"));
    }
}

/// A stopped daemon: the kernel accepts the connection, and nobody answers.
#[test]
fn a_daemon_that_hangs_is_an_error() {
    let folder = std::env::temp_dir().join(format!("rutter-top-hangs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let socket = folder.join("s");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let error = fails(&[socket.to_str().expect("text"), "1"]);
    assert!(error.contains("is its process stopped?"), "{error}");
    std::fs::remove_dir_all(folder).expect("the folder");
}
