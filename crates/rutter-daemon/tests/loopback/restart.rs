//! Our own restart: members with Graceful Restart lose no route.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rutter_api::{Line, Request, SelectionDeferralRow};
use rutter_daemon::{Handle, StopOrder};
use rutter_net::AfiSafi;
use rutter_wire::capability::{Capability, GracefulRestart, GracefulRestartFamily};
use rutter_wire::update;

use crate::support::{self, Folder, Received, Speaker, start, wait_until};
use crate::{ask, two_members};

fn graceful_restart(restart_state: bool, notification: bool) -> Capability {
    Capability::GracefulRestart(GracefulRestart {
        restart_state,
        notification,
        restart_time_s: 60,
        families: vec![GracefulRestartFamily {
            afi_safi: AfiSafi::IPV4_UNICAST,
            forwarding: true,
        }],
    })
}

/// A member with Graceful Restart.
fn member(octet: u8, to: SocketAddr, capability: Capability) -> Speaker {
    let mut speaker = Speaker::connect(octet, 64_500 + u32::from(octet), to);
    speaker.open_with(octet, 90, &[capability]);
    speaker
}

pub(crate) fn graceful(octet: u8, to: SocketAddr) -> Speaker {
    member(octet, to, graceful_restart(false, false))
}

/// Announces the routes of a member, then End-of-RIB.
pub(crate) fn announce_all(speaker: &mut Speaker, prefixes: &[&str]) {
    speaker.announce(prefixes, &[]);
    let mut message = Vec::new();
    update::write_end_of_rib(&mut message, AfiSafi::IPV4_UNICAST);
    speaker.send(&message);
}

/// Our Graceful Restart capability.
fn our_capability(speaker: &Speaker) -> GracefulRestart {
    let open = speaker.open.as_ref().expect("an OPEN");
    let restart = |c: &Capability| match c {
        Capability::GracefulRestart(restart) => Some(restart.clone()),
        _ => None,
    };
    open.capabilities
        .iter()
        .find_map(restart)
        .expect("the capability")
}

fn deferral(folder: &Folder) -> Option<SelectionDeferralRow> {
    ask(folder, Request::Status)
        .into_iter()
        .find_map(|line| match line {
            Line::Status(row) => row.selection_deferral,
            _ => None,
        })
}

/// The restart files that are complete.
fn restart_files(folder: &Folder) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&folder.0).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_ours = |path: &PathBuf| {
        let path = path.display().to_string();
        path.contains("/restart") && !path.ends_with(".new")
    };
    paths.filter(is_ours).collect()
}

/// The restart file, once it names so many neighbors.
fn await_file(folder: &Folder, neighbors: usize) -> PathBuf {
    wait_until("the restart file names the neighbors", || {
        let text = restart_files(folder).first().map(std::fs::read_to_string);
        let text = text.and_then(Result::ok).unwrap_or_default();
        text.matches("neighbor").count() == neighbors
    });
    restart_files(folder).remove(0)
}

/// Two members exchange a route each.
pub(crate) fn exchange(folder: &Folder) -> (Handle, [Speaker; 2]) {
    let (daemon, address) = start(folder, 2, &two_members());
    let (mut one, mut two) = (graceful(1, address), graceful(2, address));
    announce_all(&mut one, &["8.8.8.0/24"]);
    announce_all(&mut two, &["9.9.9.0/24"]);
    two.expect_table(&["8.8.8.0/24"]);
    one.expect_table(&["9.9.9.0/24"]);
    await_file(folder, 2);
    (daemon, [one, two])
}

/// The members come back, the second one late. Nothing is advertised before it has sent End-of-RIB.
fn come_back(folder: &Folder) -> Handle {
    let (daemon, address) = start(folder, 2, &two_members());
    let waits = |folder| deferral(folder).map_or(0, |row| row.awaited.len());
    assert_eq!(waits(folder), 2);
    let mut one = graceful(1, address);
    assert!(our_capability(&one).restart_state);
    assert!(our_capability(&one).families.iter().all(|f| f.forwarding));
    announce_all(&mut one, &["8.8.8.0/24"]);
    wait_until("Rutter waits for the second member only", || {
        waits(folder) == 1
    });
    let mut two = graceful(2, address);
    announce_all(&mut two, &["9.9.9.0/24"]);
    for (speaker, prefix) in [(&mut one, "9.9.9.0/24"), (&mut two, "8.8.8.0/24")] {
        let first = loop {
            match speaker.receive() {
                Received::Keepalive => {}
                other => break other,
            }
        };
        assert!(matches!(first, Received::Update), "{first:?}");
        speaker.receive_until(|s| s.end_of_rib);
        assert_eq!(
            speaker.table.len(),
            1,
            "the whole table came before End-of-RIB"
        );
        assert!(speaker.path(prefix).is_some());
    }
    assert_eq!(deferral(folder), None);
    daemon
}

#[test]
fn members_keep_our_routes_over_an_orderly_restart() {
    let folder = Folder::new("gr-orderly");
    let (daemon, speakers) = exchange(&folder);
    daemon.stop_as(&StopOrder::Restart);
    for mut speaker in speakers {
        loop {
            match speaker.receive() {
                Received::Closed => break,
                Received::Notification(n) => panic!("our routes are removed: {n:?}"),
                _ => {}
            }
        }
    }
    come_back(&folder).stop("test over");
}

/// The file of a crash is that of the moment before: what is needed is on disk before it is needed.
#[test]
fn members_keep_our_routes_over_a_crash() {
    let folder = Folder::new("gr-crash");
    let (daemon, speakers) = exchange(&folder);
    let file = await_file(&folder, 2);
    let content = std::fs::read(&file).expect("the file");
    daemon.stop("only to free the address");
    drop(speakers);
    std::fs::write(&file, content).expect("the file of the moment before");
    come_back(&folder).stop("test over");
}

/// The stop may come before the thread of the restart file has written anything.
#[test]
fn a_daemon_stops_that_has_only_just_started() {
    for round in 0..20 {
        let folder = Folder::new(&format!("gr-at-once-{round}"));
        let (daemon, _) = start(&folder, 1, &two_members());
        daemon.stop_as(&StopOrder::Restart);
    }
}

/// To free the table of an exchange can take longer than a service manager waits.
#[test]
fn a_process_that_ends_leaves_its_table_to_the_kernel() {
    let folder = Folder::new("stop-with-process");
    let (daemon, _) = start(&folder, 1, &two_members());
    let table = Arc::downgrade(&daemon.rib());
    daemon.stop_with_process(&StopOrder::Leave("the process ends".into()));
    assert!(table.upgrade().is_some());

    let (daemon, _) = start(&folder, 1, &two_members());
    let table = Arc::downgrade(&daemon.rib());
    daemon.stop("the process goes on");
    assert!(table.upgrade().is_none());
}

/// RFC 8538: a member that keeps routes after a NOTIFICATION learns of the restart.
#[test]
fn a_member_with_the_n_bit_is_told_of_the_restart() {
    let folder = Folder::new("gr-notification");
    let (daemon, address) = start(&folder, 1, &two_members());
    let mut one = member(1, address, graceful_restart(false, true));
    let mut two = Speaker::establish(2, 64502, address);
    let stopping = std::thread::spawn(move || daemon.stop_as(&StopOrder::Restart));
    for speaker in [&mut one, &mut two] {
        let notification = speaker.expect_notification();
        assert_eq!((notification.code, notification.subcode), (6, 4));
    }
    stopping.join().expect("stopped");
}

#[test]
fn a_daemon_that_leaves_says_goodbye_and_forgets_its_neighbors() {
    let folder = Folder::new("gr-leave");
    let (daemon, [mut one, _two]) = exchange(&folder);
    daemon.stop("moving house");
    let notification = one.expect_notification();
    assert_eq!((notification.code, notification.subcode), (6, 2));
    assert_eq!(restart_files(&folder), Vec::<PathBuf>::new());
    let (_daemon, address) = start(&folder, 1, &two_members());
    assert_eq!(deferral(&folder), None);
    assert!(!our_capability(&graceful(1, address)).restart_state);
}

#[test]
fn a_damaged_file_is_no_restart() {
    let folder = Folder::new("gr-damaged");
    let (daemon, _speakers) = exchange(&folder);
    daemon.stop_as(&StopOrder::Restart);
    let file = await_file(&folder, 2);
    let mut content = std::fs::read(&file).expect("the file");
    content.truncate(content.len() - 1);
    std::fs::write(&file, content).expect("a damaged file");
    let (_daemon, address) = start(&folder, 1, &two_members());
    assert_eq!(deferral(&folder), None);
    let mut one = graceful(1, address);
    assert!(!our_capability(&one).restart_state);
    one.receive_until(|s| s.end_of_rib);
}

/// A member that never comes back delays the others only for the configured time.
#[test]
fn advertisement_begins_when_the_deferral_time_is_over() {
    let folder = Folder::new("gr-time");
    let (daemon, _speakers) = exchange(&folder);
    daemon.stop_as(&StopOrder::Restart);
    let settings = "[graceful-restart]\nselection-deferral = \"1s\"\n";
    let (_daemon, address) = start(&folder, 1, &format!("{settings}{}", two_members()));
    let mut one = graceful(1, address);
    one.receive_until(|s| s.end_of_rib);
    assert_eq!(deferral(&folder), None);
}

/// Members that restarted themselves, or came back without Graceful Restart, are not waited for (RFC 4724 §4.1).
#[test]
fn members_that_send_no_end_of_rib_are_not_awaited() {
    let folder = Folder::new("gr-others");
    let (daemon, _speakers) = exchange(&folder);
    daemon.stop_as(&StopOrder::Restart);
    let (_daemon, address) = start(&folder, 1, &two_members());
    let mut one = member(1, address, graceful_restart(true, false));
    let mut two = Speaker::establish(2, 64502, address);
    for speaker in [&mut one, &mut two] {
        speaker.receive_until(|s| s.end_of_rib);
    }
}

/// It may keep the routes of the session before until then (RFC 4724 §4.2).
#[test]
fn a_neighbor_that_is_sent_no_routes_receives_end_of_rib() {
    let folder = Folder::new("gr-no-export");
    let one = "[[neighbor]]\nasn = 64501\naddress = \"127.0.1.1\"\npassive = true\nimport = \"all\"\nexport = \"none\"\n";
    let members = support::member(2, 64502, "") + one;
    let (_daemon, address) = start(&folder, 2, &members);
    let mut two = graceful(2, address);
    announce_all(&mut two, &["9.9.9.0/24"]);
    let mut one = graceful(1, address);
    one.receive_until(|speaker| speaker.end_of_rib);
    assert!(one.table.is_empty());
}
