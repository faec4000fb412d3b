//! `rutter top` in a real terminal: tmux runs it, presses keys and reads the screen.

use std::path::PathBuf;
use std::process::Command;

use rutter_interop::bird::Bird;
use rutter_interop::rutter::{self, Rutter, member};
use rutter_interop::{Lab, Route, Speaker, client, eventually, output_of, program, up};

/// A terminal of 150 columns and 40 lines.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    fn start(lab: &Lab, command: &str) -> Terminal {
        let socket = lab.folder("tmux").join("s");
        let terminal = Terminal { socket };
        terminal.tmux(&["-f/dev/null", "new-session", "-d", "-x150", "-y40", command]);
        terminal
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new(program("tmux"));
        tmux.arg("-S").arg(&self.socket).args(arguments);
        tmux.env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
        tmux
    }

    fn tmux(&self, arguments: &[&str]) {
        output_of(&mut self.command(arguments)).unwrap_or_else(|why| panic!("{why}"));
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn shows(&self, wanted: &[&str]) {
        eventually("the screen", || {
            let screen = output_of(&mut self.command(&["capture-pane", "-p"]))?;
            match wanted.iter().find(|text| !screen.contains(**text)) {
                None => Ok(()),
                Some(missing) => Err(format!("{missing:?} is missing:\n{screen}")),
            }
        });
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

#[test]
fn a_terminal_shows_sessions_routes_and_explanations() {
    let lab = Lab::new();
    let one = lab.address(2);
    let sections = member(one, 2_102, "");
    let mut rutter = Rutter::start(&lab, &sections);
    let mut first = Bird::start(client(&lab, &rutter, 2, 2_102, |_| {}));
    up(&lab, &mut rutter, 2, &mut first);
    let accepted = Route::new("45.10.2.0/24", "10.77.0.2", &[2_102]);
    let too_long = Route::new("45.11.2.128/25", "10.77.0.2", &[2_102]);
    first.announce(&[accepted, too_long]);

    let command = format!(
        "{} top --interval 0.2 --socket {}",
        rutter::program().display(),
        lab.folder("rutter").join("s").display()
    );
    let terminal = Terminal::start(&lab, &command);
    terminal.shows(&["sessions 1 up, 0 down", "1 accepted, 1 rejected"]);
    terminal.press("Enter");
    terminal.shows(&["rejected routes of", "45.11.2.128/25", "prefix-length"]);
    terminal.press("Enter");
    terminal.shows(&["why 45.11.2.128/25 is as it is", "rejected"]);
    terminal.press("Escape");
    // Escape and a key that arrive together are another key.
    terminal.shows(&["rejected routes of"]);
    terminal.press("a");
    terminal.shows(&["45.10.2.0/24"]);
    terminal.press("4");
    terminal.shows(&["log", "level", "Established"]);
    terminal.press("q");
    // The terminal ends with its only program.
    eventually("the end", || {
        match output_of(&mut terminal.command(&["ls"])) {
            Err(_) => Ok(()),
            Ok(sessions) => Err(sessions),
        }
    });
}
