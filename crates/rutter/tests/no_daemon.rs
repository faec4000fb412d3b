//! Commands whose daemon is not there, or does not answer.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Output};

/// Runs a command. Returns its exit status, output and errors.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rutter"));
    command.args(arguments).env_remove("RUTTER_SOCKET");
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn without_a_daemon_the_error_shows_how_to_start_one() {
    let (code, _, message) = run(&["show", "peers", "--socket", "/nonexistent/socket"]);
    assert_eq!(code, 1);
    assert!(message.contains("rutter run FILE"), "{message}");
}

#[test]
fn the_dashboard_has_the_help_of_other_commands_and_no_json() {
    let (code, _, message) = run(&["top", "--socket", "/nonexistent/socket"]);
    assert_eq!(code, 1);
    assert!(message.contains("rutter run FILE"), "{message}");
    let (code, _, message) = run(&["top", "--json", "--socket", "/nonexistent/socket"]);
    assert_eq!(code, 2);
    assert!(message.contains("`rutter top` has no JSON"), "{message}");
}

/// A stopped daemon: the kernel accepts the connection, and nobody answers.
#[test]
fn a_daemon_that_hangs_is_an_error() {
    let folder = std::env::temp_dir().join(format!("rutter-hangs-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("s");
    let _listener = UnixListener::bind(&socket).unwrap();
    let (code, _, message) = run(&["show", "status", "--socket", socket.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(message.contains("does not answer"), "{message}");
    fs::remove_dir_all(folder).unwrap();
}
