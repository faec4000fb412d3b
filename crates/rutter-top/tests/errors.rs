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
