//! Tests which events become errors in a report: the daemon's actions, but not the consequences of our own crashes.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rutter_net::Asn;

use crate::oracle::{Oracle, PrefixIndex, Visibility};
use crate::speaker::message::{self, KEEPALIVE};
use crate::speaker::{Fleet, FleetSettings, Offer};
use crate::tracker::Bench;
use crate::workload::{Settings, Shape, Workload};

/// The daemon's reaction to a connection.
#[derive(Clone, Copy)]
enum Answer {
    /// It closes the connection at once.
    Refuse,
    /// A session is established and stays up.
    Establish,
    /// A session is established, and closed when the other side has confirmed it.
    EstablishAndClose,
}

/// A daemon that answers one connection after the other.
fn daemon(listener: TcpListener, answers: &'static [Answer]) -> JoinHandle<Vec<TcpStream>> {
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for answer in answers {
            let (mut socket, _) = listener.accept().unwrap();
            if let Answer::Refuse = answer {
                continue;
            }
            let open_message = message::open(Asn(64_500), Ipv4Addr::new(10, 0, 0, 1), &OFFER);
            read_message(&mut socket);
            socket.write_all(&open_message).unwrap();
            socket.write_all(&KEEPALIVE).unwrap();
            read_message(&mut socket);
            match answer {
                Answer::EstablishAndClose => drop(socket),
                _ => open.push(socket),
            }
        }
        open
    })
}

fn read_message(socket: &mut TcpStream) {
    let mut head = [0; 19];
    socket.read_exact(&mut head).unwrap();
    let length = usize::from(u16::from_be_bytes([head[16], head[17]]));
    socket
        .read_exact(&mut vec![0; length - head.len()])
        .unwrap();
}

fn fleet(listener: &TcpListener) -> Fleet {
    let workload = Arc::new(Workload::generate(
        Shape::unique(1, 1),
        None,
        Settings::default(),
    ));
    let bench = Bench {
        index: Arc::new(PrefixIndex::new(&workload.destinations)),
        oracle: Arc::new(Oracle::new(&workload, Visibility::PerClient)),
        workload,
        deep: false,
        probe: None,
    };
    let settings = FleetSettings {
        target: listener.local_addr().unwrap(),
        threads: 1,
        offer: OFFER,
    };
    Fleet::start(Arc::new(bench), settings).unwrap()
}

#[test]
fn a_client_that_crashed_may_be_refused_for_a_while() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let fleet = fleet(&listener);
    let daemon = daemon(
        listener,
        &[
            Answer::Establish,
            Answer::Refuse,
            Answer::Refuse,
            Answer::Establish,
        ],
    );
    let up = || fleet.wait_established(1, PATIENCE, |_| {}).unwrap();
    fleet.connect(&[0]).unwrap();
    up();
    fleet.kill(&[0]).unwrap();
    fleet.connect(&[0]).unwrap();
    // The daemon ends when it has answered all four.
    let sessions = daemon.join().unwrap();
    up();
    assert_eq!(fleet.progress().take_trouble(), Vec::<String>::new());
    drop(sessions);
}

#[test]
fn a_session_that_the_daemon_ends_is_reported() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let fleet = fleet(&listener);
    let daemon = daemon(
        listener,
        &[Answer::Refuse, Answer::Establish, Answer::EstablishAndClose],
    );
    fleet.connect(&[0]).unwrap();
    fleet.wait_established(1, PATIENCE, |_| {}).unwrap();
    fleet.kill(&[0]).unwrap();
    fleet.connect(&[0]).unwrap();
    drop(daemon.join().unwrap());
    let (begun, mut errors) = (Instant::now(), Vec::new());
    while errors.len() < 2 {
        assert!(begun.elapsed() < PATIENCE, "{errors:?}");
        errors.extend(fleet.progress().take_trouble());
        fleet.progress().wait(Duration::from_millis(20));
    }
    for line in &errors {
        assert!(line.starts_with("client 0: "), "{line}");
    }
}

const OFFER: Offer = Offer {
    hold_time_s: 180,
    four_octet_as: true,
    extended_message: false,
};
const PATIENCE: Duration = Duration::from_secs(120);
