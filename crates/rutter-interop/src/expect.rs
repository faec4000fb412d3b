//! Conditions that tests wait for.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::rutter::Rutter;
use crate::{Lab, Peer, Route, Setup, Speaker, eventually, routes_without_path_ids};

/// The setup of a client of Rutter: host `host` of the lab, with `change` applied to its session.
pub fn client(
    lab: &Lab,
    rutter: &Rutter,
    host: u8,
    asn: u32,
    change: impl FnOnce(&mut Peer),
) -> Setup {
    Setup::new(lab, &format!("c{host}"), host, asn, rutter.peer()).with(change)
}

/// Waits until both ends report an established session.
#[track_caller]
pub fn up(lab: &Lab, rutter: &mut Rutter, host: u8, speaker: &mut dyn Speaker) {
    eventually("the session is up", || {
        rutter.process().check_alive()?;
        speaker.process().check_alive()?;
        match (speaker.established(), rutter.established(lab.address(host))) {
            (true, true) => Ok(()),
            (client, rutter) => Err(format!("up at the client: {client}, at Rutter: {rutter}")),
        }
    });
}

/// Waits until the speaker holds exactly these routes; Path Identifiers are ignored.
#[track_caller]
pub fn holds<'a>(speaker: &dyn Speaker, routes: impl IntoIterator<Item = &'a Route>) {
    let expected = routes_without_path_ids(routes);
    eventually("it holds exactly these routes", || {
        let held = routes_without_path_ids(&speaker.received()?);
        difference(&expected, &held)
    });
}

/// Checks that the speaker holds exactly these routes, now and throughout `length`.
#[track_caller]
pub fn keeps_holding<'a>(
    time: Duration,
    speaker: &dyn Speaker,
    routes: impl IntoIterator<Item = &'a Route>,
) {
    let expected = routes_without_path_ids(routes);
    let end = Instant::now() + time;
    while Instant::now() < end {
        let held = speaker.received().unwrap_or_else(|error| panic!("{error}"));
        if let Err(difference) = difference(&expected, &routes_without_path_ids(&held)) {
            panic!("it did not keep its routes: {difference}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until Rutter holds exactly these routes from a client.
#[track_caller]
pub fn rutter_holds<'a>(
    rutter: &Rutter,
    client: std::net::IpAddr,
    routes: impl IntoIterator<Item = &'a Route>,
) {
    let expected = routes_without_path_ids(routes);
    eventually("Rutter holds exactly these routes", || {
        let held = routes_without_path_ids(&rutter.routes_from(client)?);
        difference(&expected, &held)
    });
}

fn difference(expected: &BTreeSet<Route>, held: &BTreeSet<Route>) -> Result<(), String> {
    if expected == held {
        return Ok(());
    }
    let lines = |what: &str, routes: Vec<&Route>| -> String {
        let lines = routes.iter().map(|route| format!("{what}: {route:?}\n"));
        lines.collect()
    };
    let missing = lines("missing", expected.difference(held).collect());
    Err(missing + &lines("not expected", held.difference(expected).collect()))
}
