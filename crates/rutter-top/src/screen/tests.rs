//! Presses keys, and reads the picture.

use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use rutter_api::{Line, RouteRow};

use super::*;
use crate::answers::Answer;
use crate::poll::{Event, Sample};

fn line(json: &str) -> Line {
    serde_json::from_str(json).unwrap_or_else(|why| panic!("{why}: {json}"))
}

fn status(cpu_s: f64) -> rutter_api::StatusRow {
    let json = format!(
        r#"{{"kind":"status","version":"1.2.3","pid":1,"uptime-s":307,"asn":64500,"router-id":"192.0.2.1","threads":2,
            "config-file":"rutter.toml","config-loaded-at":0,"peers":3,"established":2,"cpu-s":{cpu_s},"rss-bytes":10485760}}"#
    );
    match line(&json) {
        Line::Status(row) => *row,
        other => panic!("{other:?}"),
    }
}

fn peer(
    name: &str,
    asn: u32,
    state: &str,
    updates: u64,
    accepted: u64,
    rejected: u64,
) -> rutter_api::PeerRow {
    let json = format!(
        r#"{{"kind":"peer","name":"{name}","address":"192.0.2.{}","asn":{asn},"local-asn":64500,"role":"member",
            "state":"{state}","state-for-s":60,"established-count":1,"malformed-updates":0,"unsent-bytes":0,
            "received":{{"bytes":{},"messages":{{"open":1,"update":{updates},"notification":0,"keepalive":1,"route-refresh":0}}}},
            "sent":{{"bytes":0,"messages":{{"open":1,"update":0,"notification":0,"keepalive":1,"route-refresh":0}}}},
            "families":[{{"family":"ipv4-unicast","negotiated":true,"received":{},"accepted":{accepted},"rejected":{rejected}}}]}}"#,
        asn % 250,
        updates * 1_000,
        accepted + rejected
    );
    match line(&json) {
        Line::Peer(row) => *row,
        other => panic!("{other:?}"),
    }
}

fn route(prefix: &str, rejected: bool) -> RouteRow {
    let reject = r#","rejected":{"code":13,"name":"prefix-length","explanation":"too long"}"#;
    let json = format!(
        r#"{{"kind":"route","prefix":"{prefix}","peer":{{"name":"foo","address":"192.0.2.1","asn":64501}},"best":false,
            "attributes":{{"as-path":"64501 64999","next-hop":"192.0.2.1"}}{}}}"#,
        if rejected { reject } else { "" }
    );
    match line(&json) {
        Line::Route(row) => *row,
        other => panic!("{other:?}"),
    }
}

/// A dashboard after two samples that are a second apart.
fn dashboard() -> Dashboard {
    let mut dashboard = Dashboard::default();
    let start = Instant::now();
    for (second, updates) in [(0, 100), (1, 1_600)] {
        dashboard.handle(Event::Sample(Box::new(Sample {
            at: start + Duration::from_secs(second),
            unix_us: 1_700_000_000_000_000,
            status: status(second as f64 / 4.0),
            peers: vec![
                peer("foo", 64_501, "Established", updates, 2_000, 3),
                peer("bar", 64_502, "Established", 7, 10, 0),
                peer("baz", 64_503, "Active", 0, 0, 0),
            ],
            memory: Vec::new(),
            sources: Vec::new(),
        })));
    }
    dashboard
}

fn press(dashboard: &mut Dashboard, code: KeyCode) -> Option<Question> {
    dashboard.handle(Event::Key(KeyEvent::from(code)))
}

fn picture(dashboard: &mut Dashboard) -> String {
    picture_at(dashboard, 150)
}

fn picture_at(dashboard: &mut Dashboard, width: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, 24)).unwrap();
    terminal.draw(|frame| draw(frame, dashboard)).unwrap();
    terminal.backend().to_string()
}

#[track_caller]
fn shows(dashboard: &mut Dashboard, wanted: &[&str]) {
    let picture = picture(dashboard);
    for text in wanted {
        assert!(picture.contains(text), "{text:?} is missing:\n{picture}");
    }
}

#[test]
fn the_head_and_the_sessions_have_totals_and_rates() {
    let mut dashboard = dashboard();
    shows(
        &mut dashboard,
        &[
            "Rutter 1.2.3  AS64500",
            "sessions 2 up, 1 down",
            "routes 2,010 accepted, 3 rejected",
            "CPU 25 %    memory 10 MiB    UPDATEs 1,500/s",
            "3 sessions by state",
        ],
    );
    // The session that is down comes first.
    let names: Vec<_> = dashboard
        .members
        .iter()
        .map(|m| m.row.session.name.as_str())
        .collect();
    assert_eq!(names, ["baz", "foo", "bar"]);
}

#[test]
fn keys_sort_and_find_sessions() {
    let mut dashboard = dashboard();
    press(&mut dashboard, KeyCode::Char('s'));
    shows(&mut dashboard, &["3 sessions by name"]);
    for key in "/AS64502".chars() {
        press(&mut dashboard, KeyCode::Char(key));
    }
    press(&mut dashboard, KeyCode::Enter);
    shows(&mut dashboard, &["1 session by name with /AS64502", "bar"]);
    assert_eq!(dashboard.members.len(), 1);
}

#[test]
fn a_session_opens_its_routes_and_a_route_its_explanation() {
    let mut dashboard = dashboard();
    press(&mut dashboard, KeyCode::Down);
    let question = press(&mut dashboard, KeyCode::Enter).unwrap();
    let member = "foo".to_owned();
    assert_eq!(
        question,
        Question::Routes {
            member,
            rejected: true
        }
    );
    let routes = vec![
        route("203.0.113.0/25", true),
        route("203.0.113.128/25", true),
    ];
    let result = Ok(Found::Routes(routes));
    dashboard.handle(Event::Answer(Answer { question, result }));
    shows(
        &mut dashboard,
        &[
            "rejected routes of foo",
            "203.0.113.128/25",
            "prefix-length",
            "64501 64999",
        ],
    );
    press(&mut dashboard, KeyCode::End);
    let question = press(&mut dashboard, KeyCode::Enter).unwrap();
    assert_eq!(question, Question::Explain("203.0.113.128/25".to_owned()));
    let result = Ok(Found::Text(vec!["best: none".to_owned()]));
    dashboard.handle(Event::Answer(Answer { question, result }));
    shows(
        &mut dashboard,
        &["why 203.0.113.128/25 is as it is", "best: none"],
    );
    press(&mut dashboard, KeyCode::Esc);
    press(&mut dashboard, KeyCode::Esc);
    shows(&mut dashboard, &["3 sessions by state"]);
}

#[test]
fn a_daemon_that_is_gone_is_reported_and_a_pause_keeps_the_picture() {
    let mut dashboard = dashboard();
    dashboard.handle(Event::Lost("connection refused".to_owned()));
    shows(
        &mut dashboard,
        &[
            "no answer since 2023-11-14T22:13:20",
            "Z: connection refused",
        ],
    );
    press(&mut dashboard, KeyCode::Char('p'));
    let before = dashboard.sample.clone().unwrap();
    let later = Sample {
        at: before.at + Duration::from_secs(9),
        ..before.clone()
    };
    dashboard.handle(Event::Sample(Box::new(later)));
    assert_eq!(dashboard.sample.as_ref().unwrap().at, before.at);
    shows(&mut dashboard, &["paused: p goes on"]);
}

/// The dashboard of an exchange with long numbers, names and addresses.
fn long_values() -> Dashboard {
    let mut dashboard = Dashboard::default();
    let mut member = peer(
        "a name longer than the room that it has",
        4_200_000_000,
        "Established",
        9,
        912_714,
        1_234,
    );
    member.session.address = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff".parse().unwrap();
    let mut status = status(0.0);
    status.asn = 4_200_000_001;
    dashboard.handle(Event::Sample(Box::new(Sample {
        at: Instant::now(),
        unix_us: 1_700_000_000_000_000,
        status,
        peers: vec![member],
        memory: Vec::new(),
        sources: Vec::new(),
    })));
    dashboard
}

/// A value is shown whole, or it is not shown. A cut name has its mark.
#[test]
fn every_width_shows_whole_numbers() {
    for width in [80, 110, 160] {
        let mut dashboard = long_values();
        let picture = picture_at(&mut dashboard, width);
        for text in [
            "AS4200000001",
            "4200000000 ",
            "Established",
            "912,714",
            "1,234",
            "q: quit",
        ] {
            assert!(picture.contains(text), "{width}: {text}\n{picture}");
        }
        let address = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff ";
        assert_eq!(
            picture.contains("2001:"),
            picture.contains(address),
            "{picture}"
        );
        let name = "a name longer than the room that it has";
        assert!(
            picture.contains(name) || picture.contains("… 42"),
            "{picture}"
        );
        assert_eq!(
            picture.contains("UPDATEs received"),
            width >= 120,
            "{picture}"
        );
    }
    assert!(picture_at(&mut long_values(), 160).contains("ffff "));
}

#[test]
fn a_route_is_whole_at_80_columns_and_an_explanation_continues_on_the_next_line() {
    let mut dashboard = dashboard();
    press(&mut dashboard, KeyCode::Down);
    let question = press(&mut dashboard, KeyCode::Enter).unwrap();
    let result = Ok(Found::Routes(vec![route("101.192.208.0/24", true)]));
    dashboard.handle(Event::Answer(Answer { question, result }));
    let routes = picture_at(&mut dashboard, 80);
    assert!(routes.contains("101.192.208.0/24 "), "{routes}");
    assert!(routes.contains("prefix-length"), "{routes}");
    let question = press(&mut dashboard, KeyCode::Enter).unwrap();
    let result = Ok(Found::Text(vec![format!("{} the end", "word ".repeat(30))]));
    dashboard.handle(Event::Answer(Answer { question, result }));
    let text = picture_at(&mut dashboard, 80);
    assert!(text.contains("the end"), "{text}");
}

#[test]
fn a_long_line_of_the_log_can_be_read_to_its_end() {
    let mut dashboard = dashboard();
    let json = format!(
        r#"{{"kind":"log","unix_us":1700000000000000,"level":"warn","peer":"foo","message":"{} the end"}}"#,
        "word ".repeat(40)
    );
    match line(&json) {
        Line::Log(row) => dashboard.handle(Event::Log(row)),
        other => panic!("{other:?}"),
    };
    press(&mut dashboard, KeyCode::Char('4'));
    let cut = picture_at(&mut dashboard, 80);
    assert!(cut.contains("word…") || cut.contains("…│"), "{cut}");
    assert!(!cut.contains("the end"), "{cut}");
    assert_eq!(press(&mut dashboard, KeyCode::Enter), None);
    let whole = picture_at(&mut dashboard, 80);
    assert!(whole.contains("the end"), "{whole}");
}

#[test]
fn the_help_is_whole_at_80_columns() {
    let mut dashboard = dashboard();
    press(&mut dashboard, KeyCode::Char('?'));
    let picture = picture_at(&mut dashboard, 80);
    for line in HELP.lines() {
        assert!(picture.contains(line.trim_end()), "{line}\n{picture}");
    }
}

/// A terminal may be smaller than everything that is drawn.
#[test]
fn no_size_of_the_terminal_ends_the_program() {
    let mut dashboard = dashboard();
    press(&mut dashboard, KeyCode::Char('?'));
    for (width, height) in [(1, 1), (10, 3), (40, 8), (300, 100)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &mut dashboard)).unwrap();
    }
    press(&mut dashboard, KeyCode::Char('x'));
    press(&mut dashboard, KeyCode::Char('q'));
    assert!(dashboard.is_ended());
}
