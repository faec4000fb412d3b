//! The binary as a user runs it.

use std::fs;
use std::process::Command;

#[test]
fn a_bad_file_is_1_with_every_error() {
    let folder = std::env::temp_dir().join(format!("rutter-collect-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("bad.toml");
    fs::write(&file, "[router]\nasn = 0\n[collector]\nnam = 1\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .arg("collect")
        .arg(&file)
        .output()
        .unwrap();
    fs::remove_dir_all(folder).unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("bad.toml:4:"), "{message}");
    assert!(message.contains("`name`"), "{message}");
}

#[test]
fn a_demonstration_collects_every_route() {
    let folder = std::env::temp_dir().join(format!("rutter-collect-demo-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .args([
            "collect",
            "--demo",
            "--once",
            "--feeds",
            "4",
            "--destinations",
            "1000",
        ])
        .arg("--socket")
        .arg(folder.join("s"))
        .output()
        .unwrap();
    fs::remove_dir_all(folder).unwrap();
    let (text, errors) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    let text = String::from_utf8(text).unwrap();
    assert!(output.status.success(), "{errors}");
    assert!(text.contains("Collected 2000 routes of 4 peers"), "{text}");
    assert_eq!(errors, "");
}

#[test]
fn no_octets_are_no_table() {
    let folder = std::env::temp_dir().join(format!("rutter-collect-none-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("given.parquet");
    fs::write(&file, []).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .args(["sql", "SELECT count(*) FROM given", "--parquet"])
        .arg(&file)
        .output()
        .unwrap();
    fs::remove_dir_all(folder).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("is empty"), "{errors}");
}
