//! The looking glass in a real browser: Chromium loads pages, runs them, and a script reads and uses them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rutter_interop::bird::Bird;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{
    Lab, Process, Route, Speaker, client, eventually, eventually_within, holds, output_of, up,
};

/// Chromium prints the page after its scripts have run. It has a profile of its own.
fn page(lab: &Lab, address: &str) -> Result<String, String> {
    let mut browser = chromium(&lab.folder("browser"));
    browser.args(["--virtual-time-budget=5000", "--dump-dom", address]);
    output_of(&mut browser)
}

/// Chromium with a profile of its own.
fn chromium(profile: &Path) -> Command {
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.display()));
    browser
}

/// Opens a page again until it shows all of these.
fn shows(lab: &Lab, address: &str, wanted: &[&str]) -> String {
    eventually(address, || {
        let page = page(lab, address)?;
        match wanted.iter().find(|text| !page.contains(**text)) {
            None => Ok(page),
            Some(missing) => Err(format!("{missing:?} is missing in {page}")),
        }
    })
}

#[test]
fn a_browser_shows_members_rejected_routes_and_explanations() {
    let lab = Lab::new();
    let (one, two) = (lab.address(2), lab.address(3));
    let web = format!("{}:8179", lab.address(1));
    let sections = format!(
        "[web]\nlisten = \"{web}\"\n{}{}",
        member(one, 2_102, "description = \"Foo <b>Networks</b>\"\n"),
        member(two, 2_103, "")
    );
    let mut rutter = Rutter::start(&lab, &sections);
    let mut first = Bird::start(client(&lab, &rutter, 2, 2_102, |_| {}));
    let mut second = Bird::start(client(&lab, &rutter, 3, 2_103, |_| {}));
    up(&lab, &mut rutter, 2, &mut first);
    up(&lab, &mut rutter, 3, &mut second);
    let accepted = Route::new("45.10.2.0/24", "10.77.0.2", &[2_102, 3_333]);
    let too_long = Route::new("45.11.2.128/25", "10.77.0.2", &[2_102]);
    first.announce(&[accepted.clone(), too_long]);
    holds(&second, [&accepted]);

    let members = shows(
        &lab,
        &format!("http://{web}/"),
        &["2 of 2 are up", "AS2102", "AS2103"],
    );
    // The name of a member is text, never HTML.
    assert!(!members.contains("<b>Networks</b>"));
    // Links can be opened cold.
    shows(
        &lab,
        &format!("http://{web}/#/member/{one}"),
        &["45.10.2.0/24", "prefix-length", "45.11.2.128/25"],
    );
    shows(
        &lab,
        &format!("http://{web}/#/receives/{two}"),
        &["1 prefix advertised", "45.10.2.0/24", "2102 3333"],
    );
    shows(
        &lab,
        &format!("http://{web}/#/receives/{one}"),
        &["0 prefixes advertised", "1 withheld", "own route"],
    );
    shows(
        &lab,
        &format!("http://{web}/#/explain/45.10.2.7"),
        &[
            "<h1 tabindex=\"-1\">45.10.2.0/24</h1>",
            "1 client",
            "own route",
        ],
    );
    shows(
        &lab,
        &format!("http://{web}/#/search/AS3333"),
        &["Originated by AS3333", "45.10.2.0/24"],
    );
    shows(
        &lab,
        &format!("http://{web}/#/search/nobody"),
        &["Nothing is called"],
    );
}

/// Chromium writes the port of its DevTools into its profile.
fn devtools_port(profile: &Path) -> String {
    eventually("the DevTools", || {
        let text = std::fs::read_to_string(profile.join("DevToolsActivePort"))
            .map_err(|why| why.to_string())?;
        let port = text.lines().next().filter(|port| !port.is_empty());
        port.map(str::to_owned).ok_or(text)
    })
}

/// axe finds nothing on any page, in light and dark, on a wide screen and a phone; charts show a day with a gap; keys alone
/// reach everything; an EventSource reads a change. `RUTTER_SCREENSHOTS` names a folder that keeps the pictures.
#[test]
fn pages_are_accessible_and_an_event_source_reads_a_change() {
    let lab = Lab::new();
    let (one, two) = (lab.address(2), lab.address(3));
    let web = format!("{}:8179", lab.address(1));
    let sections = format!(
        "[web]\nlisten = \"{web}\"\n{}{}",
        member(one, 2_102, "description = \"Foo Networks\"\n"),
        member(two, 2_103, "description = \"Bar Hosting\"\n")
    );
    let mut rutter = Rutter::start(&lab, &sections);
    let mut first = Bird::start(client(&lab, &rutter, 2, 2_102, |_| {}));
    let mut second = Bird::start(client(&lab, &rutter, 3, 2_103, |_| {}));
    up(&lab, &mut rutter, 2, &mut first);
    up(&lab, &mut rutter, 3, &mut second);
    let long = Route::new("45.10.2.0/24", "10.77.0.2", &[2_102, 3_333, 4_200_000_001]);
    let own = Route::new("45.12.0.0/16", "10.77.0.2", &[2_102]).large_community(2_102, 5, 6);
    let too_long = Route::new("45.11.2.128/25", "10.77.0.2", &[2_102]);
    let better = Route::new("45.10.2.0/24", "10.77.0.3", &[2_103]);
    first.announce(&[long, own.clone(), too_long]);
    second.announce(&[better.clone()]);
    holds(&second, [&own]);
    holds(&first, [&better]);

    let profile = lab.folder("browser");
    let mut command = chromium(&profile);
    command.args(["--remote-debugging-port=0", "about:blank"]);
    let _browser = Process::start("Chromium", &lab.folder("chromium"), &mut command);
    let port = devtools_port(&profile);

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pictures = match std::env::var_os("RUTTER_SCREENSHOTS") {
        Some(folder) => folder.into(),
        None => lab.folder("pictures"),
    };
    let mut script = Command::new(root.join("../../target/python/bin/python3"));
    script.arg(root.join("tests/looking_glass.py"));
    script.arg(format!("http://{web}")).arg(pictures);
    script.args([&one.to_string(), &two.to_string(), "45.10.2.7", &port]);
    let mut script = Process::start("the script", &lab.folder("script"), &mut script);
    let mut says = |word: &str| {
        eventually_within(PAGES, word, || match script.log().contains(word) {
            true => Ok(()),
            false => {
                // A script that has ended will not write the word any more.
                script.check_alive().unwrap_or_else(|why| panic!("{why}"));
                Err(script.log())
            }
        })
    };
    says("watching");
    first.announce(&[Route::new("45.13.2.0/24", "10.77.0.2", &[2_102])]);
    says("seen");
}

/// The browser loads 43 pages, and axe reads each of the first 40.
const PAGES: Duration = Duration::from_secs(600);
