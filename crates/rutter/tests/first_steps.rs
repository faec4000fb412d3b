//! The commands of a newcomer: `rutter init` and the completion of commands in a shell.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const RUTTER: &str = env!("CARGO_BIN_EXE_rutter");

fn rutter(arguments: &str) -> Output {
    let mut command = Command::new(RUTTER);
    command.args(arguments.split_whitespace());
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rutter-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

const EXCHANGE: &str = "--asn 64500 --router-id 192.0.2.1 --lan 192.0.2.0/24 --rtr 127.0.0.1:3323 \
                        --irr-server rr.example.net --member 3333,192.0.2.11,RIPE::AS-FOO";

#[test]
fn init_writes_a_file_that_check_accepts_and_never_replaces_one() {
    let folder = folder("init");
    let file = folder.join("exchange.toml");
    let line = format!("init {} {EXCHANGE}", file.display());

    let written = rutter(&line);
    assert!(written.status.success(), "{}", text(&written.stderr));
    assert!(text(&written.stdout).contains("AS64500, 1 member"));
    let first = fs::read(&file).unwrap();
    let checked = rutter(&format!("check {}", file.display()));
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    assert_eq!(text(&checked.stderr), "");

    let again = rutter(&line);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("exists already"));
    assert_eq!(fs::read(&file).unwrap(), first);

    let printed = rutter(&format!("init - {EXCHANGE}"));
    assert_eq!(printed.stdout, first);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn init_refuses_what_check_would_refuse_and_writes_nothing() {
    let folder = folder("init-bad");
    let file = folder.join("exchange.toml");
    let cases = [
        ("--asn 64500 --router-id 192.0.2.1", "--lan is missing", 1),
        (
            "--asn 64500 --router-id 0.0.0.0 --lan 192.0.2.0/24",
            "router-id",
            1,
        ),
        ("--asn many", "--asn", 2),
        ("--asn 0", "0 is no AS number: write 1 to 4294967295", 2),
        ("--json", "`rutter init` has no JSON", 2),
        ("--member 3333", "an address is missing", 2),
    ];
    for (options, message, status) in cases {
        let refused = rutter(&format!("init {} {options}", file.display()));
        let error = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(status), "{options}: {error}");
        assert!(error.contains(message), "{options}: {error}");
        assert!(!file.exists(), "{options}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// An AS number above 65535 has no standard communities, so the actions are large ones.
#[test]
fn init_serves_every_size_of_as_number() {
    for (asn, has_standard) in [("64500", true), ("205000", false), ("4200000000", false)] {
        let written = rutter(&format!("init - {}", EXCHANGE.replacen("64500", asn, 1)));
        let (config, errors) = (text(&written.stdout), text(&written.stderr));
        assert!(written.status.success(), "{asn}: {errors}");
        assert_eq!(errors, "", "{asn}");
        assert_eq!(config.contains("\"0:self\""), has_standard, "{config}");
        assert!(config.contains("\"self:101..103:peer\""), "{config}");
    }
}

/// Answers the questions of `rutter init` on a terminal, which `script` provides.
fn answer(file: &Path, answers: &[&str]) -> Output {
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &format!("{RUTTER} init {}", file.display())]);
    terminal.arg("/dev/null").stdin(Stdio::piped());
    terminal.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut terminal = terminal.spawn().expect("script, of bsdutils, is needed");
    let mut input = terminal.stdin.take().unwrap();
    for line in answers {
        writeln!(input, "{line}").unwrap();
    }
    let output = terminal.wait_with_output().unwrap();
    drop(input);
    output
}

#[test]
fn init_asks_on_a_terminal_and_loses_no_answer() {
    let folder = folder("init-asks");
    let file = folder.join("exchange.toml");
    let answers = [
        "0",
        "205000",
        "192.0.2.1",
        "192.0.2.0/24",
        "",
        "",
        "",
        "3333,192.0.2.11",
        "",
    ];
    let asked = answer(&file, &answers);
    let screen = text(&asked.stdout);
    assert!(asked.status.success(), "{screen}");
    assert!(screen.contains("0 is no AS number"), "{screen}");
    assert!(screen.contains("AS205000, 1 member"), "{screen}");
    assert!(fs::read_to_string(&file).unwrap().contains("asn = 205000"));

    // An answer that only the whole configuration shows to be wrong.
    let other = folder.join("other.toml");
    let answers = [
        "64500",
        "0.0.0.0",
        "192.0.2.0/24",
        "",
        "",
        "",
        "3333,192.0.2.11",
        "",
    ];
    let refused = answer(&other, &answers);
    let screen = text(&refused.stdout);
    assert_eq!(refused.status.code(), Some(1), "{screen}");
    assert!(screen.contains("Nothing was written"), "{screen}");
    assert!(screen.contains("address = [\"192.0.2.11\"]"), "{screen}");
    assert!(!other.exists());
    fs::remove_dir_all(folder).unwrap();
}

/// Bash loads the script, and completes a command and an option with it.
#[test]
fn bash_completes_commands_and_options() {
    let script = rutter("completion bash");
    assert!(script.status.success());
    let completions = |words: &str, count: usize| {
        let asked = format!(
            "{}\nCOMP_WORDS=({words}); COMP_CWORD={count}; _rutter rutter \
             \"${{COMP_WORDS[$COMP_CWORD]}}\" \"${{COMP_WORDS[$COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            text(&script.stdout)
        );
        let output = Command::new("bash").arg("-c").arg(asked).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(completions("rutter expl", 1), "explain\n");
    assert_eq!(completions("rutter show pee", 2), "peers\npeer\n");
    assert!(completions("rutter diff --ro", 2).contains("--routes"));
}

/// Zsh runs in a terminal of its own, because it completes nothing elsewhere. `timeout` ends a wait in vain.
#[test]
fn zsh_completes_commands_and_options() {
    let folder = folder("zsh");
    fs::write(folder.join("_rutter"), rutter("completion zsh").stdout).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/completion.zsh");
    for (typed, completed) in [
        ("rutter expl", "rutter explain"),
        ("rutter show sour", "rutter show sources"),
        ("rutter diff --rou", "rutter diff --routes"),
    ] {
        let mut zsh = Command::new("timeout");
        zsh.args(["120", "zsh", "-f", script]).arg(&folder);
        let output = zsh.args([typed, completed]).output().unwrap();
        let errors = text(&output.stderr);
        assert!(output.status.success(), "{typed}: {errors} (zsh is needed)");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn fish_completes_commands_and_options() {
    let folder = folder("fish");
    let script = folder.join("rutter.fish");
    fs::write(&script, rutter("completion fish").stdout).unwrap();
    let completions = |typed: &str| {
        let asked = format!("source {}; complete -C '{typed}'", script.display());
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", &asked])
            .env("HOME", &folder);
        let output = fish.output().expect("fish is needed");
        assert!(output.status.success(), "{}", text(&output.stderr));
        // A tab is before the description.
        let lines = text(&output.stdout);
        let words = lines.lines().map(|line| line.split('\t').next().unwrap());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completions("rutter expl"), ["explain"]);
    assert_eq!(completions("rutter show pee"), ["peer", "peers"]);
    assert_eq!(completions("rutter diff --ro"), ["--routes"]);
    fs::remove_dir_all(folder).unwrap();
}
