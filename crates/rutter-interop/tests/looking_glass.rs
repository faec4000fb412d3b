//! The looking glass in a real browser: Chromium loads a page, runs it, and prints what it shows.

use std::process::Command;

use rutter_interop::bird::Bird;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{Lab, Route, Speaker, client, eventually, holds, output_of, up};

/// Chromium prints the page after its scripts have run. It has a profile of its own.
fn page(lab: &Lab, address: &str) -> Result<String, String> {
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]);
    let profile = lab.folder("browser");
    browser.arg(format!("--user-data-dir={}", profile.display()));
    output_of(browser.arg(address))
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
        &["1 prefixes advertised", "45.10.2.0/24", "2102 3333"],
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
