//! `rutter apply`: what is in force, what a start reads, and when the daemon goes back.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use rutter_api::{ApplyOrder, Client, HistoryRow, Line, Request};
use rutter_config::Config;
use rutter_daemon::Daemon;

use crate::ask;
use crate::support::{Folder, Speaker, member, start, text, wait_until};

const FOLDER: &str = "RUTTER_TEST_APPLY_FOLDER";

/// Writes a configuration beside the daemon's own file.
fn file(folder: &Folder, more: &str) -> PathBuf {
    let path = folder.0.join("next.toml");
    fs::write(&path, text(folder, 2, more)).expect("write");
    path
}

fn own_text(folder: &Folder) -> String {
    fs::read_to_string(folder.0.join("rutter.toml")).expect("read")
}

fn apply(folder: &Folder, more: &str, confirm_s: Option<u64>, max_loss: Option<f64>) -> Vec<Line> {
    let file = file(folder, more);
    let order = ApplyOrder {
        file,
        text_bytes: None,
        text: None,
        confirm_s,
        max_loss,
    };
    ask(folder, Request::Apply(order))
}

/// Applies a text that comes with the request.
fn apply_text(folder: &Folder, text: String, confirm_s: Option<u64>) -> Vec<Line> {
    let order = ApplyOrder {
        file: "standard input".into(),
        text_bytes: None,
        text: Some(text),
        confirm_s,
        max_loss: None,
    };
    ask(folder, Request::Apply(order))
}

fn assert_done(answer: &[Line]) {
    assert!(matches!(answer.last(), Some(Line::Done(_))), "{answer:?}");
}

fn assert_refused(answer: &[Line], with: &str) {
    let Some(Line::Error { message, .. }) = answer.last() else {
        panic!("{answer:?}");
    };
    assert!(message.contains(with), "{message}");
}

fn history(folder: &Folder) -> Vec<HistoryRow> {
    let row = |line| match line {
        Line::History(row) => Some(row),
        _ => None,
    };
    let answer = ask(folder, Request::History);
    answer.into_iter().filter_map(row).collect()
}

/// Returns whether the configuration in force is that with `more`.
fn runs(folder: &Folder, more: &str) -> bool {
    let other = folder.0.join("compared.toml");
    fs::write(&other, text(folder, 2, more)).expect("write");
    let answer = ask(
        folder,
        Request::Diff {
            file: Some(other),
            routes: None,
        },
    );
    let Some(Line::Diff(diff)) = answer.first() else {
        panic!("{answer:?}");
    };
    // The text means the same as the file.
    let asked = Request::DiffText(rutter_api::DiffText {
        name: "standard input".into(),
        text_bytes: 0,
        text: text(folder, 2, more),
        routes: None,
    });
    assert_eq!(format!("{:?}", ask(folder, asked)), format!("{answer:?}"));
    **diff == rutter_api::DiffRow::default()
}

fn two_members(keys: &str) -> String {
    format!("{}{}", member(1, 64501, keys), member(2, 64502, ""))
}

#[test]
fn a_configuration_is_applied_kept_and_rolled_back() {
    let folder = Folder::new("apply");
    let (_daemon, _) = start(&folder, 2, &two_members(""));
    let (old, new) = (two_members(""), two_members("hold-time = \"30s\""));
    assert_done(&apply(&folder, &new, None, None));
    assert_eq!(own_text(&folder), text(&folder, 2, &new));
    let kept = history(&folder);
    let actions: Vec<&str> = kept.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["start", "apply"]);
    assert_eq!(kept[0].by, "the daemon");
    assert_ne!(kept[1].by, "the daemon");
    assert!(kept[1].running && !kept[0].running);
    assert_refused(&apply(&folder, "nonsense = 1", None, None), "errors");
    assert!(runs(&folder, &new));

    assert_done(&ask(&folder, Request::Rollback { number: None }));
    assert!(runs(&folder, &old));
    assert_eq!(own_text(&folder), text(&folder, 2, &old));
    assert_done(&ask(&folder, Request::Rollback { number: None }));
    assert!(runs(&folder, &new));
    let number = Some(kept[0].number);
    assert_done(&ask(&folder, Request::Rollback { number }));
    assert!(runs(&folder, &old));
    let answer = ask(&folder, Request::Rollback { number: Some(99) });
    assert_refused(&answer, "rutter history");
}

/// A configuration from a pipe is there once. Going back and forth needs no second look at it.
#[test]
fn a_text_that_comes_with_the_request_is_applied_and_rolled_back() {
    let folder = Folder::new("applied-text");
    let (_daemon, _) = start(&folder, 2, &two_members(""));
    let old = own_text(&folder);
    // Longer than a request may be, and than a buffer of the kernel.
    let comment = "# a comment\n".repeat(100_000);
    let new = text(&folder, 2, &two_members("hold-time = \"30s\"")) + &comment;
    assert_done(&apply_text(&folder, new.clone(), Some(600)));
    assert_eq!(own_text(&folder), old);
    assert_done(&ask(&folder, Request::Rollback { number: None }));
    assert!(runs(&folder, &two_members("")));
    assert_done(&apply_text(&folder, new.clone(), None));
    assert_eq!(own_text(&folder), new);
    assert_done(&ask(&folder, Request::Rollback { number: Some(1) }));
    assert_eq!(own_text(&folder), old);
    assert_done(&ask(&folder, Request::Rollback { number: None }));
    assert_eq!(own_text(&folder), new);
    let answer = apply_text(&folder, "nonsense = 1".to_owned(), None);
    let Some(Line::ConfigError(error)) = answer.first() else {
        panic!("{answer:?}");
    };
    assert_eq!(error.file, "standard input");
    let long = " ".repeat((16 << 20) + 1);
    assert_refused(
        &apply_text(&folder, long, None),
        "larger than 16777216 bytes",
    );
}

#[test]
fn a_daemon_that_was_started_with_a_pipe_refuses_a_reload() {
    let folder = Folder::new("own-pipe");
    let (_daemon, _) = start(&folder, 2, &two_members(""));
    let own = folder.0.join("rutter.toml");
    fs::remove_file(&own).expect("remove");
    let made = Command::new("mkfifo").arg(&own).status();
    assert!(made.expect("mkfifo").success());
    assert_refused(&ask(&folder, Request::Reload), "it is a pipe or device");
    assert_refused(&apply(&folder, "", None, None), "regular file");
}

#[test]
fn limits_that_never_lead_back_are_refused() {
    let folder = Folder::new("limits");
    let (_daemon, _) = start(&folder, 2, &two_members(""));
    let new = two_members("hold-time = \"30s\"");
    for seconds in [0, 86_401, u64::MAX] {
        assert_refused(
            &apply(&folder, &new, Some(seconds), None),
            "from 1 to 86400",
        );
    }
    for loss in [-1.0, 100.5] {
        let answer = apply(&folder, &new, Some(60), Some(loss));
        assert_refused(&answer, "from 0 to 100 percent");
    }
    assert_refused(&apply(&folder, &new, None, Some(2.0)), "needs a time");
    assert_eq!(history(&folder).len(), 1);
}

/// Nobody wanted the configuration that was never confirmed, so no rollback leads to it.
#[test]
fn a_start_before_the_confirmation_is_recorded_as_the_way_back() {
    let folder = Folder::new("tried");
    let (daemon, _) = start(&folder, 2, &two_members(""));
    let new = two_members("hold-time = \"30s\"");
    assert_done(&apply(&folder, &new, Some(600), None));
    assert_eq!(history(&folder)[1].action, "apply, not confirmed");
    drop(daemon);
    let (_daemon, _) = start(&folder, 2, &two_members(""));
    let rows = history(&folder);
    let action = &rows.last().expect("the start").action;
    assert_eq!(action, "went back: started again before the confirmation");
    let answer = ask(&folder, Request::Rollback { number: None });
    assert_refused(&answer, "went back by itself already");
    assert_done(&apply(&folder, &new, Some(600), None));
    assert_done(&ask(&folder, Request::Confirm));
    assert_eq!(history(&folder).last().expect("a row").action, "apply");
}

#[test]
fn errors_name_the_file_that_was_to_be_applied_or_the_number() {
    let folder = Folder::new("applied-errors");
    fs::write(folder.0.join("list.txt"), "9.9.9.0/24\n").expect("write");
    let listed = member(1, 64501, "black-list = [{ file = \"list.txt\" }]");
    let (_daemon, _) = start(&folder, 1, &listed);
    let files = |answer: Vec<Line>| -> Vec<PathBuf> {
        let file = |line| match line {
            Line::ConfigError(row) => Some(PathBuf::from(row.file)),
            _ => None,
        };
        answer.into_iter().filter_map(file).collect()
    };
    let answer = apply(&folder, "nonsense = 1", None, None);
    assert_eq!(files(answer), [folder.0.join("next.toml")]);
    assert_done(&apply(&folder, &member(1, 64501, ""), None, None));
    fs::remove_file(folder.0.join("list.txt")).expect("remove");
    let answer = ask(&folder, Request::Rollback { number: Some(1) });
    assert_eq!(files(answer), [PathBuf::from("configuration 1")]);
}

#[test]
fn a_change_that_nobody_confirms_goes_back() {
    let folder = Folder::new("unconfirmed");
    let (old, new) = (
        two_members(""),
        two_members("black-list = [\"9.9.9.0/24\"]"),
    );
    let (_daemon, address) = start(&folder, 2, &old);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    assert_done(&apply(&folder, &new, Some(3), None));
    assert_refused(
        &apply(&folder, &new, None, None),
        "waits for its confirmation",
    );
    assert_refused(&ask(&folder, Request::Reload), "waits for its confirmation");
    assert_eq!(own_text(&folder), text(&folder, 2, &old));
    two.expect_table(&["8.8.8.0/24"]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    wait_until("back", || history(&folder).len() == 3);
    let last = history(&folder).pop().expect("an entry");
    assert_eq!(last.action, "went back: nobody confirmed it in time");
    assert_refused(&ask(&folder, Request::Confirm), "no change waits");
    // The configuration before is the one that nobody confirmed.
    assert_refused(
        &ask(&folder, Request::Rollback { number: None }),
        "went back by itself",
    );

    assert_done(&apply(&folder, &new, Some(600), None));
    two.expect_table(&["8.8.8.0/24"]);
    assert!(history(&folder).pop().expect("an entry").goes_back_in_s > Some(500));
    assert_done(&ask(&folder, Request::Rollback { number: None }));
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    assert_done(&apply(&folder, &new, Some(600), None));
    assert_done(&ask(&folder, Request::Confirm));
    assert_eq!(own_text(&folder), text(&folder, 2, &new));
    two.expect_table(&["8.8.8.0/24"]);
}

#[test]
fn a_change_that_costs_a_neighbor_too_much_goes_back() {
    let folder = Folder::new("costs");
    let old = two_members("");
    let (_daemon, address) = start(&folder, 2, &old);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    let fewer = two_members("black-list = [\"9.9.9.0/24\"]");
    assert_done(&apply(&folder, &fewer, Some(8), Some(60.0)));
    assert_done(&ask(&folder, Request::Confirm));
    two.expect_table(&["8.8.8.0/24"]);
    assert_done(&apply(&folder, &old, None, None));
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    let entries = history(&folder).len();
    assert_done(&apply(&folder, &fewer, Some(40), Some(2.0)));
    wait_until("back", || history(&folder).len() == entries + 2);
    let why = history(&folder).pop().expect("an entry").action;
    assert!(why.contains("1 are accepted, before the change 2"), "{why}");
    // With another AS number the session cannot come back.
    let other = format!("{}{}", member(1, 64511, ""), member(2, 64502, ""));
    assert_done(&apply(&folder, &other, Some(8), None));
    wait_until("back", || history(&folder).len() == entries + 4);
    let why = history(&folder).pop().expect("an entry").action;
    assert!(why.contains("is down for"), "{why}");
    assert!(runs(&folder, &old));
}

/// The daemon of [`a_killed_daemon_has_the_old_or_the_new_configuration`], run in a process of its own.
#[test]
#[ignore = "other tests run it"]
fn daemon_with_its_own_file() {
    let Some(path) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let file = path.join("rutter.toml");
    let loaded = Config::load(&file).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let _daemon = Daemon::start(loaded.config, Some(file.into())).expect("start");
    std::thread::sleep(Duration::from_secs(60));
}

struct Process(Child);

impl Process {
    fn start(folder: &Folder) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(["--exact", "--ignored", "apply::daemon_with_its_own_file"]);
        let child = command.env(FOLDER, &folder.0).spawn().expect("a process");
        let socket = folder.0.join("ctl");
        wait_until("the daemon starts", || Client::connect(&socket).is_ok());
        Process(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGKILL
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks without expecting that the daemon lives long enough for the answer. Returns whether it answered.
fn try_ask(folder: &Folder, request: Request) -> bool {
    let Ok(client) = Client::connect(&folder.0.join("ctl")) else {
        return false;
    };
    let Ok(answer) = client.call(request) else {
        return false;
    };
    answer
        .last()
        .is_some_and(|line| matches!(line, Ok(Line::Done(_))))
}

/// A change, and the death of the daemon a moment later.
#[test]
fn a_killed_daemon_has_the_old_or_the_new_configuration() {
    let folder = Folder::new("killed");
    let versions = [
        two_members(""),
        two_members("hold-time = \"30s\"\nblack-list = [\"9.9.9.0/24\"]"),
    ];
    fs::write(folder.0.join("rutter.toml"), text(&folder, 2, &versions[0])).expect("write");
    let mut held = 0;
    for round in 0..36_u64 {
        let process = Process::start(&folder);
        let is_held = |version: usize| {
            own_text(&folder) == text(&folder, 2, &versions[version])
                && runs(&folder, &versions[version])
        };
        assert!(
            is_held(held),
            "round {round}: a start has another configuration"
        );
        let next = 1 - held;
        let order = ApplyOrder {
            file: file(&folder, &versions[next]),
            text_bytes: None,
            text: None,
            confirm_s: (round % 3 == 1).then_some(600),
            max_loss: None,
        };
        let killed = std::thread::scope(|scope| {
            let change = scope.spawn(|| {
                let is_first = history(&folder).len() < 2;
                let request = match round % 3 {
                    2 if !is_first => Request::Rollback { number: None },
                    _ => Request::Apply(order),
                };
                let is_applied = try_ask(&folder, request);
                let is_kept = round % 3 != 1 || try_ask(&folder, Request::Confirm);
                is_applied && is_kept
            });
            std::thread::sleep(Duration::from_micros(round * 977 % 40_000));
            drop(process);
            change.join()
        });
        let _ = fs::remove_file(folder.0.join("ctl"));
        let is_old = own_text(&folder) == text(&folder, 2, &versions[held]);
        let is_new = own_text(&folder) == text(&folder, 2, &versions[next]);
        assert!(is_old || is_new, "round {round}: {}", own_text(&folder));
        if killed.is_ok_and(|answered| answered) {
            assert!(
                is_new,
                "round {round}: the daemon confirmed a change that is lost"
            );
        }
        held = if is_new { next } else { held };
    }
}
